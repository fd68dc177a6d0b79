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
#include "models/directory_explain.h"
#include "models/directory_parts.h"

enum { name_bytes_k = 256 };

/// `prefix` + the first of the stem's alternatives with the layer in place of `%zu` + `.suffix`, if there is one. A stem that
/// ends in '_' needs no dot. Returns the stem's rest behind the '|', or NULL.
static char const *compose_name(
    char const *prefix, char const *stem, size_t layer, char const *suffix, char name[name_bytes_k]) {
    static char const placeholder[] = "%zu";
    size_t const length = strcspn(stem, "|");
    char const *hole = strstr(stem, placeholder), *const end = stem + length;
    char const *const dot = suffix && end[-1] != '_' ? "." : "";
    if (!suffix) suffix = "";
    if (!hole || hole > end) snprintf(name, name_bytes_k, "%s%.*s%s%s", prefix, (int)length, stem, dot, suffix);
    else {
        char const *const rest = hole + sizeof(placeholder) - 1;
        snprintf(name, name_bytes_k, "%s%.*s%zu%.*s%s%s", prefix, (int)(hole - stem), stem, layer, (int)(end - rest),
            rest, dot, suffix);
    }
    return *end ? end + 1 : NULL;
}

/// The name a layer normalisation's parameter had before PyTorch's own; NULL for others.
static char const *old_suffix(char const *suffix) {
    if (!suffix) return NULL;
    static char const *const pairs[][2] = {{"weight", "gamma"}, {"bias", "beta"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); ++i)
        if (!strcmp(suffix, pairs[i][0])) return pairs[i][1];
    return NULL;
}

uform_weights_t const *uform_directory_weights_(uform_directory_t const *directory, uform_tower_t const *tower) {
    return tower->own_weights ? &directory->image_weights : &directory->weights;
}

bool uform_directory_find_(uform_directory_t const *directory, uform_tower_t const *tower, char const *const *prefixes,
    char const *stem, size_t layer, char const *suffix, uform_tensor_t *tensor) {
    char const *const suffixes[] = {suffix, old_suffix(suffix)};
    char name[name_bytes_k];
    for (char const *const *prefix = prefixes ? prefixes : tower->architecture->prefixes; *prefix; ++prefix) {
        for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); ++i) {
            if (i && !suffixes[i]) continue;
            for (char const *rest = stem; rest;) {
                rest = compose_name(*prefix, rest, layer, suffixes[i], name);
                if (uform_weights_find_(uform_directory_weights_(directory, tower), name, tensor)) return true;
            }
        }
    }
    return false;
}

/// The prefix the file uses, judged by what turns texts or images into vectors, so that a missing tensor is named as its
/// neighbours are.
static char const *prefix_in_use(uform_directory_t const *directory, uform_tower_t const *tower) {
    uform_architecture_t const *architecture = tower->architecture;
    char name[name_bytes_k];
    uform_tensor_t tensor;
    for (char const *const *prefix = architecture->prefixes; *prefix; ++prefix) {
        (void)compose_name(*prefix, architecture->words ? architecture->words : architecture->patches, 0,
            architecture->words ? NULL : "weight", name);
        if (uform_weights_find_(uform_directory_weights_(directory, tower), name, &tensor)) return *prefix;
    }
    return architecture->prefixes[0];
}

