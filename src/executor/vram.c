/**
 *  Executors in VRAM. Devices are found, but no kernels run on them in this build: arguments are checked and the answer
 *  says what is missing. No state.
 */
#include "base/detail.h"
#include "executor/executor.h"
#include "gpu/devices.h"
#include "kernels/kernels.h"

static uform_status_t check_gpu_class(uform_gpu_class_t gpu_class) {
    if (gpu_class <= uform_gpu_class_apple_metal10_k) return uform_status_ok_k;
    return uform_fail_(uform_status_invalid_argument_k, "gpu_class: expected 0 to %d, found %d",
        (int)uform_gpu_class_apple_metal10_k, (int)gpu_class);
}

static uform_status_t check_cpu_class(uform_cpu_class_t cpu_class) {
    if (cpu_class == uform_cpu_class_derived_k) return uform_status_ok_k;
    uform_status_t const status = uform_cpu_class_require_(cpu_class);
    return status == uform_status_ok_k ? status : uform_fail_prefixed_(status, "cpu_class: ");
}

static uform_status_t check_streams(void *const *streams, size_t stream_count, size_t device_count) {
    if (!stream_count) return uform_status_ok_k;
    if (stream_count != device_count)
        return uform_fail_(uform_status_invalid_argument_k,
            "streams: expected none or one for each of %zu devices, found %zu", device_count, stream_count);
    if (streams) return uform_status_ok_k;
    return uform_fail_(uform_status_invalid_argument_k, "streams: expected %zu of them, found NULL", stream_count);
}

uform_status_t uform_executor_for_vram(int32_t const *devices, size_t device_count, uform_gpu_class_t gpu_class,
    int32_t const *memory_domains, size_t memory_domain_count, uform_cpu_class_t cpu_class, void *const *streams,
    size_t stream_count, size_t scratch_limit, size_t deferred_limit, uform_executor_t *executor) {
    (void)scratch_limit, (void)deferred_limit; // any number is legal
    if (!executor) return uform_fail_(uform_status_invalid_argument_k, "executor: expected a pointer, found NULL");
    *executor = NULL;
    uform_status_t status = check_gpu_class(gpu_class);
    if (status == uform_status_ok_k) status = check_streams(streams, stream_count, device_count);
    if (status == uform_status_ok_k) status = check_cpu_class(cpu_class);
    if (status == uform_status_ok_k) status = uform_memory_domains_check_(memory_domains, memory_domain_count);
    if (status == uform_status_ok_k) status = uform_gpu_devices_check_(devices, device_count);
    if (status != uform_status_ok_k) return status;
    return uform_gpu_kernels_require_(devices, gpu_class, "use uform_executor_for_ram");
}
