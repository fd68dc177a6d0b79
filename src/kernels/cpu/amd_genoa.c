/**
 *  The amd_genoa class: no group of its own yet.
 */
#include "kernels/kernels.h"

extern uform_kernels_t const uform_kernels_amd_genoa_table_;
uform_kernels_t const uform_kernels_amd_genoa_table_ = {.compiled = false};
