/**
 *  Opens a model directory part by part and finds the transformer's tensors under the names they may have.
 */
#include "models/directory.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/detail.h"
#include "base/file.h"
#include "base/memory.h"
#include "models/directory_parts.h"

enum { name_bytes_k = 256 };

/// `prefix` + `stem` with the layer in place of `%zu` + `.suffix`.
static void compose_name(char const *prefix, char const *stem, size_t layer, char const *suffix, char *name) {
    static char const placeholder[] = "%zu";
    char const *hole = strstr(stem, placeholder);
    if (!hole) snprintf(name, name_bytes_k, "%s%s.%s", prefix, stem, suffix);
    else
        snprintf(name, name_bytes_k, "%s%.*s%zu%s.%s", prefix, (int)(hole - stem), stem, layer,
            hole + sizeof(placeholder) - 1, suffix);
}

/// The name a layer normalisation's parameter had before PyTorch's own; NULL for others.
static char const *old_suffix(char const *suffix) {
    static char const *const pairs[][2] = {{"weight", "gamma"}, {"bias", "beta"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); ++i)
        if (!strcmp(suffix, pairs[i][0])) return pairs[i][1];
    return NULL;
}

/// The prefix the file uses, judged by its word embeddings, so that a missing tensor is named as its neighbours are.
static char const *prefix_in_use(uform_directory_t const *directory) {
    char name[name_bytes_k];
    uform_tensor_t tensor;
    for (char const *const *prefix = directory->architecture->prefixes; *prefix; ++prefix) {
        compose_name(*prefix, directory->architecture->words, 0, "weight", name);
        if (uform_weights_find_(&directory->weights, name, &tensor)) return *prefix;
    }
    return "";
}

uform_status_t uform_directory_tensor_(uform_directory_t const *directory, char const *stem, size_t layer,
    char const *suffix, size_t rows, size_t columns, uform_tensor_t *tensor) {
    char const *const suffixes[] = {suffix, old_suffix(suffix)};
    char name[name_bytes_k];
    for (char const *const *prefix = directory->architecture->prefixes; *prefix; ++prefix) {
        for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); ++i) {
            if (!suffixes[i]) continue;
            compose_name(*prefix, stem, layer, suffixes[i], name);
            if (uform_weights_find_(&directory->weights, name, tensor))
                return uform_weights_require_(&directory->weights, name, rows, columns, tensor);
        }
    }
    compose_name(prefix_in_use(directory), stem, layer, suffix, name);
    return uform_weights_require_(&directory->weights, name, rows, columns, tensor);
}

static uform_status_t check_directory(char const *path) {
    struct stat facts;
    if (stat(path, &facts) != 0) return uform_fail_(uform_status_not_found_k, "%s: no such directory", path);
    if (!S_ISDIR(facts.st_mode))
        return uform_fail_(uform_status_not_found_k, "%s: expected a directory, found a file", path);
    return uform_status_ok_k;
}

/// Adapters change the weights they stand beside, so a directory with one is not what its model.safetensors says.
static uform_status_t refuse_adapter(char const *transformer) {
    char *path = uform_path_join_(transformer, "adapter_config.json");
    if (!path) return uform_status_out_of_memory_k;
    bool const exists = uform_file_exists_(path);
    uform_status_t const status =
        exists ? uform_fail_(uform_status_unsupported_k, "%s: adapters are not supported: merge them", path)
               : uform_status_ok_k;
    uform_free_(path);
    return status;
}

static uform_status_t open_tokenizer(char const *transformer, uform_directory_t *directory) {
    char *path = uform_path_join_(transformer, "tokenizer.json");
    if (!path) return uform_status_out_of_memory_k;
    uform_status_t status = uform_tokenizer_load_(path, &directory->tokenizer_settings, &directory->tokenizer);
    if (status == uform_status_ok_k) {
        if (directory->truncate_left == uform_switch_auto_k)
            directory->truncate_left =
                uform_tokenizer_truncates_left_(directory->tokenizer) ? uform_switch_on_k : uform_switch_off_k;
        size_t const specials = uform_tokenizer_special_count_(directory->tokenizer);
        if (directory->max_tokens < specials)
            status = uform_fail_(uform_status_unsupported_k,
                "%s: its %zu special tokens are more than the directory's limit of %zu tokens a text", path, specials,
                directory->max_tokens);
    }
    uform_free_(path);
    return status;
}

static uform_status_t open_parts(char const *transformer, bool is_sentence_transformer, uform_directory_t *directory) {
    uform_status_t status = refuse_adapter(transformer);
    if (status == uform_status_ok_k) status = uform_directory_read_sizes_(transformer, directory);
    if (status == uform_status_ok_k)
        status = uform_directory_read_limits_(transformer, is_sentence_transformer, directory);
    if (status == uform_status_ok_k && is_sentence_transformer) status = uform_directory_read_prompts_(directory);
    if (status == uform_status_ok_k) status = uform_directory_read_modules_(directory);
    if (status == uform_status_ok_k) status = uform_weights_open_(transformer, &directory->weights);
    if (status == uform_status_ok_k) status = open_tokenizer(transformer, directory);
    return status;
}

uform_status_t uform_directory_open_(char const *path, uform_directory_t *directory) {
    *directory = (uform_directory_t){0};
    uform_status_t status = check_directory(path);
    if (status != uform_status_ok_k) return status;
    directory->path = uform_path_join_(path, "");
    if (!directory->path) return uform_status_out_of_memory_k;
    char *transformer = NULL;
    bool is_sentence_transformer = false;
    status = uform_directory_find_transformer_(directory, &transformer, &is_sentence_transformer);
    if (status == uform_status_ok_k) status = open_parts(transformer, is_sentence_transformer, directory);
    uform_free_(transformer);
    if (status != uform_status_ok_k) uform_directory_close_(directory);
    return status;
}

void uform_directory_close_(uform_directory_t *directory) {
    for (size_t i = 0; i < directory->dense_count; ++i) uform_weights_close_(&directory->dense[i].weights);
    for (size_t i = 0; i < directory->prompt_count; ++i) {
        uform_free_(directory->prompts[i].name);
        uform_free_(directory->prompts[i].text);
    }
    uform_free_(directory->dense);
    uform_free_(directory->prompts);
    uform_weights_close_(&directory->weights);
    if (directory->tokenizer) uform_tokenizer_free_(directory->tokenizer);
    uform_free_(directory->path);
    *directory = (uform_directory_t){0};
}
