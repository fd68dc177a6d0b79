/**
 *  The files that may hold a preprocessor, in the order transformers looks into them, then UForm 3's.
 */
#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "base/file.h"
#include "base/memory.h"
#include "images/preprocess.h"

enum { where_bytes_k = 512 };

/// A JSON file of a directory, which may be absent. Zeroed is a valid closed one.
typedef struct document_t {
    char *path;
    uform_json_document_t json;
    uform_json_t const *root; ///< an object; NULL without the file
} document_t;

static void close_document(document_t *document) {
    uform_json_close_(&document->json);
    uform_free_(document->path);
    *document = (document_t){0};
}

static uform_status_t open_document(char const *directory, char const *name, document_t *document) {
    *document = (document_t){0};
    document->path = uform_path_join_(directory, name);
    if (!document->path) return uform_status_out_of_memory_k;
    if (!uform_file_exists_(document->path)) return uform_status_ok_k;
    uform_status_t const status = uform_json_open_(document->path, &document->json);
    if (status != uform_status_ok_k) return status;
    if (document->json.root->kind != uform_json_object_k)
        return uform_fail_(uform_status_malformed_k, "%s: expected an object", document->path);
    document->root = document->json.root;
    return uform_status_ok_k;
}

/// The three files, opened.
typedef struct files_t {
    document_t processor, preprocessor, config;
} files_t;

static uform_status_t read_files(char const *directory, files_t *files, uform_preprocessor_t *preprocessor) {
    uform_status_t status = open_document(directory, "processor_config.json", &files->processor);
    uform_json_t const *const nested = uform_json_find_(files->processor.root, "image_processor");
    if (status == uform_status_ok_k && !nested)
        status = open_document(directory, "preprocessor_config.json", &files->preprocessor);
    if (status == uform_status_ok_k) status = open_document(directory, "config.json", &files->config);
    if (status != uform_status_ok_k) return status;
    char const *model_type = NULL;
    uform_json_t const *const type = uform_json_find_(files->config.root, "model_type");
    if (type && type->kind == uform_json_string_k) model_type = type->text;
    char where[where_bytes_k];
    if (nested) {
        snprintf(where, sizeof(where), "%s: image_processor", files->processor.path);
        return uform_preprocessor_parse_(nested, where, model_type, preprocessor);
    }
    if (files->preprocessor.root)
        return uform_preprocessor_parse_(files->preprocessor.root, files->preprocessor.path, model_type, preprocessor);
    uform_json_t const *const encoder = uform_json_find_(files->config.root, "image_encoder");
    if (encoder && encoder->kind == uform_json_object_k) {
        snprintf(where, sizeof(where), "%s: image_encoder", files->config.path);
        return uform_preprocessor_parse_encoder_(encoder, where, preprocessor);
    }
    return uform_fail_(uform_status_not_found_k,
        "%s: expected preprocessor_config.json, processor_config.json with image_processor, or config.json with "
        "image_encoder: nothing says how pictures are prepared",
        directory);
}

uform_status_t uform_preprocessor_read_(char const *directory, uform_preprocessor_t *preprocessor) {
    *preprocessor = (uform_preprocessor_t){0};
    files_t files = {{0}, {0}, {0}};
    uform_status_t const status = read_files(directory, &files, preprocessor);
    close_document(&files.processor);
    close_document(&files.preprocessor);
    close_document(&files.config);
    return status;
}
