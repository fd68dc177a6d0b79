/**
 *  Models in VRAM. Devices are found, but no kernels run on them in this build: arguments are checked and the answer
 *  says what is missing. No state.
 */
#include "base/detail.h"
#include "gpu/devices.h"
#include "models/model.h"
#include "uform/model.h"

uform_status_t uform_model_load_vram(char const *directory, int32_t const *devices, size_t device_count,
    uform_model_options_t const *options, uform_model_t *model) {
    if (!model)
        return uform_fail_(uform_status_invalid_argument_k, "model: expected a place for the model, found NULL");
    *model = NULL;
    if (!directory) return uform_fail_(uform_status_invalid_argument_k, "directory: expected a path, found NULL");
    uform_model_options_t chosen;
    uform_status_t status = uform_model_options_read_(options, &chosen);
    if (status == uform_status_ok_k) status = uform_gpu_devices_check_(devices, device_count);
    if (status != uform_status_ok_k) return status;
    return uform_gpu_kernels_require_(devices, uform_gpu_class_derived_k, "use uform_model_load_ram");
}
