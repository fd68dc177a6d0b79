/**
 *  The class `apple_m2` once more, its instructions in software: see arm_neon.h. The file itself is the product's, line by line.
 */
#include "emulated_classes.h"

#define uform_kernels_apple_m2_table_ emulated_apple_m2_table
#include "kernels/cpu/apple_m2.c"
