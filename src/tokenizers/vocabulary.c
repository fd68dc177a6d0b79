/**
 *  Reading the tokens of a model.
 */
#include "tokenizers/vocabulary.h"

#include <stdio.h>

#include "base/detail.h"
#include "tokenizers/identifier.h"

uform_status_t uform_vocabulary_read_(
    uform_json_t const *model, char const *where, uform_token_map_t *tokens, uint32_t *largest_id) {
    uform_json_t const *vocabulary = NULL;
    uform_status_t const status =
        uform_json_member_(model, where, "vocab", uform_json_object_k, uform_json_required_k, &vocabulary);
    if (status != uform_status_ok_k) return status;
    for (uform_json_t const *entry = vocabulary->first; entry; entry = entry->next) {
        uint32_t id;
        if (!uform_identifier_read_(entry, &id)) {
            char key[160];
            uform_json_t const name = {.kind = uform_json_string_k, .text = entry->key, .length = entry->key_length};
            char found[96];
            return uform_fail_(uform_status_malformed_k,
                "%s.vocab: %s: expected " UFORM_IDENTIFIER_EXPECTED_ ", found %s", where,
                uform_json_describe_(&name, key, sizeof(key)), uform_json_describe_(entry, found, sizeof(found)));
        }
        if (!uform_token_map_set_(tokens, entry->key, entry->key_length, id)) return uform_status_out_of_memory_k;
        if (id > *largest_id) *largest_id = id;
    }
    return uform_status_ok_k;
}

bool uform_vocabulary_find_(
    uform_token_map_t const *tokens, char const *content, size_t length, uint32_t *id, bool *found) {
    enum { longest_short_k = 256 };
    char padded[longest_short_k + uform_bytes_padding_k] = {0};
    if (length <= longest_short_k) {
        if (length) memcpy(padded, content, length);
        return *found = uform_token_map_find_(tokens, padded, length, id), true;
    }
    uform_bytes_t copy = {0};
    bool const copied = uform_bytes_append_(&copy, content, length);
    *found = copied && uform_token_map_find_(tokens, copy.data, length, id);
    uform_bytes_free_(&copy);
    return copied;
}

void uform_vocabulary_bytes_(uform_token_map_t const *tokens, uform_vocabulary_bytes_t *bytes) {
    for (size_t byte = 0; byte < 256; ++byte) {
        char name[8 + uform_bytes_padding_k] = {0};
        int const length = snprintf(name, sizeof(name), "<0x%02X>", (unsigned)byte);
        bytes->known[byte] = uform_token_map_find_(tokens, name, (size_t)length, &bytes->ids[byte]);
    }
}
