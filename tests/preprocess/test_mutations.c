/**
 *  Configurations changed at random, thousands of times, and sizes at random, from a printed seed: they end in a picture or in a
 *  status with a detail. The sanitizers and the time limit are the judges.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "attempt.h"

enum { rounds_k = 4000, resizes_k = 1500, text_bytes_k = 600, piece_limit_k = 16 };

static char const *const configs[] = {
    "{\"image_processor_type\": \"CLIPImageProcessor\", \"size\": {\"shortest_edge\": 22}, \"crop_size\": {\"height\": 20, "
    "\"width\": 24}, \"do_center_crop\": true, \"resample\": 3, \"rescale_factor\": 0.0039, \"image_mean\": [0.4, 0.5, 0.6], "
    "\"image_std\": [0.2, 0.3, 0.4], \"do_pad\": true, \"pad_size\": {\"height\": 30, \"width\": 31}}",
    "{\"image_processor_type\": \"Siglip2ImageProcessorFast\", \"patch_size\": 16, \"max_num_patches\": 64, \"resample\": 2}",
    "{\"image_processor_type\": \"DINOv3ViTImageProcessorFast\", \"size\": {\"height\": 19, \"width\": 18}, \"resample\": 2}",
    "{\"feature_extractor_type\": \"ConvNextFeatureExtractor\", \"crop_pct\": 0.875, \"size\": 24, \"resample\": 3}",
    "{\"image_processor_type\": \"ViTImageProcessor\", \"size\": {\"shortest_edge\": 20, \"longest_edge\": 25}}",
    "{\"image_encoder\": {\"image_size\": 22, \"normalization_means\": [0.4, 0.5, 0.6], \"normalization_deviations\": [1, 2, 3]}}",
};

static uint64_t random_state;

static size_t random_below(size_t limit) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state % limit);
}

/// Bytes that mean something to JSON and to numbers.
static char random_byte(void) {
    static char const telling[] = "{}[]\",:0123456789-+.eEtrufalsn\\ ";
    return random_below(4) ? telling[random_below(sizeof(telling) - 1)] : (char)random_below(256);
}

/// One change: a byte, a piece doubled, a piece left out.
static size_t mutate(char *text, size_t length) {
    size_t const place = random_below(length);
    size_t piece = 1 + random_below(piece_limit_k);
    if (piece > length - place) piece = length - place;
    switch (random_below(6)) {
        case 0:
            memmove(text + place + piece, text + place, length - place);
            return length + piece;
        case 1:
            memmove(text + place, text + place + piece, length - place - piece);
            return length - piece;
        default:
            text[place] = random_byte();
            return length;
    }
}

static int setup(void **state) {
    (void)state;
    char const *const seed = getenv("UFORM_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 10) : 20240229;
    if (!random_state) random_state = 1;
    print_message("UFORM_TEST_SEED=%llu\n", (unsigned long long)random_state);
    return 0;
}

static void random_configs_end_in_a_status(void **state) {
    (void)state;
    size_t const count = sizeof(configs) / sizeof(configs[0]);
    size_t done = 0;
    for (size_t i = 0; i < count; ++i) assert_true(attempt_config((uint8_t const *)configs[i], strlen(configs[i])));
    for (size_t round = 0; round < rounds_k; ++round) {
        char text[text_bytes_k];
        char const *const config = configs[round % count];
        size_t length = strlen(config);
        assert_true(length + 2 * piece_limit_k <= sizeof(text));
        memcpy(text, config, length);
        length = mutate(text, length);
        if (length && random_below(2)) length = mutate(text, length);
        // Exactly as many bytes as there are, for the sanitizers.
        uint8_t *const exact = malloc(length ? length : 1);
        memcpy(exact, text, length);
        done += (size_t)attempt_config(exact, length);
        free(exact);
    }
    assert_true(done > rounds_k / 20);
}

static void random_sizes_agree_in_every_class(void **state) {
    (void)state;
    size_t done = 0;
    for (size_t round = 0; round < resizes_k; ++round) {
        uint8_t bytes[64];
        for (size_t i = 0; i < sizeof(bytes); ++i) bytes[i] = (uint8_t)random_below(256);
        if (random_below(2)) // small pictures too
            for (size_t i = 5; i < 20; i += 2) bytes[i] = 0;
        done += (size_t)attempt_resize(bytes, sizeof(bytes));
    }
    assert_true(done > resizes_k / 2);
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(random_configs_end_in_a_status),
        cmocka_unit_test(random_sizes_agree_in_every_class),
    };
    return cmocka_run_group_tests_name("mutations", tests, setup, NULL);
}
