/**
 *  sentence_bert_config.json: the length limit, and options of the Transformer module.
 */
#include "base/detail.h"
#include "models/directory_parts.h"

uform_status_t uform_config_read_limit_(uform_json_t const *object, char const *where, char const *key, size_t *limit) {
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
    static char const *const model_options[] = {"model_args", "model_kwargs"};
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
    if (status == uform_status_ok_k) status = uform_config_read_limit_(root, config->path, "max_seq_length", limit);
    // Another file of weights than the one that is read.
    for (size_t i = 0; i < sizeof(model_options) / sizeof(model_options[0]) && status == uform_status_ok_k; ++i)
        status = uform_config_require_off_(uform_json_find_(root, model_options[i]), config->path, "variant");
    if (status == uform_status_ok_k)
        status = uform_json_boolean_(
            root, config->path, "do_lower_case", uform_json_optional_k, &directory->tokenizer_settings.lower_case);
    return status;
}

/// Opens the first of the names sentence-transformers has used that exists and says anything. Close it in every case.
static uform_status_t open_module(char const *transformer, uform_config_t *module) {
    static char const *const names[] = {"sentence_bert_config.json", "sentence_roberta_config.json",
        "sentence_distilbert_config.json", "sentence_camembert_config.json", "sentence_albert_config.json",
        "sentence_xlm-roberta_config.json", "sentence_xlnet_config.json"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        uform_status_t const status = uform_config_open_(transformer, names[i], uform_json_optional_k, module);
        if (status != uform_status_ok_k || (module->root && module->root->length)) return status;
        uform_config_close_(module);
    }
    return uform_status_ok_k;
}

/// Both limits, zero where there is none.
static uform_status_t read_files(char const *transformer, bool is_sentence_transformer, size_t *limit,
    size_t *tokenizer_limit, uform_directory_t *directory) {
    uform_config_t module = {0};
    uform_status_t status = uform_status_ok_k;
    if (is_sentence_transformer) status = open_module(transformer, &module);
    if (status == uform_status_ok_k && module.root) status = read_module_options(&module, limit, directory);
    // UForm 3's package reads config.json and tokenizer.json alone.
    uform_architecture_t const *texts = directory->text.architecture;
    if (status == uform_status_ok_k && texts && !texts->cut_bluntly)
        status = uform_directory_read_tokenizer_(transformer, &module, limit, tokenizer_limit, directory);
    uform_config_close_(&module);
    return status;
}

/// Rotations end nowhere: a limit that the module has goes beyond max_position_embeddings, as far as memory should be taken.
static void extend_rotations(size_t limit, uform_tower_t *tower) {
    uform_architecture_sizes_t *sizes = &tower->sizes;
    size_t largest = uform_largest_rotations_k;
    if (tower->architecture->positions_kind != uform_positions_rotary_texts_k || limit <= sizes->position_count) return;
    if (largest > uform_largest_rotated_k / sizes->head_width) largest = uform_largest_rotated_k / sizes->head_width;
    sizes->position_count = limit < largest ? limit : largest;
}

uform_status_t uform_directory_read_limits_(
    char const *transformer, bool is_sentence_transformer, uform_directory_t *directory) {
    size_t limit = 0, tokenizer_limit = 0;
    uform_status_t const status = read_files(transformer, is_sentence_transformer, &limit, &tokenizer_limit, directory);
    if (status != uform_status_ok_k || !directory->text.architecture) return status;
    extend_rotations(limit, &directory->text);
    if (!limit) limit = tokenizer_limit;
    size_t const first = directory->text.sizes.first_position, count = directory->text.sizes.position_count;
    if (count <= first)
        return uform_fail_(uform_status_malformed_k,
            "%s/config.json: max_position_embeddings: expected more than %zu, found %zu", transformer, first, count);
    directory->max_tokens = limit && limit < count - first ? limit : count - first;
    return uform_status_ok_k;
}
