/**
 *  Byte pair encoding: a word begins as a list of symbols, one a character, and the pair that was learnt first is joined,
 *  the leftmost of equal ones, until no pair of neighbours is known.
 *
 *  Memory: all tokens by content, for words and added tokens; what single characters are as symbols, in maps of their own
 *  for each place in a word, because a prefix or a suffix is written into the tokens of those places; and a table of
 *  pairs, open-addressed, whose value is the rank. A word needs 40 bytes a character of scratch: a heap of candidates
 *  {rank, place}, then the symbols as a linked list. The time is that of a heap, n log n.
 */
#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "tokenizers/token_map.h"
#include "tokenizers/token_model.h"
#include "tokenizers/vocabulary.h"

typedef struct pair_t {
    uint32_t left, right;
    uint32_t rank; ///< plus one; zero for an empty slot
} pair_t;

/// Where a character stands in a word: bits of an index into `symbols`.
enum { later_k = 1, last_k = 2, places_k = 4 };

typedef struct bpe_t {
    uform_token_map_t tokens;
    uform_token_map_t symbols[places_k]; ///< of characters, without prefix and suffix
    pair_t *pairs;                       ///< [pair_mask + 1], owned
    size_t pair_mask;
    uint32_t *joined; ///< [merges], owned: the token a rank makes
    char const *prefix, *suffix;
    size_t prefix_length, suffix_length;
    char *affixes; ///< owned, both of them
    uform_vocabulary_bytes_t bytes;
    bool byte_fallback, fuse_unknown, ignore_merges, has_unknown;
    uint32_t unknown_id, largest_id;
} bpe_t;

/// A symbol of a word: a node of a doubly linked list.
typedef struct symbol_t {
    uint32_t id;
    uint32_t before, after; ///< `none_k` at the ends
    uint32_t joined;        ///< one when it is part of the one before
} symbol_t;

#define NONE_ UINT32_MAX

enum { candidates_per_symbol_k = 3 }; ///< one at first, and two for every pair that is joined

static void free_state(void *state) {
    bpe_t *const model = state;
    uform_token_map_free_(&model->tokens);
    for (size_t i = 0; i < places_k; ++i) uform_token_map_free_(&model->symbols[i]);
    uform_free_(model->pairs);
    uform_free_(model->joined);
    uform_free_(model->affixes);
    uform_free_(model);
}

static bool find_token(void const *state, char const *content, size_t length, uint32_t *id) {
    bpe_t const *const model = state;
    return uform_token_map_find_(&model->tokens, content, length, id);
}

static void measure(void const *state, size_t *count, uint32_t *largest_id) {
    bpe_t const *const model = state;
    *count = model->tokens.count, *largest_id = model->largest_id;
}

static bool recognize(uform_json_t const *json) {
    return uform_json_find_(json, "merges") && uform_json_find_(json, "vocab");
}

