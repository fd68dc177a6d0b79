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
static bool next_bert(
    uform_pre_tokenizer_stage_t const *stage, char const *text, uform_span_t *rest, uform_span_t *span) {
    (void)stage;
    size_t const start = skip_until(text, rest->start, rest->end, white_k, false);
    if (start == rest->end) return take(rest, start, start, span);
    size_t bytes;
    if (uform_unicode_flags_(text + start, &bytes) & punctuation_k) return take(rest, start, start + bytes, span);
    return take(rest, start, skip_until(text, start + bytes, rest->end, white_k | punctuation_k, true), span);
}

static bool next_white_space_split(
    uform_pre_tokenizer_stage_t const *stage, char const *text, uform_span_t *rest, uform_span_t *span) {
    (void)stage;
    size_t const start = skip_until(text, rest->start, rest->end, white_k, false);
    return take(rest, start, skip_until(text, start, rest->end, white_k, true), span);
}

/// Runs of word characters and runs of what is neither that nor white space.
static bool next_white_space(
    uform_pre_tokenizer_stage_t const *stage, char const *text, uform_span_t *rest, uform_span_t *span) {
    (void)stage;
    size_t const start = skip_until(text, rest->start, rest->end, white_k, false);
    if (start == rest->end) return take(rest, start, start, span);
    size_t bytes;
    bool const is_word = (uform_unicode_flags_(text + start, &bytes) & word_k) != 0;
    size_t end = start + bytes;
    for (; end < rest->end; end += bytes) {
        uint16_t const flags = uform_unicode_flags_(text + end, &bytes);
        if (flags & white_k || ((flags & word_k) != 0) != is_word) break;
    }
    return take(rest, start, end, span);
}

static uform_span_t find_flags(uform_pre_tokenizer_stage_t const *stage, char const *text, uform_span_t part) {
    size_t bytes = 0;
    part.start = skip_until(text, part.start, part.end, stage->flags, true);
    if (part.start == part.end) return part;
    uform_unicode_decode_(text + part.start, &bytes);
    return (uform_span_t){part.start, part.start + bytes};
}

static uform_span_t find_literal(uform_pre_tokenizer_stage_t const *stage, char const *text, uform_span_t part) {
    char const *const found = memmem(text + part.start, part.end - part.start, stage->literal, stage->literal_length);
    if (!found) return (uform_span_t){part.end, part.end};
    size_t const start = (size_t)(found - text);
    return (uform_span_t){start, start + stage->literal_length};
}

static uform_span_t find_pattern(uform_pre_tokenizer_stage_t const *stage, char const *text, uform_span_t part) {
    return uform_pattern_find_(stage->pattern, text, part);
}

/// A match, or what lies before the next one, taken from `rest`. False at the end.
static bool next_piece(
    uform_pre_tokenizer_stage_t const *stage, char const *text, uform_span_t *rest, uform_span_t *span, bool *matches) {
    if (rest->start == rest->end) return false;
    uform_span_t const found = stage->find(stage, text, *rest);
    bool const is_match = found.start == rest->start;
    *matches = is_match != stage->invert;
    return take(rest, rest->start, is_match ? found.end : found.start, span);
}

/// Divides by matches. Behaviors that join pieces look at the one behind, which is then found twice at most.
static bool next_split(
    uform_pre_tokenizer_stage_t const *stage, char const *text, uform_span_t *rest, uform_span_t *span) {
    uform_split_behavior_t const behavior = stage->behavior;
    bool matches, next_matches;
    do
        if (!next_piece(stage, text, rest, span, &matches)) return false;
    while (matches && behavior == uform_split_removed_k);
    uform_span_t ahead = *rest, next = {0};
    switch (behavior) {
        case uform_split_removed_k:
        case uform_split_isolated_k:
            return true;
        case uform_split_merged_with_previous_k:
            if (matches || !next_piece(stage, text, &ahead, &next, &next_matches) || !next_matches) return true;
            break;
        case uform_split_merged_with_next_k:
            if (!matches || !next_piece(stage, text, &ahead, &next, &next_matches) || next_matches) return true;
            break;
        case uform_split_contiguous_k:
            while (next_piece(stage, text, &ahead, &next, &next_matches) && next_matches == matches)
                span->end = next.end, *rest = ahead;
            return true;
    }
    span->end = next.end, *rest = ahead;
    return true;
}

