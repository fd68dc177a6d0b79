/**
 *  Where in tokenizer.json a part stands.
 */
#include "tokenizers/where.h"

#include <stdio.h>
#include <string.h>

#include "base/detail.h"

/// Bytes of what came before that are shown; the rest is for the key that is added.
enum { shown_bytes_k = sizeof(((uform_where_t *)0)->text) - 64 };

void uform_where_start_(uform_where_t *where, char const *path, char const *key) {
    enum { path_bytes_k = 800 }; // leaves room for the keys, which say more
    snprintf(where->text, sizeof(where->text), "%.*s: %s", (int)path_bytes_k, path, key);
    where->depth = 0;
}

bool uform_where_enter_(uform_where_t const *outer, uform_where_t *inner, char const *key, size_t index) {
    enum { depth_limit_k = 8 };
    snprintf(inner->text, sizeof(inner->text), "%.*s.%.24s[%zu]", shown_bytes_k, outer->text, key, index);
    inner->depth = outer->depth + 1;
    if (inner->depth <= depth_limit_k) return true;
    return uform_fail_(uform_status_unsupported_k, "%s: expected at most %d levels of nesting", inner->text,
               (int)depth_limit_k) == uform_status_ok_k;
}

void uform_where_key_(uform_where_t const *outer, uform_where_t *inner, char const *key) {
    snprintf(inner->text, sizeof(inner->text), "%.*s.%.24s", shown_bytes_k, outer->text, key);
    inner->depth = outer->depth;
}

void uform_where_item_(uform_where_t const *outer, uform_where_t *inner, size_t index) {
    snprintf(inner->text, sizeof(inner->text), "%.*s[%zu]", shown_bytes_k, outer->text, index);
    inner->depth = outer->depth;
}

uform_status_t uform_where_unknown_type_(uform_where_t const *where, uform_json_t const *json, char const *what,
    void const *kinds, size_t count, size_t stride) {
    if (json->kind != uform_json_object_k) {
        char found[96];
        return uform_fail_(uform_status_malformed_k, "%s: expected %s, found %s", where->text, what,
            uform_json_describe_(json, found, sizeof(found)));
    }
    uform_json_t const *const type = uform_json_find_(json, "type");
    char expected[256];
    size_t used = (size_t)snprintf(expected, sizeof(expected), "%s", count > 1 ? "one of" : "the");
    for (size_t i = 0; i < count && used < sizeof(expected); ++i) {
        char const *name;
        memcpy(&name, (char const *)kinds + i * stride, sizeof(name));
        used += (size_t)snprintf(expected + used, sizeof(expected) - used, "%s %s", i ? "," : "", name);
    }
    if (!type || type->kind != uform_json_string_k) return uform_json_unexpected_(where->text, "type", expected, type);
    char found[96];
    return uform_fail_(uform_status_unsupported_k, "%s: type: expected %s, found %s", where->text, expected,
        uform_json_describe_(type, found, sizeof(found)));
}
