/**
 *  Typed access to JSON nodes, with failures that name file, key and value.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "base/json.h"
#include "base/utf8.h"

static struct {
    char const *expected; ///< with its article, for details
} const kinds[] = {
    [uform_json_null_k] = {"null"},
    [uform_json_boolean_k] = {"true or false"},
    [uform_json_number_k] = {"a number"},
    [uform_json_string_k] = {"a string"},
    [uform_json_array_k] = {"an array"},
    [uform_json_object_k] = {"an object"},
};

enum { number_bytes_k = 24 }; ///< of a number that are shown

/// Integers beyond this are not exact in a double.
static size_t const exact_limit = (size_t)1 << 53;

uform_json_t const *uform_json_find_(uform_json_t const *object, char const *key) {
    if (!object || object->kind != uform_json_object_k) return NULL;
    size_t const length = strlen(key);
    uform_json_t const *found = NULL;
    for (uform_json_t const *member = object->first; member; member = member->next)
        if (member->key_length == length && !memcmp(member->key, key, length)) found = member;
    return found;
}

bool uform_json_equals_(uform_json_t const *node, char const *text) {
    if (!node || node->kind != uform_json_string_k) return false;
    size_t const length = strlen(text);
    return node->length == length && !memcmp(node->text, text, length);
}

/// Quotes a string, escaping what would break a line of text, and cuts it to the buffer.
static void describe_string(uform_json_t const *node, char *buffer, size_t buffer_bytes) {
    static char const ellipsis[] = "...\"";
    enum { escape_bytes_k = 6 }; // as long as a character gets
    size_t used = 0, done = 0;
    buffer[used++] = '"';
    while (done < node->length && used + escape_bytes_k + sizeof(ellipsis) <= buffer_bytes) {
        unsigned char const byte = (unsigned char)node->text[done];
        size_t const bytes = uform_utf8_valid_length_(node->text + done, node->length - done);
        if (byte < 0x20 || byte == 0x7F || !bytes) {
            used += (size_t)snprintf(buffer + used, buffer_bytes - used, "\\u%04x", byte), ++done;
            continue;
        }
        memcpy(buffer + used, node->text + done, bytes);
        used += bytes, done += bytes;
    }
    snprintf(buffer + used, buffer_bytes - used, "%s", done < node->length ? ellipsis : "\"");
}

char const *uform_json_describe_(uform_json_t const *node, char *buffer, size_t buffer_bytes) {
    if (!node) snprintf(buffer, buffer_bytes, "nothing");
    else if (node->kind == uform_json_boolean_k) snprintf(buffer, buffer_bytes, "%s", node->truth ? "true" : "false");
    else if (node->kind == uform_json_number_k && !node->integer) // 3.0 is another number than 3
        snprintf(buffer, buffer_bytes, "%.*s", (int)(node->length < number_bytes_k ? node->length : number_bytes_k),
            node->text);
    else if (node->kind == uform_json_number_k) snprintf(buffer, buffer_bytes, "%.15g", node->number);
    else if (node->kind == uform_json_string_k) describe_string(node, buffer, buffer_bytes);
    else snprintf(buffer, buffer_bytes, "%s", kinds[node->kind].expected);
    return buffer;
}

uform_status_t uform_json_unexpected_(
    char const *where, char const *key, char const *expected, uform_json_t const *node) {
    char found[96];
    return uform_fail_(uform_status_malformed_k, "%s: %s: expected %s, found %s", where, key, expected,
        uform_json_describe_(node, found, sizeof(found)));
}

/// Finds a member that must satisfy `expected`; NULL with status ok when it may be absent and is.
static uform_status_t find(uform_json_t const *object, char const *where, char const *key, char const *expected,
    uform_json_need_t need, uform_json_t const **value) {
    *value = uform_json_find_(object, key);
    bool const absent = !*value || (*value)->kind == uform_json_null_k;
    if (absent && need == uform_json_required_k) return uform_json_unexpected_(where, key, expected, *value);
    if (absent) *value = NULL;
    return uform_status_ok_k;
}

uform_status_t uform_json_member_(uform_json_t const *object, char const *where, char const *key,
    uform_json_kind_t kind, uform_json_need_t need, uform_json_t const **value) {
    uform_json_t const *found;
    uform_status_t const status = find(object, where, key, kinds[kind].expected, need, &found);
    if (status != uform_status_ok_k || !found) return status;
    if (found->kind != kind) return uform_json_unexpected_(where, key, kinds[kind].expected, found);
    *value = found;
    return uform_status_ok_k;
}

uform_status_t uform_json_size_(uform_json_t const *object, char const *where, char const *key, size_t minimum,
    size_t maximum, uform_json_need_t need, size_t *value) {
    char expected[80];
    snprintf(expected, sizeof(expected), "an integer from %zu to %zu", minimum, maximum);
    uform_json_t const *found;
    uform_status_t const status = find(object, where, key, expected, need, &found);
    if (status != uform_status_ok_k || !found) return status;
    bool const exact = found->kind == uform_json_number_k && found->integer && found->number >= 0 &&
                       found->number <= (double)exact_limit;
    if (!exact || (size_t)found->number < minimum || (size_t)found->number > maximum)
        return uform_json_unexpected_(where, key, expected, found);
    *value = (size_t)found->number;
    return uform_status_ok_k;
}

uform_status_t uform_json_number_(
    uform_json_t const *object, char const *where, char const *key, uform_json_need_t need, double *value) {
    uform_json_t const *found = NULL;
    uform_status_t const status = uform_json_member_(object, where, key, uform_json_number_k, need, &found);
    if (found) *value = found->number;
    return status;
}

uform_status_t uform_json_boolean_(
    uform_json_t const *object, char const *where, char const *key, uform_json_need_t need, bool *value) {
    uform_json_t const *found = NULL;
    uform_status_t const status = uform_json_member_(object, where, key, uform_json_boolean_k, need, &found);
    if (found) *value = found->truth;
    return status;
}

uform_status_t uform_json_string_(uform_json_t const *object, char const *where, char const *key,
    uform_json_need_t need, char const **text, size_t *length) {
    uform_json_t const *found = NULL;
    uform_status_t const status = uform_json_member_(object, where, key, uform_json_string_k, need, &found);
    if (status != uform_status_ok_k || !found) return status;
    if (!length && strlen(found->text) != found->length)
        return uform_json_unexpected_(where, key, "a string without U+0000", found);
    *text = found->text;
    if (length) *length = found->length;
    return uform_status_ok_k;
}
