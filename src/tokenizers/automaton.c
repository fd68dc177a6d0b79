/**
 *  Building tries and backward Aho-Corasick automata.
 */
#include "tokenizers/automaton.h"

#include <string.h>

#include "base/detail.h"
#include "base/memory.h"

enum {
    node_limit_k = 1 << 24, ///< a key has 24 bits for the node
    first_edges_k = 256,
};

static void place(uform_automaton_edge_t *edges, size_t mask, uform_automaton_edge_t edge) {
    size_t slot = ((uint64_t)edge.key * UINT64_C(0x9E3779B97F4A7C15) >> 32) & mask;
    while (edges[slot].child) slot = (slot + 1) & mask;
    edges[slot] = edge;
}

/// Keeps the table at most half full.
static bool grow_edges(uform_automaton_t *automaton) {
    size_t const count = automaton->edges ? 2 * (automaton->edge_mask + 1) : first_edges_k;
    uform_automaton_edge_t *edges = uform_allocate_(count, sizeof(*edges));
    if (!edges) return false;
    for (size_t slot = 0; automaton->edges && slot <= automaton->edge_mask; ++slot)
        if (automaton->edges[slot].child) place(edges, count - 1, automaton->edges[slot]);
    uform_free_(automaton->edges);
    automaton->edges = edges, automaton->edge_mask = count - 1;
    return true;
}

static bool grow_array(uint32_t **array, size_t capacity) {
    uint32_t *grown = uform_reallocate_(*array, capacity, sizeof(*grown));
    if (grown) *array = grown;
    return grown != NULL;
}

static bool grow_nodes(uform_automaton_t *automaton) {
    size_t const capacity = automaton->node_capacity ? 2 * automaton->node_capacity : first_edges_k;
    if (capacity > node_limit_k)
        return uform_fail_(uform_status_unsupported_k, "tokenizer: expected at most %d bytes in the vocabulary",
                   (int)node_limit_k) == uform_status_ok_k;
    if (!grow_array(&automaton->values, capacity) || !grow_array(&automaton->failures, capacity) ||
        !grow_array(&automaton->depths, capacity))
        return false;
    automaton->node_capacity = capacity;
    return true;
}

/// Makes a node; its failure holds its parent until the automaton is finished.
static bool add_node(uform_automaton_t *automaton, uint32_t parent, uint32_t depth) {
    if (automaton->node_count == automaton->node_capacity && !grow_nodes(automaton)) return false;
    size_t const node = automaton->node_count++;
    automaton->values[node] = 0, automaton->failures[node] = parent, automaton->depths[node] = depth;
    return true;
}

bool uform_automaton_add_(uform_automaton_t *automaton, char const *text, size_t length, uint32_t value) {
    if (!automaton->edges && !grow_edges(automaton)) return false;
    if (!automaton->node_count && !add_node(automaton, 0, 0)) return false;
    uint32_t node = 0;
    for (size_t i = 0; i < length; ++i) {
        unsigned char const byte = (unsigned char)text[automaton->backward ? length - 1 - i : i];
        uint32_t child = uform_automaton_child_(automaton, node, byte);
        if (!child) {
            if (2 * automaton->node_count > automaton->edge_mask && !grow_edges(automaton)) return false;
            child = (uint32_t)automaton->node_count;
            if (!add_node(automaton, node, (uint32_t)i + 1)) return false;
            place(automaton->edges, automaton->edge_mask, (uform_automaton_edge_t){node << 8 | byte, child});
        }
        node = child;
    }
    automaton->values[node] = value + 1;
    return true;
}

/// The edges sorted by the depth of the child, so that every failure is known before it is needed.
static uform_automaton_edge_t *sort_edges(uform_automaton_t const *automaton) {
    size_t const count = automaton->node_count;
    uform_automaton_edge_t *sorted = uform_allocate_(count, sizeof(*sorted));
    size_t *starts = sorted ? uform_allocate_(count + 1, sizeof(*starts)) : NULL;
    if (!starts) {
        uform_free_(sorted);
        return NULL;
    }
    for (size_t node = 1; node < count; ++node) ++starts[automaton->depths[node]];
    for (size_t depth = 0, sum = 0; depth <= count; ++depth) {
        size_t const here = starts[depth];
        starts[depth] = sum, sum += here;
    }
    for (size_t slot = 0; slot <= automaton->edge_mask; ++slot) {
        uform_automaton_edge_t const edge = automaton->edges[slot];
        if (edge.child) sorted[starts[automaton->depths[edge.child]]++] = edge;
    }
    uform_free_(starts);
    return sorted;
}

bool uform_automaton_finish_(uform_automaton_t *automaton) {
    if (!automaton->node_count) return true;
    uform_automaton_edge_t *sorted = sort_edges(automaton);
    if (!sorted) return false;
    for (size_t i = 0; i + 1 < automaton->node_count; ++i) {
        uform_automaton_edge_t const edge = sorted[i];
        uint32_t const parent = edge.key >> 8;
        uint32_t const failure =
            parent ? uform_automaton_step_(automaton, automaton->failures[parent], (unsigned char)edge.key) : 0;
        automaton->failures[edge.child] = failure;
        if (!automaton->values[edge.child]) automaton->values[edge.child] = automaton->values[failure];
    }
    uform_free_(sorted);
    uform_free_(automaton->depths);
    automaton->depths = NULL;
    return true;
}

void uform_automaton_free_(uform_automaton_t *automaton) {
    uform_free_(automaton->edges);
    uform_free_(automaton->values);
    uform_free_(automaton->failures);
    uform_free_(automaton->depths);
    *automaton = (uform_automaton_t){0};
}