/// Puts a space before what doesn't begin with one.
static bool rewrite_space(
    uform_pre_tokenizer_stage_t const *stage, char const *text, size_t length, bool first, uform_bytes_t *output) {
    (void)stage, (void)first;
    return (*text == ' ' || uform_bytes_append_(output, " ", 1)) && uform_bytes_append_(output, text, length);
}

/// GPT-2's letters for bytes: printable ones stand for themselves, the others for what follows U+00FF.
static uint32_t letter_of_byte(unsigned char byte) {
    enum { first_gap_k = 0x21, second_gap_k = 0x7F, second_gap_end_k = 0xA1, soft_hyphen_k = 0xAD, others_k = 0x100 };
    if (byte < first_gap_k) return others_k + byte;
    if (byte >= second_gap_k && byte < second_gap_end_k) return others_k + first_gap_k + byte - second_gap_k;
    if (byte == soft_hyphen_k) return others_k + first_gap_k + second_gap_end_k - second_gap_k;
    return byte;
}

static bool rewrite_bytes(
    uform_pre_tokenizer_stage_t const *stage, char const *text, size_t length, bool first, uform_bytes_t *output) {
    enum { letter_bytes_k = 2 };
    (void)stage, (void)first;
    if (length > SIZE_MAX / letter_bytes_k || !uform_bytes_reserve_(output, length * letter_bytes_k)) return false;
    char *write = output->data + output->length;
    for (size_t i = 0; i < length; ++i) {
        uint32_t const letter = letter_of_byte((unsigned char)text[i]);
        if (letter < 0x80) *write++ = (char)letter;
        else *write++ = (char)(0xC0 | letter >> 6), *write++ = (char)(0x80 | (letter & 0x3F));
    }
    output->length = (size_t)(write - output->data);
    return true;
}

/// Puts the literal for every space, and before what doesn't begin with it.
static bool rewrite_metaspace(
    uform_pre_tokenizer_stage_t const *stage, char const *text, size_t length, bool first, uform_bytes_t *output) {
    char const *const literal = stage->literal;
    size_t const bytes = stage->literal_length;
    bool const begins = *text == ' ' || (length >= bytes && !memcmp(text, literal, bytes));
    bool const wanted = stage->prepend == uform_prepend_always_k || (stage->prepend == uform_prepend_first_k && first);
    if (wanted && !begins && !uform_bytes_append_(output, literal, bytes)) return false;
    for (size_t done = 0; done < length;) {
        char const *const space = memchr(text + done, ' ', length - done);
        size_t const before = space ? (size_t)(space - text) - done : length - done;
        if (!uform_bytes_append_(output, text + done, before)) return false;
        done += before;
        if (!space) break;
        if (!uform_bytes_append_(output, literal, bytes)) return false;
        ++done;
    }
    return true;
}

bool uform_words_rewrite_(
    uform_pre_tokenizer_stage_t const *stage, uform_words_t *words, char const **text, uform_span_t *span) {
    uform_span_t *const rest = &words->rests[words->stage];
    if (rest->start == rest->end) return false;
    uform_bytes_t *const output = &words->work->rewritten[words->stage];
    output->length = 0;
    words->failed =
        !stage->rewrite(stage, *text + rest->start, rest->end - rest->start, words->first[words->stage], output);
    if (words->failed) return false;
    rest->start = rest->end;
    *text = output->data, *span = (uform_span_t){0, output->length};
    return output->length != 0;
}

void uform_words_work_free_(uform_words_work_t *work) {
    for (size_t i = 0; i < uform_pre_tokenizer_stages_limit_k; ++i) uform_bytes_free_(&work->rewritten[i]);
}

