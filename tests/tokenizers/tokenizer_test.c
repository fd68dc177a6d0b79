/**
 *  What the tests of tokenizers share.
 */
#include "tokenizer_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static char const folder[] = UFORM_TESTS_DIRECTORY "/golden/tokenizers/";

uform_json_document_t golden_open(char const *name) {
    char path[1024];
    snprintf(path, sizeof(path), "%s%s", folder, name);
    uform_json_document_t document;
    if (uform_json_open_(path, &document)) fail_msg("%s", uform_last_detail());
    return document;
}

static char *read_golden(char const *name, size_t *length) {
    char path[1024], *text;
    snprintf(path, sizeof(path), "%s%s", folder, name);
    if (uform_file_read_(path, (size_t)1 << 26, &text, length)) fail_msg("%s", uform_last_detail());
    return text;
}

/// Writes a tokenizer.json in which "@name" stands for the golden file name.json.
static void write_spliced(FILE *file, char const *text, size_t length) {
    static char const mark[] = "\"@";
    for (size_t done = 0; done < length;) {
        char const *const found = memmem(text + done, length - done, mark, sizeof(mark) - 1);
        size_t const before = found ? (size_t)(found - text) - done : length - done;
        fwrite(text + done, 1, before, file);
        if (!found) return;
        char const *const name = found + sizeof(mark) - 1, *const end = strchr(name, '"');
        assert_non_null(end);
        char path[128];
        size_t spliced_length;
        snprintf(path, sizeof(path), "%.*s.json", (int)(end - name), name);
        char *const spliced = read_golden(path, &spliced_length);
        fwrite(spliced, 1, spliced_length, file);
        free(spliced);
        done = (size_t)(end + 1 - text);
    }
}

uform_status_t tokenizer_from_text(char const *text, size_t length, bool lower_case, uform_tokenizer_t *tokenizer) {
    char path[] = "/tmp/uform_tokenizer_XXXXXX";
    int const descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    assert_non_null(file);
    write_spliced(file, text, length);
    assert_int_equal(fclose(file), 0);
    uform_status_t const status =
        uform_tokenizer_load_(path, &(uform_tokenizer_settings_t){.lower_case = lower_case}, tokenizer);
    unlink(path);
    return status;
}

/// Variants are written one after the other as `"name":{...}`, and names are followed by braces nowhere else.
uform_tokenizer_t golden_tokenizer(char const *variant, bool lower_case) {
    static char const *const files[] = {"variants.json", "subword_variants.json"};
    char key[64], *text = NULL, *start = NULL;
    snprintf(key, sizeof(key), "\"%s\":{\"version\"", variant);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !start; ++i) {
        size_t length;
        free(text);
        text = read_golden(files[i], &length);
        start = strstr(text, key);
    }
    if (!start) fail_msg("no variant %s", variant);
    start += strlen(variant) + 3;
    size_t end = 0, depth = 0;
    bool quoted = false;
    do {
        char const c = start[end++];
        if (c == '\\') ++end;
        else if (c == '"') quoted = !quoted;
        else if (!quoted) depth += (c == '{') - (c == '}');
    } while (depth);
    uform_tokenizer_t tokenizer;
    if (tokenizer_from_text(start, end, lower_case, &tokenizer)) fail_msg("%s: %s", variant, uform_last_detail());
    free(text);
    return tokenizer;
}

uform_tokenizer_t golden_run_tokenizer(uform_json_t const *run) {
    bool lower_case = false;
    assert_int_equal(uform_json_boolean_(run, "golden", "lower", uform_json_optional_k, &lower_case), 0);
    return golden_tokenizer(uform_json_find_(run, "variant")->text, lower_case);
}

uform_tokenize_options_t golden_options(uform_json_t const *run) {
    uform_tokenize_options_t options = {0};
    size_t max_tokens = 0;
    assert_int_equal(uform_json_size_(run, "golden", "max_tokens", 0, 1u << 20, uform_json_optional_k, &max_tokens), 0);
    options.max_tokens = max_tokens;
    assert_int_equal(uform_json_boolean_(run, "golden", "left", uform_json_optional_k, &options.truncate_left), 0);
    assert_int_equal(
        uform_json_boolean_(run, "golden", "literal", uform_json_optional_k, &options.literal_specials), 0);
    assert_int_equal(
        uform_json_string_(run, "golden", "prefix", uform_json_optional_k, &options.prefix, &options.prefix_length), 0);
    return options;
}

