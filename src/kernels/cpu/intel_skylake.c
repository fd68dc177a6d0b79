/**
 *  The intel_skylake class: no group of its own yet.
 */
#include "kernels/kernels.h"

extern uform_kernels_t const uform_kernels_intel_skylake_table_;
uform_kernels_t const uform_kernels_intel_skylake_table_ = {.compiled = false};
