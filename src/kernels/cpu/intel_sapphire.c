/**
 *  The intel_sapphire class: no group of its own yet.
 */
#include "kernels/kernels.h"

extern uform_kernels_t const uform_kernels_intel_sapphire_table_;
uform_kernels_t const uform_kernels_intel_sapphire_table_ = {.compiled = false};
