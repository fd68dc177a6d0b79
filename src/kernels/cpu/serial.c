/**
 *  The serial class: no group of its own yet.
 */
#include "kernels/kernels.h"

extern uform_kernels_t const uform_kernels_serial_table_;
uform_kernels_t const uform_kernels_serial_table_ = {.compiled = true};
