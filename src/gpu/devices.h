/**
 *  What placements in VRAM need of devices: whether a list of them can be served, and with which kernels.
 */
#ifndef UFORM_GPU_DEVICES_H
#define UFORM_GPU_DEVICES_H

#include "uform/devices.h"

/// Whether a list of devices can be served: `invalid_argument` for none, NULL, negative or repeated positions,
/// `unsupported` for positions beyond what `uform_gpu_devices` lists.
uform_status_t uform_gpu_devices_check_(int32_t const *devices, size_t device_count);

/// `unsupported`, naming the kernels this build lacks: those of the pinned class, or for zero those of the devices',
/// which have been checked. `instead` says what the caller can do.
uform_status_t uform_gpu_kernels_require_(int32_t const *devices, uform_gpu_class_t gpu_class, char const *instead);

/// The class of a vendor's architecture; zero when no class has kernels for it. See gpu/classes.inc.
uform_gpu_class_t uform_gpu_class_of_(uform_gpu_vendor_t vendor, char const *architecture);

#endif
