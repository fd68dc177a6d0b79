/**
 *  Gives a fuzzer's entry point every picture of the corpus, and changed copies of each, from a printed seed: what a build
 *  without libFuzzer can do in seconds. The sanitizers and the time limit are the judges.
 *      replay [ROUNDS]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pictures/corpus.h"

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

enum { default_rounds_k = 25, piece_limit_k = 12, header_bytes_k = 100 };

static uint64_t random_state;

static size_t random_below(size_t limit) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state % limit);
}

/// One change, more often in the first bytes: a cut, a piece doubled, a piece left out, a bit, a telling byte.
static size_t mutate(uint8_t *bytes, size_t length) {
    static uint8_t const telling[] = {0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF};
    size_t const reach = random_below(2) && length > header_bytes_k ? header_bytes_k : length;
    size_t const place = random_below(reach);
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
        case 3:
            bytes[place] ^= (uint8_t)(1u << random_below(8));
            return length;
        case 4:
            bytes[place] = (uint8_t)random_below(256);
            return length;
        default:
            bytes[place] = telling[random_below(sizeof(telling))];
            return length;
    }
}

/// Each input in memory of its own size, so that reading on is seen.
static void call(uint8_t const *bytes, size_t length) {
    uint8_t *const exact = malloc(length ? length : 1);
    if (!exact) exit(1);
    memcpy(exact, bytes, length);
    (void)LLVMFuzzerTestOneInput(exact, length);
    free(exact);
}

int main(int argument_count, char **arguments) {
    size_t const rounds = argument_count > 1 ? strtoul(arguments[1], NULL, 10) : default_rounds_k;
    char const *const seed = getenv("UFORM_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 10) : 20240229;
    if (!random_state) random_state = 1;
    printf("UFORM_TEST_SEED=%llu\n", (unsigned long long)random_state);
    size_t count;
    picture_t *const pictures = corpus_read(&count);
    for (size_t i = 0; i < count; ++i) {
        size_t const length = pictures[i].length;
        call(pictures[i].bytes, length);
        uint8_t *const changed = malloc(length + 3 * piece_limit_k);
        if (!changed) return 1;
        for (size_t round = 0; round < rounds && length; ++round) {
            memcpy(changed, pictures[i].bytes, length);
            size_t changed_length = length;
            for (size_t changes = 1 + random_below(3); changes && changed_length; --changes)
                changed_length = mutate(changed, changed_length);
            call(changed, changed_length);
        }
        free(changed);
    }
    corpus_free(pictures, count);
    return 0;
}
