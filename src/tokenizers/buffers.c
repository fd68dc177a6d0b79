/**
 *  Growing arrays tokenizing works in.
 */
#include "tokenizers/buffers.h"

#include <stdio.h>

#include "base/detail.h"
#include "base/memory.h"

enum { smallest_capacity_k = 256 };

/// A capacity for `count` + `extra` items, at least half more than `capacity`; zero when there is none.
static size_t grown(size_t capacity, size_t count, size_t extra) {
    if (extra > SIZE_MAX / 4 - count) return 0;
    size_t const needed = count + extra, comfortable = capacity + capacity / 2;
    size_t const chosen = needed > comfortable ? needed : comfortable;
    return chosen > smallest_capacity_k ? chosen : smallest_capacity_k;
}

static bool too_much(void) {
    return uform_fail_(uform_status_out_of_memory_k, "tokenizer: the text is too long") == uform_status_ok_k;
}

bool uform_bytes_grow_(uform_bytes_t *bytes, size_t extra) {
    size_t const capacity = grown(bytes->capacity, bytes->length, extra);
    if (!capacity) return too_much();
    char *data = uform_reallocate_(bytes->data, capacity + uform_bytes_padding_k, 1);
    if (!data) return false;
    // What lies after the text is loaded with it and masked away; it only has to be defined.
    memset(data + bytes->length, 0, capacity + uform_bytes_padding_k - bytes->length);
    bytes->data = data, bytes->capacity = capacity;
    return true;
}

bool uform_bytes_append_json_(uform_bytes_t *bytes, char const *text, size_t length) {
    bool done = uform_bytes_append_text_(bytes, "\"");
    for (size_t i = 0; i < length && done; ++i) {
        unsigned char const byte = (unsigned char)text[i];
        char escape[8];
        if (byte >= 0x20 && byte != '"' && byte != '\\') done = uform_bytes_append_(bytes, text + i, 1);
        else done = snprintf(escape, sizeof(escape), "\\u%04x", byte) > 0 && uform_bytes_append_text_(bytes, escape);
    }
    return done && uform_bytes_append_text_(bytes, "\"");
}

bool uform_ids_grow_(uform_ids_t *ids, size_t extra) {
    size_t const capacity = grown(ids->capacity, ids->count, extra);
    if (!capacity) return too_much();
    uint32_t *data = uform_reallocate_(ids->data, capacity, sizeof(*data));
    if (!data) return false;
    ids->data = data, ids->capacity = capacity;
    return true;
}

bool uform_marks_push_(uform_marks_t *marks, uint32_t code_point, uint32_t combining_class) {
    if (marks->count == marks->capacity) {
        size_t const capacity = grown(marks->capacity, marks->count, 1);
        if (!capacity) return too_much();
        uform_mark_t *data = uform_reallocate_(marks->data, capacity, sizeof(*data));
        if (!data) return false;
        marks->data = data, marks->capacity = capacity;
    }
    marks->data[marks->count++] = (uform_mark_t){code_point, combining_class};
    return true;
}

static void sort_few(uform_mark_t *marks, size_t count) {
    for (size_t i = 1; i < count; ++i) {
        uform_mark_t const mark = marks[i];
        size_t j = i;
        for (; j && marks[j - 1].combining_class > mark.combining_class; --j) marks[j] = marks[j - 1];
        marks[j] = mark;
    }
}

bool uform_marks_sort_(uform_marks_t *marks) {
    enum { few_k = 32, classes_k = 256 };
    if (marks->count <= few_k) return sort_few(marks->data, marks->count), true;
    if (marks->sorted_capacity < marks->capacity) {
        uform_mark_t *sorted = uform_reallocate_(marks->sorted, marks->capacity, sizeof(*sorted));
        if (!sorted) return false;
        marks->sorted = sorted, marks->sorted_capacity = marks->capacity;
    }
    size_t starts[classes_k + 1] = {0};
    for (size_t i = 0; i < marks->count; ++i) ++starts[marks->data[i].combining_class + 1];
    for (size_t i = 0; i < classes_k; ++i) starts[i + 1] += starts[i];
    for (size_t i = 0; i < marks->count; ++i) marks->sorted[starts[marks->data[i].combining_class]++] = marks->data[i];
    memcpy(marks->data, marks->sorted, marks->count * sizeof(*marks->data));
    return true;
}

void uform_bytes_free_(uform_bytes_t *bytes) {
    uform_free_(bytes->data);
    *bytes = (uform_bytes_t){0};
}

void uform_ids_free_(uform_ids_t *ids) {
    uform_free_(ids->data);
    *ids = (uform_ids_t){0};
}

void uform_marks_free_(uform_marks_t *marks) {
    uform_free_(marks->data);
    uform_free_(marks->sorted);
    *marks = (uform_marks_t){0};
}
