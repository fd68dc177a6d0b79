/**
 *  A set of byte strings and the question which of them, the longest, begins at a position of a text.
 *
 *  Forward, the set is a trie that is walked from one position. Backward and finished, it is an Aho-Corasick automaton
 *  over the reversed strings: read from the end of the text to its start it knows at every position the longest string
 *  that begins there, in time linear in the text whatever the strings are. Forward and finished, it knows of the
 *  longest string that ends there.
 *
 *  Memory: nodes are numbered from the root, zero, in the order they are made; an edge is a slot
 *  of an open-addressed table {node << 8 | byte, child}, where child zero means an empty slot.
 *  `values[node]` is the string's number plus one, or zero; in a finished backward automaton it
 *  is that of the longest string that begins with the node's own text read from here.
 */
#ifndef UFORM_TOKENIZERS_AUTOMATON_H
#define UFORM_TOKENIZERS_AUTOMATON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uform/status.h"

typedef struct uform_automaton_edge_t {
    uint32_t key, child;
} uform_automaton_edge_t;

typedef struct uform_automaton_t {
    uform_automaton_edge_t *edges; ///< [edge_mask + 1], owned
    size_t edge_mask;
    uint32_t *values;   ///< [node_capacity], owned
    uint32_t *failures; ///< [node_capacity], owned; of a finished automaton: the node of the longest proper suffix
    uint32_t *depths;   ///< [node_capacity], owned; only while it is built
    size_t node_count, node_capacity;
    bool backward;
} uform_automaton_t;

/// Adds a string, not an empty one; its value replaces that of
/// an equal one. Fails without memory, or beyond 2^24 nodes.
uform_status_t uform_automaton_add_(uform_automaton_t *automaton, char const *text, size_t length, uint32_t value);

/// Follows the last string, always of a backward automaton. Fails without memory.
uform_status_t uform_automaton_finish_(uform_automaton_t *automaton);
void uform_automaton_free_(uform_automaton_t *automaton);

/// The child along `byte`, or zero.
static inline uint32_t uform_automaton_child_(uform_automaton_t const *automaton, uint32_t node, unsigned char byte) {
    uint32_t const key = node << 8 | byte;
    size_t slot = ((uint64_t)key * UINT64_C(0x9E3779B97F4A7C15) >> 32) & automaton->edge_mask;
    for (;; slot = (slot + 1) & automaton->edge_mask) {
        uform_automaton_edge_t const edge = automaton->edges[slot];
        if (edge.key == key || !edge.child) return edge.child;
    }
}

/// The next state of a finished automaton that reads the byte before, or behind if it is forward.
static inline uint32_t uform_automaton_step_(uform_automaton_t const *automaton, uint32_t node, unsigned char byte) {
    for (;; node = automaton->failures[node]) {
        uint32_t const child = uform_automaton_child_(automaton, node, byte);
        if (child || !node) return child;
    }
}

#endif
