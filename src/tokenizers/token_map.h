/**
 *  Token contents to ids, exactly. Built once, then only read.
 *
 *  Memory: an open-addressed table at most half full. A slot holds the first eight bytes of its token, which decide for
 *  short tokens, and where the whole of it stands in `contents`. A token of length zero has its place outside the
 *  table, because length zero marks an empty slot.
 */
#ifndef UFORM_TOKENIZERS_TOKEN_MAP_H
#define UFORM_TOKENIZERS_TOKEN_MAP_H

#include "tokenizers/buffers.h"

typedef struct uform_token_slot_t {
    uint64_t head;   ///< the first eight bytes, zeros after the end
    uint32_t length; ///< bytes; zero for an empty slot
    uint32_t offset; ///< of the content
    uint32_t id;
} uform_token_slot_t;

typedef struct uform_token_map_t {
    uform_token_slot_t *slots; ///< [mask + 1], owned
    size_t mask;
    size_t count; ///< distinct tokens, the empty one included
    uform_bytes_t contents;
    bool has_empty;
    uint32_t empty_id;
} uform_token_map_t;

/// Adds a token, or gives an equal one this id. Contents must stay below 4 GiB in all, as those of a JSON file do.
/// False without memory, with a detail.
bool uform_token_map_set_(uform_token_map_t *map, char const *content, size_t length, uint32_t id);
void uform_token_map_free_(uform_token_map_t *map);

/// Eight bytes at `text`, of which [length] count and the rest is zero. All eight must be readable.
static inline uint64_t uform_token_head_(char const *text, size_t length) {
    uint64_t head;
    memcpy(&head, text, sizeof(head));
    if (length >= sizeof(head)) return head;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return length ? head & ~(UINT64_MAX >> 8 * length) : 0;
#else
    return head & ~(UINT64_MAX << 8 * length);
#endif
}

static inline uint64_t uform_token_hash_(uint64_t head, char const *text, size_t length) {
    uint64_t hash = (head ^ length) * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t done = 8; done < length; done += 8) {
        uint64_t const next = uform_token_head_(text + done, length - done);
        hash = (hash ^ hash >> 29 ^ next) * UINT64_C(0xBF58476D1CE4E5B9);
    }
    return hash ^ hash >> 32;
}

/// Finds a token. Eight bytes must be readable after `content`, as they are after the text in uform_bytes_t.
static inline bool uform_token_map_find_(
    uform_token_map_t const *map, char const *content, size_t length, uint32_t *id) {
    if (!length) return *id = map->empty_id, map->has_empty;
    if (!map->slots) return false;
    uint64_t const head = uform_token_head_(content, length);
    for (size_t at = uform_token_hash_(head, content, length) & map->mask;; at = (at + 1) & map->mask) {
        uform_token_slot_t const *const slot = &map->slots[at];
        if (!slot->length) return false;
        if (slot->head != head || slot->length != length) continue;
        if (length > 8 && memcmp(map->contents.data + slot->offset, content, length)) continue;
        return *id = slot->id, true;
    }
}

#endif
