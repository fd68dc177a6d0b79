/**
 *  Pre-tokenizers read from tokenizer.json. ASCII is told apart by
 *  a table of one byte a character, everything else by its record.
 */
#include "tokenizers/pre_tokenizer.h"

#include "base/detail.h"
#include "tokenizers/unicode.h"
#include "tokenizers/where.h"

enum {
    white_k = uform_unicode_white_k,
    punctuation_k = uform_unicode_punctuation_k,
    word_k = uform_unicode_word_k,
};

/// Where from `at` on the first character stands that has a flag of `mask`, or that has none unless `wanted`.
static size_t skip_until(char const *text, size_t at, size_t end, uint16_t mask, bool wanted) {
    for (size_t bytes; at < end; at += bytes)
        if (((uform_unicode_flags_(text + at, &bytes) & mask) != 0) == wanted) break;
    return at;
}

static bool take(uform_span_t *rest, size_t start, size_t end, uform_span_t *span) {
    *span = (uform_span_t){start, end};
    rest->start = end;
    return start < end;
}

/// Runs of anything but white space, in which every punctuation character stands alone.
static bool next_bert(char const *text, uform_span_t *rest, uform_span_t *span) {
    size_t const start = skip_until(text, rest->start, rest->end, white_k, false);
    if (start == rest->end) return take(rest, start, start, span);
    size_t bytes;
    if (uform_unicode_flags_(text + start, &bytes) & punctuation_k) return take(rest, start, start + bytes, span);
    return take(rest, start, skip_until(text, start + bytes, rest->end, white_k | punctuation_k, true), span);
}

static bool next_white_space_split(char const *text, uform_span_t *rest, uform_span_t *span) {
    size_t const start = skip_until(text, rest->start, rest->end, white_k, false);
    return take(rest, start, skip_until(text, start, rest->end, white_k, true), span);
}

/// Runs of word characters and runs of what is neither that nor white space.
static bool next_white_space(char const *text, uform_span_t *rest, uform_span_t *span) {
    size_t const start = skip_until(text, rest->start, rest->end, white_k, false);
    if (start == rest->end) return take(rest, start, start, span);
    size_t bytes;
    bool const is_word = (uform_unicode_flags_(text + start, &bytes) & word_k) != 0;
    size_t end = start + bytes;
    for (; end < rest->end; end += bytes) {
        uint8_t const flags = uform_unicode_flags_(text + end, &bytes);
        if (flags & white_k || ((flags & word_k) != 0) != is_word) break;
    }
    return take(rest, start, end, span);
}

/// Every punctuation character alone, and what lies between them.
static bool next_punctuation(char const *text, uform_span_t *rest, uform_span_t *span) {
    size_t const start = rest->start;
    if (start == rest->end) return take(rest, start, start, span);
    size_t bytes;
    if (uform_unicode_flags_(text + start, &bytes) & punctuation_k) return take(rest, start, start + bytes, span);
    return take(rest, start, skip_until(text, start + bytes, rest->end, punctuation_k, true), span);
}

typedef uform_status_t (*read_t)(
    uform_json_t const *json, uform_where_t const *where, uform_pre_tokenizer_t *pre_tokenizer);

static uform_status_t read_sequence(
    uform_json_t const *json, uform_where_t const *where, uform_pre_tokenizer_t *pre_tokenizer);
static uform_status_t check_punctuation(
    uform_json_t const *json, uform_where_t const *where, uform_pre_tokenizer_t *pre_tokenizer);

/// The kinds of pre-tokenizers: what looks at the keys of one, and the stage it is.
static struct {
    char const *type;
    read_t read;
    uform_pre_tokenizer_stage_t stage;
} const kinds[] = {
    {"BertPreTokenizer", NULL, next_bert},
    {"Sequence", read_sequence, NULL},
    {"Whitespace", NULL, next_white_space},
    {"WhitespaceSplit", NULL, next_white_space_split},
    {"Punctuation", check_punctuation, next_punctuation},
};

enum { kinds_count_k = sizeof(kinds) / sizeof(*kinds) };

static uform_status_t read_pre_tokenizer(
    uform_json_t const *json, uform_where_t const *where, uform_pre_tokenizer_t *pre_tokenizer) {
    uform_json_t const *const type = uform_json_find_(json, "type");
    for (size_t i = 0; i < kinds_count_k; ++i) {
        if (!uform_json_equals_(type, kinds[i].type)) continue;
        uform_status_t const status = kinds[i].read ? kinds[i].read(json, where, pre_tokenizer) : uform_status_ok_k;
        if (status != uform_status_ok_k || !kinds[i].stage) return status;
        if (pre_tokenizer->count == uform_pre_tokenizer_stages_limit_k)
            return uform_fail_(uform_status_unsupported_k, "%s: expected at most %d pre-tokenizers", where->text,
                (int)uform_pre_tokenizer_stages_limit_k);
        pre_tokenizer->stages[pre_tokenizer->count++] = kinds[i].stage;
        return uform_status_ok_k;
    }
    return uform_where_unknown_type_(where, json, "a pre-tokenizer", kinds, kinds_count_k, sizeof(*kinds));
}

static uform_status_t read_sequence(
    uform_json_t const *json, uform_where_t const *where, uform_pre_tokenizer_t *pre_tokenizer) {
    uform_json_t const *list = NULL;
    uform_status_t status =
        uform_json_member_(json, where->text, "pretokenizers", uform_json_array_k, uform_json_required_k, &list);
    if (status != uform_status_ok_k) return status;
    size_t index = 0;
    for (uform_json_t const *item = list->first; item; item = item->next, ++index) {
        uform_where_t inner;
        if (!uform_where_enter_(where, &inner, "pretokenizers", index)) return uform_status_unsupported_k;
        status = read_pre_tokenizer(item, &inner, pre_tokenizer);
        if (status != uform_status_ok_k) return status;
    }
    return uform_status_ok_k;
}

static uform_status_t check_punctuation(
    uform_json_t const *json, uform_where_t const *where, uform_pre_tokenizer_t *pre_tokenizer) {
    (void)pre_tokenizer;
    uform_json_t const *const behavior = uform_json_find_(json, "behavior");
    if (!behavior || uform_json_equals_(behavior, "Isolated")) return uform_status_ok_k;
    char found[96];
    return uform_fail_(uform_status_unsupported_k, "%s: behavior: expected \"Isolated\", found %s", where->text,
        uform_json_describe_(behavior, found, sizeof(found)));
}

uform_status_t uform_pre_tokenizer_load_(
    uform_json_t const *json, char const *path, uform_pre_tokenizer_t *pre_tokenizer) {
    *pre_tokenizer = (uform_pre_tokenizer_t){0};
    if (!json || json->kind == uform_json_null_k) return uform_status_ok_k;
    uform_where_t where;
    uform_where_start_(&where, path, "pre_tokenizer");
    return read_pre_tokenizer(json, &where, pre_tokenizer);
}
