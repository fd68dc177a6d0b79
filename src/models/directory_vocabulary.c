/**
 *  vocab.txt, what directories of BERT had before tokenizer.json and some still have alone: made into the tokenizer.json that
 *  transformers would write of it. A token stands in a line, without white space at its end, and has the number of its line.
 */
#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "base/file.h"
#include "base/memory.h"
#include "models/directory_parts.h"
#include "tokenizers/unicode.h"

/// Where the tokens with a role stand.
typedef struct vocabulary_t {
    uform_token_name_t const *roles; ///< [uform_role_count_k]
    size_t lines[uform_role_count_k];
    bool known[uform_role_count_k];
    uform_bytes_t *output;
} vocabulary_t;

static bool append(vocabulary_t *vocabulary, char const *text) {
    return uform_bytes_append_text_(vocabulary->output, text);
}

static bool append_number(vocabulary_t *vocabulary, size_t number) {
    char digits[24];
    snprintf(digits, sizeof(digits), "%zu", number);
    return append(vocabulary, digits);
}

static bool append_role(vocabulary_t *vocabulary, uform_role_t role) {
    return uform_bytes_append_json_(
        vocabulary->output, vocabulary->roles[role].content, vocabulary->roles[role].length);
}

static void note_roles(vocabulary_t *vocabulary, char const *token, size_t length, size_t line) {
    for (size_t role = 0; role < uform_role_count_k; ++role) {
        uform_token_name_t const *known = &vocabulary->roles[role];
        if (known->length != length || memcmp(known->content, token, length) != 0) continue;
        vocabulary->known[role] = true, vocabulary->lines[role] = line;
    }
}

/// The members of the object `vocab`. Of equal lines the last one counts, as of equal keys.
static uform_status_t append_lines(vocabulary_t *vocabulary, char const *path, char const *text, size_t length) {
    size_t const valid = uform_unicode_valid_prefix_(text, length);
    size_t line = 0;
    for (size_t begin = 0; begin < length; ++line) {
        char const *const newline = memchr(text + begin, '\n', length - begin);
        size_t const next = newline ? (size_t)(newline - text) + 1 : length;
        size_t end = newline ? next - 1 : length, bytes;
        if (end > valid) return uform_fail_(uform_status_malformed_k, "%s: line %zu: expected UTF-8", path, line + 1);
        while (end > begin) {
            size_t const before = uform_unicode_before_(text, end);
            if (!(uform_unicode_flags_(text + before, &bytes) & uform_unicode_white_k)) break;
            end = before;
        }
        note_roles(vocabulary, text + begin, end - begin, line);
        bool const done = (!line || append(vocabulary, ",\n")) &&
                          uform_bytes_append_json_(vocabulary->output, text + begin, end - begin) &&
                          append(vocabulary, ":") && append_number(vocabulary, line);
        if (!done) return uform_status_out_of_memory_k;
        begin = next;
    }
    return uform_status_ok_k;
}

/// What surrounds texts, and the tokens that are found in them.
static bool append_rest(vocabulary_t *vocabulary) {
    static char const flags[] =
        ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":true}";
    static char const *const keys[] = {",\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[", "],\"sep\":["};
    static uform_role_t const template[] = {uform_role_cls_k, uform_role_sep_k};
    if (!append(vocabulary,
            "}},\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"
            "\"strip_accents\":null,\"lowercase\":true},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}"))
        return false;
    for (size_t i = 0; i < 2; ++i)
        if (!append(vocabulary, keys[i]) || !append_role(vocabulary, template[i]) || !append(vocabulary, ",") ||
            !append_number(vocabulary, vocabulary->lines[template[i]]))
            return false;
    if (!append(vocabulary, "]},\"added_tokens\":[")) return false;
    for (size_t role = 0; role < uform_role_count_k;
         ++role) // one that has no line gets the next number when it is read
        if (!append(vocabulary, role ? ",{\"content\":" : "{\"content\":") ||
            !append_role(vocabulary, (uform_role_t)role) || !append(vocabulary, ",\"id\":") ||
            !append_number(vocabulary, vocabulary->lines[role]) || !append(vocabulary, flags))
            return false;
    return append(vocabulary, "]}");
}

/// The roles a tokenizer can't do without.
static uform_status_t check_roles(vocabulary_t const *vocabulary, char const *path) {
    static uform_role_t const needed[] = {uform_role_unknown_k, uform_role_cls_k, uform_role_sep_k};
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); ++i) {
        uform_token_name_t const *role = &vocabulary->roles[needed[i]];
        uform_json_t const name = {.kind = uform_json_string_k, .text = role->content, .length = role->length};
        char found[96];
        if (!vocabulary->known[needed[i]])
            return uform_fail_(uform_status_malformed_k, "%s: expected a line that is %s, found none", path,
                uform_json_describe_(&name, found, sizeof(found)));
    }
    return uform_status_ok_k;
}

uform_status_t uform_directory_make_tokenizer_(
    char const *path, uform_token_name_t const roles[uform_role_count_k], uform_bytes_t *text) {
    char *lines;
    size_t length;
    uform_status_t status = uform_file_read_(path, (size_t)256 << 20, &lines, &length);
    if (status != uform_status_ok_k) return status;
    vocabulary_t vocabulary = {.roles = roles, .output = text};
    bool made = append(&vocabulary, "{\"model\":{\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"##\","
                                    "\"max_input_chars_per_word\":100,\"unk_token\":") &&
                append_role(&vocabulary, uform_role_unknown_k) && append(&vocabulary, ",\"vocab\":{");
    if (made) status = append_lines(&vocabulary, path, lines, length);
    if (made && status == uform_status_ok_k) status = check_roles(&vocabulary, path);
    if (made && status == uform_status_ok_k) made = append_rest(&vocabulary);
    uform_free_(lines);
    return made ? status : uform_status_out_of_memory_k;
}
