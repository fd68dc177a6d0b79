/**
 *  The intel_icelake class: no group of its own yet.
 */
#include "kernels/kernels.h"

extern uform_kernels_t const uform_kernels_intel_icelake_table_;
uform_kernels_t const uform_kernels_intel_icelake_table_ = {.compiled = false};
