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

static uform_status_t grow_nodes(uform_automaton_t *automaton) {
    size_t const capacity = automaton->node_capacity ? 2 * automaton->node_capacity : first_edges_k;
    if (capacity > node_limit_k)
        return uform_fail_(
            uform_status_unsupported_k, "expected fewer than %d different beginnings of tokens", (int)node_limit_k);
    if (!grow_array(&automaton->values, capacity) || !grow_array(&automaton->failures, capacity) ||
        !grow_array(&automaton->depths, capacity))
        return uform_status_out_of_memory_k;
    automaton->node_capacity = capacity;
    return uform_status_ok_k;
}

/// Makes a node and the edge to it; a child of zero is left when that fails.
static uform_status_t add_child(
    uform_automaton_t *automaton, uint32_t node, unsigned char byte, size_t depth, uint32_t *child) {
    *child = 0;
    if (2 * automaton->node_count > automaton->edge_mask && !grow_edges(automaton)) return uform_status_out_of_memory_k;
    uform_status_t const status =
        automaton->node_count == automaton->node_capacity ? grow_nodes(automaton) : uform_status_ok_k;
    if (status != uform_status_ok_k) return status;
    *child = (uint32_t)automaton->node_count++;
    automaton->values[*child] = 0, automaton->failures[*child] = 0, automaton->depths[*child] = (uint32_t)depth;
    place(automaton->edges, automaton->edge_mask, (uform_automaton_edge_t){node << 8 | byte, *child});
    return uform_status_ok_k;
}

static uform_status_t add_root(uform_automaton_t *automaton) {
    if (!grow_edges(automaton)) return uform_status_out_of_memory_k;
    uform_status_t const status = grow_nodes(automaton);
    if (status != uform_status_ok_k) return status;
    automaton->values[0] = automaton->failures[0] = automaton->depths[0] = 0;
    automaton->node_count = 1;
    return uform_status_ok_k;
}

uform_status_t uform_automaton_add_(uform_automaton_t *automaton, char const *text, size_t length, uint32_t value) {
    uform_status_t status = automaton->node_count ? uform_status_ok_k : add_root(automaton);
    uint32_t node = 0;
    for (size_t i = 0; i < length && status == uform_status_ok_k; ++i) {
        unsigned char const byte = (unsigned char)text[automaton->backward ? length - 1 - i : i];
        uint32_t child = uform_automaton_child_(automaton, node, byte);
        if (!child) status = add_child(automaton, node, byte, i + 1, &child);
        node = child;
    }
    if (status == uform_status_ok_k) automaton->values[node] = value + 1;
    return status;
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

uform_status_t uform_automaton_finish_(uform_automaton_t *automaton) {
    if (!automaton->node_count) return uform_status_ok_k;
    uform_automaton_edge_t *sorted = sort_edges(automaton);
    if (!sorted) return uform_status_out_of_memory_k;
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
    return uform_status_ok_k;
}

void uform_automaton_free_(uform_automaton_t *automaton) {
    uform_free_(automaton->edges);
    uform_free_(automaton->values);
    uform_free_(automaton->failures);
    uform_free_(automaton->depths);
    *automaton = (uform_automaton_t){0};
}
