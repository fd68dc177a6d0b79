/**
 *  What an Arm class finds instead of the compiler's targets when it is compiled for x86: NEON of every kind, where SIMDe and a
 *  compiler for AVX2 are there to make it. Included before the class.
 */
#ifndef UFORM_TESTS_KERNELS_NEON_EMULATED_CLASSES_H
#define UFORM_TESTS_KERNELS_NEON_EMULATED_CLASSES_H

#include "kernels/target.h"

#undef UFORM_TARGET_NEON
#undef UFORM_TARGET_NEON_BF16
#undef UFORM_TARGET_BEGIN
#undef UFORM_TARGET_END
#define UFORM_TARGET_BEGIN(features)
#define UFORM_TARGET_END

#if defined(__AVX2__) && __has_include(<simde/arm/neon.h>)
#define UFORM_TARGET_NEON 1
#define UFORM_TARGET_NEON_BF16 1
#else
#define UFORM_TARGET_NEON 0
#define UFORM_TARGET_NEON_BF16 0
#endif

#endif
