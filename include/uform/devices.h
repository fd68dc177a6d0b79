/**
 *  The GPUs that this process can drive, through the drivers their vendors installed.
 *
 *  Drivers are opened when one of these functions is first called, never linked and never before: initialising one
 *  keeps the process's later forks from using it. See docs/devices.md.
 */
#ifndef UFORM_DEVICES_H
#define UFORM_DEVICES_H

#include "uform/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 *  One GPU as UForm numbers it: its position in what `uform_gpu_devices` lists is the ordinal that placements in VRAM
 *  name it by. Zeroed is a valid description of none.
 */
typedef struct uform_gpu_device_t {
    uform_gpu_vendor_t vendor;   ///< whose runtime drives it
    uint32_t vendor_ordinal;     ///< its ordinal in that runtime
    uform_gpu_class_t gpu_class; ///< whose kernels run on it; zero for none, which only AMD's devices can have
    uint32_t compute_units;      ///< streaming multiprocessors or compute units; zero if the driver doesn't tell
    uint64_t memory_bytes;       ///< zero if the driver doesn't tell
    char name[128];              ///< the vendor's own, valid UTF-8, cut before a character that would be split
} uform_gpu_device_t;

/**
 *  Lists every GPU this process can drive: NVIDIA's devices first, then AMD's, each in the order of its runtime.
 *
 *  @param devices      [capacity]; receives as many as fit, the rest stays untouched; may be NULL with a zero capacity.
 *  @param count        Receives how many there are, which may exceed the capacity.
 *
 *  A vendor whose driver is absent, too old or broken lists none, so a machine without GPUs answers zero;
 *  `uform_gpu_vendor_describe` says why. The drivers are asked once in a process, which can take seconds; later calls,
 *  also in forked children, get the same answer. `out_of_memory` is not an answer: the next call asks again.
 *  Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_gpu_devices(
    uform_gpu_device_t *devices, size_t capacity, size_t *count) UFORM_MUST_CHECK;

/**
 *  What became of one vendor's driver in this process.
 */
typedef struct uform_gpu_vendor_description_t {
    uform_gpu_vendor_t vendor;
    size_t device_count; ///< devices of this vendor that are listed
    char reason[256];    ///< why none is, e.g. "libcuda.so.1: cuInit answered 100"; empty if any is
} uform_gpu_vendor_description_t;

/**
 *  Describes the vendor; `invalid_argument` outside 1..3. Asks the drivers like `uform_gpu_devices`. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_gpu_vendor_describe(
    uform_gpu_vendor_t vendor, uform_gpu_vendor_description_t *description) UFORM_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
