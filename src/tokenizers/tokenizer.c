/**
 *  A tokenizer: the parts tokenizer.json names, and a text's way through them.
 *
 *      bytes -> UTF-8 -> parts between raw added tokens -> normalized -> parts between normalized added tokens
 *            -> words -> pieces -> cut to the limit -> template
 */
#include "tokenizers/tokenizer.h"

#include "base/detail.h"
#include "base/memory.h"
#include "tokenizers/added_tokens.h"
#include "tokenizers/normalizer.h"
#include "tokenizers/post_processor.h"
#include "tokenizers/pre_tokenizer.h"
#include "tokenizers/token_model.h"
#include "tokenizers/unicode.h"
#include "tokenizers/where.h"

struct uform_tokenizer_s {
    uform_normalizer_t normalizer;
    uform_pre_tokenizer_t pre_tokenizer;
    uform_token_model_t model;
    uform_post_processor_t post_processor;
    uform_added_tokens_t added;
    size_t vocabulary_count; ///< one more than the largest id
    size_t truncation;       ///< the file's limit; zero without one
    bool truncates_left;
    uform_tokenizer_padding_t padding;
};

typedef struct uform_tokenize_work_t {
    uform_bytes_t text;
    uform_token_search_t searches[2]; ///< of raw and of normalized tokens
    uform_normalizer_work_t normalizer;
    uform_words_work_t words;
    uform_ids_t scratch; ///< the model's
    uform_ids_t body;    ///< ids without the template
    uform_ids_t ids;     ///< behind the buffer's, as are the types
    size_t type_capacity;
} uform_tokenize_work_t;

/// Which side tokens are dropped from, or put to.
static uform_status_t read_direction(uform_json_t const *object, char const *where, bool *left) {
    uform_json_t const *const direction = uform_json_find_(object, "direction");
    *left = uform_json_equals_(direction, "Left");
    if (!direction || *left || uform_json_equals_(direction, "Right")) return uform_status_ok_k;
    return uform_json_unexpected_(where, "direction", "\"Left\" or \"Right\"", direction);
}

static uform_status_t read_truncation(uform_json_t const *root, char const *path, size_t *limit, bool *left) {
    uform_json_t const *truncation = NULL;
    uform_status_t status =
        uform_json_member_(root, path, "truncation", uform_json_object_k, uform_json_optional_k, &truncation);
    if (status != uform_status_ok_k || !truncation) return status;
    uform_where_t where;
    uform_where_start_(&where, path, "truncation");
    status = uform_json_size_(truncation, where.text, "max_length", 0, (size_t)1 << 53, uform_json_required_k, limit);
    return status == uform_status_ok_k ? read_direction(truncation, where.text, left) : status;
}

/// Needs the vocabulary: the token is told by its content, as transformers reads it.
static uform_status_t read_padding(uform_tokenizer_t tokenizer, uform_json_t const *root, char const *path) {
    uform_json_t const *padding = NULL;
    uform_tokenizer_padding_t *const found = &tokenizer->padding;
    uform_status_t status =
        uform_json_member_(root, path, "padding", uform_json_object_k, uform_json_optional_k, &padding);
    if (status != uform_status_ok_k || !padding) return status;
    uform_where_t where;
    uform_where_start_(&where, path, "padding");
    char const *token = NULL;
    size_t length = 0;
    status = uform_json_string_(padding, where.text, "pad_token", uform_json_optional_k, &token, &length);
    found->found = true;
    found->has_token = token && uform_tokenizer_id_(tokenizer, token, length, &found->token);
    return status == uform_status_ok_k ? read_direction(padding, where.text, &found->left) : status;
}

static uform_status_t read_version(uform_json_t const *root, char const *path) {
    uform_json_t const *const version = uform_json_find_(root, "version");
    if (!version || uform_json_equals_(version, "1.0")) return uform_status_ok_k;
    return uform_json_unexpected_(path, "version", "\"1.0\"", version);
}