static uform_status_t append_stage(
    uform_pre_tokenizer_t *pre_tokenizer, uform_where_t const *where, uform_pre_tokenizer_stage_t stage) {
    if (pre_tokenizer->count == uform_pre_tokenizer_stages_limit_k)
        return uform_fail_(uform_status_unsupported_k, "%s: expected at most %d pre-tokenizers", where->text,
            (int)uform_pre_tokenizer_stages_limit_k);
    if (stage.find) stage.next = next_split;
    pre_tokenizer->stages[pre_tokenizer->count++] = stage;
    return uform_status_ok_k;
}

/// Appends a stage that can make a text `times` longer; those multiply.
static uform_status_t append_growing(
    uform_pre_tokenizer_t *pre_tokenizer, uform_where_t const *where, uform_pre_tokenizer_stage_t stage, size_t times) {
    enum { growth_limit_k = 256 };
    pre_tokenizer->growth *= times;
    if (pre_tokenizer->growth > growth_limit_k)
        return uform_fail_(uform_status_unsupported_k,
            "%s: expected pre-tokenizers to make a text at most %d times longer", where->text, (int)growth_limit_k);
    return append_stage(pre_tokenizer, where, stage);
}

static uform_status_t read_literal(
    uform_json_t const *json, uform_where_t const *where, char const *key, uform_pre_tokenizer_stage_t *stage) {
    char const *text = NULL;
    size_t length = 0;
    uform_status_t const status = uform_json_string_(json, where->text, key, uform_json_required_k, &text, &length);
    if (status != uform_status_ok_k) return status;
    if (!length) return uform_json_unexpected_(where->text, key, "some text", uform_json_find_(json, key));
    if (length > uform_pre_tokenizer_literal_limit_k)
        return uform_fail_(uform_status_unsupported_k, "%s: %s: expected at most %d bytes", where->text, key,
            (int)uform_pre_tokenizer_literal_limit_k);
    memcpy(stage->literal, text, length);
    stage->literal_length = length;
    return uform_status_ok_k;
}

static uform_status_t read_behavior(
    uform_json_t const *json, uform_where_t const *where, uform_json_need_t need, uform_split_behavior_t *behavior) {
    static struct {
        char const *name;
        uform_split_behavior_t behavior;
    } const names[] = {
        {"Removed", uform_split_removed_k},
        {"Isolated", uform_split_isolated_k},
        {"MergedWithPrevious", uform_split_merged_with_previous_k},
        {"MergedWithNext", uform_split_merged_with_next_k},
        {"Contiguous", uform_split_contiguous_k},
    };
    uform_json_t const *const found = uform_json_find_(json, "behavior");
    if (!found && need == uform_json_optional_k) return uform_status_ok_k;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i)
        if (uform_json_equals_(found, names[i].name)) return *behavior = names[i].behavior, uform_status_ok_k;
    return uform_json_unexpected_(
        where->text, "behavior", "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous", found);
}

static uform_status_t read_split(
    uform_json_t const *json, uform_where_t const *where, uform_pre_tokenizer_t *pre_tokenizer) {
    uform_pre_tokenizer_stage_t stage = {0};
    uform_json_t const *pattern = NULL;
    uform_status_t status =
        uform_json_member_(json, where->text, "pattern", uform_json_object_k, uform_json_required_k, &pattern);
    if (status != uform_status_ok_k) return status;
    status = read_behavior(json, where, uform_json_required_k, &stage.behavior);
    if (status != uform_status_ok_k) return status;
    status = uform_json_boolean_(json, where->text, "invert", uform_json_required_k, &stage.invert);
    if (status != uform_status_ok_k) return status;
    uform_where_t inner;
    uform_where_key_(where, &inner, "pattern");
    uform_json_t const *const expression = uform_json_find_(pattern, "Regex");
    if (!expression) {
        stage.find = find_literal;
        status = read_literal(pattern, &inner, "String", &stage);
        return status == uform_status_ok_k ? append_stage(pre_tokenizer, where, stage) : status;
    }
    if (expression->kind != uform_json_string_k)
        return uform_json_unexpected_(inner.text, "Regex", "a string", expression);
    stage.find = find_pattern, stage.pattern = uform_pattern_known_(expression->text, expression->length);
    if (stage.pattern) return append_stage(pre_tokenizer, where, stage);
    char found[400];
    return uform_fail_(uform_status_unsupported_k,
        "%s: Regex: expected the expression of GPT-2, CLIP, Llama 3 or Qwen 2, found %s", inner.text,
        uform_json_describe_(expression, found, sizeof(found)));
}

