/**
 *  The seam between UForm and the vendors' drivers: what a backend gives, and what it is given to give it with. A
 *  vendor is a folder with a driver.c that exports one `uform_gpu_backend_t`, and a row in devices.c.
 */
#ifndef UFORM_GPU_BACKEND_H
#define UFORM_GPU_BACKEND_H

#include <stdint.h>

#include "gpu/library.h"
#include "uform/devices.h"

enum { uform_gpu_devices_limit_k = 1024 }; ///< of one vendor; a driver that counts more is broken

/// What a driver tells about one of its devices.
typedef struct uform_gpu_facts_t {
    uform_gpu_vendor_t vendor;
    int ordinal;
    char architecture[32]; ///< as gpu/classes.inc spells it
    char name[256];        ///< as the driver wrote it: any bytes, maybe without a NUL
    int compute_units;
    size_t memory_bytes;
} uform_gpu_facts_t;

/// What was found, growing.
typedef struct uform_gpu_list_t uform_gpu_list_t;

/// Appends a device, whose class follows from its architecture. `out_of_memory` is the only failure.
uform_status_t uform_gpu_list_append_(uform_gpu_list_t *list, uform_gpu_facts_t const *facts);

typedef struct uform_gpu_backend_t {
    uform_gpu_vendor_t vendor;
    /// Opens the driver and appends its devices in the driver's order. Where there is no driver or it is of no use,
    /// appends nothing and says why. A device that can't be asked is left out. `out_of_memory` is the only failure.
    uform_status_t (*list)(uform_gpu_list_t *list, uform_gpu_reason_t *reason);
} uform_gpu_backend_t;

extern uform_gpu_backend_t const uform_gpu_nvidia_backend_;
extern uform_gpu_backend_t const uform_gpu_amd_backend_;

#endif
