/**
 *  WordPiece: a word is a token of the vocabulary, or the longest one it begins with followed by continuing pieces,
 *  each again the longest possible. A word that can't be divided, or has too many characters, is the unknown token.
 *
 *  Memory: all tokens by content; a trie of them for what words begin with; and, without their prefix, the continuing
 *  pieces in an automaton that reads a word from its end and so knows the longest piece at every position, which makes
 *  the time linear in the word whatever the vocabulary is. Its values index `pieces`.
 */
#include <stdlib.h>

#include "base/detail.h"
#include "base/memory.h"
#include "tokenizers/automaton.h"
#include "tokenizers/token_map.h"
#include "tokenizers/token_model.h"
#include "tokenizers/vocabulary.h"

typedef struct piece_t {
    uint32_t id;
    uint32_t length; ///< bytes, without the prefix
} piece_t;

typedef struct wordpiece_t {
    uform_token_map_t tokens;
    uform_automaton_t beginnings; ///< forward, of whole tokens; values index `pieces`
    uform_automaton_t continuing; ///< backward
    piece_t *pieces;              ///< [tokens, then continuing ones], owned
    size_t max_characters;        ///< of a word
    uint32_t unknown_id, largest_id;
} wordpiece_t;

static void free_state(void *state) {
    wordpiece_t *const model = state;
    uform_token_map_free_(&model->tokens);
    uform_automaton_free_(&model->beginnings);
    uform_automaton_free_(&model->continuing);
    uform_free_(model->pieces);
    uform_free_(model);
}

static bool find_token(void const *state, char const *content, size_t length, uint32_t *id) {
    wordpiece_t const *const model = state;
    return uform_token_map_find_(&model->tokens, content, length, id);
}

static void measure(void const *state, size_t *count, uint32_t *largest_id) {
    wordpiece_t const *const model = state;
    *count = model->tokens.count, *largest_id = model->largest_id;
}

static bool recognize(uform_json_t const *json) {
    return uform_json_find_(json, "continuing_subword_prefix") && uform_json_find_(json, "max_input_chars_per_word");
}

static uform_status_t build_automata(wordpiece_t *model, char const *prefix, size_t prefix_length) {
    model->pieces = uform_allocate_(2 * model->tokens.count, sizeof(*model->pieces));
    if (!model->pieces) return uform_status_out_of_memory_k;
    model->continuing.backward = true;
    uint32_t count = 0;
    for (size_t at = 0; model->tokens.slots && at <= model->tokens.mask; ++at) {
        uform_token_slot_t const slot = model->tokens.slots[at];
        if (!slot.length) continue;
        char const *const content = model->tokens.contents.data + slot.offset;
        model->pieces[count] = (piece_t){slot.id, slot.length};
        uform_status_t status = uform_automaton_add_(&model->beginnings, content, slot.length, count++);
        if (status != uform_status_ok_k) return status;
        if (slot.length <= prefix_length || memcmp(content, prefix, prefix_length)) continue;
        uint32_t const rest = slot.length - (uint32_t)prefix_length;
        model->pieces[count] = (piece_t){slot.id, rest};
        status = uform_automaton_add_(&model->continuing, content + prefix_length, rest, count++);
        if (status != uform_status_ok_k) return status;
    }
    return uform_automaton_finish_(&model->continuing);
}

