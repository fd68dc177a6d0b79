/**
 *  AMD's devices through the HIP runtime, libamdhip64.so. A device is an int there, a status is an int whose zero is
 *  success. HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES are the runtime's business.
 *
 *  The architecture's name is told only as a part of a large structure whose layout ROCm 6 changed, under a new name
 *  of the function; the old name still fills the old layout:
 *
 *      hipGetDevicePropertiesR0600     name [256], ..., memory bytes at 288, compute units at 388, gcnArchName, ...
 *      hipGetDeviceProperties          name [256], ..., memory bytes at 256, compute units at 336, gcnArchName, ...
 *
 *  The name, e.g. "gfx942:sramecc+:xnack-", is searched for behind the device's, so its offset doesn't matter.
 */
#include <stdalign.h>
#include <stddef.h>
#include <string.h>

#include "gpu/backend.h"

typedef int (*properties_function_t)(void *properties, int device);

/// The functions by name, with their arguments and whether they are required.
#define HIP_FUNCTIONS(row)                                                                                             \
    row(hipGetDeviceCount, (int *count), true) row(hipGetDevicePropertiesR0600, (void *properties, int device), false) \
        row(hipGetDeviceProperties, (void *properties, int device), false)                                             \
            row(hipDeviceGetName, (char *name, int name_bytes, int device), false)                                     \
                row(hipDeviceTotalMem, (size_t * bytes, int device), false)                                            \
                    row(hipDeviceGetAttribute, (int *value, int attribute, int device), false)

typedef struct hip_t {
#define HIP_ROW(name, arguments, required) int(*name) arguments;
    HIP_FUNCTIONS(HIP_ROW)
#undef HIP_ROW
} hip_t;

static uform_gpu_symbol_t const symbols[] = {
#define HIP_ROW(name, arguments, required) {#name, offsetof(hip_t, name), required},
    HIP_FUNCTIONS(HIP_ROW)
#undef HIP_ROW
};

/// The unversioned name comes with the development files; a machine that only runs programs has the versioned one.
static char const *const files[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

/// Where the structure of properties keeps what is read from it, under either name of the function.
typedef struct layout_t {
    properties_function_t function;
    size_t memory_bytes, compute_units; ///< offsets
} layout_t;

enum {
    attribute_multiprocessor_count_k = 63, ///< by its number in the runtime's interface, since ROCm 4.5
    properties_bytes_k = 8192,             ///< the structure takes 1472 in ROCm 7
    name_bytes_k = 256,                    ///< it begins with the device's name in every layout
};

/// Finds an architecture in the properties behind the device's name; leaves it empty when there is none.
static void find_architecture(char const *properties, char *architecture, size_t capacity) {
    static char const letters[] = "0123456789abcdefghijklmnopqrstuvwxyz-";
    char const *const end = properties + properties_bytes_k;
    for (char const *at = properties + name_bytes_k; at < end; at++) {
        if (end - at < 4 || memcmp(at, "gfx", 3) || at[3] < '0' || at[3] > '9') continue;
        size_t length = 0;
        while (length + 1 < capacity && at + length < end && at[length] && strchr(letters, at[length])) length++;
        memcpy(architecture, at, length);
        architecture[length] = '\0';
        return;
    }
}

/// Asks about one device; false when it tells nothing of itself.
static bool describe(hip_t const *hip, layout_t const *layout, int ordinal, uform_gpu_facts_t *facts) {
    *facts = (uform_gpu_facts_t){.vendor = uform_gpu_vendor_amd_k, .ordinal = ordinal};
    alignas(max_align_t) char properties[properties_bytes_k] = {0};
    if (layout->function(properties, ordinal)) return false;
    find_architecture(properties, facts->architecture, sizeof(facts->architecture));
    if (!hip->hipDeviceGetName || hip->hipDeviceGetName(facts->name, sizeof(facts->name), ordinal))
        memcpy(facts->name, properties, name_bytes_k);
    if (!hip->hipDeviceTotalMem || hip->hipDeviceTotalMem(&facts->memory_bytes, ordinal))
        memcpy(&facts->memory_bytes, properties + layout->memory_bytes, sizeof(facts->memory_bytes));
    if (!hip->hipDeviceGetAttribute ||
        hip->hipDeviceGetAttribute(&facts->compute_units, attribute_multiprocessor_count_k, ordinal))
        memcpy(&facts->compute_units, properties + layout->compute_units, sizeof(facts->compute_units));
    return true;
}

static uform_status_t list_devices(uform_gpu_list_t *list, uform_gpu_reason_t *reason) {
    hip_t hip;
    char const *file;
    uform_status_t status = uform_gpu_library_open_(
        files, sizeof(files) / sizeof(files[0]), symbols, sizeof(symbols) / sizeof(symbols[0]), &hip, &file, reason);
    if (status != uform_status_ok_k || !file) return status;
    layout_t const layout = hip.hipGetDevicePropertiesR0600 ? (layout_t){hip.hipGetDevicePropertiesR0600, 288, 388}
                                                            : (layout_t){hip.hipGetDeviceProperties, 256, 336};
    if (!layout.function)
        return uform_gpu_explain_(reason, "%s: too old or broken: it has no hipGetDeviceProperties", file),
               uform_status_ok_k;
    int count = 0;
    int const result = hip.hipGetDeviceCount(&count);
    if (result) return uform_gpu_explain_(reason, "%s: hipGetDeviceCount answered %d", file, result), uform_status_ok_k;
    uform_gpu_explain_(reason, "%s: it counts %d devices, none of which can be used", file, count);
    if (count > uform_gpu_devices_limit_k) return uform_status_ok_k;
    for (int ordinal = 0; ordinal < count && status == uform_status_ok_k; ordinal++) {
        uform_gpu_facts_t facts;
        if (describe(&hip, &layout, ordinal, &facts)) status = uform_gpu_list_append_(list, &facts);
    }
    return status;
}

uform_gpu_backend_t const uform_gpu_amd_backend_ = {uform_gpu_vendor_amd_k, list_devices};
