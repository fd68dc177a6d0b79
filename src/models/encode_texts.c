/**
 *  Calls on texts: what is tokenized, checked and brought into panels.
 */
#include <string.h>

#include "base/detail.h"
#include "models/encode.h"

// Checks a tokenized text against the embedding tables.
static uform_status_t check_tokens(uform_encode_call_t const *call, uform_tokenize_buffer_t const *tokens) {
    uform_architecture_sizes_t const *sizes = &call->tower->sizes;
    bool const typed = call->tower->architecture->types != NULL;
    if (!tokens->count)
        return uform_fail_(
            uform_status_malformed_k, "it has no tokens, and tokenizer.json has no post_processor that adds any");
    for (size_t i = 0; i < tokens->count; ++i) {
        if (tokens->ids[i] >= sizes->vocabulary_count)
            return uform_fail_(uform_status_mismatched_k,
                "%s/tokenizer.json: token %u is beyond config.json's vocab_size of %zu", call->model->directory.path,
                tokens->ids[i], sizes->vocabulary_count);
        if (typed && tokens->type_ids[i] >= sizes->type_count)
            return uform_fail_(uform_status_mismatched_k,
                "%s/tokenizer.json: token type %u is beyond config.json's type_vocab_size of %zu",
                call->model->directory.path, tokens->type_ids[i], sizes->type_count);
    }
    return uform_status_ok_k;
}

// How many of a causal text's tokens matter: up to the one that stands for all, which sees nothing behind it.
static uform_status_t count_up_to_end(
    uform_encode_call_t const *call, uform_tokenize_buffer_t const *tokens, size_t *count) {
    enum { old_end_token_k = 2 }; // files from before the true number was in them: the largest id is the end's
    size_t const end = call->tower->sizes.end_token;
    size_t found = 0;
    if (end == old_end_token_k) {
        for (size_t i = 1; i < tokens->count; ++i)
            if (tokens->ids[i] > tokens->ids[found]) found = i;
    } else
        while (found < tokens->count && tokens->ids[found] != end) ++found;
    *count = found + 1;
    if (found < tokens->count) return uform_status_ok_k;
    return uform_fail_(uform_status_mismatched_k,
        "%s/tokenizer.json: expected a post_processor that ends texts with token %zu, config.json's eos_token_id",
        call->model->directory.path, end);
}

void uform_place_text_(uform_encode_call_t const *call, uform_batch_t const *batch, size_t text,
    uform_model_buffer_t const *buffer, uform_prepared_t const *prepared) {
    uform_architecture_sizes_t const *sizes = &call->tower->sizes;
    uform_tokenize_buffer_t const *tokens = &buffer->tokens;
    size_t const begin = batch->text_begins[text], count = prepared->text_tokens;
    bool const pads_left = call->model->directory.pads_left == uform_switch_on_k;
    size_t const first = pads_left ? prepared->tokens - count : 0;
    uint32_t position = (uint32_t)sizes->first_position;
    for (size_t i = 0; i < prepared->tokens; ++i) {
        bool const is_token = i - first < count; // which wraps where padding comes first
        batch->ids[begin + i] = is_token ? tokens->ids[i - first] : (uint32_t)sizes->pad_token;
        batch->type_ids[begin + i] = is_token ? tokens->type_ids[i - first] : 0;
        bool const skipped = sizes->skips_padding && batch->ids[begin + i] == sizes->pad_token;
        batch->position_ids[begin + i] = skipped ? (uint32_t)sizes->first_position - 1 : position++;
    }
}

// Where texts are cut bluntly, tokenizer.json's own limit comes first, and then as many tokens as the model takes remain,
// special ones or not.
static uform_status_t tokenize(
    uform_model_t model, uform_text_t text, uform_tokenize_options_t const *options, uform_tokenize_buffer_t *tokens) {
    uform_tokenizer_t const tokenizer = model->directory.tokenizer;
    uform_tokenize_options_t bounds = *options;
    bool const bluntly = model->directory.text.architecture->cut_bluntly;
    if (bluntly) {
        bounds.max_tokens = uform_tokenizer_truncation_(tokenizer);
        bounds.truncate_left = uform_tokenizer_truncates_left_(tokenizer);
    }
    uform_status_t const status =
        uform_tokenizer_run_(tokenizer, text.data ? text.data : "", text.length, &bounds, tokens);
    if (status || !bluntly || tokens->count <= options->max_tokens) return status;
    size_t const dropped = options->truncate_left ? tokens->count - options->max_tokens : 0;
    tokens->count = options->max_tokens;
    tokens->truncated = true;
    memmove(tokens->ids, tokens->ids + dropped, tokens->count * sizeof *tokens->ids);
    memmove(tokens->type_ids, tokens->type_ids + dropped, tokens->count * sizeof *tokens->type_ids);
    return status;
}

