/**
 *  config.json, sentence_bert_config.json, tokenizer_config.json: sizes of the transformer and its length limit.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "models/directory_parts.h"

/// Sizes by key: where they go, what transformers takes without them, and what is sane.
static struct {
    char const *key;
    size_t offset, fallback, maximum;
} const size_rows[] = {
#define ROW(key, field, fallback, maximum)                                                                             \
    { key, offsetof(uform_architecture_sizes_t, field), fallback, maximum }
    ROW("vocab_size", vocabulary_count, 30522, 1u << 28),
    ROW("max_position_embeddings", position_count, 512, 1u << 24),
    ROW("type_vocab_size", type_count, 2, 1u << 16),
    ROW("hidden_size", width, 768, 1u << 14),
    ROW("num_hidden_layers", layers, 12, 1u << 12),
    ROW("num_attention_heads", heads, 12, 1u << 12),
    ROW("intermediate_size", feed_forward_width, 3072, 1u << 20),
#undef ROW
};

enum { head_width_limit_k = 1024 };

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

void uform_config_close_(uform_config_t *config) {
    uform_json_close_(&config->document);
    uform_free_(config->path);
    *config = (uform_config_t){0};
}

/// Refuses a string that is neither absent nor the one value this library computes.
static uform_status_t require_string(
    uform_json_t const *object, char const *where, char const *key, char const *expected) {
    uform_json_t const *found = uform_json_find_(object, key);
    if (!found || found->kind == uform_json_null_k || uform_json_equals_(found, expected)) return uform_status_ok_k;
    char description[96];
    return uform_fail_(uform_status_unsupported_k, "%s: %s: expected \"%s\", found %s", where, key, expected,
        uform_json_describe_(found, description, sizeof(description)));
}

/// Refuses an option that would change results and is not off.
static uform_status_t require_off(uform_json_t const *object, char const *where, char const *key) {
    uform_json_t const *found = uform_json_find_(object, key);
    bool const off = !found || found->kind == uform_json_null_k ||
                     (found->kind == uform_json_boolean_k && !found->truth) ||
                     (found->kind == uform_json_object_k && !found->length);
    if (off) return uform_status_ok_k;
    char description[96];
    return uform_fail_(uform_status_unsupported_k, "%s: %s: not supported, found %s", where, key,
        uform_json_describe_(found, description, sizeof(description)));
}

static uform_status_t read_family(uform_config_t const *config, uform_directory_t *directory) {
    char const *model_type = NULL;
    uform_status_t const status =
        uform_json_string_(config->root, config->path, "model_type", uform_json_required_k, &model_type, NULL);
    if (status != uform_status_ok_k) return status;
    directory->architecture = uform_architecture_find_(model_type);
    if (directory->architecture) return uform_status_ok_k;
    return uform_fail_(uform_status_unsupported_k,
        "%s: model_type: expected a supported architecture (bert), found \"%s\"", config->path, model_type);
}

static uform_status_t read_epsilon(uform_config_t const *config, uform_architecture_sizes_t *sizes) {
    double epsilon = 1e-12;
    uform_status_t const status =
        uform_json_number_(config->root, config->path, "layer_norm_eps", uform_json_optional_k, &epsilon);
    if (status != uform_status_ok_k) return status;
    if (!(epsilon >= 0 && epsilon <= 1))
        return uform_json_unexpected_(
            config->path, "layer_norm_eps", "a number from 0 to 1", uform_json_find_(config->root, "layer_norm_eps"));
    sizes->norm_epsilon = (float)epsilon;
    return uform_status_ok_k;
}

static uform_status_t check_sizes(char const *path, uform_architecture_sizes_t const *sizes) {
    if (sizes->width % sizes->heads)
        return uform_fail_(uform_status_malformed_k,
            "%s: hidden_size: expected a multiple of the %zu num_attention_heads, found %zu", path, sizes->heads,
            sizes->width);
    if (sizes->width / sizes->heads > head_width_limit_k)
        return uform_fail_(uform_status_unsupported_k,
            "%s: num_attention_heads: expected heads of at most %d numbers, found %zu", path, head_width_limit_k,
            sizes->width / sizes->heads);
    return uform_status_ok_k;
}

static uform_status_t read_sizes(uform_config_t const *config, uform_directory_t *directory) {
    static char const *const off[] = {"is_decoder", "add_cross_attention", "quantization_config"};
    uform_status_t status = read_family(config, directory);
    for (size_t i = 0; i < sizeof(off) / sizeof(off[0]) && status == uform_status_ok_k; ++i)
        status = require_off(config->root, config->path, off[i]);
    if (status == uform_status_ok_k)
        status = require_string(config->root, config->path, "position_embedding_type", "absolute");
    for (size_t i = 0; i < sizeof(size_rows) / sizeof(size_rows[0]) && status == uform_status_ok_k; ++i) {
        size_t *size = (size_t *)(void *)((char *)&directory->sizes + size_rows[i].offset);
        *size = size_rows[i].fallback;
        status = uform_json_size_(
            config->root, config->path, size_rows[i].key, 1, size_rows[i].maximum, uform_json_optional_k, size);
    }
    if (status == uform_status_ok_k)
        status = uform_hidden_act_parse_(config->root, config->path, "hidden_act", &directory->sizes.activation);
    if (status == uform_status_ok_k) status = read_epsilon(config, &directory->sizes);
    return status == uform_status_ok_k ? check_sizes(config->path, &directory->sizes) : status;
}

uform_status_t uform_directory_read_sizes_(char const *transformer, uform_directory_t *directory) {
    uform_config_t config;
    uform_status_t status = uform_config_open_(transformer, "config.json", uform_json_required_k, &config);
    if (status == uform_status_ok_k) status = read_sizes(&config, directory);
    uform_config_close_(&config);
    return status;
}

/// A limit as files spell it: an integer of any size, of which only what the positions allow matters.
static uform_status_t read_limit(uform_json_t const *object, char const *where, char const *key, size_t *limit) {
    uform_json_t const *found = uform_json_find_(object, key);
    if (!found || found->kind == uform_json_null_k) return uform_status_ok_k;
    if (found->kind != uform_json_number_k || !(found->number >= 1))
        return uform_json_unexpected_(where, key, "a positive integer", found);
    *limit = found->number < (double)(1u << 30) ? (size_t)found->number : (size_t)1 << 30;
    return uform_status_ok_k;
}

/// Options of the Transformer module. Those that name another output than the last hidden state are refused.
static uform_status_t read_module_options(uform_config_t const *config, size_t *limit, uform_directory_t *directory) {
    static char const *const off[] = {"config_args", "config_kwargs", "processing_kwargs"};
    static char const *const tokenizer_options[] = {"tokenizer_args", "processor_kwargs"};
    uform_json_t const *root = config->root,
                       *text = uform_json_find_(uform_json_find_(root, "modality_config"), "text");
    uform_status_t status = require_string(root, config->path, "transformer_task", "feature-extraction");
    if (status == uform_status_ok_k)
        status = require_string(root, config->path, "module_output_name", "token_embeddings");
    if (status == uform_status_ok_k)
        status = require_string(text, config->path, "method_output_name", "last_hidden_state");
    for (size_t i = 0; i < sizeof(off) / sizeof(off[0]) && status == uform_status_ok_k; ++i)
        status = require_off(root, config->path, off[i]);
    if (status == uform_status_ok_k) status = read_limit(root, config->path, "max_seq_length", limit);
    for (size_t i = 0; i < sizeof(tokenizer_options) / sizeof(tokenizer_options[0]) && status == uform_status_ok_k; ++i)
        status = read_limit(uform_json_find_(root, tokenizer_options[i]), config->path, "model_max_length", limit);
    if (status == uform_status_ok_k)
        status = uform_json_boolean_(
            root, config->path, "do_lower_case", uform_json_optional_k, &directory->tokenizer_settings.lower_case);
    return status;
}

/// The first of the names sentence-transformers has used that exists and says anything.
static uform_status_t read_module_files(char const *transformer, size_t *limit, uform_directory_t *directory) {
    static char const *const names[] = {"sentence_bert_config.json", "sentence_roberta_config.json",
        "sentence_distilbert_config.json", "sentence_camembert_config.json", "sentence_albert_config.json",
        "sentence_xlm-roberta_config.json", "sentence_xlnet_config.json"};
    bool done = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !done; ++i) {
        uform_config_t config;
        uform_status_t status = uform_config_open_(transformer, names[i], uform_json_optional_k, &config);
        done = config.root && config.root->length;
        if (status == uform_status_ok_k && done) status = read_module_options(&config, limit, directory);
        uform_config_close_(&config);
        if (status != uform_status_ok_k) return status;
    }
    return uform_status_ok_k;
}

/// A switch of tokenizer_config.json that is set otherwise than its class has it by default.
static uform_status_t read_switch(
    uform_config_t const *config, char const *key, uform_switch_t by_default, uform_switch_t *setting) {
    uform_json_t const *found = uform_json_find_(config->root, key);
    bool on = false;
    uform_status_t const status = uform_json_boolean_(config->root, config->path, key, uform_json_optional_k, &on);
    if (status != uform_status_ok_k || !found || found->kind == uform_json_null_k) return status;
    uform_switch_t const value = on ? uform_switch_on_k : uform_switch_off_k;
    if (value != by_default) *setting = value;
    return uform_status_ok_k;
}

/// transformers makes BertTokenizer's normalizer from these keys, whatever tokenizer.json holds. Where a key only repeats
/// the default of the class, tokenizer.json is the one that was written on purpose.
static uform_status_t read_bert_switches(uform_config_t const *config, uform_tokenizer_settings_t *settings) {
    uform_json_t const *name = uform_json_find_(config->root, "tokenizer_class");
    if (name && !uform_json_equals_(name, "BertTokenizer") && !uform_json_equals_(name, "BertTokenizerFast"))
        return uform_status_ok_k;
    uform_status_t status = read_switch(config, "do_lower_case", uform_switch_on_k, &settings->bert_lowercase);
    if (status == uform_status_ok_k)
        status = read_switch(config, "tokenize_chinese_chars", uform_switch_on_k, &settings->bert_chinese);
    if (status == uform_status_ok_k)
        status = read_switch(config, "strip_accents", uform_switch_auto_k, &settings->bert_strip_accents);
    return status;
}

static uform_status_t read_side(uform_config_t const *config, uform_switch_t *left) {
    uform_json_t const *side = uform_json_find_(config->root, "truncation_side");
    if (uform_json_equals_(side, "left")) *left = uform_switch_on_k;
    if (uform_json_equals_(side, "right")) *left = uform_switch_off_k;
    if (!side || side->kind == uform_json_null_k || *left) return uform_status_ok_k;
    return uform_json_unexpected_(config->path, "truncation_side", "\"left\" or \"right\"", side);
}

static uform_status_t read_tokenizer_config(char const *transformer, size_t *limit, uform_directory_t *directory) {
    uform_config_t config;
    uform_status_t status = uform_config_open_(transformer, "tokenizer_config.json", uform_json_optional_k, &config);
    if (status == uform_status_ok_k) status = read_limit(config.root, config.path, "max_len", limit); // the old name
    if (status == uform_status_ok_k) status = read_limit(config.root, config.path, "model_max_length", limit);
    if (status == uform_status_ok_k) status = read_bert_switches(&config, &directory->tokenizer_settings);
    if (status == uform_status_ok_k) status = read_side(&config, &directory->truncate_left);
    uform_config_close_(&config);
    return status;
}

uform_status_t uform_directory_read_limits_(
    char const *transformer, bool is_sentence_transformer, uform_directory_t *directory) {
    size_t limit = 0, tokenizer_limit = 0;
    uform_status_t status = uform_status_ok_k;
    if (is_sentence_transformer) status = read_module_files(transformer, &limit, directory);
    if (status == uform_status_ok_k) status = read_tokenizer_config(transformer, &tokenizer_limit, directory);
    if (status != uform_status_ok_k) return status;
    if (!limit) limit = tokenizer_limit;
    size_t const first = directory->architecture->first_position, count = directory->sizes.position_count;
    if (count <= first)
        return uform_fail_(uform_status_malformed_k,
            "%s/config.json: max_position_embeddings: expected more than %zu, found %zu", transformer, first, count);
    directory->max_tokens = limit && limit < count - first ? limit : count - first;
    return uform_status_ok_k;
}
