/**
 *  Normalizers read from tokenizer.json, and the pass over characters most of them are a setting of.
 *
 *  The pass takes ASCII through a table, byte by byte. Any other character goes: cleaned, spaced, decomposed, put in
 *  canonical order among the characters around it, filtered, lowercased. Those that may have to be reordered wait in
 *  `marks` until the next character of combining class zero.
 */
#include "tokenizers/normalizer.h"

#include "base/detail.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "tokenizers/charsmap.h"
#include "tokenizers/span.h"
#include "tokenizers/unicode.h"
#include "tokenizers/where.h"

typedef enum decomposition_t {
    decomposition_none_k,
    decomposition_canonical_k,
    decomposition_compatible_k,
} decomposition_t;

struct uform_normalizer_step_t {
    bool (*run)(uform_normalizer_step_t const *step, char const *text, size_t length, uform_normalizer_work_t *work,
        uform_bytes_t *output);
    bool clean;                    ///< drop controls, make white space spaces
    bool space_chinese;            ///< put spaces around Chinese characters
    decomposition_t decomposition; ///< and canonical order, unless none
    uint16_t dropped;              ///< uform_unicode_flag_t of characters to drop after that
    bool lower;                    ///< the library's lowercase, character by character
    char ascii[128];               ///< what an ASCII character becomes
    uint8_t ascii_kept[128];       ///< one, or zero when it is dropped
    char *pattern, *content;       ///< of a replacement: owned
    size_t pattern_length, content_length;
    uint16_t repeated;        ///< of another replacement: uform_unicode_flag_t of characters, or
    uint64_t repeated_set[2]; ///< a bit for each of those it looks for, all ASCII
    size_t repeated_least;    ///< how many in a row are replaced
    bool repeated_singly;     ///< each by itself
    bool strip_left, strip_right;
    uform_charsmap_t charsmap; ///< owned
};

/// The most a character becomes: NFKD gives up to eighteen code points, spaces around a Chinese one add two.
enum { character_bytes_k = 256 };

static void emit(uform_normalizer_step_t const *step, uint32_t code_point, uform_bytes_t *output) {
    uform_unicode_record_t const *const record = uform_unicode_record_(code_point);
    if (record->flags & step->dropped) return;
    if (!step->lower || !record->lower) {
        output->length += uform_utf8_encode_(code_point, output->data + output->length);
        return;
    }
    uint32_t const *const parts = uform_unicode_pool_ + record->lower;
    for (uint32_t i = 1; i <= parts[0]; ++i)
        output->length += uform_utf8_encode_(parts[i], output->data + output->length);
}

static bool flush_marks(uform_normalizer_step_t const *step, uform_marks_t *marks, uform_bytes_t *output) {
    if (!uform_marks_sort_(marks)) return false;
    for (size_t i = 0; i < marks->count; ++i) {
        if (!uform_bytes_reserve_(output, character_bytes_k)) return false;
        emit(step, marks->data[i].code_point, output);
    }
    marks->count = 0;
    return true;
}

/// A decomposed character: written when it starts a new group, else kept for its place in canonical order.
static bool order(
    uform_normalizer_step_t const *step, uint32_t code_point, uform_marks_t *marks, uform_bytes_t *output) {
    uint8_t const combining_class = uform_unicode_record_(code_point)->combining_class;
    if (combining_class) return uform_marks_push_(marks, code_point, combining_class);
    if (marks->count && !flush_marks(step, marks, output)) return false;
    emit(step, code_point, output);
    return true;
}

static bool decompose(
    uform_normalizer_step_t const *step, uint32_t code_point, uform_marks_t *marks, uform_bytes_t *output) {
    if (step->decomposition == decomposition_none_k) return emit(step, code_point, output), true;
    if (uform_unicode_is_hangul_(code_point)) {
        uint32_t parts[3];
        size_t const count = uform_unicode_hangul_parts_(code_point, parts);
        for (size_t i = 0; i < count; ++i)
            if (!order(step, parts[i], marks, output)) return false;
        return true;
    }
    uform_unicode_record_t const *const record = uform_unicode_record_(code_point);
    size_t const mapping = step->decomposition == decomposition_canonical_k ? record->canonical : record->compatible;
    if (!mapping) return order(step, code_point, marks, output);
    uint32_t const *const parts = uform_unicode_pool_ + mapping;
    for (uint32_t i = 1; i <= parts[0]; ++i)
        if (!order(step, parts[i], marks, output)) return false;
    return true;
}

