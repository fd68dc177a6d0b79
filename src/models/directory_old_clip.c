/**
 *  CLIP's tokenizer as it was saved before there was tokenizer.json, which some directories never got: vocab.json and merges.txt,
 *  with special tokens in the files beside them. What tokenizer.json would be is written in memory and read as if it were there.
 *
 *  Steps and template are those of transformers' CLIPTokenizer.
 */
#include <string.h>

#include "base/detail.h"
#include "base/file.h"
#include "base/memory.h"
#include "models/directory_parts.h"
#include "tokenizers/buffers.h"

enum { file_limit_bytes_k = 64 << 20 };

static char const vocabulary_name[] = "vocab.json", merges_name[] = "merges.txt";

/// The files, opened.
typedef struct old_files_t {
    char *vocabulary_path, *vocabulary_text, *merges_text;
    size_t vocabulary_length, merges_length;
    uform_json_document_t vocabulary;
    uform_config_t config, map, added; ///< all may be absent
} old_files_t;

/// The tokens that stand around a text, and those that only say whether theirs are looked for in normalized text.
static struct {
    char const *key, *content;
} const specials[] = {{"bos_token", "<|startoftext|>"}, {"eos_token", "<|endoftext|>"}, {"unk_token", "<|endoftext|>"},
    {"pad_token", "<|endoftext|>"}};

enum { around_count_k = 2, unknown_k = 2, special_count_k = sizeof(specials) / sizeof(specials[0]) };

typedef struct special_t {
    char const *content; ///< [length]
    size_t length;
    uform_json_t const *object; ///< that says more of it; NULL where there is only the content
} special_t;

/// Old maps count before tokenizer_config.json, unless that lists its added tokens.
static special_t find_special(old_files_t const *files, size_t index) {
    uform_json_t const *found = NULL;
    if (!uform_json_find_(files->config.root, "added_tokens_decoder"))
        found = uform_json_find_(files->map.root, specials[index].key);
    if (!found) found = uform_json_find_(files->config.root, specials[index].key);
    uform_json_t const *const object = found && found->kind == uform_json_object_k ? found : NULL;
    uform_json_t const *const content = object ? uform_json_find_(object, "content") : found;
    if (!content || content->kind != uform_json_string_k)
        return (special_t){specials[index].content, strlen(specials[index].content), NULL};
    return (special_t){content->text, content->length, object};
}

static bool is_on(uform_json_t const *object, char const *key) {
    uform_json_t const *const found = uform_json_find_(object, key);
    return found && found->kind == uform_json_boolean_k && found->truth;
}

/// `id` as a file spells it, [id_length].
static bool append_token(
    uform_bytes_t *out, special_t token, char const *id, size_t id_length, bool normalized, bool special) {
    bool done = uform_bytes_append_text_(out, out->data[out->length - 1] == '[' ? "{\"id\":" : ",{\"id\":") &&
                uform_bytes_append_(out, id, id_length) && uform_bytes_append_text_(out, ",\"content\":") &&
                uform_bytes_append_json_(out, token.content, token.length);
    static char const *const flags[] = {"single_word", "lstrip", "rstrip"};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]) && done; ++i)
        done = uform_bytes_append_text_(out, ",\"") && uform_bytes_append_text_(out, flags[i]) &&
               uform_bytes_append_text_(out, is_on(token.object, flags[i]) ? "\":true" : "\":false");
    done = done && uform_bytes_append_text_(out, normalized ? ",\"normalized\":true" : ",\"normalized\":false");
    return done && uform_bytes_append_text_(out, special ? ",\"special\":true}" : ",\"special\":false}");
}

static bool same(special_t token, char const *content, size_t length) {
    return token.length == length && !memcmp(token.content, content, length);
}

/// A token is looked for in normalized text if every key that names it says so.
static bool is_normalized(old_files_t const *files, special_t token) {
    bool normalized = true;
    for (size_t i = 0; i < special_count_k; ++i) {
        special_t const other = find_special(files, i);
        if (same(token, other.content, other.length)) normalized = normalized && is_on(other.object, "normalized");
    }
    return normalized;
}

