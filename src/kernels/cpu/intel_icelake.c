/**
 *  Ice Lake: what it adds over Skylake-X (VNNI, VBMI and their like) multiplies integers; every group is inherited.
 */
#include "kernels/kernels.h"
#include "kernels/target.h"

extern uform_kernels_t const uform_kernels_intel_icelake_table_;
uform_kernels_t const uform_kernels_intel_icelake_table_ = {.compiled = UFORM_TARGET_AVX512};
