/**
 *  Unigram: of all ways to divide a word into tokens, the one whose scores have the largest sum. A character that is no
 *  token counts as unknown; unknown neighbours become one piece, which is its bytes when the vocabulary has all of those.
 *
 *  Memory: all tokens by content, and an Aho-Corasick automaton of them that is read forward. It knows the longest token
 *  that ends at a position; `shorter` leads from there to the others, so that the time doesn't depend on beginnings that
 *  long tokens share. A word needs 20 bytes a byte of scratch: the best sum of scores that ends at every position, where
 *  its last piece begins and which that is, and at last where the piece at a position ends.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/detail.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "tokenizers/automaton.h"
#include "tokenizers/identifier.h"
#include "tokenizers/token_map.h"
#include "tokenizers/token_model.h"
#include "tokenizers/vocabulary.h"

typedef struct piece_t {
    double score;
    uint32_t length;  ///< bytes
    uint32_t shorter; ///< the longest other piece that ends this one, plus one; zero without
} piece_t;

typedef struct unigram_t {
    uform_token_map_t tokens;
    uform_automaton_t endings; ///< values index `pieces`
    piece_t *pieces;           ///< [count] by id, owned
    size_t count;
    uint32_t unknown_id;
    double unknown_score;
    bool byte_fallback;
    uform_vocabulary_bytes_t bytes;
} unigram_t;

static void free_state(void *state) {
    unigram_t *const model = state;
    uform_token_map_free_(&model->tokens);
    uform_automaton_free_(&model->endings);
    uform_free_(model->pieces);
    uform_free_(model);
}

static bool find_token(void const *state, char const *content, size_t length, uint32_t *id) {
    unigram_t const *const model = state;
    return uform_token_map_find_(&model->tokens, content, length, id);
}

static void measure(void const *state, size_t *count, uint32_t *largest_id) {
    unigram_t const *const model = state;
    *count = model->count, *largest_id = (uint32_t)model->count - 1;
}

static bool recognize(uform_json_t const *json) {
    uform_json_t const *const vocabulary = uform_json_find_(json, "vocab");
    return vocabulary && vocabulary->kind == uform_json_array_k;
}

static double power_of_ten(unsigned exponent) {
    char text[16];
    snprintf(text, sizeof(text), "1e%u", exponent);
    return strtod(text, NULL);
}

/// A number as the library reads it: as many digits as fit 64 bits, times or divided by a power of ten. That can be one
/// unit in the last place beside the nearest number, and decides between ways to divide a word that score alike.
static double read_score(uform_json_t const *json) {
    enum { largest_power_k = 308, exponent_limit_k = 100000 };
    char const *at = json->text + (*json->text == '-'), *const end = json->text + json->length;
    uint64_t digits = 0;
    long exponent = 0;
    bool full = false, fraction = false;
    for (; at < end && *at != 'e' && *at != 'E'; ++at) {
        if (*at == '.') {
            fraction = true;
            continue;
        }
        unsigned const digit = (unsigned)(*at - '0');
        full |= digits > (UINT64_MAX - digit) / 10;
        if (!full) digits = digits * 10 + digit, exponent -= fraction;
        else exponent += !fraction;
    }
    long written = at < end ? strtol(at + 1, NULL, 10) : 0;
    if (written > exponent_limit_k) written = exponent_limit_k;
    if (written < -exponent_limit_k) written = -exponent_limit_k;
    double value = (double)digits;
    for (exponent += written; exponent < -largest_power_k && value != 0; exponent += largest_power_k)
        value /= power_of_ten(largest_power_k);
    if (value != 0 && exponent > largest_power_k) return json->number;
    if (value != 0 && exponent >= 0) value *= power_of_ten((unsigned)exponent);
    else if (value != 0) value /= power_of_ten((unsigned)-exponent);
    return *json->text == '-' ? -value : value;
}

/// `["token", score]`
static uform_status_t add_piece(unigram_t *model, uform_json_t const *json, char const *where, uint32_t id) {
    bool const two = json->kind == uform_json_array_k && json->length == 2;
    uform_json_t const *const token = two ? json->first : NULL, *const score = two ? token->next : NULL;
    if (!two || token->kind != uform_json_string_k || score->kind != uform_json_number_k ||
        !(score->number - score->number == 0)) {
        char found[96];
        return uform_fail_(uform_status_malformed_k,
            "%s: vocab[%u]: expected a list of a token and its score, found %s", where, id,
            uform_json_describe_(json, found, sizeof(found)));
    }
    model->pieces[id] = (piece_t){.score = read_score(score), .length = (uint32_t)token->length};
    if (!uform_token_map_set_(&model->tokens, token->text, token->length, id)) return uform_status_out_of_memory_k;
    return token->length ? uform_automaton_add_(&model->endings, token->text, token->length, id) : uform_status_ok_k;
}

/// Links every piece to the next shorter one that ends it.
static uform_status_t link_pieces(unigram_t *model, uform_json_t const *vocabulary) {
    uform_status_t const status = uform_automaton_finish_(&model->endings);
    if (status != uform_status_ok_k) return status;
    uint32_t id = 0;
    for (uform_json_t const *item = vocabulary->first; item; item = item->next, ++id) {
        uform_json_t const *const token = item->first;
        if (!token->length) continue;
        uint32_t node = 0;
        for (size_t i = 0; i < token->length; ++i)
            node = uform_automaton_child_(&model->endings, node, (unsigned char)token->text[i]);
        model->pieces[id].shorter = model->endings.values[model->endings.failures[node]];
    }
    return uform_status_ok_k;
}

static uform_status_t read_pieces(unigram_t *model, uform_json_t const *json, char const *where) {
    uform_json_t const *vocabulary = NULL;
    uform_status_t status =
        uform_json_member_(json, where, "vocab", uform_json_array_k, uform_json_required_k, &vocabulary);
    if (status != uform_status_ok_k) return status;
    uform_json_t const *const unknown = uform_json_find_(json, "unk_id");
    if (!uform_identifier_read_(unknown, &model->unknown_id) || model->unknown_id >= vocabulary->length)
        return uform_json_unexpected_(where, "unk_id", "the number of a token of the vocabulary", unknown);
    model->count = vocabulary->length;
    model->pieces = uform_allocate_(model->count, sizeof(*model->pieces));
    if (!model->pieces) return uform_status_out_of_memory_k;
    uint32_t id = 0;
    for (uform_json_t const *item = vocabulary->first; item; item = item->next) {
        status = add_piece(model, item, where, id++);
        if (status == uform_status_unsupported_k) return uform_fail_prefixed_(status, "%s: vocab: ", where);
        if (status != uform_status_ok_k) return status;
    }
    return link_pieces(model, vocabulary);
}

static uform_status_t read_model(unigram_t *model, uform_json_t const *json, char const *where) {
    uform_status_t status =
        uform_json_boolean_(json, where, "byte_fallback", uform_json_optional_k, &model->byte_fallback);
    if (status == uform_status_ok_k) status = read_pieces(model, json, where);
    if (status != uform_status_ok_k) return status;
    double const unknown_penalty = 10;
    double smallest = model->pieces[0].score;
    for (size_t i = 1; i < model->count; ++i)
        if (model->pieces[i].score < smallest) smallest = model->pieces[i].score;
    model->unknown_score = smallest - unknown_penalty;
    uform_vocabulary_bytes_(&model->tokens, &model->bytes);
    return uform_status_ok_k;
}

static uform_status_t load(uform_json_t const *json, char const *where, void **state) {
    unigram_t *const model = uform_allocate_(1, sizeof(*model));
    if (!model) return uform_status_out_of_memory_k;
    uform_status_t const status = read_model(model, json, where);
    if (status != uform_status_ok_k) return free_state(model), status;
    *state = model;
    return uform_status_ok_k;
}

/// For every position of a word between characters: the best pieces up to there.
typedef struct lattice_t {
    double *scores;   ///< [length + 1]
    uint32_t *starts; ///< [length + 1], of the last piece
    uint32_t *ids;    ///< [length + 1], of the last piece
    uint32_t *ends;   ///< [length + 1], of the piece of the best way that begins here
} lattice_t;

static bool reserve_lattice(size_t length, uform_ids_t *scratch, lattice_t *lattice) {
    enum { units_k = sizeof(double) / sizeof(uint32_t) + 3 };
    if (length >= UINT32_MAX)
        return uform_fail_(uform_status_out_of_memory_k, "tokenizer: a word is too long") == uform_status_ok_k;
    size_t const positions = length + 1;
    scratch->count = 0;
    if (scratch->capacity < positions * units_k && !uform_ids_grow_(scratch, positions * units_k)) return false;
    uint32_t *const starts = scratch->data + positions * (sizeof(double) / sizeof(uint32_t));
    *lattice = (lattice_t){(double *)(void *)scratch->data, starts, starts + positions, starts + 2 * positions};
    return true;
}

/// Finds the best last piece of what ends behind a character. Candidates come from the longest to the shortest, and of
/// equal ones the first counts, as if they had been found from their beginnings.
static void find_best(unigram_t const *model, lattice_t *lattice, uint32_t node, size_t character, size_t end) {
    bool found = false, known = false;
    double best = 0;
    for (uint32_t piece = model->endings.node_count ? model->endings.values[node] : 0; piece;
         piece = model->pieces[piece - 1].shorter) {
        size_t const start = end - model->pieces[piece - 1].length;
        double const score = model->pieces[piece - 1].score + lattice->scores[start];
        known |= start == character;
        if (found && !(score > best)) continue;
        best = score, found = true;
        lattice->starts[end] = (uint32_t)start, lattice->ids[end] = piece - 1;
    }
    double const score = model->unknown_score + lattice->scores[character];
    if (!known && (!found || score > best)) {
        best = score;
        lattice->starts[end] = (uint32_t)character, lattice->ids[end] = model->unknown_id;
    }
    lattice->scores[end] = best;
}

/// Appends unknown characters: a token they happen to make together, their bytes, or the unknown token.
static bool append_unknown(unigram_t const *model, char const *text, size_t length, uform_ids_t *ids) {
    uint32_t id;
    if (uform_token_map_find_(&model->tokens, text, length, &id)) return uform_ids_push_(ids, id);
    bool complete = model->byte_fallback;
    for (size_t i = 0; i < length && complete; ++i) complete = model->bytes.known[(unsigned char)text[i]];
    if (!complete) return uform_ids_push_(ids, model->unknown_id);
    for (size_t i = 0; i < length; ++i)
        if (!uform_ids_push_(ids, model->bytes.ids[(unsigned char)text[i]])) return false;
    return true;
}

static bool append_pieces(
    unigram_t const *model, lattice_t *lattice, char const *text, size_t length, uform_ids_t *ids) {
    for (size_t end = length; end; end = lattice->starts[end]) lattice->ends[lattice->starts[end]] = (uint32_t)end;
    for (size_t start = 0, end; start < length; start = end) {
        end = lattice->ends[start];
        if (lattice->ids[end] != model->unknown_id) {
            if (!uform_ids_push_(ids, lattice->ids[end])) return false;
            continue;
        }
        while (end < length && lattice->ids[lattice->ends[end]] == model->unknown_id) end = lattice->ends[end];
        if (!append_unknown(model, text + start, end - start, ids)) return false;
    }
    return true;
}

static bool split(void const *state, char const *text, size_t length, uform_ids_t *scratch, uform_ids_t *ids) {
    unigram_t const *const model = state;
    lattice_t lattice = {0};
    if (!reserve_lattice(length, scratch, &lattice)) return false;
    lattice.scores[0] = 0;
    uint32_t node = 0;
    for (size_t at = 0, bytes; at < length; at += bytes) {
        bytes = uform_utf8_valid_length_(text + at, length - at);
        for (size_t i = 0; i < bytes && model->endings.node_count; ++i)
            node = uform_automaton_step_(&model->endings, node, (unsigned char)text[at + i]);
        find_best(model, &lattice, node, at, at + bytes);
    }
    return append_pieces(model, &lattice, text, length, ids);
}

uform_token_model_kind_t const uform_token_model_unigram_ = {
    .type = "Unigram",
    .recognize = recognize,
    .load = load,
    .free = free_state,
    .find = find_token,
    .split = split,
    .measure = measure,
};