static char *text_from_hex(uform_json_t const *hex, size_t *length) {
    *length = hex->length / 2;
    char *text = malloc(*length + 1);
    assert_non_null(text);
    for (size_t i = 0; i < *length; ++i) {
        char digits[3] = {hex->text[2 * i], hex->text[2 * i + 1], 0};
        text[i] = (char)strtoul(digits, NULL, 16);
    }
    return text;
}

char *golden_text(uform_json_t const *json, size_t *length) {
    uform_json_t const *const hex = uform_json_find_(json, "hex"), *const times = uform_json_find_(json, "times");
    if (hex) return text_from_hex(hex, length);
    if (times) json = uform_json_find_(json, "text");
    size_t const repeats = times ? (size_t)times->number : 1;
    *length = json->length * repeats;
    char *text = malloc(*length + 1);
    assert_non_null(text);
    for (size_t i = 0; i < repeats; ++i) memcpy(text + i * json->length, json->text, json->length);
    return text;
}

uint64_t hash_ids(uint64_t hash, uint32_t const *ids, size_t count) {
    if (!hash) hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i <= count; ++i)
        for (unsigned shift = 0; shift < 32; shift += 8)
            hash = (hash ^ ((i < count ? ids[i] : UINT32_MAX) >> shift & 255)) * UINT64_C(0x100000001B3);
    return hash;
}

uint64_t random_below(uint64_t *state, uint64_t limit) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (z ^ z >> 31) % limit;
}

/// Compares values with a list of them or with "count:hash".
static bool equals(uform_json_t const *expected, uint32_t const *values, size_t count) {
    if (expected->kind == uform_json_string_k) {
        char summary[64];
        snprintf(summary, sizeof(summary), "%zu:%016llx", count, (unsigned long long)hash_ids(0, values, count));
        return !strcmp(summary, expected->text);
    }
    if (expected->length != count) return false;
    uform_json_t const *item = expected->first;
    for (size_t i = 0; i < count; ++i, item = item->next)
        if (item->number != values[i]) return false;
    return true;
}

static void check_text(uform_tokenizer_t tokenizer, uform_json_t const *run, uform_json_t const *text, size_t index,
    uform_json_t const *ids, uform_json_t const *types, uform_tokenize_buffer_t *buffer) {
    uform_tokenize_options_t const options = golden_options(run);
    size_t length;
    char *const bytes = golden_text(text, &length);
    if (uform_tokenizer_run_(tokenizer, bytes, length, &options, buffer)) fail_msg("%s", uform_last_detail());
    if (!equals(ids, buffer->ids, buffer->count)) {
        for (size_t i = 0; i < buffer->count && i < 60; ++i) fprintf(stderr, "%u ", buffer->ids[i]);
        fail_msg("%s, text %zu: other ids", uform_json_find_(run, "variant")->text, index);
    }
    uint32_t *wide = calloc(buffer->count + 1, sizeof(*wide));
    assert_non_null(wide);
    bool any = false;
    for (size_t i = 0; i < buffer->count; ++i) wide[i] = buffer->type_ids[i], any |= wide[i] != 0;
    if (types ? !equals(types, wide, buffer->count) : any)
        fail_msg("%s, text %zu: other types", uform_json_find_(run, "variant")->text, index);
    free(wide);
    free(bytes);
}

static size_t check_run(uform_json_t const *texts, uform_json_t const *run, uform_tokenizer_t tokenizer) {
    uform_json_t const *ids = uform_json_find_(run, "ids")->first;
    uform_json_t const *types = uform_json_find_(run, "types");
    types = types ? types->first : NULL;
    uform_tokenize_buffer_t buffer = {0};
    size_t index = 0;
    for (uform_json_t const *text = texts->first; text; text = text->next, ids = ids->next, ++index) {
        check_text(tokenizer, run, text, index, ids, types, &buffer);
        types = types ? types->next : NULL;
    }
    uform_tokenize_buffer_free_(&buffer);
    return index;
}

void check_cases(char const *name, uform_tokenizer_t tokenizer) {
    uform_json_document_t document = golden_open(name);
    size_t checked = 0;
    for (uform_json_t const *group = document.root->first; group; group = group->next) {
        uform_json_t const *const texts = uform_json_find_(group, "texts");
        for (uform_json_t const *run = uform_json_find_(group, "runs")->first; run; run = run->next) {
            uform_tokenizer_t own = tokenizer ? NULL : golden_run_tokenizer(run);
            checked += check_run(texts, run, tokenizer ? tokenizer : own);
            uform_tokenizer_free_(own);
        }
    }
    uform_json_close_(&document);
    assert_true(checked > 100);
}