static uform_status_t read_model(wordpiece_t *model, uform_json_t const *json, char const *where) {
    char const *prefix = NULL, *unknown = NULL;
    size_t prefix_length = 0, unknown_length = 0;
    uform_status_t status =
        uform_json_string_(json, where, "continuing_subword_prefix", uform_json_required_k, &prefix, &prefix_length);
    if (status != uform_status_ok_k) return status;
    status = uform_json_string_(json, where, "unk_token", uform_json_required_k, &unknown, &unknown_length);
    if (status != uform_status_ok_k) return status;
    status = uform_json_size_(
        json, where, "max_input_chars_per_word", 0, (size_t)1 << 53, uform_json_required_k, &model->max_characters);
    if (status != uform_status_ok_k) return status;
    status = uform_vocabulary_read_(json, where, &model->tokens, &model->largest_id);
    if (status != uform_status_ok_k) return status;
    bool known;
    if (!uform_vocabulary_find_(&model->tokens, unknown, unknown_length, &model->unknown_id, &known))
        return uform_status_out_of_memory_k;
    if (!known)
        return uform_json_unexpected_(
            where, "unk_token", "a token of the vocabulary", uform_json_find_(json, "unk_token"));
    status = build_automata(model, prefix, prefix_length);
    return status == uform_status_unsupported_k ? uform_fail_prefixed_(status, "%s: vocab: ", where) : status;
}

static uform_status_t load(uform_json_t const *json, char const *where, void **state) {
    wordpiece_t *const model = uform_allocate_(1, sizeof(*model));
    if (!model) return uform_status_out_of_memory_k;
    uform_status_t const status = read_model(model, json, where);
    if (status != uform_status_ok_k) return free_state(model), status;
    *state = model;
    return uform_status_ok_k;
}

/// Whether a word has more characters than are allowed.
static bool is_too_long(char const *word, size_t length, size_t max_characters) {
    if (length <= max_characters) return false;
    size_t characters = 0;
    for (size_t i = 0; i < length; ++i) characters += ((unsigned char)word[i] & 0xC0) != 0x80;
    return characters > max_characters;
}

/// The number plus one of the longest token a word begins with, or zero.
static uint32_t longest_beginning(uform_automaton_t const *automaton, char const *word, size_t length) {
    uint32_t node = 0, longest = 0;
    for (size_t i = 0; i < length; ++i) {
        node = uform_automaton_child_(automaton, node, (unsigned char)word[i]);
        if (!node) break;
        if (automaton->values[node]) longest = automaton->values[node];
    }
    return longest;
}

/// Divides a word that is no token. The id list is back at its old length when that is impossible.
static bool split_pieces(
    wordpiece_t const *model, char const *word, size_t length, uform_ids_t *scratch, uform_ids_t *ids, bool *possible) {
    uint32_t const first = longest_beginning(&model->beginnings, word, length);
    size_t const before = ids->count;
    *possible = first && model->continuing.node_count;
    if (!*possible) return true;
    size_t at = model->pieces[first - 1].length;
    scratch->count = 0;
    if (scratch->capacity < length && !uform_ids_grow_(scratch, length)) return false;
    uint32_t node = 0;
    for (size_t i = length; i-- > at;) {
        node = uform_automaton_step_(&model->continuing, node, (unsigned char)word[i]);
        scratch->data[i] = model->continuing.values[node];
    }
    if (!uform_ids_push_(ids, model->pieces[first - 1].id)) return false;
    while (at < length && *possible) {
        uint32_t const piece = scratch->data[at];
        *possible = piece != 0;
        if (!piece) break;
        if (!uform_ids_push_(ids, model->pieces[piece - 1].id)) return false;
        at += model->pieces[piece - 1].length;
    }
    if (!*possible) ids->count = before;
    return true;
}

static bool split(void const *state, char const *word, size_t length, uform_ids_t *scratch, uform_ids_t *ids) {
    wordpiece_t const *const model = state;
    if (is_too_long(word, length, model->max_characters)) return uform_ids_push_(ids, model->unknown_id);
    uint32_t id;
    if (uform_token_map_find_(&model->tokens, word, length, &id)) return uform_ids_push_(ids, id);
    bool possible;
    if (!split_pieces(model, word, length, scratch, ids, &possible)) return false;
    return possible || uform_ids_push_(ids, model->unknown_id);
}

uform_token_model_kind_t const uform_token_model_wordpiece_ = {
    .type = "WordPiece",
    .recognize = recognize,
    .load = load,
    .free = free_state,
    .find = find_token,
    .split = split,
    .measure = measure,
};
