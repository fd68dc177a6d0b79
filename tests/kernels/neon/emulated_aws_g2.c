/**
 *  The class `aws_g2` once more, its instructions in software: see arm_neon.h. The file itself is the product's, line by line.
 */
#include "emulated_classes.h"

#define uform_kernels_aws_g2_table_ emulated_aws_g2_table
#include "kernels/cpu/aws_g2.c"