static bool run_character(
    uform_normalizer_step_t const *step, uint32_t code_point, uform_marks_t *marks, uform_bytes_t *output) {
    uint16_t const flags = uform_unicode_record_(code_point)->flags;
    if (step->clean && flags & uform_unicode_removed_k) return true;
    if (step->clean && flags & uform_unicode_white_k) code_point = ' ';
    if (!step->space_chinese || !(flags & uform_unicode_chinese_k)) return decompose(step, code_point, marks, output);
    return order(step, ' ', marks, output) && decompose(step, code_point, marks, output) &&
           order(step, ' ', marks, output);
}

static bool run_characters(uform_normalizer_step_t const *step, char const *text, size_t length,
    uform_normalizer_work_t *work, uform_bytes_t *output) {
    uform_marks_t *const marks = &work->marks;
    marks->count = 0;
    if (length) {
        size_t bytes;
        uint16_t const flags = uform_unicode_flags_(text, &bytes);
        work->moved |= (step->clean && flags & uform_unicode_removed_k) || flags & step->dropped;
    }
    for (size_t done = 0; done < length;) {
        if (!uform_bytes_reserve_(output, length - done + character_bytes_k)) return false;
        if ((unsigned char)text[done] < 0x80) {
            // What is dropped doesn't stand between the characters around it.
            if (marks->count && !step->ascii_kept[(unsigned char)text[done]]) {
                ++done;
                continue;
            }
            if (marks->count && !flush_marks(step, marks, output)) return false;
            if (!uform_bytes_reserve_(output, length - done)) return false;
            char *write = output->data + output->length;
            for (unsigned char byte; done < length && (byte = (unsigned char)text[done]) < 0x80; ++done)
                *write = step->ascii[byte], write += step->ascii_kept[byte];
            output->length = (size_t)(write - output->data);
        } else {
            size_t bytes;
            uint32_t const code_point = uform_unicode_decode_(text + done, &bytes);
            if (!run_character(step, code_point, marks, output)) return false;
            done += bytes;
        }
    }
    return !marks->count || flush_marks(step, marks, output);
}

static bool run_composition(uform_normalizer_step_t const *step, char const *text, size_t length,
    uform_normalizer_work_t *work, uform_bytes_t *output) {
    (void)step;
    return uform_unicode_append_composed_(output, &work->marks, text, length);
}

/// Appends what replaces a match of the text. The library says of the first character of what it puts in that it comes
/// from the last one of the match.
static bool append_content(uform_normalizer_step_t const *step, char const *text, uform_span_t match,
    uform_normalizer_work_t *work, uform_bytes_t *output) {
    size_t bytes;
    uform_unicode_decode_(text + match.start, &bytes);
    if (!match.start) work->moved |= !step->content_length || bytes < match.end;
    return uform_bytes_append_(output, step->content, step->content_length);
}

static bool run_replacement(uform_normalizer_step_t const *step, char const *text, size_t length,
    uform_normalizer_work_t *work, uform_bytes_t *output) {
    for (size_t done = 0; done < length;) {
        char const *const found = memmem(text + done, length - done, step->pattern, step->pattern_length);
        size_t const before = found ? (size_t)(found - text) - done : length - done;
        if (!uform_bytes_append_(output, text + done, before)) return false;
        if (!found) break;
        uform_span_t const match = {done + before, done + before + step->pattern_length};
        if (!append_content(step, text, match, work, output)) return false;
        done = match.end;
    }
    return true;
}

static bool is_repeated(uform_normalizer_step_t const *step, char const *text, size_t *bytes) {
    uint16_t const flags = uform_unicode_flags_(text, bytes);
    if (step->repeated) return (flags & step->repeated) != 0;
    unsigned char const byte = (unsigned char)*text;
    return byte < 128 && (step->repeated_set[byte / 64] >> byte % 64 & 1);
}

static bool run_repeated(uform_normalizer_step_t const *step, char const *text, size_t length,
    uform_normalizer_work_t *work, uform_bytes_t *output) {
    size_t done = 0, bytes;
    while (done < length) {
        uform_span_t run = {done, done};
        size_t count = 0;
        for (; run.end < length && is_repeated(step, text + run.end, &bytes); run.end += bytes)
            if (step->repeated_singly && count) break;
            else ++count;
        done = run.end;
        if (count && count >= step->repeated_least) {
            if (!append_content(step, text, run, work, output)) return false;
            continue;
        }
        // What isn't in a run is copied up to the next one.
        while (done < length && !is_repeated(step, text + done, &bytes)) done += bytes;
        if (!uform_bytes_append_(output, text + run.start, done - run.start)) return false;
    }
    return true;
}