static uform_status_t read_byte_level(
    uform_json_t const *json, uform_where_t const *where, uform_pre_tokenizer_t *pre_tokenizer) {
    bool space = true, divide = true;
    uform_status_t status = uform_json_boolean_(json, where->text, "add_prefix_space", uform_json_required_k, &space);
    if (status != uform_status_ok_k) return status;
    status = uform_json_boolean_(json, where->text, "use_regex", uform_json_optional_k, &divide);
    if (status != uform_status_ok_k) return status;
    if (pre_tokenizer->prefix_space) space = pre_tokenizer->prefix_space == uform_switch_on_k;
    if (space) {
        status = append_growing(pre_tokenizer, where, (uform_pre_tokenizer_stage_t){.rewrite = rewrite_space}, 2);
        if (status != uform_status_ok_k) return status;
    }
    if (divide) {
        uform_pre_tokenizer_stage_t const stage = {
            .find = find_pattern, .pattern = uform_pattern_gpt2_(), .behavior = uform_split_isolated_k};
        status = append_stage(pre_tokenizer, where, stage);
        if (status != uform_status_ok_k) return status;
    }
    return append_growing(pre_tokenizer, where, (uform_pre_tokenizer_stage_t){.rewrite = rewrite_bytes}, 2);
}

/// Older files say `add_prefix_space` only, newer ones both; then they have to agree.
static uform_status_t read_prepend(uform_json_t const *json, uform_where_t const *where, uform_prepend_t *prepend) {
    static struct {
        char const *name;
        uform_prepend_t prepend;
    } const names[] = {
        {"always", uform_prepend_always_k}, {"first", uform_prepend_first_k}, {"never", uform_prepend_never_k}};
    bool space = true, known = false;
    uform_status_t const status =
        uform_json_boolean_(json, where->text, "add_prefix_space", uform_json_optional_k, &space);
    if (status != uform_status_ok_k) return status;
    uform_json_t const *const scheme = uform_json_find_(json, "prepend_scheme");
    *prepend = uform_prepend_always_k;
    for (size_t i = 0; scheme && i < sizeof(names) / sizeof(*names); ++i)
        if (uform_json_equals_(scheme, names[i].name)) *prepend = names[i].prepend, known = true;
    if (scheme && !known)
        return uform_json_unexpected_(where->text, "prepend_scheme", "always, first or never", scheme);
    if (space) return uform_status_ok_k;
    if (scheme && *prepend != uform_prepend_never_k)
        return uform_json_unexpected_(where->text, "prepend_scheme", "never, as add_prefix_space is false", scheme);
    *prepend = uform_prepend_never_k;
    return uform_status_ok_k;
}

static uform_status_t read_metaspace(
    uform_json_t const *json, uform_where_t const *where, uform_pre_tokenizer_t *pre_tokenizer) {
    uform_pre_tokenizer_stage_t stage = {.rewrite = rewrite_metaspace};
    bool divide = true;
    uform_status_t status = read_literal(json, where, "replacement", &stage);
    if (status != uform_status_ok_k) return status;
    size_t bytes;
    uform_unicode_decode_(stage.literal, &bytes);
    if (bytes != stage.literal_length)
        return uform_json_unexpected_(
            where->text, "replacement", "one character", uform_json_find_(json, "replacement"));
    status = uform_json_boolean_(json, where->text, "split", uform_json_optional_k, &divide);
    if (status != uform_status_ok_k) return status;
    status = read_prepend(json, where, &stage.prepend);
    if (status != uform_status_ok_k) return status;
    if (pre_tokenizer->prefix_space)
        stage.prepend =
            pre_tokenizer->prefix_space == uform_switch_on_k ? uform_prepend_always_k : uform_prepend_never_k;
    status = append_growing(pre_tokenizer, where, stage, bytes + 1);
    if (status != uform_status_ok_k || !divide) return status;
    stage.rewrite = NULL, stage.find = find_literal, stage.behavior = uform_split_merged_with_next_k;
    return append_stage(pre_tokenizer, where, stage);
}

