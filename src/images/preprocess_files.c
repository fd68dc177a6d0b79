/**
 *  The files that may hold a preprocessor, in the order transformers looks into them, then UForm 3's.
 */
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "base/detail.h"
#include "images/preprocess.h"

enum { where_bytes_k = 512 };

/// The three files, opened.
typedef struct files_t {
    uform_config_t processor, preprocessor, model;
} files_t;

static uform_status_t read_files(char const *directory, files_t *files, uform_preprocessor_t *preprocessor) {
    uform_status_t status =
        uform_config_open_(directory, "processor_config.json", uform_json_optional_k, &files->processor);
    uform_json_t const *nested = uform_json_find_(files->processor.root, "image_processor");
    if (nested && nested->kind == uform_json_null_k) nested = NULL;
    if (status == uform_status_ok_k && !nested)
        status = uform_config_open_(directory, "preprocessor_config.json", uform_json_optional_k, &files->preprocessor);
    if (status == uform_status_ok_k) status = uform_config_open_model_(directory, uform_json_optional_k, &files->model);
    if (status != uform_status_ok_k) return status;
    char const *model_type = NULL;
    uform_json_t const *const type = uform_json_find_(files->model.root, "model_type");
    if (type && type->kind == uform_json_string_k) model_type = type->text;
    char where[where_bytes_k];
    if (nested) {
        snprintf(where, sizeof(where), "%s: image_processor", files->processor.path);
        return uform_preprocessor_parse_(nested, where, model_type, preprocessor);
    }
    if (files->preprocessor.root)
        return uform_preprocessor_parse_(files->preprocessor.root, files->preprocessor.path, model_type, preprocessor);
    uform_json_t const *const encoder = uform_json_find_(files->model.root, "image_encoder");
    if (encoder && encoder->kind == uform_json_object_k) {
        snprintf(where, sizeof(where), "%s: image_encoder", files->model.path);
        return uform_preprocessor_parse_encoder_(encoder, where, preprocessor);
    }
    return uform_fail_(uform_status_not_found_k,
        "%s: expected preprocessor_config.json, processor_config.json with image_processor, or config.json or "
        "torch_config.json with image_encoder: nothing says how pictures are prepared",
        directory);
}

uform_status_t uform_preprocessor_read_(char const *directory, uform_preprocessor_t *preprocessor) {
    *preprocessor = (uform_preprocessor_t){0};
    files_t files = {{0}, {0}, {0}};
    uform_status_t const status = read_files(directory, &files, preprocessor);
    uform_config_close_(&files.processor);
    uform_config_close_(&files.preprocessor);
    uform_config_close_(&files.model);
    return status;
}