/// A member of tokenizer_config.json's list, "49406": {"content": ...}, or of added_tokens.json, "<new>": 49408.
static uform_status_t append_added(old_files_t const *files, uform_json_t const *member, bool is_list,
    uform_bytes_t *out, bool listed[special_count_k]) {
    uform_json_t const *const content = is_list ? uform_json_find_(member, "content") : NULL;
    char const *const id = is_list ? member->key : member->text;
    size_t const id_length = is_list ? member->key_length : member->length;
    bool const usable = is_list ? content && content->kind == uform_json_string_k
                                : member->kind == uform_json_number_k && member->integer;
    if (!usable || !id_length || strspn(id, "0123456789") < id_length)
        return uform_json_unexpected_(is_list ? files->config.path : files->added.path,
            is_list ? "added_tokens_decoder" : member->key, is_list ? "tokens by their ids" : "an id", member);
    special_t const token = is_list ? (special_t){content->text, content->length, member}
                                    : (special_t){member->key, member->key_length, NULL};
    bool is_special = false;
    for (size_t i = 0; i < special_count_k; ++i) {
        special_t const other = find_special(files, i);
        if (!same(other, token.content, token.length)) continue;
        is_special = true;
        listed[i] = is_list;
    }
    if (is_special && !is_list) return uform_status_ok_k; // it has a key of its own
    bool const normalized = is_list ? is_on(member, "normalized") : true, special = is_list && is_on(member, "special");
    return append_token(out, token, id, id_length, normalized, special) ? uform_status_ok_k
                                                                        : uform_status_out_of_memory_k;
}

static uform_status_t append_all_added(old_files_t const *files, uform_bytes_t *out, bool listed[special_count_k]) {
    uform_json_t const *const list = uform_json_find_(files->config.root, "added_tokens_decoder");
    uform_json_t const *const members = list ? list : files->added.root;
    uform_status_t status = uform_status_ok_k;
    if (!members || members->kind != uform_json_object_k) return status;
    for (uform_json_t const *member = members->first; member && status == uform_status_ok_k; member = member->next)
        status = append_added(files, member, list != NULL, out, listed);
    return status;
}

static bool append_merges(old_files_t const *files, uform_bytes_t *out) {
    char const *line = files->merges_text, *const end = line + files->merges_length;
    for (bool first = true; line < end; first = false) {
        char const *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line);
        if (length && line[length - 1] == '\r') --length;
        if ((!first && !uform_bytes_append_text_(out, ",")) || !uform_bytes_append_json_(out, line, length))
            return false;
        line = stop ? stop + 1 : end;
    }
    return true;
}

/// The id of a special token by the vocabulary. Those around a text have to be in it, others may be missing.
static uform_status_t find_id(old_files_t const *files, size_t index, uform_json_t const **id) {
    special_t const token = find_special(files, index);
    *id = NULL;
    for (uform_json_t const *member = files->vocabulary.root->first; member; member = member->next)
        if (same(token, member->key, member->key_length)) *id = member;
    if (*id ? (*id)->kind == uform_json_number_k : index >= around_count_k) return uform_status_ok_k;
    return uform_fail_(uform_status_malformed_k, "%s: expected the %s \"%.*s\" and its id, found none",
        files->vocabulary_path, specials[index].key, (int)(token.length < 64 ? token.length : 64), token.content);
}

/// Every special token once.
static uform_status_t append_specials(
    old_files_t const *files, bool const listed[special_count_k], uform_bytes_t *out) {
    for (size_t i = 0; i < special_count_k; ++i) {
        special_t const token = find_special(files, i);
        uform_json_t const *id;
        uform_status_t const status = find_id(files, i, &id);
        if (status != uform_status_ok_k) return status;
        bool done = listed[i] || !id;
        for (size_t j = 0; j < i; ++j) {
            special_t const other = find_special(files, j);
            done = done || same(other, token.content, token.length);
        }
        if (!done && !append_token(out, token, id->text, id->length, is_normalized(files, token), true))
            return uform_status_out_of_memory_k;
    }
    return uform_status_ok_k;
}

static uform_status_t write_file(old_files_t const *files, uform_bytes_t *out) {
    bool listed[special_count_k] = {false};
    if (!uform_bytes_append_text_(out, "{\"version\":\"1.0\",\"added_tokens\":[")) return uform_status_out_of_memory_k;
    uform_status_t status = append_all_added(files, out, listed);
    if (status == uform_status_ok_k) status = append_specials(files, listed, out);
    if (status != uform_status_ok_k) return status;
    bool done = uform_bytes_append_text_(out,
        "],\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"Replace\","
        "\"pattern\":{\"Regex\":\"\\\\s+\"},\"content\":\" \"},{\"type\":\"Lowercase\"}]},"
        "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"
        "\"<\\\\|startoftext\\\\|>|<\\\\|endoftext\\\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\\\p{L}]+|[\\\\p{N}]|"
        "[^\\\\s\\\\p{L}\\\\p{N}]+\"},\"behavior\":\"Removed\",\"invert\":true},{\"type\":\"ByteLevel\","
        "\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true}]},"
        "\"post_processor\":{\"type\":\"RobertaProcessing\",\"trim_offsets\":false,\"add_prefix_space\":false");
    static char const *const ends[around_count_k] = {",\"cls\":[", ",\"sep\":["};
    for (size_t i = 0; i < around_count_k && done; ++i) {
        special_t const token = find_special(files, i);
        uform_json_t const *id;
        (void)find_id(files, i, &id); // which was found before
        done = uform_bytes_append_text_(out, ends[i]) && uform_bytes_append_json_(out, token.content, token.length) &&
               uform_bytes_append_text_(out, ",") && uform_bytes_append_(out, id->text, id->length) &&
               uform_bytes_append_text_(out, "]");
    }
    special_t const unknown = find_special(files, unknown_k);
    done =
        done &&
        uform_bytes_append_text_(out, "},\"model\":{\"type\":\"BPE\",\"end_of_word_suffix\":\"</w>\",\"unk_token\":") &&
        uform_bytes_append_json_(out, unknown.content, unknown.length) &&
        uform_bytes_append_text_(out, ",\"vocab\":") &&
        uform_bytes_append_(out, files->vocabulary_text, files->vocabulary_length) &&
        uform_bytes_append_text_(out, ",\"merges\":[") && append_merges(files, out) &&
        uform_bytes_append_text_(out, "]}}");
    return done ? uform_status_ok_k : uform_status_out_of_memory_k;
}