static uint64_t hash_pair(uint32_t left, uint32_t right) {
    uint64_t const hash = ((uint64_t)left << 32 | right) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

/// The slot of a pair, or the empty one where it would be.
static pair_t *find_pair(bpe_t const *model, uint32_t left, uint32_t right) {
    for (size_t at = hash_pair(left, right) & model->pair_mask;; at = (at + 1) & model->pair_mask) {
        pair_t *const pair = &model->pairs[at];
        if (!pair->rank || (pair->left == left && pair->right == right)) return pair;
    }
}

/// The two tokens of a merge: `"a b"`, or `["a", "b"]`.
static bool read_pair(uform_json_t const *json, char const *parts[2], size_t lengths[2]) {
    if (json->kind == uform_json_string_k) {
        char const *const space = memchr(json->text, ' ', json->length);
        if (!space) return false;
        parts[0] = json->text, lengths[0] = (size_t)(space - json->text);
        parts[1] = space + 1, lengths[1] = json->length - lengths[0] - 1;
        return !memchr(parts[1], ' ', lengths[1]);
    }
    if (json->kind != uform_json_array_k || json->length != 2) return false;
    uform_json_t const *part = json->first;
    for (size_t i = 0; i < 2; ++i, part = part->next) {
        if (part->kind != uform_json_string_k) return false;
        parts[i] = part->text, lengths[i] = part->length;
    }
    return true;
}

static uform_status_t fail_merge(char const *where, size_t index, char const *expected, uform_json_t const *json) {
    char key[48];
    snprintf(key, sizeof(key), "merges[%zu]", index);
    return uform_json_unexpected_(where, key, expected, json);
}

static uform_status_t add_merge(
    bpe_t *model, uform_json_t const *json, char const *where, size_t index, uint32_t rank, uform_bytes_t *joined) {
    char const *parts[2];
    size_t lengths[2];
    if (!read_pair(json, parts, lengths)) return fail_merge(where, index, "two tokens", json);
    size_t const cut = model->prefix_length;
    if (lengths[1] < cut) return fail_merge(where, index, "a second token with the prefix", json);
    joined->length = 0;
    if (!uform_bytes_append_(joined, parts[0], lengths[0]) ||
        !uform_bytes_append_(joined, parts[1] + cut, lengths[1] - cut))
        return uform_status_out_of_memory_k;
    uint32_t ids[2];
    bool known[2];
    for (size_t i = 0; i < 2; ++i)
        if (!uform_vocabulary_find_(&model->tokens, parts[i], lengths[i], &ids[i], &known[i]))
            return uform_status_out_of_memory_k;
    if (!known[0] || !known[1] ||
        !uform_token_map_find_(&model->tokens, joined->data, joined->length, &model->joined[rank]))
        return fail_merge(where, index, "tokens of the vocabulary that make one", json);
    *find_pair(model, ids[0], ids[1]) = (pair_t){ids[0], ids[1], rank + 1};
    return uform_status_ok_k;
}

static uform_status_t read_merges(bpe_t *model, uform_json_t const *json, char const *where) {
    static char const version[] = "#version";
    uform_json_t const *merges = NULL;
    uform_status_t status =
        uform_json_member_(json, where, "merges", uform_json_array_k, uform_json_required_k, &merges);
    if (status != uform_status_ok_k) return status;
    size_t slots = 2;
    while (slots < 2 * merges->length) slots *= 2;
    model->pairs = uform_allocate_(slots, sizeof(*model->pairs)), model->pair_mask = slots - 1;
    model->joined = model->pairs ? uform_allocate_(merges->length, sizeof(*model->joined)) : NULL;
    if (!model->joined) return uform_status_out_of_memory_k;
    uform_bytes_t joined = {0};
    size_t index = 0;
    uint32_t rank = 0;
    for (uform_json_t const *item = merges->first; item && status == uform_status_ok_k; item = item->next, ++index) {
        bool const is_line = item->kind == uform_json_string_k;
        if (is_line && item->length >= sizeof(version) - 1 && !memcmp(item->text, version, sizeof(version) - 1))
            continue;
        status = add_merge(model, item, where, index, rank++, &joined);
    }
    uform_bytes_free_(&joined);
    return status;
}

/// Copies the affixes, which outlive the file.
static uform_status_t read_affixes(bpe_t *model, uform_json_t const *json, char const *where) {
    char const *prefix = "", *suffix = "";
    uform_status_t status = uform_json_string_(
        json, where, "continuing_subword_prefix", uform_json_optional_k, &prefix, &model->prefix_length);
    if (status != uform_status_ok_k) return status;
    status =
        uform_json_string_(json, where, "end_of_word_suffix", uform_json_optional_k, &suffix, &model->suffix_length);
    if (status != uform_status_ok_k) return status;
    enum { affix_limit_k = 32 }; // with bytes for unknown characters, each of them brings its affixes
    if (model->prefix_length > affix_limit_k || model->suffix_length > affix_limit_k)
        return uform_fail_(uform_status_unsupported_k,
            "%s: continuing_subword_prefix, end_of_word_suffix: expected at most %d bytes", where, (int)affix_limit_k);
    model->affixes = uform_allocate_(model->prefix_length + model->suffix_length, 1);
    if (!model->affixes) return uform_status_out_of_memory_k;
    memcpy(model->affixes, prefix, model->prefix_length);
    memcpy(model->affixes + model->prefix_length, suffix, model->suffix_length);
    model->prefix = model->affixes, model->suffix = model->affixes + model->prefix_length;
    return uform_status_ok_k;
}

/// Finds the tokens that are one character and what belongs to its place.
static bool collect_symbols(bpe_t *model) {
    for (size_t at = 0; model->tokens.slots && at <= model->tokens.mask; ++at) {
        uform_token_slot_t const slot = model->tokens.slots[at];
        if (!slot.length) continue;
        char const *const content = model->tokens.contents.data + slot.offset;
        for (size_t place = 0; place < places_k; ++place) {
            size_t const before = place & later_k ? model->prefix_length : 0;
            size_t const after = place & last_k ? model->suffix_length : 0;
            if (slot.length <= before + after) continue;
            size_t const length = slot.length - before - after;
            if (memcmp(content, model->prefix, before) || memcmp(content + before + length, model->suffix, after) ||
                uform_utf8_valid_length_(content + before, length) != length)
                continue;
            if (!uform_token_map_set_(&model->symbols[place], content + before, length, slot.id)) return false;
        }
    }
    return true;
}

/// The library drops pairs at random when it trains; a file for use says null or zero.
static uform_status_t check_dropout(uform_json_t const *json, char const *where) {
    double dropout = 0;
    uform_status_t const status = uform_json_number_(json, where, "dropout", uform_json_optional_k, &dropout);
    if (status != uform_status_ok_k || dropout == 0) return status;
    return uform_fail_(uform_status_unsupported_k, "%s: dropout: expected null or 0, found %g", where, dropout);
}

static uform_status_t read_model(bpe_t *model, uform_json_t const *json, char const *where) {
    struct {
        char const *key;
        bool *value;
    } const switches[] = {{"fuse_unk", &model->fuse_unknown}, {"byte_fallback", &model->byte_fallback},
        {"ignore_merges", &model->ignore_merges}};
    uform_status_t status = check_dropout(json, where);
    for (size_t i = 0; i < sizeof(switches) / sizeof(*switches) && status == uform_status_ok_k; ++i)
        status = uform_json_boolean_(json, where, switches[i].key, uform_json_optional_k, switches[i].value);
    if (status == uform_status_ok_k) status = read_affixes(model, json, where);
    if (status == uform_status_ok_k) status = uform_vocabulary_read_(json, where, &model->tokens, &model->largest_id);
    if (status == uform_status_ok_k) status = read_merges(model, json, where);
    char const *unknown = NULL;
    size_t unknown_length = 0;
    if (status == uform_status_ok_k)
        status = uform_json_string_(json, where, "unk_token", uform_json_optional_k, &unknown, &unknown_length);
    if (status != uform_status_ok_k) return status;
    // Vocabularies that hold every byte often name an unknown token that isn't there; the library doesn't mind, either.
    if (unknown &&
        !uform_vocabulary_find_(&model->tokens, unknown, unknown_length, &model->unknown_id, &model->has_unknown))
        return uform_status_out_of_memory_k;
    uform_vocabulary_bytes_(&model->tokens, &model->bytes);
    return collect_symbols(model) ? uform_status_ok_k : uform_status_out_of_memory_k;
}

static uform_status_t load(uform_json_t const *json, char const *where, void **state) {
    bpe_t *const model = uform_allocate_(1, sizeof(*model));
    if (!model) return uform_status_out_of_memory_k;
    uform_status_t const status = read_model(model, json, where);
    if (status != uform_status_ok_k) return free_state(model), status;
    *state = model;
    return uform_status_ok_k;
}

/// A word on its way.
typedef struct word_t {
    symbol_t *symbols; ///< [count]
    uint32_t count;
    uint64_t *heap; ///< [heap_count] of rank << 32 | place, the smallest first
    size_t heap_count;
    bool unknown; ///< an unknown character waits to be told
} word_t;

static void add_symbol(word_t *word, uint32_t id) {
    word->symbols[word->count] = (symbol_t){.id = id, .before = word->count - 1, .after = word->count + 1};
    ++word->count;
}

static bool knows_bytes(bpe_t const *model, char const *text, size_t length) {
    for (size_t i = 0; i < length; ++i)
        if (!model->bytes.known[(unsigned char)text[i]]) return false;
    return true;
}

static void add_bytes(bpe_t const *model, word_t *word, char const *text, size_t length) {
    for (size_t i = 0; i < length; ++i) add_symbol(word, model->bytes.ids[(unsigned char)text[i]]);
}

static void add_character(bpe_t const *model, word_t *word, char const *text, size_t length, size_t place) {
    uint32_t id;
    if (uform_token_map_find_(&model->symbols[place], text, length, &id)) {
        if (word->unknown) add_symbol(word, model->unknown_id);
        word->unknown = false;
        add_symbol(word, id);
        return;
    }
    size_t const before = place & later_k ? model->prefix_length : 0;
    size_t const after = place & last_k ? model->suffix_length : 0;
    if (model->byte_fallback && knows_bytes(model, model->prefix, before) && knows_bytes(model, text, length) &&
        knows_bytes(model, model->suffix, after)) {
        // Unknown characters before it stay waiting and are told behind the bytes: the library does so.
        add_bytes(model, word, model->prefix, before);
        add_bytes(model, word, text, length);
        add_bytes(model, word, model->suffix, after);
        return;
    }
    if (!model->has_unknown) return;
    if (word->unknown && !model->fuse_unknown) add_symbol(word, model->unknown_id);
    word->unknown = true;
}

static void push_candidate(bpe_t const *model, word_t *word, uint32_t left, uint32_t right) {
    pair_t const *const pair = find_pair(model, word->symbols[left].id, word->symbols[right].id);
    if (!pair->rank) return;
    uint64_t const key = (uint64_t)(pair->rank - 1) << 32 | left;
    size_t at = word->heap_count++;
    for (size_t parent; at && word->heap[parent = (at - 1) / 2] > key; at = parent) word->heap[at] = word->heap[parent];
    word->heap[at] = key;
}

static uint64_t pop_candidate(word_t *word) {
    uint64_t const top = word->heap[0], key = word->heap[--word->heap_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < word->heap_count; at = child) {
        child += child + 1 < word->heap_count && word->heap[child + 1] < word->heap[child];
        if (word->heap[child] >= key) break;
        word->heap[at] = word->heap[child];
    }
    word->heap[at] = key;
    return top;
}

static void merge(bpe_t const *model, word_t *word) {
    symbol_t *const symbols = word->symbols;
    for (uint32_t i = 0; i + 1 < word->count; ++i) push_candidate(model, word, i, i + 1);
    while (word->heap_count) {
        uint64_t const key = pop_candidate(word);
        uint32_t const left = (uint32_t)key, rank = (uint32_t)(key >> 32), right = symbols[left].after;
        if (symbols[left].joined || right == NONE_) continue;
        // A candidate whose symbols have changed counts if they would make the same token: the library checks no more.
        pair_t const *const pair = find_pair(model, symbols[left].id, symbols[right].id);
        if (!pair->rank || model->joined[pair->rank - 1] != model->joined[rank]) continue;
        symbols[left].id = model->joined[rank];
        symbols[left].after = symbols[right].after;
        symbols[right].joined = 1;
        if (symbols[left].after != NONE_) symbols[symbols[left].after].before = left;
        if (symbols[left].before != NONE_) push_candidate(model, word, symbols[left].before, left);
        if (symbols[left].after != NONE_) push_candidate(model, word, left, symbols[left].after);
    }
}

static bool reserve_word(bpe_t const *model, size_t length, uform_ids_t *scratch, word_t *word) {
    enum { unit_bytes_k = sizeof(*scratch->data) };
    size_t const affixes = model->byte_fallback ? model->prefix_length + model->suffix_length : 0;
    // With bytes for what is unknown, every character may bring a prefix, and the last one a suffix.
    if (length >= UINT32_MAX / 2 || (affixes && length >= UINT32_MAX / 2 / (affixes + 1)))
        return uform_fail_(uform_status_out_of_memory_k, "tokenizer: a word is too long") == uform_status_ok_k;
    size_t const most = length * (affixes + 1) + 1;
    size_t const heap_units = candidates_per_symbol_k * most * (sizeof(*word->heap) / unit_bytes_k);
    size_t const units = heap_units + most * (sizeof(*word->symbols) / unit_bytes_k);
    scratch->count = 0;
    if (scratch->capacity < units && !uform_ids_grow_(scratch, units)) return false;
    *word = (word_t){.heap = (uint64_t *)(void *)scratch->data};
    word->symbols = (symbol_t *)(void *)(scratch->data + heap_units);
    return true;
}

static bool split(void const *state, char const *text, size_t length, uform_ids_t *scratch, uform_ids_t *ids) {
    bpe_t const *const model = state;
    uint32_t id;
    if (model->ignore_merges && uform_token_map_find_(&model->tokens, text, length, &id))
        return uform_ids_push_(ids, id);
    word_t word = {0};
    if (!reserve_word(model, length, scratch, &word)) return false;
    for (size_t at = 0, bytes; at < length; at += bytes) {
        bytes = uform_utf8_valid_length_(text + at, length - at);
        add_character(model, &word, text + at, bytes, (at ? later_k : 0) | (at + bytes == length ? last_k : 0));
    }
    if (word.unknown) add_symbol(&word, model->unknown_id);
    if (!word.count) return true;
    word.symbols[word.count - 1].after = NONE_;
    merge(model, &word);
    for (uint32_t at = 0; at != NONE_; at = word.symbols[at].after)
        if (!uform_ids_push_(ids, word.symbols[at].id)) return false;
    return true;
}

uform_token_model_kind_t const uform_token_model_bpe_ = {
    .type = "BPE",
    .recognize = recognize,
    .load = load,
    .free = free_state,
    .find = find_token,
    .split = split,
    .measure = measure,
};