static uform_status_t read_tokenizer(uform_tokenizer_t tokenizer, uform_json_t const *root, char const *path,
    uform_tokenizer_settings_t const *settings) {
    static uform_tokenizer_settings_t const none = {0};
    if (!settings) settings = &none;
    if (root->kind != uform_json_object_k) return uform_fail_(uform_status_malformed_k, "%s: expected an object", path);
    uform_status_t status = read_version(root, path);
    if (status != uform_status_ok_k) return status;
    status = read_truncation(root, path, &tokenizer->truncation, &tokenizer->truncates_left);
    if (status != uform_status_ok_k) return status;
    status = uform_normalizer_load_(uform_json_find_(root, "normalizer"), path, settings, &tokenizer->normalizer);
    if (status != uform_status_ok_k) return status;
    status = uform_pre_tokenizer_load_(
        uform_json_find_(root, "pre_tokenizer"), path, settings->prefix_space, &tokenizer->pre_tokenizer);
    if (status != uform_status_ok_k) return status;
    status = uform_token_model_load_(uform_json_find_(root, "model"), path, &tokenizer->model);
    if (status != uform_status_ok_k) return status;
    status = uform_post_processor_load_(uform_json_find_(root, "post_processor"), path, &tokenizer->post_processor);
    if (status != uform_status_ok_k) return status;
    status = uform_added_tokens_load_(uform_json_find_(root, "added_tokens"), path, &tokenizer->model,
        &tokenizer->normalizer, settings->tokens, settings->token_count, &tokenizer->added);
    if (status != uform_status_ok_k) return status;
    status = read_padding(tokenizer, root, path);
    if (status != uform_status_ok_k) return status;
    size_t count;
    uint32_t largest;
    tokenizer->model.kind->measure(tokenizer->model.state, &count, &largest);
    if (tokenizer->added.largest_id > largest) largest = tokenizer->added.largest_id;
    if (tokenizer->post_processor.largest_id > largest) largest = tokenizer->post_processor.largest_id;
    tokenizer->vocabulary_count = (size_t)largest + 1;
    return uform_status_ok_k;
}

/// Closes the document.
static uform_status_t load_document(uform_json_document_t *document, char const *path,
    uform_tokenizer_settings_t const *settings, uform_tokenizer_t *tokenizer) {
    uform_tokenizer_t loaded = uform_allocate_(1, sizeof(*loaded));
    uform_status_t const status =
        loaded ? read_tokenizer(loaded, document->root, path, settings) : uform_status_out_of_memory_k;
    uform_json_close_(document);
    if (status != uform_status_ok_k) return uform_tokenizer_free_(loaded), status;
    *tokenizer = loaded;
    return uform_status_ok_k;
}

uform_status_t uform_tokenizer_load_(
    char const *path, uform_tokenizer_settings_t const *settings, uform_tokenizer_t *tokenizer) {
    *tokenizer = NULL;
    uform_json_document_t document;
    uform_status_t const status = uform_json_open_(path, &document);
    return status == uform_status_ok_k ? load_document(&document, path, settings, tokenizer) : status;
}

uform_status_t uform_tokenizer_parse_(char const *text, size_t length, char const *path,
    uform_tokenizer_settings_t const *settings, uform_tokenizer_t *tokenizer) {
    *tokenizer = NULL;
    uform_json_document_t document;
    uform_status_t const status = uform_json_parse_(text, length, path, &document);
    return status == uform_status_ok_k ? load_document(&document, path, settings, tokenizer) : status;
}

void uform_tokenizer_free_(uform_tokenizer_t tokenizer) {
    if (!tokenizer) return;
    uform_normalizer_free_(&tokenizer->normalizer);
    uform_token_model_free_(&tokenizer->model);
    uform_post_processor_free_(&tokenizer->post_processor);
    uform_added_tokens_free_(&tokenizer->added);
    uform_free_(tokenizer);
}

size_t uform_tokenizer_vocabulary_count_(uform_tokenizer_t tokenizer) {
    return tokenizer->vocabulary_count;
}

size_t uform_tokenizer_truncation_(uform_tokenizer_t tokenizer) {
    return tokenizer->truncation;
}

bool uform_tokenizer_truncates_left_(uform_tokenizer_t tokenizer) {
    return tokenizer->truncates_left;
}

uform_tokenizer_padding_t uform_tokenizer_padding_(uform_tokenizer_t tokenizer) {
    return tokenizer->padding;
}

size_t uform_tokenizer_special_count_(uform_tokenizer_t tokenizer) {
    return tokenizer->post_processor.added_count;
}

