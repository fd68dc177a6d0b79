/**
 *  Texts from a linear congruential generator: letters in words, words in texts.
 */
#include "encode/texts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

void texts_make(uform_text_t *texts, size_t count, size_t longest_words, char *memory) {
    uint64_t state = 20261201;
    for (size_t i = 0; i < count; ++i) {
        char *end = memory;
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t const words = (state >> 33) % (longest_words + 1);
        for (size_t word = 0; word < words; ++word) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t const letters = 1 + (state >> 60) % 7;
            for (size_t letter = 0; letter < letters; ++letter) *end++ = (char)('a' + (state >> (8 + 5 * letter)) % 26);
            *end++ = ' ';
        }
        texts[i] = (uform_text_t){memory, (size_t)(end - memory)};
        memory = end;
    }
}

uform_model_t texts_load(char const *name, uform_scalar_t precision) {
    char path[1024];
    snprintf(path, sizeof path, "%s/golden/models/%s", UFORM_TESTS_DIRECTORY, name);
    uform_model_options_t const options = {.size = sizeof options, .precision = precision};
    uform_model_t model;
    if (uform_model_load_ram(path, NULL, 0, &options, &model)) fail_msg("%s", uform_last_detail());
    return model;
}

uform_executor_t texts_executor(size_t threads, uform_cpu_class_t cpu_class) {
    uform_executor_t executor;
    if (uform_executor_for_ram(NULL, 0, cpu_class, threads, 0, &executor)) fail_msg("%s", uform_last_detail());
    return executor;
}
