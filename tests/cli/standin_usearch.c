/**
 *  Plays USearch's C library: the same functions, over a list that is gone through from end to end. Definitions make it
 *  an early release, one of another version, one that lacks a function, one that fails, or one that lies.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/// As the real one's, which the tool must fill in the same way.
typedef struct init_options_t {
    int metric_kind;
    void (*metric)(void);
    int quantization;
    size_t dimensions, connectivity, expansion_add, expansion_search;
    bool multi;
} init_options_t;

typedef struct list_t {
    size_t dimensions, count, capacity;
    float *vectors;
    bool viewed;
} list_t;

enum { header_bytes_k = 16 };

EXPORT void *usearch_init(init_options_t *options, char const **error);
EXPORT void usearch_free(void *index, char const **error);
EXPORT void usearch_reserve(void *index, size_t capacity, char const **error);
EXPORT void usearch_add(void *index, uint64_t key, void const *vector, int kind, char const **error);
EXPORT size_t usearch_size(void *index, char const **error);
EXPORT void usearch_save(void *index, char const *path, char const **error);
EXPORT size_t usearch_search(
    void *index, void const *query, int kind, size_t count, uint64_t *keys, float *distances, char const **error);

#if !defined(STANDIN_EARLY)
EXPORT char const *usearch_version(void);
char const *usearch_version(void) {
#if defined(STANDIN_VERSION_3)
    return "3.0.0";
#else
    return "2.99.1";
#endif
}
#endif

void *usearch_init(init_options_t *options, char const **error) {
    // Inner products, kept as they are, no function of the caller's, defaults for the rest.
    if (options->metric_kind != 2 || options->metric || options->quantization != 1 || options->connectivity ||
        options->expansion_add || options->expansion_search || options->multi)
        return *error = "unexpected options", NULL;
    list_t *const list = calloc(1, sizeof(*list));
    if (!list) return *error = "no memory", NULL;
    list->dimensions = options->dimensions;
    return list;
}

void usearch_free(void *index, char const **error) {
    (void)error;
    list_t *const list = index;
    if (!list->viewed) free(list->vectors);
    free(list);
}

void usearch_reserve(void *index, size_t capacity, char const **error) {
    list_t *const list = index;
    list->vectors = calloc(capacity, list->dimensions * sizeof(float));
    list->capacity = list->vectors ? capacity : 0;
    if (!list->vectors) *error = "no memory";
}

void usearch_add(void *index, uint64_t key, void const *vector, int kind, char const **error) {
    list_t *const list = index;
    if (kind != 1 || key != list->count || list->count == list->capacity) {
        *error = "unexpected vector";
        return;
    }
    memcpy(list->vectors + list->count++ * list->dimensions, vector, list->dimensions * sizeof(float));
}

size_t usearch_size(void *index, char const **error) {
    (void)error;
    return ((list_t *)index)->count;
}

void usearch_save(void *index, char const *path, char const **error) {
    list_t const *const list = index;
    FILE *const file = fopen(path, "wb");
    uint64_t const header[2] = {list->count, list->dimensions};
    size_t const bytes = list->count * list->dimensions * sizeof(float);
    if (!file || fwrite(header, 1, header_bytes_k, file) != header_bytes_k ||
        fwrite(list->vectors, 1, bytes, file) != bytes)
        *error = "can't write";
    if (file && fclose(file) != 0) *error = "can't write";
}

#if !defined(STANDIN_CUT)
EXPORT void usearch_view_buffer(void *index, void const *bytes, size_t length, char const **error);
void usearch_view_buffer(void *index, void const *bytes, size_t length, char const **error) {
    list_t *const list = index;
    uint64_t header[2];
    memcpy(header, bytes, header_bytes_k);
    if (length != header_bytes_k + header[0] * header[1] * sizeof(float) || header[1] != list->dimensions) {
        *error = "another graph";
        return;
    }
    union {
        void const *constant;
        float *vectors;
    } const place = {.constant = (char const *)bytes + header_bytes_k};
    list->vectors = place.vectors;
    list->viewed = true;
    list->count = header[0];
}
#endif

size_t usearch_search(
    void *index, void const *query, int kind, size_t count, uint64_t *keys, float *distances, char const **error) {
    list_t const *const list = index;
    float const *const wanted = query;
#if defined(STANDIN_FAILS)
    return *error = "search failed", 0;
#endif
    if (kind != 1) return *error = "unexpected query", 0;
    size_t found = 0;
    for (size_t row = 0; row != list->count; ++row) {
        float product = 0;
        for (size_t at = 0; at != list->dimensions; ++at)
            product += list->vectors[row * list->dimensions + at] * wanted[at];
        size_t place = found < count ? found++ : count;
        while (place && distances[place - 1] > 1 - product) {
            if (place != count) keys[place] = keys[place - 1], distances[place] = distances[place - 1];
            --place;
        }
        if (place != count) keys[place] = row, distances[place] = 1 - product;
    }
#if defined(STANDIN_LIES)
    // Keys of nothing, the same key again, and more answers than were asked for.
    for (size_t place = 0; place != found; ++place) keys[place] = place % 2 ? UINT64_MAX : 0;
    return found + 1000;
#endif
    return found;
}