/// Files of other tokenizers have the same names.
static bool is_clip(old_files_t const *files) {
    uform_json_t const *const type = uform_json_find_(files->config.root, "tokenizer_class");
    bool const named = type && type->kind == uform_json_string_k;
    return !named || uform_config_names_class_(type, "CLIPTokenizer");
}

static uform_status_t open_files(char const *transformer, char const *merges_path, old_files_t *files) {
    uform_status_t status = uform_file_read_(
        files->vocabulary_path, file_limit_bytes_k, &files->vocabulary_text, &files->vocabulary_length);
    if (status == uform_status_ok_k)
        status = uform_file_read_(merges_path, file_limit_bytes_k, &files->merges_text, &files->merges_length);
    if (status == uform_status_ok_k)
        status = uform_json_parse_(
            files->vocabulary_text, files->vocabulary_length, files->vocabulary_path, &files->vocabulary);
    if (status == uform_status_ok_k && files->vocabulary.root->kind != uform_json_object_k)
        status = uform_fail_(uform_status_malformed_k, "%s: expected an object", files->vocabulary_path);
    struct {
        char const *name;
        uform_config_t *config;
    } const others[] = {{"tokenizer_config.json", &files->config}, {"special_tokens_map.json", &files->map},
        {"added_tokens.json", &files->added}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && status == uform_status_ok_k; ++i)
        status = uform_config_open_(transformer, others[i].name, uform_json_optional_k, others[i].config);
    return status;
}

static void close_files(old_files_t *files) {
    uform_config_close_(&files->config);
    uform_config_close_(&files->map);
    uform_config_close_(&files->added);
    if (files->vocabulary.root) uform_json_close_(&files->vocabulary);
    uform_free_(files->vocabulary_text);
    uform_free_(files->merges_text);
}

static uform_status_t load(
    char const *transformer, char const *merges_path, char *vocabulary_path, uform_directory_t *directory) {
    old_files_t files = {.vocabulary_path = vocabulary_path};
    uform_bytes_t out = {0}, names = {0};
    uform_status_t status = open_files(transformer, merges_path, &files);
    bool const usable = status == uform_status_ok_k && is_clip(&files);
    if (usable) status = write_file(&files, &out);
    // Failures further on may be either's.
    bool const named = uform_bytes_append_text_(&names, vocabulary_path) && uform_bytes_append_text_(&names, " and ") &&
                       uform_bytes_append_(&names, merges_name, sizeof(merges_name));
    if (status == uform_status_ok_k && !named) status = uform_status_out_of_memory_k;
    if (usable && status == uform_status_ok_k)
        status = uform_tokenizer_parse_(
            out.data, out.length, names.data, &directory->tokenizer_settings, &directory->tokenizer);
    uform_bytes_free_(&names);
    uform_bytes_free_(&out);
    close_files(&files);
    return status;
}

uform_status_t uform_directory_open_old_clip_(char const *transformer, uform_directory_t *directory) {
    if (!directory->text.architecture->has_old_tokenizer) return uform_status_ok_k;
    char *const vocabulary = uform_path_join_(transformer, vocabulary_name);
    char *const merges = vocabulary ? uform_path_join_(transformer, merges_name) : NULL;
    uform_status_t status = merges ? uform_status_ok_k : uform_status_out_of_memory_k;
    if (merges && uform_file_exists_(vocabulary) && uform_file_exists_(merges))
        status = load(transformer, merges, vocabulary, directory);
    uform_free_(vocabulary);
    uform_free_(merges);
    return status;
}