uform_status_t uform_directory_tensor_(uform_directory_t const *directory, uform_tower_t const *tower, char const *stem,
    size_t layer, char const *suffix, size_t rows, size_t columns, uform_tensor_t *tensor) {
    uform_weights_t const *weights = uform_directory_weights_(directory, tower);
    if (tower->layer_numbers && strchr(stem, '%')) layer = tower->layer_numbers[layer];
    if (uform_directory_find_(directory, tower, NULL, stem, layer, suffix, tensor))
        return uform_weights_require_(weights, tensor->name, rows, columns, tensor);
    char name[name_bytes_k];
    (void)compose_name(prefix_in_use(directory, tower), stem, layer, suffix, name);
    return uform_weights_require_(weights, name, rows, columns, tensor);
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

/// What tokenizer.json says has to fit config.json.
static uform_status_t check_tokenizer(char const *path, uform_directory_t *directory) {
    uform_architecture_t const *architecture = directory->text.architecture;
    bool const left = uform_tokenizer_truncates_left_(directory->tokenizer) && !architecture->cut_bluntly;
    if (directory->truncate_left == uform_switch_auto_k)
        directory->truncate_left = left ? uform_switch_on_k : uform_switch_off_k;
    size_t const specials = uform_tokenizer_special_count_(directory->tokenizer);
    if (directory->max_tokens < specials && !architecture->cut_bluntly)
        return uform_fail_(uform_status_unsupported_k,
            "%s: its %zu special tokens are more than the directory's limit of %zu tokens a text", path, specials,
            directory->max_tokens);
    return uform_directory_settle_padding_(path, directory);
}

static uform_status_t open_tokenizer(char const *transformer, uform_directory_t *directory) {
    static char const name[] = "tokenizer.json";
    uform_bytes_t *const made = &directory->made_tokenizer;
    char *path = uform_path_join_(transformer, made->length ? "vocab.txt" : name);
    if (!path) return uform_status_out_of_memory_k;
    uform_status_t status = uform_status_ok_k;
    bool const absent = !uform_file_exists_(path);
    if (absent) status = uform_directory_open_old_clip_(transformer, directory);
    // The other tower of two may still be of use.
    bool const missing = absent && status == uform_status_ok_k && !directory->tokenizer;
    if (missing && directory->image.architecture) directory->text.missing = name;
    else if (made->length)
        status = uform_tokenizer_parse_(
            made->data, made->length, path, &directory->tokenizer_settings, &directory->tokenizer);
    else if (missing || !absent)
        status = uform_tokenizer_load_(path, &directory->tokenizer_settings, &directory->tokenizer);
    uform_bytes_free_(made);
    if (status == uform_status_not_found_k) status = uform_directory_explain_tokenizer_(transformer);
    if (status == uform_status_ok_k && directory->tokenizer) status = check_tokenizer(path, directory);
    uform_free_(path);
    return status;
}

/// The weights of both towers: in one file or its shards, or each in its own.
static uform_status_t open_weights(char const *transformer, uform_directory_t *directory) {
    uform_family_t const *family = directory->family;
    bool together = true;
    if (family->text_file && uform_weights_exist_(transformer, &together)) return uform_status_out_of_memory_k;
    if (together) return uform_weights_open_(transformer, &directory->weights);
    uform_status_t text = uform_status_not_found_k, image = uform_status_not_found_k;
    if (directory->text.architecture)
        text = uform_weights_open_file_(transformer, family->text_file, &directory->weights);
    if (text == uform_status_not_found_k) directory->text.missing = family->text_file;
    else if (text != uform_status_ok_k) return text;
    if (directory->image.architecture)
        image = uform_weights_open_file_(transformer, family->image_file, &directory->image_weights);
    directory->image.own_weights = true;
    if (image == uform_status_not_found_k) directory->image.missing = family->image_file;
    else if (image != uform_status_ok_k) return image;
    return text == uform_status_ok_k ? text : image;
}

static uform_status_t open_preprocessor(char const *transformer, uform_directory_t *directory) {
    uform_status_t const status = uform_preprocessor_read_(transformer, &directory->preprocessor);
    if (status != uform_status_not_found_k || !directory->text.architecture || directory->text.missing) return status;
    directory->image.missing = "preprocessor_config.json";
    return uform_status_ok_k;
}

/// Lengths of what the tower gives. Two towers give as much.
static uform_status_t measure_towers(uform_directory_t *directory) {
    uform_tower_t *const towers[] = {&directory->text, &directory->image};
    for (size_t i = 0; i < 2; ++i) {
        towers[i]->pooled_width = towers[i]->sizes.width * towers[i]->pooling_count;
        towers[i]->dimensions =
            towers[i]->dense_count ? towers[i]->dense[towers[i]->dense_count - 1].outputs : towers[i]->pooled_width;
    }
    bool const both = uform_tower_works_(&directory->text) && uform_tower_works_(&directory->image);
    if (!both || directory->text.dimensions == directory->image.dimensions) return uform_status_ok_k;
    return uform_fail_(uform_status_malformed_k, "%s: texts become %zu numbers and images %zu: expected one space",
        directory->weights.path, directory->text.dimensions, directory->image.dimensions);
}

static uform_status_t open_parts(char const *transformer, bool is_sentence_transformer, uform_directory_t *directory) {
    uform_status_t status = refuse_adapter(transformer);
    if (status == uform_status_ok_k) status = uform_directory_read_config_(transformer, directory);
    bool const texts = directory->text.architecture, images = directory->image.architecture;
    if (status == uform_status_ok_k)
        status = uform_directory_read_limits_(transformer, is_sentence_transformer, directory);
    if (status == uform_status_ok_k && is_sentence_transformer) status = uform_directory_read_prompts_(directory);
    if (status == uform_status_ok_k) status = uform_directory_read_modules_(directory);
    if (status == uform_status_ok_k) status = open_weights(transformer, directory);
    if (status == uform_status_ok_k && texts) status = open_tokenizer(transformer, directory);
    if (status == uform_status_ok_k && images) status = open_preprocessor(transformer, directory);
    if (status == uform_status_ok_k) status = uform_directory_read_projections_(directory);
    return status == uform_status_ok_k ? measure_towers(directory) : status;
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

static void close_tower(uform_tower_t *tower) {
    for (size_t i = 0; i < tower->dense_count; ++i) uform_weights_close_(&tower->dense[i].weights);
    uform_free_(tower->dense);
    uform_free_(tower->layer_numbers);
}

void uform_directory_close_(uform_directory_t *directory) {
    close_tower(&directory->text);
    close_tower(&directory->image);
    for (size_t i = 0; i < directory->prompt_count; ++i) {
        uform_free_(directory->prompts[i].name);
        uform_free_(directory->prompts[i].text);
    }
    uform_free_(directory->prompts);
    uform_free_(directory->pad_token);
    for (size_t i = 0; i < directory->named_token_count; ++i) uform_free_(directory->named_tokens[i].content);
    uform_free_(directory->named_tokens);
    uform_bytes_free_(&directory->made_tokenizer);
    uform_weights_close_(&directory->weights);
    uform_weights_close_(&directory->image_weights);
    if (directory->tokenizer) uform_tokenizer_free_(directory->tokenizer);
    uform_free_(directory->path);
    *directory = (uform_directory_t){0};
}
