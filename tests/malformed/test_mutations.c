/**
 *  Files changed at random, thousands of times, from a printed seed: loading ends in success or in a status with a
 *  detail, and what loads can be used. The sanitizers and the time limit are the judges.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "malformed/workspace.h"
#include "uform/uform.h"

enum { rounds_k = 300, header_bytes_k = 2000, piece_limit_k = 16 };

static uint64_t random_state;

static size_t random_below(size_t limit) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state % limit);
}

/// Bytes that mean something to JSON, to numbers and to UTF-8.
static unsigned char random_byte(void) {
    static char const telling[] = "{}[]\",:0919-+.eEtrufalsn\\\0\x7f\x80\xc0\xe2\xf0\xff ";
    if (!random_below(4)) return (unsigned char)random_below(256);
    return (unsigned char)telling[random_below(sizeof(telling))];
}

/// One change within the first `reach` bytes: a byte, a cut, a piece doubled, a piece left out.
static size_t mutate(unsigned char *bytes, size_t length, size_t reach) {
    size_t const place = random_below(reach < length ? reach : length);
    size_t piece = 1 + random_below(piece_limit_k);
    if (piece > length - place) piece = length - place;
    switch (random_below(8)) {
        case 0:
            return place;
        case 1:
            memmove(bytes + place + piece, bytes + place, length - place);
            return length + piece;
        case 2:
            memmove(bytes + place, bytes + place + piece, length - place - piece);
            return length - piece;
        default:
            bytes[place] = random_byte();
            return length;
    }
}

static void use(uform_model_t model) {
    uform_text_t const texts[] = {{"the quick brown fox [MASK]", 26}, {"", 0}};
    uform_model_description_t description;
    assert_int_equal(uform_model_describe(model, &description), uform_status_ok_k);
    float *embeddings = calloc(2 * description.dimensions, sizeof(float));
    if (uform_encode_texts(model, NULL, texts, 2, NULL, embeddings, 0, NULL)) assert_true(*uform_last_detail());
    free(embeddings);
    uform_model_free(model);
}

static void mutate_file(workspace_t const *workspace, char const *name) {
    size_t length;
    unsigned char *original = workspace_read(workspace, name, &length), *changed = malloc(length + 2 * piece_limit_k);
    for (size_t round = 0; round < rounds_k; ++round) {
        memcpy(changed, original, length);
        size_t changed_length = mutate(changed, length, header_bytes_k);
        if (changed_length && random_below(2)) changed_length = mutate(changed, changed_length, header_bytes_k);
        workspace_write(workspace, name, changed, changed_length);
        uform_model_t model;
        if (!uform_model_load_ram(workspace->path, NULL, 0, NULL, &model)) use(model);
        else assert_true(*uform_last_detail());
    }
    workspace_write(workspace, name, original, length);
    free(original);
    free(changed);
}

static void random_changes_end_in_a_status(void **state) {
    static char const *const files[] = {"config.json", "modules.json", "1_Pooling/config.json",
        "2_Dense_1024/config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors",
        "2_Dense_1024/model.safetensors"};
    char const *seed = getenv("UFORM_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 10) : 20240229;
    if (!random_state) random_state = 1;
    print_message("UFORM_TEST_SEED=%llu\n", (unsigned long long)random_state);
    workspace_copy_model(*state, "dense_stack");
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) mutate_file(*state, files[i]);
}

int main(void) {
    struct CMUnitTest const tests[] = {cmocka_unit_test(random_changes_end_in_a_status)};
    return cmocka_run_group_tests_name("mutations", tests, workspace_setup, workspace_teardown);
}
