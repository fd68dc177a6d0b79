/**
 *  What fills texts up to a full length where a model masks nothing: which token, and on which side of the text.
 *
 *  In transformers' order: the token is that of special_tokens_map.json (unless tokenizer_config.json lists its added tokens, which
 *  files of that age don't), of tokenizer_config.json, of the tokenizer's class, of tokenizer.json's padding, and at last of config.json.
 *  The side is that of tokenizer_config.json, of tokenizer.json's padding, of the class.
 */
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "models/directory_parts.h"

/// Tokenizers that do more than their files say. Names may end in Fast.
typedef struct tokenizer_class_t {
    char const *name, *pad_token;
    bool pads_left, lower_case;
} tokenizer_class_t;

static tokenizer_class_t const classes[] = {
    {"GemmaTokenizer", "<pad>", true, false},
    {"Siglip2Tokenizer", "<pad>", true, true},
    {"SiglipTokenizer", "</s>", false, false},
    {"T5Tokenizer", "<pad>", false, false},
};

static tokenizer_class_t const *find_class(uform_json_t const *name) {
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); ++i)
        if (uform_config_names_class_(name, classes[i].name)) return &classes[i];
    return NULL;
}

static uform_status_t keep_token(char const *text, size_t length, char const *file, uform_directory_t *directory) {
    char *const copy = uform_allocate_(length + 1, 1);
    if (!copy) return uform_status_out_of_memory_k;
    memcpy(copy, text, length);
    uform_free_(directory->pad_token);
    directory->pad_token = copy;
    directory->pad_token_file = file;
    return uform_status_ok_k;
}

/// The padding token: its content, or an object that holds it.
static uform_status_t read_token(uform_config_t const *config, char const *file, uform_directory_t *directory) {
    uform_json_t const *found = uform_json_find_(config->root, "pad_token");
    if (found && found->kind == uform_json_object_k) found = uform_json_find_(found, "content");
    if (!found || found->kind != uform_json_string_k) return uform_status_ok_k;
    return keep_token(found->text, found->length, file, directory);
}

uform_status_t uform_directory_read_padding_(
    uform_config_t const *config, uform_config_t const *map, uform_directory_t *directory) {
    char const *const fixed = directory->family->tokenizer_class;
    uform_json_t const fixed_name = {.kind = uform_json_string_k, .text = fixed, .length = fixed ? strlen(fixed) : 0};
    tokenizer_class_t const *const class =
        find_class(fixed ? &fixed_name : uform_json_find_(config->root, "tokenizer_class"));
    if (class && class->lower_case) directory->tokenizer_settings.lower_case = true;
    if (directory->text.architecture->summary != uform_summary_padded_last_k) return uform_status_ok_k;
    uform_status_t status = read_token(config, "tokenizer_config.json", directory);
    if (status == uform_status_ok_k) status = read_token(map, "special_tokens_map.json", directory);
    if (status == uform_status_ok_k && class && !directory->pad_token)
        status = keep_token(class->pad_token, strlen(class->pad_token), NULL, directory);
    directory->class_pads_left = class && class->pads_left;
    if (status != uform_status_ok_k) return status;
    static char const side[] = "padding_side";
    return uform_config_read_side_(uform_json_find_(config->root, side), config->path, side, &directory->pads_left);
}

uform_status_t uform_directory_settle_padding_(char const *path, uform_directory_t *directory) {
    if (directory->text.architecture->summary != uform_summary_padded_last_k) return uform_status_ok_k;
    uform_architecture_sizes_t *const sizes = &directory->text.sizes;
    uform_tokenizer_padding_t const padding = uform_tokenizer_padding_(directory->tokenizer);
    if (directory->pads_left == uform_switch_auto_k) {
        bool const left = padding.found ? padding.left : directory->class_pads_left;
        directory->pads_left = left ? uform_switch_on_k : uform_switch_off_k;
    }
    uint32_t pad = padding.token;
    char const *const token = directory->pad_token;
    bool const known = token && uform_tokenizer_id_(directory->tokenizer, token, strlen(token), &pad);
    if (!known && directory->pad_token_file)
        return uform_fail_(uform_status_mismatched_k, "%s: expected %s's pad_token \"%s\", found no such token", path,
            directory->pad_token_file, token);
    if (known || padding.has_token) sizes->pad_token = pad;
    if (sizes->pad_token < sizes->vocabulary_count) return uform_status_ok_k;
    return uform_fail_(uform_status_mismatched_k,
        "%s: the padding token, %zu, is beyond config.json's vocab_size of %zu", path, sizes->pad_token,
        sizes->vocabulary_count);
}