static bool run_strip(uform_normalizer_step_t const *step, char const *text, size_t length,
    uform_normalizer_work_t *work, uform_bytes_t *output) {
    size_t start = 0, end = length, bytes;
    while (step->strip_left && start < end && uform_unicode_flags_(text + start, &bytes) & uform_unicode_white_k)
        start += bytes;
    while (step->strip_right && end > start) {
        size_t const last = uform_unicode_before_(text, end);
        if (!(uform_unicode_flags_(text + last, &bytes) & uform_unicode_white_k)) break;
        end = last;
    }
    work->moved |= start > 0;
    return uform_bytes_append_(output, text + start, end - start);
}

static bool run_prepend(uform_normalizer_step_t const *step, char const *text, size_t length,
    uform_normalizer_work_t *work, uform_bytes_t *output) {
    (void)work;
    if (!length) return true;
    return uform_bytes_append_(output, step->content, step->content_length) &&
           uform_bytes_append_(output, text, length);
}

static bool run_charsmap(uform_normalizer_step_t const *step, char const *text, size_t length,
    uform_normalizer_work_t *work, uform_bytes_t *output) {
    (void)work;
    return uform_charsmap_append_(&step->charsmap, text, length, output);
}

bool uform_normalizer_run_(uform_normalizer_t const *normalizer, char const *text, size_t length,
    uform_normalizer_work_t *work, uform_bytes_t const **result) {
    uform_bytes_t *output = &work->bytes[0];
    output->length = 0;
    *result = output;
    work->moved = false;
    // Even without steps there is a copy, because what follows reads a few bytes beyond the end.
    if (!normalizer->count) return uform_bytes_append_(output, text, length) && uform_bytes_reserve_(output, 1);
    for (size_t i = 0; i < normalizer->count; ++i) {
        output = &work->bytes[i % 2];
        output->length = 0;
        if (!normalizer->steps[i].run(&normalizer->steps[i], text, length, work, output)) return false;
        text = output->data, length = output->length;
        *result = output;
    }
    return uform_bytes_reserve_(output, 1);
}

void uform_normalizer_work_free_(uform_normalizer_work_t *work) {
    uform_bytes_free_(&work->bytes[0]);
    uform_bytes_free_(&work->bytes[1]);
    uform_marks_free_(&work->marks);
}

/// Derives the table for ASCII from what the pass does to any character.
static void fill_ascii(uform_normalizer_step_t *step) {
    for (uint32_t code = 0; code < 128; ++code) {
        uform_unicode_record_t const *const record = uform_unicode_record_(code);
        bool const removed = (step->clean && record->flags & uform_unicode_removed_k) || record->flags & step->dropped;
        bool const white = step->clean && record->flags & uform_unicode_white_k;
        bool const lowered = step->lower && record->lower;
        step->ascii[code] = (char)(white ? ' ' : lowered ? uform_unicode_pool_[record->lower + 1] : code);
        step->ascii_kept[code] = !removed;
    }
}

static uform_status_t append_step(
    uform_normalizer_t *normalizer, uform_where_t const *where, uform_normalizer_step_t step) {
    enum { steps_limit_k = 64 }; // each is a pass over every text
    if (normalizer->count == steps_limit_k)
        return uform_fail_(
            uform_status_unsupported_k, "%s: expected at most %d steps", where->text, (int)steps_limit_k);
    uform_normalizer_step_t *steps =
        uform_reallocate_(normalizer->steps, normalizer->count + 1, sizeof(*normalizer->steps));
    if (!steps) return uform_status_out_of_memory_k;
    if (step.run == run_characters) fill_ascii(&step);
    normalizer->steps = steps;
    steps[normalizer->count++] = step;
    return uform_status_ok_k;
}

static bool overridden(bool value, uform_switch_t setting) {
    return setting == uform_switch_auto_k ? value : setting == uform_switch_on_k;
}

