/**
 *  The file of an index: vectors of pictures, their paths, and what is needed to tell whether a model belongs to it.
 *  docs/index-format.md describes the bytes.
 */
#ifndef UFORM_CLI_INDEX_FILE_H
#define UFORM_CLI_INDEX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replace.h"

enum { index_architecture_bytes_k = 32 };

/// What the first bytes of an index are.
extern char const index_signature_[];

/// A graph that another library made of the same vectors, in a file of its own. Zero bytes for none.
typedef struct index_graph_t {
    uint64_t bytes;
    uint64_t checksum;
} index_graph_t;

/// An index that is read. Everything points into the mapped file.
typedef struct index_t {
    void *mapping;
    size_t mapping_bytes;
    char const *name;         ///< the path it was opened by
    char const *architecture; ///< of the model
    size_t count, dimensions;
    float const *probe;        ///< [dimensions]: what the model makes of a fixed picture
    float const *vectors;      ///< [count, dimensions], rows of length one
    uint64_t const *path_ends; ///< [count]
    char const *paths;
    index_graph_t graph;
} index_t;

/// Maps and checks a file. On failure a message has been written and there is nothing to close.
bool index_open_(index_t *index, char const *path);

/// The path of a picture: its bytes, without a NUL behind them. Empty if the file is broken at that place.
char const *index_path_(index_t const *index, size_t position, size_t *length);

void index_close_(index_t *index);

/// An index that is written, a row at a time.
typedef struct index_writer_t {
    replacement_t file;
    size_t dimensions;
    size_t count;
    char *paths;
    size_t path_bytes, path_capacity;
    uint64_t *path_ends; ///< [count]
    size_t end_capacity;
} index_writer_t;

/// Begins a file. `probe` is [dimensions]. On failure a message has been written.
bool index_create_(index_writer_t *writer, char const *path, float const *probe, size_t dimensions);

/// Appends a vector, [dimensions], and its path.
bool index_add_(index_writer_t *writer, float const *vector, char const *path, size_t length);

/// Writes what stands behind the vectors, and puts the file in its place.
bool index_finish_(index_writer_t *writer, char const *architecture);

/// Notes in a complete file that there is a graph of it.
bool index_set_graph_(char const *path, index_graph_t graph);

/// Forgets an index that isn't finished.
void index_abandon_(index_writer_t *writer);

/// A sum over bytes by which a file is known again. It finds accidents, not intent.
uint64_t index_checksum_(void const *bytes, size_t length);

#endif