bool uform_tokenizer_is_special_(uform_tokenizer_t tokenizer, uint32_t id) {
    uform_post_processor_t const *const processor = &tokenizer->post_processor;
    for (size_t i = 0; i < processor->count; ++i)
        if (!processor->items[i].is_text && processor->items[i].id == id) return true;
    for (size_t i = 0; i < tokenizer->added.count; ++i)
        if (tokenizer->added.tokens[i].special && tokenizer->added.tokens[i].id == id) return true;
    return false;
}

bool uform_tokenizer_id_(uform_tokenizer_t tokenizer, char const *content, size_t length, uint32_t *id) {
    enum { longest_short_k = 256 };
    char padded[longest_short_k + uform_bytes_padding_k];
    uform_bytes_t copy = {0};
    char *key = padded;
    if (length > longest_short_k) {
        if (!uform_bytes_append_(&copy, content, length)) return false;
        key = copy.data;
    } else if (length) memcpy(padded, content, length);
    bool const found = uform_token_map_find_(&tokenizer->added.ids, key, length, id) ||
                       tokenizer->model.kind->find(tokenizer->model.state, key, length, id);
    uform_bytes_free_(&copy);
    return found;
}

/// The text as valid UTF-8 that holds the prefix. Points at the original when it can.
static bool prepare(
    uform_tokenize_options_t const *options, uform_tokenize_work_t *work, char const **text, size_t *length) {
    bool const has_prefix = options->prefix && options->prefix_length;
    if (!*length) *text = ""; // an empty text may be a null pointer
    if (has_prefix || uform_unicode_valid_prefix_(*text, *length) < *length) {
        work->text.length = 0;
        if (has_prefix && !uform_unicode_append_replaced_(&work->text, options->prefix, options->prefix_length))
            return false;
        if (!uform_unicode_append_replaced_(&work->text, *text, *length)) return false;
        *text = work->text.data, *length = work->text.length;
    }
    return true;
}

/// Appends the ids of a part of normalized text without added tokens; stops once there are more than `enough` in all.
/// `first` says that the text begins with it.
static bool append_words(uform_tokenizer_t tokenizer, char const *text, uform_span_t part, bool first, size_t enough,
    uform_tokenize_work_t *work) {
    uform_token_model_t const model = tokenizer->model;
    uform_words_t words;
    char const *word;
    size_t length;
    uform_words_begin_(&words, text, part, first, &work->words);
    while (work->body.count <= enough && uform_words_next_(&tokenizer->pre_tokenizer, &words, &word, &length))
        if (!model.kind->split(model.state, word, length, &work->scratch, &work->body)) return false;
    return !words.failed;
}

/// Appends the ids of a part of the text without raw added tokens.
static bool append_part(uform_tokenizer_t tokenizer, char const *text, size_t length, bool first,
    uform_tokenize_options_t const *options, size_t enough, uform_tokenize_work_t *work) {
    uform_bytes_t const *normal;
    if (!uform_normalizer_run_(&tokenizer->normalizer, text, length, &work->normalizer, &normal)) return false;
    uform_token_search_t *const search = &work->searches[1];
    if (!uform_token_search_begin_(&tokenizer->added.normalized, normal->data, normal->length, search)) return false;
    uform_span_t part;
    bool is_token;
    uint32_t id;
    while (work->body.count <= enough && uform_token_search_next_(&tokenizer->added, normal->data, normal->length,
                                             options->literal_specials, search, &part, &is_token, &id))
        if (!(is_token ? uform_ids_push_(&work->body, id)
                       : append_words(tokenizer, normal->data, part, first && !part.start && !work->normalizer.moved,
                             enough, work)))
            return false;
    return true;
}

static bool append_text(uform_tokenizer_t tokenizer, char const *text, size_t length,
    uform_tokenize_options_t const *options, size_t enough, uform_tokenize_work_t *work) {
    uform_token_search_t *const search = &work->searches[0];
    if (!uform_token_search_begin_(&tokenizer->added.raw, text, length, search)) return false;
    uform_span_t part;
    bool is_token;
    uint32_t id;
    while (work->body.count <= enough && uform_token_search_next_(&tokenizer->added, text, length,
                                             options->literal_specials, search, &part, &is_token, &id))
        if (!(is_token ? uform_ids_push_(&work->body, id)
                       : append_part(
                             tokenizer, text + part.start, part.end - part.start, !part.start, options, enough, work)))
            return false;
    return true;
}