static uform_status_t read_bert(uform_json_t const *json, uform_where_t const *where, uform_normalizer_t *normalizer) {
    uform_normalizer_step_t step = {.run = run_characters};
    bool strip_accents = false;
    uform_status_t status = uform_json_boolean_(json, where->text, "clean_text", uform_json_required_k, &step.clean);
    if (status != uform_status_ok_k) return status;
    status = uform_json_boolean_(json, where->text, "handle_chinese_chars", uform_json_required_k, &step.space_chinese);
    if (status != uform_status_ok_k) return status;
    status = uform_json_boolean_(json, where->text, "lowercase", uform_json_required_k, &step.lower);
    if (status != uform_status_ok_k) return status;
    uform_tokenizer_settings_t const *const settings = &normalizer->settings;
    step.lower = overridden(step.lower, settings->bert_lowercase);
    step.space_chinese = overridden(step.space_chinese, settings->bert_chinese);
    strip_accents = step.lower;
    status = uform_json_boolean_(json, where->text, "strip_accents", uform_json_optional_k, &strip_accents);
    if (status != uform_status_ok_k) return status;
    strip_accents = overridden(strip_accents, settings->bert_strip_accents);
    step.decomposition = strip_accents ? decomposition_canonical_k : decomposition_none_k;
    step.dropped = strip_accents ? uform_unicode_mark_k : 0;
    return append_step(normalizer, where, step);
}

static void free_step(uform_normalizer_step_t *step) {
    uform_free_(step->pattern);
    uform_free_(step->content);
    uform_charsmap_free_(&step->charsmap);
}

/// Appends a step, or frees what it owns.
static uform_status_t append_owning(
    uform_normalizer_t *normalizer, uform_where_t const *where, uform_normalizer_step_t step) {
    uform_status_t const status = append_step(normalizer, where, step);
    if (status != uform_status_ok_k) free_step(&step);
    return status;
}

/// Replacements that multiply each other would turn a few bytes into more than any memory.
static uform_status_t check_growth(
    uform_normalizer_t *normalizer, uform_where_t const *where, char const *key, size_t longer, size_t shorter) {
    enum { growth_limit_k = 64 };
    normalizer->growth *= longer > shorter ? (longer + shorter - 1) / shorter : 1;
    if (normalizer->growth <= growth_limit_k) return uform_status_ok_k;
    return uform_fail_(uform_status_unsupported_k,
        "%s: %s: expected replacements to make a text at most %d times longer", where->text, key, (int)growth_limit_k);
}

/// What regular expressions of replacements look for: runs of white space, or of one character of a set.
static struct {
    char const *expression;
    uint16_t repeated;
    char character;
    size_t least;
} const repetitions[] = {
    {" {2,}", 0, ' ', 2},
    {" +", 0, ' ', 1},
    {"\\s+", uform_unicode_white_k, 0, 1},
    {"\\s{2,}", uform_unicode_white_k, 0, 2},
};

static void add_to_set(uform_normalizer_step_t *step, unsigned char character) {
    step->repeated_set[character / 64] |= (uint64_t)1 << character % 64;
}

/// A set of ASCII characters in brackets, those that are signs with or without a backslash; runs of them if a plus follows.
static bool read_set(uform_json_t const *expression, uform_normalizer_step_t *step) {
    static char const signs[] = "!\"#$%&'()*+,./:;<=>?@^_`{|}~ ";
    char const *at = expression->text, *const end = at + expression->length;
    if (at == end || *at++ != '[' || at == end || *at == '^' || *at == ']') return false;
    for (; at < end && *at != ']'; ++at) {
        bool const escaped = *at == '\\';
        if (escaped && ++at == end) return false;
        // Letters behind a backslash have meanings of their own, and so has an intersection's second ampersand.
        bool const sign = *at && strchr(signs, *at) && !(at[0] == '&' && at + 1 < end && at[1] == '&');
        bool const letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
        if (!(escaped ? sign || strchr("-[]\\", *at) : sign || letter) || !*at) return false;
        add_to_set(step, (unsigned char)*at);
    }
    if (at == end) return false;
    step->repeated_singly = end - at == 1;
    return step->repeated_singly || (end - at == 2 && at[1] == '+');
}

static uform_status_t read_expression(
    uform_json_t const *expression, uform_where_t const *where, uform_normalizer_step_t *step) {
    step->run = run_repeated;
    step->repeated_least = 1;
    for (size_t i = 0; i < sizeof(repetitions) / sizeof(*repetitions); ++i) {
        if (!uform_json_equals_(expression, repetitions[i].expression)) continue;
        step->repeated = repetitions[i].repeated;
        add_to_set(step, (unsigned char)repetitions[i].character);
        step->repeated_least = repetitions[i].least;
        return uform_status_ok_k;
    }
    if (expression->kind != uform_json_string_k)
        return uform_json_unexpected_(where->text, "pattern.Regex", "a string", expression);
    if (read_set(expression, step)) return uform_status_ok_k;
    char found[200];
    return uform_fail_(uform_status_unsupported_k,
        "%s: pattern.Regex: expected a set of ASCII characters or one of \" {2,}\", \" +\", \"\\s+\" and \"\\s{2,}\", found %s",
        where->text, uform_json_describe_(expression, found, sizeof(found)));
}

