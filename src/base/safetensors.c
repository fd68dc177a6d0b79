/**
 *  The safetensors header, checked whole before anything of the file is used.
 *
 *  The tensors' spans must tile the data without gap or overlap, each as long as its shape and dtype say, so whoever
 *  reads a tensor by its shape stays inside the file. The header is copied by the JSON parser; the data stay mapped.
 */
#include "base/safetensors.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"

enum { length_bytes_k = 8 };

/// The format's own limit, which also bounds what a hostile header can make us allocate.
static size_t const header_limit_bytes = 100000000;

static struct {
    char const *token;
    size_t bits;
} const scalars[] = {
#define ROW(name, width) [uform_tensor_scalar_##name##_k] = {#name, width},
    UFORM_TENSOR_SCALARS(ROW)
#undef ROW
};

char const *uform_tensor_scalar_name_(uform_tensor_scalar_t scalar) {
    return (size_t)scalar < uform_tensor_scalar_count_k ? scalars[scalar].token : "unknown";
}

/// A field of a tensor's entry, of which there must be exactly one.
static uform_status_t require_field(
    uform_json_t const *entry, char const *place, char const *key, uform_json_kind_t kind, uform_json_t const **value) {
    size_t count = 0;
    for (uform_json_t const *member = entry->first; member; member = member->next)
        count += member->key_length == strlen(key) && !memcmp(member->key, key, member->key_length);
    if (count > 1)
        return uform_fail_(uform_status_malformed_k, "%s: %s: expected once, found %zu times", place, key, count);
    return uform_json_member_(entry, place, key, kind, uform_json_required_k, value);
}

static uform_status_t parse_scalar(uform_json_t const *entry, char const *place, uform_safetensor_t *tensor) {
    uform_json_t const *token = NULL;
    uform_status_t const status = require_field(entry, place, "dtype", uform_json_string_k, &token);
    if (status != uform_status_ok_k) return status;
    for (size_t i = 0; i < uform_tensor_scalar_count_k; ++i) {
        if (!uform_json_equals_(token, scalars[i].token)) continue;
        tensor->scalar = (uform_tensor_scalar_t)i;
        return uform_status_ok_k;
    }
    return uform_json_unexpected_(place, "dtype", "a dtype of the safetensors format", token);
}

/// An item of a shape or of offsets as an exact integer.
static bool read_integer(uform_json_t const *item, size_t *value) {
    size_t const exact_limit = (size_t)1 << 53;
    if (item->kind != uform_json_number_k || !item->integer) return false;
    if (!(item->number >= 0) || item->number > (double)exact_limit) return false;
    *value = (size_t)item->number;
    return true;
}

static uform_status_t parse_offsets(uform_json_t const *entry, char const *place, uform_safetensor_t *tensor) {
    uform_json_t const *offsets = NULL;
    uform_status_t const status = require_field(entry, place, "data_offsets", uform_json_array_k, &offsets);
    if (status != uform_status_ok_k) return status;
    if (offsets->length != 2)
        return uform_fail_(uform_status_malformed_k, "%s: data_offsets: expected two integers, found %zu items", place,
            offsets->length);
    uform_json_t const *begin = offsets->first, *end = begin->next;
    if (!read_integer(begin, &tensor->begin))
        return uform_json_unexpected_(place, "data_offsets", "an offset in bytes", begin);
    if (!read_integer(end, &tensor->end))
        return uform_json_unexpected_(place, "data_offsets", "an offset in bytes", end);
    return uform_status_ok_k;
}

/// Checks that the shape's elements fill the span exactly.
static uform_status_t parse_shape(uform_json_t const *entry, char const *place, uform_safetensor_t *tensor) {
    uform_status_t const status = require_field(entry, place, "shape", uform_json_array_k, &tensor->shape);
    if (status != uform_status_ok_k) return status;
    tensor->dimension_count = tensor->shape->length;
    size_t bits = 1;
    for (uform_json_t const *item = tensor->shape->first; item; item = item->next) {
        size_t dimension;
        if (!read_integer(item, &dimension))
            return uform_json_unexpected_(place, "shape", "non-negative integers", item);
        if (__builtin_mul_overflow(bits, dimension, &bits))
            return uform_fail_(uform_status_malformed_k, "%s: shape: expected fewer elements than memory holds", place);
    }
    if (__builtin_mul_overflow(bits, scalars[tensor->scalar].bits, &bits))
        return uform_fail_(uform_status_malformed_k, "%s: shape: expected fewer elements than memory holds", place);
    if (tensor->end < tensor->begin)
        return uform_fail_(uform_status_malformed_k,
            "%s: data_offsets: expected an end behind the begin, found [%zu, %zu]", place, tensor->begin, tensor->end);
    if (bits % 8 || bits / 8 != tensor->end - tensor->begin)
        return uform_fail_(uform_status_malformed_k,
            "%s: data_offsets: expected a span of %zu bits after shape and dtype, found %zu bytes", place, bits,
            tensor->end - tensor->begin);
    return uform_status_ok_k;
}

