/**
 *  Known regular expressions and their matcher. All of them are alternatives in one order: literal texts, letters, numbers,
 * other visible characters, white space; the first that matches wins, as it does in the library.
 */
#include "tokenizers/patterns.h"

#include <string.h>

#include "tokenizers/unicode.h"

typedef enum lead_t {
    lead_none_k,
    lead_space_k,     ///< ` ?`
    lead_separator_k, ///< `[^\r\n\p{L}\p{N}]?`
} lead_t;

typedef enum spaces_t {
    spaces_unmatched_k,
    spaces_plain_k, ///< `\s+(?!\S)|\s+`
    spaces_lines_k, ///< `\s*[\r\n]+|\s+(?!\S)|\s+`
} spaces_t;

struct uform_pattern_t {
    char const *expression;
    char const *literals[12]; ///< tried first, up to a null
    bool any_case;            ///< the literals match whatever their case
    lead_t letters_lead;
    lead_t numbers_lead;
    size_t numbers_limit; ///< digits in a row
    lead_t others_lead;
    bool others_lines; ///< `[\r\n]*` after other visible characters
    spaces_t spaces;
};

#define CONTRACTIONS_ "'s", "'t", "'re", "'ve", "'m", "'ll", "'d"
#define CONTRACTIONS_EXPRESSION_ "'s|'t|'re|'ve|'m|'ll|'d"
#define CLIP_EXPRESSION_ CONTRACTIONS_EXPRESSION_ "|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"
#define LINES_EXPRESSION_(numbers)                                                                                     \
    "(?i:" CONTRACTIONS_EXPRESSION_ ")|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers                                         \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static uform_pattern_t const patterns[] = {
    // GPT-2, RoBERTa; it must stay the first.
    {.expression = CONTRACTIONS_EXPRESSION_ "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
        .literals = {CONTRACTIONS_},
        .letters_lead = lead_space_k,
        .numbers_lead = lead_space_k,
        .numbers_limit = SIZE_MAX,
        .others_lead = lead_space_k,
        .spaces = spaces_plain_k},
    // CLIP, in three spellings. The last one lacks its backslashes, so brackets count alone.
    {.expression = CLIP_EXPRESSION_, .literals = {CONTRACTIONS_}, .numbers_limit = 1},
    {.expression = "<\\|startoftext\\|>|<\\|endoftext\\|>|" CLIP_EXPRESSION_,
        .literals = {"<|startoftext|>", "<|endoftext|>", CONTRACTIONS_},
        .numbers_limit = 1},
    {.expression = "<|startoftext|>|<|endoftext|>|" CLIP_EXPRESSION_,
        .literals = {"<", "startoftext", ">", "endoftext", CONTRACTIONS_},
        .numbers_limit = 1},
    // Llama 3, then Qwen 2.
    {.expression = LINES_EXPRESSION_("\\p{N}{1,3}"),
        .literals = {CONTRACTIONS_},
        .any_case = true,
        .letters_lead = lead_separator_k,
        .numbers_limit = 3,
        .others_lead = lead_space_k,
        .others_lines = true,
        .spaces = spaces_lines_k},
    {.expression = LINES_EXPRESSION_("\\p{N}"),
        .literals = {CONTRACTIONS_},
        .any_case = true,
        .letters_lead = lead_separator_k,
        .numbers_limit = 1,
        .others_lead = lead_space_k,
        .others_lines = true,
        .spaces = spaces_lines_k},
};

enum {
    white_k = uform_unicode_white_k,
    letter_k = uform_unicode_letter_k,
    number_k = uform_unicode_number_k,
    visible_k = white_k | letter_k | number_k, ///< none of these makes it another visible character
};

uform_pattern_t const *uform_pattern_known_(char const *expression, size_t length) {
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); ++i)
        if (strlen(patterns[i].expression) == length && !memcmp(patterns[i].expression, expression, length))
            return &patterns[i];
    return NULL;
}

