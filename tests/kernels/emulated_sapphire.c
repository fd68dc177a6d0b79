/**
 *  The class `intel_sapphire` once more, its tiles in software: see emulated_tiles.h. The file itself is the product's, line by line.
 */
#include "kernels/target.h"

#if UFORM_TARGET_AMX_BF16
#include "emulated_tiles.h"
#endif

#define uform_kernels_intel_sapphire_table_ emulated_sapphire_table
#include "kernels/cpu/intel_sapphire.c"
