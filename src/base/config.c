/**
 *  A JSON file of a directory.
 */
#include "base/config.h"

#include "base/detail.h"
#include "base/file.h"
#include "base/memory.h"

uform_status_t uform_config_open_(
    char const *directory, char const *name, uform_json_need_t need, uform_config_t *config) {
    *config = (uform_config_t){0};
    config->path = uform_path_join_(directory, name);
    if (!config->path) return uform_status_out_of_memory_k;
    if (need == uform_json_optional_k && !uform_file_exists_(config->path)) return uform_status_ok_k;
    uform_status_t const status = uform_json_open_(config->path, &config->document);
    if (status != uform_status_ok_k) return status;
    if (config->document.root->kind != uform_json_object_k)
        return uform_fail_(uform_status_malformed_k, "%s: expected an object", config->path);
    config->root = config->document.root;
    return uform_status_ok_k;
}

uform_status_t uform_config_open_model_(char const *directory, uform_json_need_t need, uform_config_t *config) {
    uform_status_t const status = uform_config_open_(directory, "torch_config.json", uform_json_optional_k, config);
    if (status != uform_status_ok_k || config->root) return status;
    uform_config_close_(config);
    return uform_config_open_(directory, "config.json", need, config);
}

void uform_config_close_(uform_config_t *config) {
    uform_json_close_(&config->document);
    uform_free_(config->path);
    *config = (uform_config_t){0};
}