static uform_status_t parse_entry(uform_safetensors_t *safetensors, uform_json_t const *entry) {
    uform_safetensor_t *tensor = &safetensors->tensors[safetensors->tensor_count++];
    tensor->name = entry->key, tensor->name_length = entry->key_length;
    if (entry->kind != uform_json_object_k)
        return uform_json_unexpected_(safetensors->path, entry->key, "an object", entry);
    char place[512]; // the words a failure about this tensor begins with
    snprintf(place, sizeof(place), "%s: %s", safetensors->path, entry->key);
    uform_status_t status = parse_scalar(entry, place, tensor);
    if (status == uform_status_ok_k) status = parse_offsets(entry, place, tensor);
    if (status == uform_status_ok_k) status = parse_shape(entry, place, tensor);
    return status;
}

static bool is_metadata(uform_json_t const *entry) {
    static char const key[] = "__metadata__";
    return entry->key_length == sizeof(key) - 1 && !memcmp(entry->key, key, sizeof(key) - 1);
}

static uform_status_t check_metadata(uform_safetensors_t const *safetensors, uform_json_t const *metadata) {
    if (metadata->kind == uform_json_null_k) return uform_status_ok_k;
    if (metadata->kind != uform_json_object_k)
        return uform_json_unexpected_(safetensors->path, "__metadata__", "an object of strings", metadata);
    for (uform_json_t const *item = metadata->first; item; item = item->next)
        if (item->kind != uform_json_string_k)
            return uform_json_unexpected_(safetensors->path, "__metadata__", "an object of strings", item);
    return uform_status_ok_k;
}