uform_pattern_t const *uform_pattern_gpt2_(void) {
    return &patterns[0];
}

/// End of the literal at `at`, or `at`. Without case, the long s is an s, too.
static size_t match_literal(char const *literal, bool any_case, char const *text, size_t at, size_t end) {
    size_t const start = at;
    for (; *literal; ++literal) {
        if (at == end) return start;
        if (any_case && *literal == 's' && end - at >= 2 && !memcmp(text + at, "\xC5\xBF", 2)) {
            at += 2;
            continue;
        }
        char byte = text[at];
        if (any_case && byte >= 'A' && byte <= 'Z') byte = (char)(byte - 'A' + 'a');
        if (byte != *literal) return start;
        ++at;
    }
    return at;
}

/// End of at most `limit` characters whose flags in `mask` are some, or none.
static size_t match_run(char const *text, size_t at, size_t end, uint16_t mask, bool wanted, size_t limit) {
    for (size_t bytes; limit && at < end; at += bytes, --limit)
        if (((uform_unicode_flags_(text + at, &bytes) & mask) != 0) != wanted) break;
    return at;
}

static bool is_line_end(char byte) {
    return byte == '\r' || byte == '\n';
}

/// Where what follows the optional lead begins.
static size_t match_lead(lead_t lead, char const *text, size_t at) {
    if (lead == lead_space_k) return at + (text[at] == ' ');
    size_t bytes;
    if (lead == lead_none_k || is_line_end(text[at])) return at;
    return uform_unicode_flags_(text + at, &bytes) & (letter_k | number_k) ? at : at + bytes;
}

/// End of an optional lead and a run; `at` without a run. A character can't be both the lead and the first of the run, so
/// nothing has to be tried twice.
static size_t match_led(
    lead_t lead, char const *text, size_t at, size_t end, uint16_t mask, bool wanted, size_t limit) {
    size_t const start = match_lead(lead, text, at);
    size_t const stop = match_run(text, start, end, mask, wanted, limit);
    return stop > start ? stop : at;
}

/// White space at `at`: up to the last line end in it, else all but the last character before a visible one.
static size_t match_spaces(spaces_t spaces, char const *text, size_t at, size_t end) {
    size_t const stop = match_run(text, at, end, white_k, true, SIZE_MAX);
    if (spaces == spaces_lines_k) {
        size_t line = stop;
        while (line > at && !is_line_end(text[line - 1])) --line;
        if (line > at) return line;
    }
    if (stop == end) return stop;
    size_t const last = uform_unicode_before_(text, stop);
    return last > at ? last : stop;
}

/// End of the match at `at`, which is before `end`; `at` when there is none.
static size_t match(uform_pattern_t const *pattern, char const *text, size_t at, size_t end) {
    for (char const *const *literal = pattern->literals; *literal; ++literal) {
        size_t const stop = match_literal(*literal, pattern->any_case, text, at, end);
        if (stop > at) return stop;
    }
    size_t stop = match_led(pattern->letters_lead, text, at, end, letter_k, true, SIZE_MAX);
    if (stop > at) return stop;
    stop = match_led(pattern->numbers_lead, text, at, end, number_k, true, pattern->numbers_limit);
    if (stop > at) return stop;
    stop = match_led(pattern->others_lead, text, at, end, visible_k, false, SIZE_MAX);
    if (stop > at) {
        while (pattern->others_lines && stop < end && is_line_end(text[stop])) ++stop;
        return stop;
    }
    return pattern->spaces == spaces_unmatched_k ? at : match_spaces(pattern->spaces, text, at, end);
}

uform_span_t uform_pattern_find_(uform_pattern_t const *pattern, char const *text, uform_span_t part) {
    for (size_t bytes; part.start < part.end; part.start += bytes) {
        size_t const stop = match(pattern, text, part.start, part.end);
        if (stop > part.start) return (uform_span_t){part.start, stop};
        uform_unicode_decode_(text + part.start, &bytes);
    }
    return part;
}