static char *copied(char const *text, size_t length) {
    char *copy = uform_allocate_(length, 1);
    if (copy && length) memcpy(copy, text, length);
    return copy;
}

static uform_status_t read_replace(
    uform_json_t const *json, uform_where_t const *where, uform_normalizer_t *normalizer) {
    uform_json_t const *pattern = NULL;
    char const *content = NULL, *wanted = NULL;
    size_t content_length = 0, wanted_length = 0;
    uform_normalizer_step_t step = {.run = run_replacement};
    uform_status_t status =
        uform_json_string_(json, where->text, "content", uform_json_required_k, &content, &content_length);
    if (status != uform_status_ok_k) return status;
    status = uform_json_member_(json, where->text, "pattern", uform_json_object_k, uform_json_required_k, &pattern);
    if (status != uform_status_ok_k) return status;
    uform_json_t const *const expression = uform_json_find_(pattern, "Regex");
    if (expression) status = read_expression(expression, where, &step);
    else status = uform_json_string_(pattern, where->text, "String", uform_json_required_k, &wanted, &wanted_length);
    if (status != uform_status_ok_k) return status;
    if (!expression && !wanted_length)
        return uform_json_unexpected_(where->text, "pattern.String", "some text", uform_json_find_(pattern, "String"));
    status =
        check_growth(normalizer, where, "content", content_length, expression ? step.repeated_least : wanted_length);
    if (status != uform_status_ok_k) return status;
    step.pattern_length = wanted_length, step.content_length = content_length;
    step.pattern = copied(wanted, wanted_length);
    step.content = step.pattern ? copied(content, content_length) : NULL;
    if (step.content) return append_owning(normalizer, where, step);
    free_step(&step);
    return uform_status_out_of_memory_k;
}

static uform_status_t read_prepend(
    uform_json_t const *json, uform_where_t const *where, uform_normalizer_t *normalizer) {
    enum { prepend_limit_k = 16 }; // every part of a text between added tokens gets it
    uform_normalizer_step_t step = {.run = run_prepend};
    char const *content = NULL;
    uform_status_t const status =
        uform_json_string_(json, where->text, "prepend", uform_json_required_k, &content, &step.content_length);
    if (status != uform_status_ok_k) return status;
    if (step.content_length > prepend_limit_k)
        return uform_fail_(
            uform_status_unsupported_k, "%s: prepend: expected at most %d bytes", where->text, (int)prepend_limit_k);
    step.content = copied(content, step.content_length);
    return step.content ? append_owning(normalizer, where, step) : uform_status_out_of_memory_k;
}

static uform_status_t read_strip(uform_json_t const *json, uform_where_t const *where, uform_normalizer_t *normalizer) {
    uform_normalizer_step_t step = {.run = run_strip};
    uform_status_t status =
        uform_json_boolean_(json, where->text, "strip_left", uform_json_required_k, &step.strip_left);
    if (status != uform_status_ok_k) return status;
    status = uform_json_boolean_(json, where->text, "strip_right", uform_json_required_k, &step.strip_right);
    return status == uform_status_ok_k ? append_step(normalizer, where, step) : status;
}

static uform_status_t read_precompiled(
    uform_json_t const *json, uform_where_t const *where, uform_normalizer_t *normalizer) {
    enum { usual_bytes_k = 3 }; // of the characters that become longer
    uform_normalizer_step_t step = {.run = run_charsmap};
    char const *text = NULL;
    size_t length = 0;
    uform_status_t status =
        uform_json_string_(json, where->text, "precompiled_charsmap", uform_json_required_k, &text, &length);
    if (status == uform_status_ok_k) status = uform_charsmap_load_(text, length, where->text, &step.charsmap);
    if (status == uform_status_ok_k)
        status = check_growth(normalizer, where, "precompiled_charsmap", step.charsmap.longest, usual_bytes_k);
    if (status == uform_status_ok_k) return append_owning(normalizer, where, step);
    free_step(&step);
    return status;
}

static uform_status_t read_sequence(
    uform_json_t const *json, uform_where_t const *where, uform_normalizer_t *normalizer);

