/**
 *  Target pragmas: each class file raises the instruction set for itself, between UFORM_TARGET_BEGIN and
 *  UFORM_TARGET_END, while the whole library is compiled for the baseline.
 *
 *      #include "kernels/target.h"
 *      #if UFORM_TARGET_AVX512
 *      UFORM_TARGET_BEGIN("avx512f,avx512bw")
 *      ... headers of loops written once, the class's own kernels ...
 *      UFORM_TARGET_END
 *      #endif
 *
 *  System headers come before UFORM_TARGET_BEGIN, so that inline functions of theirs keep the baseline.
 */
#ifndef UFORM_KERNELS_TARGET_H
#define UFORM_KERNELS_TARGET_H

#define UFORM_PRAGMA_(...) _Pragma(#__VA_ARGS__)

/// What this compiler can compile for: the oldest versions that know every instruction of the set.
#if defined(__x86_64__) && defined(__clang__)
#define UFORM_TARGET_AVX2 1
#define UFORM_TARGET_AVX_VNNI (__clang_major__ >= 12)
#define UFORM_TARGET_AVX512 (__clang_major__ >= 8)
#define UFORM_TARGET_AVX512_BF16 (__clang_major__ >= 10)
#define UFORM_TARGET_AMX_BF16 (__clang_major__ >= 12)
#elif defined(__x86_64__) && defined(__GNUC__)
#define UFORM_TARGET_AVX2 1
#define UFORM_TARGET_AVX_VNNI (__GNUC__ >= 11)
#define UFORM_TARGET_AVX512 (__GNUC__ >= 8)
#define UFORM_TARGET_AVX512_BF16 (__GNUC__ >= 10)
#define UFORM_TARGET_AMX_BF16 (__GNUC__ >= 11)
#else
#define UFORM_TARGET_AVX2 0
#define UFORM_TARGET_AVX_VNNI 0
#define UFORM_TARGET_AVX512 0
#define UFORM_TARGET_AVX512_BF16 0
#define UFORM_TARGET_AMX_BF16 0
#endif

#if defined(__aarch64__) && defined(__clang__)
#define UFORM_TARGET_NEON 1
#define UFORM_TARGET_NEON_BF16 (__clang_major__ >= 16) // before, targets were for whole files only
#elif defined(__aarch64__) && defined(__GNUC__)
#define UFORM_TARGET_NEON 1
#define UFORM_TARGET_NEON_BF16 (__GNUC__ >= 10)
#else
#define UFORM_TARGET_NEON 0
#define UFORM_TARGET_NEON_BF16 0
#endif

/// The functions between the two are compiled with `features`, a string of names separated by commas, on top of the
/// baseline.
#if defined(__clang__)
#define UFORM_TARGET_BEGIN(features)                                                                                   \
    UFORM_PRAGMA_(clang attribute push(__attribute__((target(features))), apply_to = function))
#define UFORM_TARGET_END UFORM_PRAGMA_(clang attribute pop)
#else
#define UFORM_TARGET_BEGIN(features) UFORM_PRAGMA_(GCC push_options) UFORM_PRAGMA_(GCC target(features))
#define UFORM_TARGET_END UFORM_PRAGMA_(GCC pop_options)
#endif

/// Between the two, functions that fill the registers: GCC for Arm would load far ahead first, and then find no place for sums.
#if defined(__aarch64__) && !defined(__clang__)
#define UFORM_UNSCHEDULED_BEGIN UFORM_PRAGMA_(GCC push_options) UFORM_PRAGMA_(GCC optimize("no-schedule-insns"))
#define UFORM_UNSCHEDULED_END UFORM_PRAGMA_(GCC pop_options)
#else
#define UFORM_UNSCHEDULED_BEGIN
#define UFORM_UNSCHEDULED_END
#endif

/// Before a loop of at most 32 rounds whose count is known once inlined: its arrays of vectors then live in registers.
#if defined(__clang__)
#define UFORM_UNROLLED UFORM_PRAGMA_(clang loop unroll(full))
#else
#define UFORM_UNROLLED UFORM_PRAGMA_(GCC unroll 32)
#endif

/// A template: the caller's constants must reach the loops.
#define UFORM_INLINED static inline __attribute__((always_inline))

#endif
