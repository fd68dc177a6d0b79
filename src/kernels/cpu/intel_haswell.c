/**
 *  The intel_haswell class: no group of its own yet.
 */
#include "kernels/kernels.h"

extern uform_kernels_t const uform_kernels_intel_haswell_table_;
uform_kernels_t const uform_kernels_intel_haswell_table_ = {.compiled = false};
