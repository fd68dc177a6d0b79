/**
 *  Building the map from token contents to ids.
 */
#include "tokenizers/token_map.h"

#include "base/memory.h"

static void place(uform_token_map_t const *map, uform_token_slot_t *slots, size_t mask, uform_token_slot_t slot) {
    size_t at = uform_token_hash_(slot.head, map->contents.data + slot.offset, slot.length) & mask;
    while (slots[at].length) at = (at + 1) & mask;
    slots[at] = slot;
}

static bool grow(uform_token_map_t *map) {
    enum { first_slots_k = 256 };
    size_t const count = map->slots ? 4 * (map->mask + 1) : first_slots_k;
    uform_token_slot_t *slots = uform_allocate_(count, sizeof(*slots));
    if (!slots) return false;
    for (size_t at = 0; map->slots && at <= map->mask; ++at)
        if (map->slots[at].length) place(map, slots, count - 1, map->slots[at]);
    uform_free_(map->slots);
    map->slots = slots, map->mask = count - 1;
    return true;
}

/// The slot of a token that is in the map.
static uform_token_slot_t *find(uform_token_map_t *map, uint64_t head, char const *content, size_t length) {
    for (size_t at = uform_token_hash_(head, content, length) & map->mask;; at = (at + 1) & map->mask) {
        uform_token_slot_t *slot = &map->slots[at];
        if (!slot->length) return NULL;
        if (slot->head == head && slot->length == length && !memcmp(map->contents.data + slot->offset, content, length))
            return slot;
    }
}

bool uform_token_map_set_(uform_token_map_t *map, char const *content, size_t length, uint32_t id) {
    if (!length) {
        map->count += !map->has_empty;
        map->has_empty = true, map->empty_id = id;
        return true;
    }
    if (2 * map->count >= map->mask && !grow(map)) return false;
    // The copy is made first because eight bytes after it can be
    // read, which the caller doesn't promise of the original.
    size_t const offset = map->contents.length;
    if (!uform_bytes_append_(&map->contents, content, length)) return false;
    char const *const copy = map->contents.data + offset;
    uint64_t const head = uform_token_head_(copy, length);
    uform_token_slot_t *const equal = find(map, head, copy, length);
    if (equal) {
        equal->id = id, map->contents.length = offset;
        return true;
    }
    place(map, map->slots, map->mask, (uform_token_slot_t){head, (uint32_t)length, (uint32_t)offset, id});
    ++map->count;
    return true;
}

void uform_token_map_free_(uform_token_map_t *map) {
    uform_free_(map->slots);
    uform_bytes_free_(&map->contents);
    *map = (uform_token_map_t){0};
}
