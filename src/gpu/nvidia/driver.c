/**
 *  NVIDIA's devices through the CUDA driver, libcuda.so.1. A device is an int there, a status is an int whose zero is
 *  success. CUDA_VISIBLE_DEVICES is the driver's business: it counts and orders accordingly.
 */
#include <stddef.h>
#include <stdio.h>

#include "gpu/backend.h"

/// The functions by name, with their arguments; all of them have been there since CUDA 3.2.
#define CUDA_FUNCTIONS(row)                                                                                            \
    row(cuInit, (unsigned flags)) row(cuDeviceGetCount, (int *count)) row(cuDeviceGet, (int *device, int ordinal))     \
        row(cuDeviceGetAttribute, (int *value, int attribute, int device))                                             \
            row(cuDeviceGetName, (char *name, int name_bytes, int device))                                             \
                row(cuDeviceTotalMem_v2, (size_t * bytes, int device))

typedef struct cuda_t {
#define CUDA_ROW(name, arguments) int(*name) arguments;
    CUDA_FUNCTIONS(CUDA_ROW)
#undef CUDA_ROW
} cuda_t;

static uform_gpu_symbol_t const symbols[] = {
#define CUDA_ROW(name, arguments) {#name, offsetof(cuda_t, name), true},
    CUDA_FUNCTIONS(CUDA_ROW)
#undef CUDA_ROW
};

static char const *const files[] = {"libcuda.so.1"};

/// Attributes by their numbers in the driver's interface.
enum {
    attribute_multiprocessor_count_k = 16,
    attribute_compute_capability_major_k = 75,
    attribute_compute_capability_minor_k = 76,
};

/// Asks about one device; false when it doesn't even tell its compute capability.
static bool describe(cuda_t const *cuda, int ordinal, uform_gpu_facts_t *facts) {
    *facts = (uform_gpu_facts_t){.vendor = uform_gpu_vendor_nvidia_k, .ordinal = ordinal};
    int device = 0, major = 0, minor = 0;
    if (cuda->cuDeviceGet(&device, ordinal)) return false;
    if (cuda->cuDeviceGetAttribute(&major, attribute_compute_capability_major_k, device)) return false;
    if (cuda->cuDeviceGetAttribute(&minor, attribute_compute_capability_minor_k, device)) return false;
    snprintf(facts->architecture, sizeof(facts->architecture), "%d.%d", major, minor);
    if (cuda->cuDeviceGetAttribute(&facts->compute_units, attribute_multiprocessor_count_k, device))
        facts->compute_units = 0;
    if (cuda->cuDeviceGetName(facts->name, sizeof(facts->name), device)) facts->name[0] = '\0';
    if (cuda->cuDeviceTotalMem_v2(&facts->memory_bytes, device)) facts->memory_bytes = 0;
    return true;
}

static uform_status_t list_devices(uform_gpu_list_t *list, uform_gpu_reason_t *reason) {
    cuda_t cuda;
    char const *file;
    uform_status_t status = uform_gpu_library_open_(
        files, sizeof(files) / sizeof(files[0]), symbols, sizeof(symbols) / sizeof(symbols[0]), &cuda, &file, reason);
    if (status != uform_status_ok_k || !file) return status;
    int result = cuda.cuInit(0);
    if (result) return uform_gpu_explain_(reason, "%s: cuInit answered %d", file, result), uform_status_ok_k;
    int count = 0;
    result = cuda.cuDeviceGetCount(&count);
    if (result) return uform_gpu_explain_(reason, "%s: cuDeviceGetCount answered %d", file, result), uform_status_ok_k;
    uform_gpu_explain_(reason, "%s: it counts %d devices, none of which can be used", file, count);
    if (count > uform_gpu_devices_limit_k) return uform_status_ok_k;
    for (int ordinal = 0; ordinal < count && status == uform_status_ok_k; ordinal++) {
        uform_gpu_facts_t facts;
        if (describe(&cuda, ordinal, &facts)) status = uform_gpu_list_append_(list, &facts);
    }
    return status;
}

uform_gpu_backend_t const uform_gpu_nvidia_backend_ = {uform_gpu_vendor_nvidia_k, list_devices};
