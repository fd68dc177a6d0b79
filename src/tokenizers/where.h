/**
 *  Where in tokenizer.json a part stands, for the details of
 *  failures: "model/tokenizer.json: normalizer.normalizers[2]".
 */
#ifndef UFORM_TOKENIZERS_WHERE_H
#define UFORM_TOKENIZERS_WHERE_H

#include "base/json.h"

typedef struct uform_where_t {
    char text[1024]; ///< cut when the path is longer
    size_t depth;    ///< how many lists it lies in
} uform_where_t;

void uform_where_start_(uform_where_t *where, char const *path, char const *key);

/// Item `index` of the list under `key`. False, with a detail of
/// `unsupported`, beyond a few levels: parts nest by recursion.
bool uform_where_enter_(uform_where_t const *outer, uform_where_t *inner, char const *key, size_t index);

/// The object under `key`.
void uform_where_key_(uform_where_t const *outer, uform_where_t *inner, char const *key);

/// Item `index` of the list itself, which doesn't count as nesting.
void uform_where_item_(uform_where_t const *outer, uform_where_t *inner, size_t index);

/// Fails because the key `type` of `json` is in no row of `kinds`, [count] structs of `stride` bytes that begin with
/// its name: `unsupported` when it is a string, else `malformed`. `what` is the part in words.
uform_status_t uform_where_unknown_type_(uform_where_t const *where, uform_json_t const *json, char const *what,
    void const *kinds, size_t count, size_t stride);

#endif
