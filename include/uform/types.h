/**
 *  Scalars, precisions, CPU and GPU classes, vendors, devices. The values are part of the ABI.
 */
#ifndef UFORM_TYPES_H
#define UFORM_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uform/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 *  Scalar types of weights, of arithmetic (precisions) and of embeddings. Zero means "derive" wherever one is an option.
 */
#define UFORM_SCALARS(row) row(f32, 1) row(f16, 2) row(bf16, 3) row(i8, 4) row(b1, 5)

typedef enum uform_scalar_t {
    uform_scalar_derived_k = 0,
#define UFORM_SCALAR_ROW_(name, value) uform_scalar_##name##_k = value,
    UFORM_SCALARS(UFORM_SCALAR_ROW_)
#undef UFORM_SCALAR_ROW_
} uform_scalar_t;

/**
 *  The CPU families with tuned variants; zero means "derive the machine's own".
 */
#define UFORM_CPU_CLASSES(row)                                                                                         \
    row(serial, 1) row(intel_haswell, 2) row(intel_sierra, 3) row(intel_skylake, 4) row(intel_icelake, 5)              \
        row(amd_genoa, 6) row(intel_sapphire, 7) row(intel_granite, 8) row(intel_diamond, 9) row(aws_g2, 10)           \
            row(apple_m2, 11) row(apple_m4, 12) row(aws_g5, 13) row(nvidia_vera, 14) row(alibaba_c930, 15)             \
                row(wasm32_v128, 16) row(wasm64_extended, 17) row(monoversioned, 18)

typedef enum uform_cpu_class_t {
    uform_cpu_class_derived_k = 0,
#define UFORM_CPU_CLASS_ROW_(name, value) uform_cpu_class_##name##_k = value,
    UFORM_CPU_CLASSES(UFORM_CPU_CLASS_ROW_)
#undef UFORM_CPU_CLASS_ROW_
} uform_cpu_class_t;

/**
 *  The GPU families with tuned variants; zero means "derive the device's own".
 */
#define UFORM_GPU_CLASSES(row)                                                                                         \
    row(nvidia_ampere, 1) row(nvidia_ada, 2) row(nvidia_hopper, 3) row(nvidia_blackwell, 4)                            \
        row(nvidia_blackwell_rtx, 5) row(nvidia_rubin, 6) row(amd_cdna3, 7) row(amd_cdna4, 8) row(amd_cdna5, 9)        \
            row(apple_metal7, 10) row(apple_metal9, 11) row(apple_metal10, 12)

typedef enum uform_gpu_class_t {
    uform_gpu_class_derived_k = 0,
#define UFORM_GPU_CLASS_ROW_(name, value) uform_gpu_class_##name##_k = value,
    UFORM_GPU_CLASSES(UFORM_GPU_CLASS_ROW_)
#undef UFORM_GPU_CLASS_ROW_
} uform_gpu_class_t;

/**
 *  The GPU vendors one binary drives at once.
 */
#define UFORM_GPU_VENDORS(row) row(nvidia, 1) row(amd, 2) row(apple, 3)

typedef enum uform_gpu_vendor_t {
#define UFORM_GPU_VENDOR_ROW_(name, value) uform_gpu_vendor_##name##_k = value,
    UFORM_GPU_VENDORS(UFORM_GPU_VENDOR_ROW_)
#undef UFORM_GPU_VENDOR_ROW_
} uform_gpu_vendor_t;

/**
 *  How NVLink domains reduce: in the switch through multicast memory, or by every member reading its peers in a fixed
 *  order, with bit-identical results.
 */
#define UFORM_MULTIMEM_TIERS(row) row(switch_reduced, 0) row(peer_read, 1)

typedef enum uform_multimem_tier_t {
#define UFORM_MULTIMEM_TIER_ROW_(name, value) uform_multimem_tier_##name##_k = value,
    UFORM_MULTIMEM_TIERS(UFORM_MULTIMEM_TIER_ROW_)
#undef UFORM_MULTIMEM_TIER_ROW_
} uform_multimem_tier_t;

/**
 *  A type's or a class's token, e.g. "intel_sapphire"; "derived" for zero where zero derives, "unknown" outside the
 *  enumeration. Static storage, thread-safe.
 */
UFORM_PUBLIC char const *uform_scalar_name(uform_scalar_t scalar);
UFORM_PUBLIC char const *uform_cpu_class_name(uform_cpu_class_t cpu_class);
UFORM_PUBLIC char const *uform_gpu_class_name(uform_gpu_class_t gpu_class);
UFORM_PUBLIC char const *uform_gpu_vendor_name(uform_gpu_vendor_t gpu_vendor);
UFORM_PUBLIC char const *uform_multimem_tier_name(uform_multimem_tier_t multimem_tier);

/**
 *  The inverse of `_name`: exact tokens only, "derived" excepted. `not_found` names the token; the output is then zero.
 *  Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_scalar_parse(char const *token, uform_scalar_t *scalar) UFORM_MUST_CHECK;
UFORM_PUBLIC uform_status_t uform_cpu_class_parse(char const *token, uform_cpu_class_t *cpu_class) UFORM_MUST_CHECK;
UFORM_PUBLIC uform_status_t uform_gpu_class_parse(char const *token, uform_gpu_class_t *gpu_class) UFORM_MUST_CHECK;
UFORM_PUBLIC uform_status_t uform_gpu_vendor_parse(char const *token, uform_gpu_vendor_t *gpu_vendor) UFORM_MUST_CHECK;
UFORM_PUBLIC uform_status_t uform_multimem_tier_parse(
    char const *token, uform_multimem_tier_t *multimem_tier) UFORM_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
