/**
 *  JSON, read into a tree of nodes. Strict RFC 8259 in UTF-8, as the parsers of the files' writers read it:
 *
 *  - U+0000 is legal in strings and keys, so lengths count; strings are NUL-terminated besides.
 *  - Lone surrogate escapes, invalid UTF-8, a byte order mark, NaN and trailing text are malformed.
 *  - Integers of any size are legal (`model_max_length` often is 1000000000000000019884624838656): beyond 2^53 they are
 *  rounded.
 *  - Of duplicate keys the last one counts; iterating shows them all, in the file's order.
 *  - Nesting deeper than 512 is malformed; nothing recurses.
 *
 *  A document is one copy of the text, in which strings are unescaped in place, and blocks of nodes. Nodes and strings
 *  live until the document is closed. Iterate over an array or an object with
 *
 *      for (uform_json_t const *item = array->first; item; item = item->next) ...
 *
 *  The getters take `where`, the words a failure begins with: the file, and for nested objects the keys that lead
 *  there, e.g. "model/tokenizer.json: normalizer".
 */
#ifndef UFORM_BASE_JSON_H
#define UFORM_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "uform/status.h"

typedef enum uform_json_kind_t {
    uform_json_null_k,
    uform_json_boolean_k,
    uform_json_number_k,
    uform_json_string_k,
    uform_json_array_k,
    uform_json_object_k,
} uform_json_kind_t;

typedef struct uform_json_t {
    uform_json_kind_t kind;
    bool truth;                 ///< of a boolean
    bool integer;               ///< the number was spelled without fraction and exponent
    double number;              ///< of a number; infinite when it overflows
    char const *text;           ///< of a string: UTF-8, [length], then a NUL; of a number: its [length] characters
    size_t length;              ///< bytes of a string or number; items of an array; members of an object
    struct uform_json_t *first; ///< first item or member; NULL without any
    struct uform_json_t *next;  ///< next sibling; NULL at the end
    char const *key;            ///< of an object's member: UTF-8, [key_length], then a NUL; else NULL
    size_t key_length;          ///< bytes
} uform_json_t;

typedef struct uform_json_document_t {
    uform_json_t const *root;
    char *text;                        ///< owned
    struct uform_json_block_t *blocks; ///< owned
} uform_json_document_t;

/// Reads and parses a file (at most 256 MiB). On failure nothing is left to close.
uform_status_t uform_json_open_(char const *path, uform_json_document_t *document);

/// Parses a copy of the text; `name` only names it in details.
uform_status_t uform_json_parse_(char const *text, size_t length, char const *name, uform_json_document_t *document);
void uform_json_close_(uform_json_document_t *document);

/// The member with this key (the last one); NULL without one or when `object` is NULL or no object. Linear in the
/// members.
uform_json_t const *uform_json_find_(uform_json_t const *object, char const *key);

/// Whether a string node holds exactly this NUL-terminated text; false for other kinds.
bool uform_json_equals_(uform_json_t const *node, char const *text);

/// A value in a few words for a detail's "found ...": `"x"`, `3`, `null`, `an object`. Control characters are escaped
/// and long strings cut. Returns `buffer`.
char const *uform_json_describe_(uform_json_t const *node, char *buffer, size_t buffer_bytes);

/// `where: key: expected <expected>, found <value>` with status `malformed`. `node` may be NULL: "found nothing".
uform_status_t uform_json_unexpected_(
    char const *where, char const *key, char const *expected, uform_json_t const *node);

/// Whether an absent key is an error. When optional, an absent key or a null leaves the output untouched.
typedef enum uform_json_need_t {
    uform_json_optional_k,
    uform_json_required_k,
} uform_json_need_t;

/// A member of a given kind.
uform_status_t uform_json_member_(uform_json_t const *object, char const *where, char const *key,
    uform_json_kind_t kind, uform_json_need_t need, uform_json_t const **value);

/// An integer from `minimum` to `maximum` (at most 2^53).
uform_status_t uform_json_size_(uform_json_t const *object, char const *where, char const *key, size_t minimum,
    size_t maximum, uform_json_need_t need, size_t *value);

/// A finite number, or an integer too large to be one (infinity).
uform_status_t uform_json_number_(
    uform_json_t const *object, char const *where, char const *key, uform_json_need_t need, double *value);

uform_status_t uform_json_boolean_(
    uform_json_t const *object, char const *where, char const *key, uform_json_need_t need, bool *value);

/// A string; with `length` NULL it must not hold U+0000.
uform_status_t uform_json_string_(uform_json_t const *object, char const *where, char const *key,
    uform_json_need_t need, char const **text, size_t *length);

#endif