static bool reserve_output(uform_tokenize_work_t *work, size_t count, uform_tokenize_buffer_t *buffer) {
    work->ids.count = 0;
    if (!count) count = 1; // so that an empty result is no null pointer
    if (work->ids.capacity < count && !uform_ids_grow_(&work->ids, count)) return false;
    buffer->ids = work->ids.data;
    if (work->type_capacity >= work->ids.capacity) return true;
    uint8_t *types = uform_reallocate_(buffer->type_ids, work->ids.capacity, 1);
    if (!types) return false;
    buffer->type_ids = types, work->type_capacity = work->ids.capacity;
    return true;
}

/// Puts the template around [count] ids.
static bool apply_template(uform_post_processor_t const *processor, uint32_t const *body, size_t count,
    uform_tokenize_work_t *work, uform_tokenize_buffer_t *buffer) {
    size_t total = 0;
    for (size_t i = 0; i < processor->count; ++i) total += processor->items[i].is_text ? count : 1;
    if (!reserve_output(work, total, buffer)) return false;
    size_t done = 0;
    for (size_t i = 0; i < processor->count; ++i) {
        uform_template_item_t const item = processor->items[i];
        size_t const length = item.is_text ? count : 1;
        if (item.is_text && count) memcpy(buffer->ids + done, body, count * sizeof(*body));
        else if (!item.is_text) buffer->ids[done] = item.id;
        memset(buffer->type_ids + done, item.type_id, length);
        done += length;
    }
    buffer->count = done;
    return true;
}

static bool run(uform_tokenizer_t tokenizer, char const *text, size_t length, uform_tokenize_options_t const *options,
    size_t room, uform_tokenize_buffer_t *buffer) {
    uform_tokenize_work_t *const work = buffer->work;
    work->body.count = 0;
    if (!prepare(options, work, &text, &length)) return false;
    // Once it is known that the text is too long, what follows can't matter, except to those who want its end.
    size_t const enough = options->truncate_left ? SIZE_MAX : room;
    if (!append_text(tokenizer, text, length, options, enough, work)) return false;
    uint32_t const *body = work->body.data;
    size_t count = work->body.count;
    buffer->truncated = count > room;
    if (buffer->truncated && options->truncate_left) body += count - room;
    if (buffer->truncated) count = room;
    return apply_template(&tokenizer->post_processor, body, count, work, buffer);
}

uform_status_t uform_tokenizer_run_(uform_tokenizer_t tokenizer, char const *text, size_t length,
    uform_tokenize_options_t const *options, uform_tokenize_buffer_t *buffer) {
    buffer->count = 0, buffer->truncated = false;
    size_t const specials = tokenizer->post_processor.added_count;
    if (options->max_tokens && options->max_tokens < specials)
        return uform_fail_(uform_status_invalid_argument_k,
            "max_tokens: expected at least %zu, as many as the special tokens, found %zu", specials,
            options->max_tokens);
    if (!buffer->work) buffer->work = uform_allocate_(1, sizeof(*buffer->work));
    if (!buffer->work) return uform_status_out_of_memory_k;
    size_t const room = options->max_tokens ? options->max_tokens - specials : SIZE_MAX;
    return run(tokenizer, text, length, options, room, buffer) ? uform_status_ok_k : uform_status_out_of_memory_k;
}

void uform_tokenize_buffer_free_(uform_tokenize_buffer_t *buffer) {
    uform_tokenize_work_t *const work = buffer->work;
    if (work) {
        uform_bytes_free_(&work->text);
        for (size_t i = 0; i < 2; ++i) uform_token_search_free_(&work->searches[i]);
        uform_normalizer_work_free_(&work->normalizer);
        uform_words_work_free_(&work->words);
        uform_ids_free_(&work->scratch);
        uform_ids_free_(&work->body);
        uform_ids_free_(&work->ids);
    }
    uform_free_(work);
    uform_free_(buffer->type_ids);
    *buffer = (uform_tokenize_buffer_t){0};
}