/// The kinds of normalizers: how each is read, or what setting of the pass over characters it is.
static struct {
    char const *type;
    uform_status_t (*read)(uform_json_t const *json, uform_where_t const *where, uform_normalizer_t *normalizer);
    uform_normalizer_step_t step;
    bool composed;
} const kinds[] = {
    {.type = "BertNormalizer", .read = read_bert},
    {.type = "Sequence", .read = read_sequence},
    {.type = "Replace", .read = read_replace},
    {.type = "Precompiled", .read = read_precompiled},
    {.type = "Prepend", .read = read_prepend},
    {.type = "Strip", .read = read_strip},
    {.type = "Lowercase", .step = {.run = run_characters, .lower = true}},
    {.type = "StripAccents", .step = {.run = run_characters, .dropped = uform_unicode_combining_k}},
    {.type = "NFD", .step = {.run = run_characters, .decomposition = decomposition_canonical_k}},
    {.type = "NFKD", .step = {.run = run_characters, .decomposition = decomposition_compatible_k}},
    {.type = "NFC", .step = {.run = run_characters, .decomposition = decomposition_canonical_k}, .composed = true},
    {.type = "NFKC", .step = {.run = run_characters, .decomposition = decomposition_compatible_k}, .composed = true},
};

enum { kinds_count_k = sizeof(kinds) / sizeof(*kinds) };

static uform_status_t read_normalizer(
    uform_json_t const *json, uform_where_t const *where, uform_normalizer_t *normalizer) {
    uform_json_t const *const type = uform_json_find_(json, "type");
    for (size_t i = 0; i < kinds_count_k; ++i) {
        if (!uform_json_equals_(type, kinds[i].type)) continue;
        if (kinds[i].read) return kinds[i].read(json, where, normalizer);
        uform_status_t const status = append_step(normalizer, where, kinds[i].step);
        if (status != uform_status_ok_k || !kinds[i].composed) return status;
        return append_step(normalizer, where, (uform_normalizer_step_t){.run = run_composition});
    }
    return uform_where_unknown_type_(where, json, "a normalizer", kinds, kinds_count_k, sizeof(*kinds));
}

static uform_status_t read_sequence(
    uform_json_t const *json, uform_where_t const *where, uform_normalizer_t *normalizer) {
    uform_json_t const *list = NULL;
    uform_status_t status =
        uform_json_member_(json, where->text, "normalizers", uform_json_array_k, uform_json_required_k, &list);
    if (status != uform_status_ok_k) return status;
    size_t index = 0;
    for (uform_json_t const *item = list->first; item; item = item->next, ++index) {
        uform_where_t inner;
        if (!uform_where_enter_(where, &inner, "normalizers", index)) return uform_status_unsupported_k;
        status = read_normalizer(item, &inner, normalizer);
        if (status != uform_status_ok_k) return status;
    }
    return uform_status_ok_k;
}

static bool is_type(uform_json_t const *json, char const *type) {
    return uform_json_equals_(uform_json_find_(json, "type"), type);
}

static bool has_lowercase(uform_json_t const *json) {
    if (!is_type(json, "Sequence")) return is_type(json, "Lowercase");
    uform_json_t const *const list = uform_json_find_(json, "normalizers");
    uform_json_t const *item = list ? list->first : NULL;
    while (item && !is_type(item, "Lowercase")) item = item->next;
    return item != NULL;
}

uform_status_t uform_normalizer_load_(uform_json_t const *json, char const *path,
    uform_tokenizer_settings_t const *settings, uform_normalizer_t *normalizer) {
    *normalizer = (uform_normalizer_t){.growth = 1};
    if (settings) normalizer->settings = *settings;
    uform_where_t where;
    uform_where_start_(&where, path, "normalizer");
    bool const is_none = !json || json->kind == uform_json_null_k;
    uform_status_t status = uform_status_ok_k;
    if (normalizer->settings.lower_case && (is_none || !has_lowercase(json)))
        status = append_step(normalizer, &where, (uform_normalizer_step_t){.run = run_characters, .lower = true});
    if (status == uform_status_ok_k && !is_none) status = read_normalizer(json, &where, normalizer);
    if (status != uform_status_ok_k) uform_normalizer_free_(normalizer);
    return status;
}

void uform_normalizer_free_(uform_normalizer_t *normalizer) {
    for (size_t i = 0; i < normalizer->count; ++i) free_step(&normalizer->steps[i]);
    uform_free_(normalizer->steps);
    *normalizer = (uform_normalizer_t){0};
}