static uform_status_t read_punctuation(
    uform_json_t const *json, uform_where_t const *where, uform_pre_tokenizer_t *pre_tokenizer) {
    uform_pre_tokenizer_stage_t stage = {
        .find = find_flags, .flags = punctuation_k, .behavior = uform_split_isolated_k};
    uform_status_t const status = read_behavior(json, where, uform_json_optional_k, &stage.behavior);
    return status == uform_status_ok_k ? append_stage(pre_tokenizer, where, stage) : status;
}

static uform_status_t read_digits(
    uform_json_t const *json, uform_where_t const *where, uform_pre_tokenizer_t *pre_tokenizer) {
    uform_pre_tokenizer_stage_t stage = {.find = find_flags, .flags = uform_unicode_numeric_k};
    bool individual = false;
    uform_status_t const status =
        uform_json_boolean_(json, where->text, "individual_digits", uform_json_required_k, &individual);
    stage.behavior = individual ? uform_split_isolated_k : uform_split_contiguous_k;
    return status == uform_status_ok_k ? append_stage(pre_tokenizer, where, stage) : status;
}

typedef uform_status_t (*read_t)(
    uform_json_t const *json, uform_where_t const *where, uform_pre_tokenizer_t *pre_tokenizer);

static uform_status_t read_sequence(
    uform_json_t const *json, uform_where_t const *where, uform_pre_tokenizer_t *pre_tokenizer);
/// The kinds of pre-tokenizers: what reads the keys of one and appends its stages, or the stage it is.
static struct {
    char const *type;
    read_t read;
    uform_pre_tokenizer_stage_t stage; ///< when there is no such function
} const kinds[] = {
    {.type = "BertPreTokenizer", .stage = {.next = next_bert}},
    {.type = "Sequence", .read = read_sequence},
    {.type = "ByteLevel", .read = read_byte_level},
    {.type = "Metaspace", .read = read_metaspace},
    {.type = "Split", .read = read_split},
    {.type = "Whitespace", .stage = {.next = next_white_space}},
    {.type = "WhitespaceSplit", .stage = {.next = next_white_space_split}},
    {.type = "Punctuation", .read = read_punctuation},
    {.type = "Digits", .read = read_digits},
};

enum { kinds_count_k = sizeof(kinds) / sizeof(*kinds) };

static uform_status_t read_pre_tokenizer(
    uform_json_t const *json, uform_where_t const *where, uform_pre_tokenizer_t *pre_tokenizer) {
    uform_json_t const *const type = uform_json_find_(json, "type");
    for (size_t i = 0; i < kinds_count_k; ++i) {
        if (!uform_json_equals_(type, kinds[i].type)) continue;
        return kinds[i].read ? kinds[i].read(json, where, pre_tokenizer)
                             : append_stage(pre_tokenizer, where, kinds[i].stage);
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

uform_status_t uform_pre_tokenizer_load_(
    uform_json_t const *json, char const *path, uform_switch_t prefix_space, uform_pre_tokenizer_t *pre_tokenizer) {
    *pre_tokenizer = (uform_pre_tokenizer_t){.growth = 1, .prefix_space = prefix_space};
    if (!json || json->kind == uform_json_null_k) return uform_status_ok_k;
    uform_where_t where;
    uform_where_start_(&where, path, "pre_tokenizer");
    return read_pre_tokenizer(json, &where, pre_tokenizer);
}