uform_status_t uform_prepare_text_(
    uform_encode_call_t *call, size_t item, uform_model_buffer_t *buffer, uform_prepared_t *prepared) {
    uform_text_t const text = call->texts[item];
    uform_tokenize_buffer_t *tokens = &buffer->tokens;
    uform_summary_t const summary = call->tower->architecture->summary;
    if (!text.data && text.length)
        return uform_fail_(uform_status_invalid_argument_k, "data: expected a pointer, found NULL");
    uform_status_t status = tokenize(call->model, text, &call->plan.tokenize, tokens);
    if (status) return status;
    atomic_fetch_add_explicit(&call->token_count, tokens->count, memory_order_relaxed);
    if (tokens->truncated) atomic_fetch_add_explicit(&call->truncated_count, 1, memory_order_relaxed);
    if (call->items)
        call->items[item] =
            (uform_item_report_t){.token_count = (uint32_t)tokens->count, .truncated = tokens->truncated};
    status = check_tokens(call, tokens);
    size_t count = tokens->count;
    bool const last = call->plan.pooling_count == 1 && call->plan.pooling[0] == uform_pooling_lasttoken_k;
    bool const ends = last && summary == uform_summary_end_k && !call->tower->pooled_by_module;
    if (!status && ends) status = count_up_to_end(call, tokens, &count);
    size_t const full = call->model->directory.max_tokens;
    prepared->text_tokens = count;
    prepared->tokens = summary == uform_summary_padded_last_k && count < full ? full : count;
    return status;
}

uform_status_t uform_encode_texts(uform_model_t model, uform_executor_t executor, uform_text_t const *texts,
    size_t count, uform_encode_options_t const *options, void *embeddings, size_t stride_bytes,
    uform_encode_report_t *report) {
    uform_items_t const items = {uform_modality_texts_k, texts, NULL, count};
    return uform_encode_(model, executor, items, options, (uform_rows_out_t){embeddings, stride_bytes, report});
}

uform_status_t uform_defer_texts(uform_model_t model, uform_executor_t executor, uform_text_t const *texts,
    size_t count, uform_encode_options_t const *options, void *embeddings, size_t stride_bytes,
    uform_encode_report_t *report, uform_call_t *call) {
    uform_items_t const items = {uform_modality_texts_k, texts, NULL, count};
    return uform_encode_defer_(
        model, executor, items, options, (uform_rows_out_t){embeddings, stride_bytes, report}, call);
}

uform_status_t uform_tokenize(uform_model_t model, uform_text_t text, uform_encode_options_t const *options,
    uint32_t *ids, size_t capacity, size_t *count) {
    if (!model || !count || (capacity && !ids) || (text.length && !text.data))
        return uform_fail_(uform_status_invalid_argument_k, "%s: expected one, found NULL",
            !model             ? "model"
            : !count           ? "count"
            : capacity && !ids ? "ids"
                               : "text.data");
    *count = 0;
    uform_call_plan_t plan;
    uform_status_t status = uform_call_plan_(model, uform_modality_texts_k, options, &plan);
    if (status) return status;
    uform_model_buffer_t *buffer = uform_model_take_buffer_(model);
    if (!buffer) return uform_status_out_of_memory_k;
    status = tokenize(model, text, &plan.tokenize, &buffer->tokens);
    if (!status) {
        *count = buffer->tokens.count;
        size_t const copied = capacity < *count ? capacity : *count;
        if (copied) memcpy(ids, buffer->tokens.ids, copied * sizeof(uint32_t));
    }
    uform_model_return_buffer_(model, buffer);
    return status;
}
