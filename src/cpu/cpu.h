/**
 *  What the processor has, what the operating system lets the process use of it, and how many cores of it.
 *
 *  Detection is two steps, so that tests replay other machines: a snapshot of raw facts (CPUID registers, XCR0, files
 *  under a root directory), and pure functions from the snapshot to an answer.
 */
#ifndef UFORM_CPU_CPU_H
#define UFORM_CPU_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uform/status.h"

/**
 *  THE TABLE of features: token, CPUID leaf, register (0 EAX, 1 EBX, 2 ECX, 3 EDX), bit, register state it lives
 *  in. A row's position is its bit in a feature mask. `avx10_2` is a version in its leaf, not a bit: see
 *  `uform_cpu_features_`. Arm's are named as Linux names them; their leaf holds what it tells in AT_HWCAP and AT_HWCAP2.
 */
// clang-format off
#define UFORM_FEATURES(row) \
    row(avx2, extended, 1, 5, ymm) \
    row(fma, basic, 2, 12, ymm) \
    row(f16c, basic, 2, 29, ymm) \
    row(bmi2, extended, 1, 8, general) \
    row(avx_vnni, extended_1, 0, 4, ymm) \
    row(avx512f, extended, 1, 16, zmm) \
    row(avx512cd, extended, 1, 28, zmm) \
    row(avx512vl, extended, 1, 31, zmm) \
    row(avx512dq, extended, 1, 17, zmm) \
    row(avx512bw, extended, 1, 30, zmm) \
    row(avx512_vnni, extended, 2, 11, zmm) \
    row(avx512_vbmi, extended, 2, 1, zmm) \
    row(avx512_vbmi2, extended, 2, 6, zmm) \
    row(avx512_bitalg, extended, 2, 12, zmm) \
    row(avx512_vpopcntdq, extended, 2, 14, zmm) \
    row(avx512_ifma, extended, 1, 21, zmm) \
    row(avx512_bf16, extended_1, 0, 5, zmm) \
    row(avx512_fp16, extended, 3, 23, zmm) \
    row(amx_tile, extended, 3, 24, tile) \
    row(amx_bf16, extended, 3, 22, tile) \
    row(amx_int8, extended, 3, 25, tile) \
    row(amx_fp16, extended_1, 0, 21, tile) \
    row(avx10_2, avx10, 1, 0, zmm) \
    row(asimd, arm, 0, 1, general) \
    row(asimddp, arm, 0, 20, general) \
    row(i8mm, arm, 1, 13, general) \
    row(bf16, arm, 1, 14, general)

typedef enum uform_feature_t {
#define UFORM_FEATURE_ROW_(token, leaf, register_, bit, state) uform_feature_##token##_k,
    UFORM_FEATURES(UFORM_FEATURE_ROW_)
#undef UFORM_FEATURE_ROW_
    uform_feature_count_k
} uform_feature_t;
// clang-format on

#define UFORM_FEATURE(token) (UINT64_C(1) << uform_feature_##token##_k)

/**
 *  What a class needs, for the rows of `kernels/classes.inc`.
 */
#define UFORM_FEATURES_HASWELL (UFORM_FEATURE(avx2) | UFORM_FEATURE(fma) | UFORM_FEATURE(f16c) | UFORM_FEATURE(bmi2))
// Not AVX-VNNI-INT8, AVX-NE-CONVERT and AVX-IFMA, which Sierra Forest has as well: the kernels do without, and so serve the client
// processors that have AVX-VNNI alone, from Alder Lake on.
#define UFORM_FEATURES_SIERRA (UFORM_FEATURES_HASWELL | UFORM_FEATURE(avx_vnni))
#define UFORM_FEATURES_SKYLAKE                                                                                         \
    (UFORM_FEATURES_HASWELL | UFORM_FEATURE(avx512f) | UFORM_FEATURE(avx512cd) | UFORM_FEATURE(avx512vl) |             \
        UFORM_FEATURE(avx512dq) | UFORM_FEATURE(avx512bw))
#define UFORM_FEATURES_ICELAKE                                                                                         \
    (UFORM_FEATURES_SKYLAKE | UFORM_FEATURE(avx512_vnni) | UFORM_FEATURE(avx512_vbmi) | UFORM_FEATURE(avx512_vbmi2) |  \
        UFORM_FEATURE(avx512_bitalg) | UFORM_FEATURE(avx512_vpopcntdq) | UFORM_FEATURE(avx512_ifma))
#define UFORM_FEATURES_GENOA (UFORM_FEATURES_ICELAKE | UFORM_FEATURE(avx512_bf16))
#define UFORM_FEATURES_SAPPHIRE                                                                                        \
    (UFORM_FEATURES_GENOA | UFORM_FEATURE(avx512_fp16) | UFORM_FEATURE(amx_tile) | UFORM_FEATURE(amx_bf16) |           \
        UFORM_FEATURE(amx_int8))
#define UFORM_FEATURES_GRANITE (UFORM_FEATURES_SAPPHIRE | UFORM_FEATURE(amx_fp16))
#define UFORM_FEATURES_DIAMOND (UFORM_FEATURES_GRANITE | UFORM_FEATURE(avx10_2))
#define UFORM_FEATURES_G2 UFORM_FEATURE(asimd)
#define UFORM_FEATURES_M2 (UFORM_FEATURES_G2 | UFORM_FEATURE(asimddp) | UFORM_FEATURE(i8mm) | UFORM_FEATURE(bf16))

/// CPUID leaves that detection reads: 1.0, 7.0, 7.1, 0x24.0; then lower halves of AT_HWCAP and AT_HWCAP2, and two zeros. A leaf
/// the processor doesn't have is all zeros.
typedef enum uform_leaf_t {
    uform_leaf_basic_k,
    uform_leaf_extended_k,
    uform_leaf_extended_1_k,
    uform_leaf_avx10_k,
    uform_leaf_arm_k,
    uform_leaf_count_k
} uform_leaf_t;

/// The raw facts about a processor. All zeros on another architecture than x86 and 64-bit Arm.
typedef struct uform_cpu_identity_t {
    uint32_t leaves[uform_leaf_count_k][4]; ///< EAX, EBX, ECX, EDX of each leaf
    uint64_t xcr0;                          ///< register states the operating system enabled; zero without OSXSAVE
} uform_cpu_identity_t;

/// What follows from them, as masks of `UFORM_FEATURE(token)`.
typedef struct uform_cpu_features_t {
    uint64_t processor; ///< what CPUID or the operating system announces
    uint64_t enabled;   ///< what of it lives in register state that the operating system enabled
} uform_cpu_features_t;

/// Reads the processor this runs on. Thread-safe.
void uform_cpu_identify_(uform_cpu_identity_t *identity);

/// From raw facts to masks; pure.
uform_cpu_features_t uform_cpu_features_(uform_cpu_identity_t const *identity);

/// Asks the operating system for tile state, for the whole process, and returns zero or an errno. Idempotent and
/// thread-safe.
typedef int (*uform_tile_permission_t)(void);
int uform_cpu_permit_tiles_(void);

/// Whether a machine with `features` offers everything in `required`, a mask; `permit` is called only if all else is
/// there and tiles are among it. If not, `reason` [capacity] says what is missing, else it becomes empty.
bool uform_cpu_offers_(
    uform_cpu_features_t features, uint64_t required, uform_tile_permission_t permit, char *reason, size_t capacity);

/// The processor's own name into `name` [capacity], trimmed; empty where it gives none. Thread-safe.
void uform_cpu_name_(char *name, size_t capacity);

#endif