static int compare_names(char const *a, size_t a_length, char const *b, size_t b_length) {
    int const order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

/// By name; duplicates in the order of the file, which is the order of their names in the header's one copy.
static int compare_tensors(void const *left, void const *right) {
    uform_safetensor_t const *a = left, *b = right;
    int const order = compare_names(a->name, a->name_length, b->name, b->name_length);
    return order ? order : (a->name > b->name) - (a->name < b->name);
}

static int compare_spans(void const *left, void const *right) {
    uform_safetensor_t const *a = *(uform_safetensor_t const *const *)left,
                             *b = *(uform_safetensor_t const *const *)right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/// Sorts by name and keeps the last of duplicates, as the format's own reader does.
static void sort_tensors(uform_safetensors_t *safetensors) {
    uform_safetensor_t *tensors = safetensors->tensors;
    qsort(tensors, safetensors->tensor_count, sizeof(*tensors), compare_tensors);
    size_t kept = 0;
    for (size_t i = 0; i < safetensors->tensor_count; ++i) {
        bool const duplicate = kept && !compare_names(tensors[kept - 1].name, tensors[kept - 1].name_length,
                                           tensors[i].name, tensors[i].name_length);
        tensors[duplicate ? kept - 1 : kept++] = tensors[i];
    }
    safetensors->tensor_count = kept;
}

/// Checks that the spans tile the data from its first byte to its last.
static uform_status_t check_spans(uform_safetensors_t const *safetensors) {
    uform_safetensor_t const **spans = uform_allocate_(safetensors->tensor_count, sizeof(*spans));
    if (!spans) return uform_status_out_of_memory_k;
    for (size_t i = 0; i < safetensors->tensor_count; ++i) spans[i] = &safetensors->tensors[i];
    qsort(spans, safetensors->tensor_count, sizeof(*spans), compare_spans);
    uform_status_t status = uform_status_ok_k;
    size_t covered = 0;
    for (size_t i = 0; i < safetensors->tensor_count && status == uform_status_ok_k; ++i) {
        if (spans[i]->begin != covered)
            status = uform_fail_(uform_status_malformed_k,
                "%s: %s: data_offsets: expected to begin at %zu, where the tensor before ends, found %zu",
                safetensors->path, spans[i]->name, covered, spans[i]->begin);
        covered = spans[i]->end;
    }
    uform_free_(spans);
    if (status == uform_status_ok_k && covered != safetensors->data_bytes)
        status =
            uform_fail_(uform_status_malformed_k, "%s: expected %zu bytes of tensors after data_offsets, found %zu",
                safetensors->path, covered, safetensors->data_bytes);
    return status;
}

static uform_status_t parse_header(uform_safetensors_t *safetensors) {
    uform_json_t const *root = safetensors->header.root;
    if (root->kind != uform_json_object_k)
        return uform_json_unexpected_(safetensors->path, "header", "an object of tensors", root);
    safetensors->tensors = uform_allocate_(root->length, sizeof(*safetensors->tensors));
    if (!safetensors->tensors) return uform_status_out_of_memory_k;
    bool seen_metadata = false;
    for (uform_json_t const *entry = root->first; entry; entry = entry->next) {
        bool const metadata = is_metadata(entry);
        if (metadata && seen_metadata)
            return uform_fail_(uform_status_malformed_k, "%s: __metadata__: expected once", safetensors->path);
        seen_metadata |= metadata;
        uform_status_t const status = metadata ? check_metadata(safetensors, entry) : parse_entry(safetensors, entry);
        if (status != uform_status_ok_k) return status;
    }
    sort_tensors(safetensors);
    return check_spans(safetensors);
}

static uform_status_t open_header(uform_safetensors_t *safetensors) {
    unsigned char const *bytes = safetensors->file.data;
    size_t const length = safetensors->file.length;
    if (length < length_bytes_k)
        return uform_fail_(uform_status_malformed_k, "%s: header length: expected 8 bytes, found a file of %zu",
            safetensors->path, length);
    uint64_t header_bytes = 0;
    for (size_t i = 0; i < length_bytes_k; ++i) header_bytes |= (uint64_t)bytes[i] << (8 * i);
    if (header_bytes > header_limit_bytes || header_bytes > length - length_bytes_k)
        return uform_fail_(uform_status_malformed_k, "%s: header length: expected at most %zu bytes, found %llu",
            safetensors->path,
            length - length_bytes_k < header_limit_bytes ? length - length_bytes_k : header_limit_bytes,
            (unsigned long long)header_bytes);
    safetensors->data = bytes + length_bytes_k + header_bytes;
    safetensors->data_bytes = length - length_bytes_k - (size_t)header_bytes;
    char const *text = (char const *)bytes + length_bytes_k;
    uform_status_t const status =
        uform_json_parse_(text, (size_t)header_bytes, safetensors->path, &safetensors->header);
    return status == uform_status_ok_k ? parse_header(safetensors) : status;
}

uform_status_t uform_safetensors_open_(char const *path, uform_safetensors_t *safetensors) {
    *safetensors = (uform_safetensors_t){0};
    safetensors->path = uform_path_join_(path, "");
    if (!safetensors->path) return uform_status_out_of_memory_k;
    uform_status_t status = uform_file_map_(path, &safetensors->file);
    if (status == uform_status_ok_k) status = open_header(safetensors);
    if (status != uform_status_ok_k) uform_safetensors_close_(safetensors);
    return status;
}

void uform_safetensors_close_(uform_safetensors_t *safetensors) {
    uform_free_(safetensors->tensors);
    uform_json_close_(&safetensors->header);
    uform_file_unmap_(&safetensors->file);
    uform_free_(safetensors->path);
    *safetensors = (uform_safetensors_t){0};
}

uform_safetensor_t const *uform_safetensors_find_(uform_safetensors_t const *safetensors, char const *name) {
    size_t const length = strlen(name);
    size_t low = 0, high = safetensors->tensor_count;
    while (low < high) {
        size_t const middle = low + (high - low) / 2;
        uform_safetensor_t const *tensor = &safetensors->tensors[middle];
        int const order = compare_names(tensor->name, tensor->name_length, name, length);
        if (!order) return tensor;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}
