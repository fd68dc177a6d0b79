/**
 *  sentence_bert_config.json, tokenizer_config.json: the length limit, and how texts are tokenized.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "models/directory_parts.h"

/// A limit as files spell it: an integer of any size, of which only what the positions allow matters.
static uform_status_t read_limit(uform_json_t const *object, char const *where, char const *key, size_t *limit) {
    uform_json_t const *found = uform_json_find_(object, key);
    if (!found || found->kind == uform_json_null_k) return uform_status_ok_k;
    if (found->kind != uform_json_number_k || !(found->number >= 1))
        return uform_json_unexpected_(where, key, "a positive integer", found);
    *limit = found->number < (double)(1u << 30) ? (size_t)found->number : (size_t)1 << 30;
    return uform_status_ok_k;
}

/// Options of the Transformer module. Those that name another output than its tower's are refused: the tokens, which modules
/// behind it pool, or with two towers what they give by themselves.
static uform_status_t read_module_options(uform_config_t const *config, size_t *limit, uform_directory_t *directory) {
    static char const *const off[] = {"config_args", "config_kwargs", "processing_kwargs"};
    static char const *const tokenizer_options[] = {"tokenizer_args", "processor_kwargs"};
    static char const *const modalities[] = {"text", "image"};
    uform_json_t const *root = config->root, *settings = uform_json_find_(root, "modality_config");
    bool const both = uform_directory_has_both_(directory);
    uform_status_t status = uform_config_require_string_(root, config->path, "transformer_task", "feature-extraction");
    if (status == uform_status_ok_k)
        status = uform_config_require_string_(
            root, config->path, "module_output_name", both ? "sentence_embedding" : "token_embeddings");
    for (size_t i = 0; i < 2 && status == uform_status_ok_k; ++i)
        status = uform_config_require_string_(uform_json_find_(settings, modalities[i]), config->path,
            "method_output_name", both ? "pooler_output" : "last_hidden_state");
    for (size_t i = 0; i < sizeof(off) / sizeof(off[0]) && status == uform_status_ok_k; ++i)
        status = uform_config_require_off_(root, config->path, off[i]);
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

/// Whether transformers makes the class's normalizer from keys of tokenizer_config.json; BertTokenizer is what no name means.
static bool is_bert_tokenizer(uform_json_t const *name) {
    static char const *const classes[] = {"BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer",
        "DistilBertTokenizerFast", "MPNetTokenizer", "MPNetTokenizerFast"};
    if (!name) return true;
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); ++i)
        if (uform_json_equals_(name, classes[i])) return true;
    return false;
}

/// transformers makes BertTokenizer's normalizer from these keys, whatever tokenizer.json holds. Where a key only repeats
/// the default of the class, tokenizer.json is the one that was written on purpose.
static uform_status_t read_bert_switches(uform_config_t const *config, uform_tokenizer_settings_t *settings) {
    if (!is_bert_tokenizer(uform_json_find_(config->root, "tokenizer_class"))) return uform_status_ok_k;
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
    if (status == uform_status_ok_k) status = uform_directory_read_padding_(transformer, &config, directory);
    uform_config_close_(&config);
    return status;
}

uform_status_t uform_directory_read_limits_(
    char const *transformer, bool is_sentence_transformer, uform_directory_t *directory) {
    size_t limit = 0, tokenizer_limit = 0;
    uform_status_t status = uform_status_ok_k;
    if (is_sentence_transformer) status = read_module_files(transformer, &limit, directory);
    if (!directory->text.architecture) return status;
    // UForm 3's package reads config.json and tokenizer.json alone.
    if (status == uform_status_ok_k && !directory->text.architecture->cut_bluntly)
        status = read_tokenizer_config(transformer, &tokenizer_limit, directory);
    if (status != uform_status_ok_k) return status;
    if (!limit) limit = tokenizer_limit;
    size_t const first = directory->text.sizes.first_position, count = directory->text.sizes.position_count;
    if (count <= first)
        return uform_fail_(uform_status_malformed_k,
            "%s/config.json: max_position_embeddings: expected more than %zu, found %zu", transformer, first, count);
    directory->max_tokens = limit && limit < count - first ? limit : count - first;
    return uform_status_ok_k;
}
