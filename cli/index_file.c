/**
 *  Offsets follow from the counts in the header, so nothing in a file can point outside of it but the ends of paths,
 *  which are checked when one is asked for.
 *
 *      [ header, 128 | probe | vectors | ends of paths | paths ]        each part begins at a multiple of 64
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "index_file.h"
#include "progress.h"

char const index_signature_[] = "UFormIdx";

enum { version_k = 1, alignment_k = 64, dimensions_limit_k = 1 << 20 };

/// The first bytes of a file, little-endian as every machine the library runs on.
typedef struct header_t {
    char signature[8];
    uint32_t version;
    uint32_t dimensions;
    uint64_t count;
    char architecture[index_architecture_bytes_k];
    index_graph_t graph;
    uint64_t path_bytes;
    char reserved[48]; ///< zeros
} header_t;

_Static_assert(sizeof(header_t) == 128, "the header's size is part of the format");

/// Where the parts begin.
typedef struct layout_t {
    uint64_t probe, vectors, path_ends, paths, end;
} layout_t;

static uint64_t align(uint64_t offset) {
    return (offset + alignment_k - 1) / alignment_k * alignment_k;
}

/// False if the numbers are more than any file holds.
static bool lay_out(uint64_t count, uint64_t dimensions, uint64_t path_bytes, layout_t *layout) {
    if (dimensions > dimensions_limit_k || count > (UINT64_MAX >> 24) / (dimensions + 2) || path_bytes >> 62)
        return false;
    layout->probe = sizeof(header_t);
    layout->vectors = align(layout->probe + dimensions * sizeof(float));
    layout->path_ends = align(layout->vectors + count * dimensions * sizeof(float));
    layout->paths = align(layout->path_ends + count * sizeof(uint64_t));
    layout->end = layout->paths + path_bytes;
    return true;
}

uint64_t index_checksum_(void const *bytes, size_t length) {
    enum { lanes_k = 4, word_k = 8 };
    uint64_t const multiplier = 0x9E3779B97F4A7C15u;
    uint64_t lanes[lanes_k] = {1, 2, 3, 4};
    unsigned char const *at = bytes;
    for (size_t left = length; left;) {
        uint64_t words[lanes_k] = {0};
        size_t const taken = left < sizeof(words) ? left : sizeof(words);
        memcpy(words, at, taken);
        for (size_t lane = 0; lane != lanes_k; ++lane) {
            lanes[lane] = (lanes[lane] ^ words[lane]) * multiplier;
            lanes[lane] ^= lanes[lane] >> 32;
        }
        at += taken;
        left -= taken;
    }
    uint64_t sum = length;
    for (size_t lane = 0; lane != lanes_k; ++lane) {
        sum = (sum ^ lanes[lane]) * multiplier;
        sum ^= sum >> 29;
    }
    return sum;
}

static bool refuse(index_t *index, char const *problem) {
    message_("--index: %s: %s", index->name, problem);
    index_close_(index);
    return false;
}

/// Maps a file whose descriptor is closed afterwards.
static char const *map_file(index_t *index, int descriptor) {
    struct stat facts;
    if (descriptor < 0 || fstat(descriptor, &facts) != 0) return strerror(errno);
    if (!S_ISREG(facts.st_mode)) return "expected a file";
    if (facts.st_size < (off_t)sizeof(header_t)) return "isn't an index";
    index->mapping_bytes = (size_t)facts.st_size;
    index->mapping = mmap(NULL, index->mapping_bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (index->mapping != MAP_FAILED) return NULL;
    index->mapping = NULL;
    return strerror(errno);
}

/// Finds the parts. The words for what is wrong, or NULL.
static char const *read_header(index_t *index) {
    header_t const *const header = index->mapping;
    layout_t layout;
    if (memcmp(header->signature, index_signature_, sizeof(header->signature)) != 0) return "isn't an index";
    if (header->version != version_k) return "is an index of a version that this build doesn't know";
    if (!header->dimensions || !memchr(header->architecture, '\0', sizeof(header->architecture)))
        return "malformed: its header is broken";
    if (!lay_out(header->count, header->dimensions, header->path_bytes, &layout) || layout.end != index->mapping_bytes)
        return "malformed: it is shorter or longer than its header says";
    char const *const bytes = index->mapping;
    index->architecture = header->architecture;
    index->count = (size_t)header->count;
    index->dimensions = header->dimensions;
    index->graph = header->graph;
    index->probe = (float const *)(void const *)(bytes + layout.probe);
    index->vectors = (float const *)(void const *)(bytes + layout.vectors);
    index->path_ends = (uint64_t const *)(void const *)(bytes + layout.path_ends);
    index->paths = bytes + layout.paths;
    return NULL;
}

bool index_open_(index_t *index, char const *path) {
    memset(index, 0, sizeof(*index));
    index->name = path;
    // Opening a pipe would wait for its other end.
    int const descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char const *problem = map_file(index, descriptor);
    if (descriptor >= 0) close(descriptor);
    if (!problem) problem = read_header(index);
    return !problem || refuse(index, problem);
}

char const *index_path_(index_t const *index, size_t position, size_t *length) {
    uint64_t const total = (uint64_t)((char const *)index->mapping + index->mapping_bytes - index->paths);
    uint64_t const begin = position ? index->path_ends[position - 1] : 0, end = index->path_ends[position];
    bool const sound = begin <= end && end <= total && !memchr(index->paths + begin, '\0', (size_t)(end - begin));
    *length = sound ? (size_t)(end - begin) : 0;
    return index->paths + (sound ? begin : 0);
}

void index_close_(index_t *index) {
    if (index->mapping) munmap(index->mapping, index->mapping_bytes);
    memset(index, 0, sizeof(*index));
}

/// Zeros up to the next part.
static bool pad(index_writer_t *writer, uint64_t written) {
    static char const zeros[alignment_k];
    return replace_write_(&writer->file, zeros, (size_t)(align(written) - written));
}

bool index_create_(index_writer_t *writer, char const *path, float const *probe, size_t dimensions) {
    memset(writer, 0, sizeof(*writer));
    writer->dimensions = dimensions;
    // Zeros until the file is complete.
    header_t const header = {.version = 0};
    size_t const probe_bytes = dimensions * sizeof(float);
    if (!replace_open_(&writer->file, "output", path, index_signature_)) return false;
    if (replace_write_(&writer->file, &header, sizeof(header)) && replace_write_(&writer->file, probe, probe_bytes) &&
        pad(writer, sizeof(header) + probe_bytes))
        return true;
    index_abandon_(writer);
    return false;
}

/// Room for `count` more of what `memory` holds; memory at least doubles when it grows.
static bool reserve(void **memory, size_t used, size_t *capacity, size_t count, size_t item_bytes) {
    if (*capacity - used >= count) return true;
    size_t const wanted = used + count > *capacity * 2 ? used + count : *capacity * 2;
    void *const grown = wanted <= SIZE_MAX / item_bytes ? realloc(*memory, wanted * item_bytes) : NULL;
    if (!grown) return message_("not enough memory for the paths of the index"), false;
    *memory = grown;
    *capacity = wanted;
    return true;
}

bool index_add_(index_writer_t *writer, float const *vector, char const *path, size_t length) {
    void *paths = writer->paths, *ends = writer->path_ends;
    bool const reserved = reserve(&paths, writer->path_bytes, &writer->path_capacity, length, 1) &&
                          reserve(&ends, writer->count, &writer->end_capacity, 1, sizeof(*writer->path_ends));
    writer->paths = paths;
    writer->path_ends = ends;
    if (!reserved || !replace_write_(&writer->file, vector, writer->dimensions * sizeof(float))) return false;
    memcpy(writer->paths + writer->path_bytes, path, length);
    writer->path_bytes += length;
    writer->path_ends[writer->count++] = writer->path_bytes;
    return true;
}

bool index_finish_(index_writer_t *writer, char const *architecture) {
    header_t header = {.version = version_k,
        .dimensions = (uint32_t)writer->dimensions,
        .count = writer->count,
        .path_bytes = writer->path_bytes};
    memcpy(header.signature, index_signature_, sizeof(header.signature));
    snprintf(header.architecture, sizeof(header.architecture), "%s", architecture);
    layout_t layout;
    size_t const end_bytes = writer->count * sizeof(*writer->path_ends);
    bool const written = lay_out(writer->count, writer->dimensions, writer->path_bytes, &layout) &&
                         pad(writer, layout.vectors + writer->count * writer->dimensions * sizeof(float)) &&
                         replace_write_(&writer->file, writer->path_ends, end_bytes) &&
                         pad(writer, layout.path_ends + end_bytes) &&
                         replace_write_(&writer->file, writer->paths, writer->path_bytes) &&
                         replace_rewrite_(&writer->file, 0, &header, sizeof(header));
    bool const committed = written && replace_commit_(&writer->file);
    index_abandon_(writer);
    return committed;
}

bool index_set_graph_(char const *path, index_graph_t graph) {
    int const descriptor = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t const written = descriptor < 0 ? -1 : pwrite(descriptor, &graph, sizeof(graph), offsetof(header_t, graph));
    bool const failed = written != (ssize_t)sizeof(graph);
    if (failed) message_("--output: %s: %s", path, strerror(errno));
    if (descriptor >= 0) close(descriptor);
    return !failed;
}

void index_abandon_(index_writer_t *writer) {
    replace_abandon_(&writer->file);
    free(writer->paths);
    free(writer->path_ends);
    memset(writer, 0, sizeof(*writer));
}
