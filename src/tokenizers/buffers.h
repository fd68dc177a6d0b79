/**
 *  Growing arrays tokenizing works in. Each grows to a high-water mark and is freed by its owner; functions answer
 *  false, with a detail, when there is no memory. The data of bytes has `uform_bytes_padding_k` readable bytes after
 *  its capacity, so that words may be loaded eight bytes at a time.
 */
#ifndef UFORM_TOKENIZERS_BUFFERS_H
#define UFORM_TOKENIZERS_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { uform_bytes_padding_k = 16 };

typedef struct uform_bytes_t {
    char *data;              ///< [length], owned
    size_t length, capacity; ///< bytes
} uform_bytes_t;

typedef struct uform_ids_t {
    uint32_t *data; ///< [count], owned
    size_t count, capacity;
} uform_ids_t;

/// A decomposed character waiting for its place in canonical order.
typedef struct uform_mark_t {
    uint32_t code_point;
    uint32_t combining_class;
} uform_mark_t;

typedef struct uform_marks_t {
    uform_mark_t *data;   ///< [count], owned
    uform_mark_t *sorted; ///< [capacity], owned, scratch of the sort
    size_t count, capacity, sorted_capacity;
} uform_marks_t;

/// Slow paths of the functions below.
bool uform_bytes_grow_(uform_bytes_t *bytes, size_t extra);
bool uform_ids_grow_(uform_ids_t *ids, size_t extra);
bool uform_marks_push_(uform_marks_t *marks, uint32_t code_point, uint32_t combining_class);

/// Sorts by combining class and keeps the order of equal ones, in linear time.
bool uform_marks_sort_(uform_marks_t *marks);

void uform_bytes_free_(uform_bytes_t *bytes);
void uform_ids_free_(uform_ids_t *ids);
void uform_marks_free_(uform_marks_t *marks);

/// Makes room for `extra` bytes after the length.
static inline bool uform_bytes_reserve_(uform_bytes_t *bytes, size_t extra) {
    return bytes->capacity - bytes->length >= extra || uform_bytes_grow_(bytes, extra);
}

/// Appends a JSON string that holds `text`, which is UTF-8.
bool uform_bytes_append_json_(uform_bytes_t *bytes, char const *text, size_t length);

static inline bool uform_bytes_append_(uform_bytes_t *bytes, char const *data, size_t length) {
    if (!uform_bytes_reserve_(bytes, length)) return false;
    if (length) memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
    return true;
}

static inline bool uform_bytes_append_text_(uform_bytes_t *bytes, char const *text) {
    return uform_bytes_append_(bytes, text, strlen(text));
}

static inline bool uform_ids_push_(uform_ids_t *ids, uint32_t id) {
    if (ids->count == ids->capacity && !uform_ids_grow_(ids, 1)) return false;
    ids->data[ids->count++] = id;
    return true;
}

#endif
