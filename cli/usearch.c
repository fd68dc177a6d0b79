/**
 *  USearch's functions and numbers as every release of its version 2 has them; version 1 lacks some of the functions.
 *  The graph finds candidates. Their scores are computed from the index's own vectors, so they are the same bits as
 *  without it. Vectors are added by one thread: the same pictures then make the same graph, and early releases don't
 *  count on more threads than they know of.
 *
 *  A graph's file is memory as USearch lays it out, and it follows what stands there wherever it points. So a graph is
 *  opened only if its bytes sum up to what the index says.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "progress.h"
#include "usearch.h"

static char const library_variable[] = "UFORM_USEARCH_LIBRARY";

#if defined(__APPLE__)
static char const library_name[] = "libusearch_c.dylib";
#else
static char const library_name[] = "libusearch_c.so";
#endif

enum { metric_inner_product_k = 2, scalar_f32_k = 1, known_version_k = 2 };

/// A graph is asked for more than is wanted, since it finds nearly all of the best.
enum { candidates_per_match_k = 4, candidates_at_least_k = 64 };

/// What an index of USearch is made with. The layout is theirs.
typedef struct usearch_options_t {
    int metric_kind;
    void (*metric)(void);
    int quantization;
    size_t dimensions;
    size_t connectivity, expansion_add, expansion_search; ///< zeros for their defaults
    bool multi;
} usearch_options_t;

typedef struct functions_t {
    char const *(*version)(void); ///< NULL in early releases
    void *(*init)(usearch_options_t *options, char const **error);
    void (*free)(void *graph, char const **error);
    void (*reserve)(void *graph, size_t capacity, char const **error);
    void (*add)(void *graph, uint64_t key, void const *vector, int scalar, char const **error);
    size_t (*search)(
        void *graph, void const *query, int scalar, size_t count, uint64_t *keys, float *distances, char const **error);
    size_t (*size)(void *graph, char const **error);
    void (*save)(void *graph, char const *path, char const **error);
    void (*view_buffer)(void *graph, void const *bytes, size_t length, char const **error);
} functions_t;

struct usearch_s {
    void *library;
    functions_t functions;
    void *graph;
    void *mapping;
    size_t mapping_bytes;
    uint64_t *keys;      ///< [candidate_limit]
    float *distances;    ///< [candidate_limit]
    match_t *candidates; ///< [candidate_limit]
    size_t candidate_limit;
};

static usearch_outcome_t say(usearch_outcome_t outcome, char *reason, char const *format, ...)
    __attribute__((format(printf, 3, 4)));

static usearch_outcome_t say(usearch_outcome_t outcome, char *reason, char const *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, usearch_reason_bytes_k, format, arguments);
    va_end(arguments);
    return outcome;
}

char *usearch_path_(char const *index_path) {
    static char const ending[] = ".usearch";
    size_t const length = strlen(index_path);
    char *const path = malloc(length + sizeof(ending));
    if (!path) return NULL;
    memcpy(path, index_path, length);
    memcpy(path + length, ending, sizeof(ending));
    return path;
}

/// Fills the functions in; the name of one that is missing, or NULL.
static char const *find_functions(void *library, functions_t *functions) {
    struct {
        char const *name;
        void *target;
        bool optional;
    } const rows[] = {{"usearch_version", &functions->version, true}, {"usearch_init", &functions->init, false},
        {"usearch_free", &functions->free, false}, {"usearch_reserve", &functions->reserve, false},
        {"usearch_add", &functions->add, false}, {"usearch_search", &functions->search, false},
        {"usearch_size", &functions->size, false}, {"usearch_save", &functions->save, false},
        {"usearch_view_buffer", &functions->view_buffer, false}};
    for (size_t row = 0; row != sizeof(rows) / sizeof(rows[0]); ++row) {
        void *const address = dlsym(library, rows[row].name);
        if (!address && !rows[row].optional) return rows[row].name;
        memcpy(rows[row].target, &address, sizeof(address));
    }
    return NULL;
}

/// Opens the library that the environment names, else the installed one.
static usearch_outcome_t open_library(struct usearch_s *usearch, char *reason) {
    char const *const chosen = getenv(library_variable);
    bool const named = chosen && chosen[0];
    char const *const path = named ? chosen : library_name;
    usearch->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!usearch->library) {
        char const *const failure = dlerror();
        return named ? say(usearch_failed_k, reason, "%s: %s", library_variable, failure ? failure : "can't be opened")
                     : say(usearch_absent_k, reason, "%s isn't installed", library_name);
    }
    char const *const missing = find_functions(usearch->library, &usearch->functions);
    if (missing) return say(usearch_failed_k, reason, "%s has no %s", path, missing);
    char const *const version = usearch->functions.version ? usearch->functions.version() : NULL;
    if (version && strtol(version, NULL, 10) != known_version_k)
        return say(usearch_failed_k, reason, "%s: expected version %d, found %s", path, known_version_k, version);
    return usearch_ready_k;
}

static usearch_outcome_t make_graph(struct usearch_s *usearch, size_t dimensions, char *reason) {
    usearch_options_t options = {
        .metric_kind = metric_inner_product_k, .quantization = scalar_f32_k, .dimensions = dimensions};
    char const *error = NULL;
    usearch->graph = usearch->functions.init(&options, &error);
    if (error || !usearch->graph) return say(usearch_failed_k, reason, "%s", error ? error : "not enough memory");
    return usearch_ready_k;
}

static usearch_outcome_t add_all(struct usearch_s *usearch, float const *vectors, size_t count, size_t dimensions,
    void (*shown)(void *context, size_t added), void *context, char *reason) {
    char const *error = NULL;
    usearch->functions.reserve(usearch->graph, count, &error);
    for (size_t index = 0; !error && index != count; ++index) {
        usearch->functions.add(usearch->graph, index, vectors + index * dimensions, scalar_f32_k, &error);
        shown(context, index + 1);
    }
    return error ? say(usearch_failed_k, reason, "%s", error) : usearch_ready_k;
}

/// Maps a file and sums it up. Zero bytes, with a reason, on failure.
static index_graph_t map_graph(struct usearch_s *usearch, char const *path, char *reason) {
    int const descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat facts = {.st_size = 0};
    bool const found = descriptor >= 0 && fstat(descriptor, &facts) == 0;
    bool const usable = found && S_ISREG(facts.st_mode) && facts.st_size > 0;
    void *const mapping =
        usable ? mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
    say(usearch_failed_k, reason, "%s: %s", path, found && !usable ? "isn't a graph" : strerror(errno));
    if (descriptor >= 0) close(descriptor);
    if (mapping == MAP_FAILED) return (index_graph_t){0};
    usearch->mapping = mapping;
    usearch->mapping_bytes = (size_t)facts.st_size;
    return (index_graph_t){usearch->mapping_bytes, index_checksum_(mapping, usearch->mapping_bytes)};
}

/// Saves the graph under a name of its own and puts it in its place.
static usearch_outcome_t save_graph(
    struct usearch_s *usearch, char const *index_path, index_graph_t *graph, char *reason) {
    char *const path = usearch_path_(index_path), *const temporary = path ? usearch_path_(path) : NULL;
    if (!temporary) return free(path), say(usearch_failed_k, reason, "not enough memory");
    char const *error = NULL;
    replace_watch_(temporary);
    usearch->functions.save(usearch->graph, temporary, &error);
    if (!error) *graph = map_graph(usearch, temporary, reason);
    else say(usearch_failed_k, reason, "%s: %s", temporary, error);
    bool const mapped = graph->bytes != 0;
    bool const saved = mapped && rename(temporary, path) == 0;
    if (mapped && !saved) say(usearch_failed_k, reason, "%s: %s", path, strerror(errno));
    if (!saved) unlink(temporary), *graph = (index_graph_t){0};
    replace_forget_(temporary);
    free(temporary), free(path);
    return saved ? usearch_ready_k : usearch_failed_k;
}

usearch_outcome_t usearch_build_(char const *index_path, float const *vectors, size_t count, size_t dimensions,
    void (*shown)(void *context, size_t added), void *context, index_graph_t *graph, char *reason) {
    *graph = (index_graph_t){0};
    struct usearch_s *const usearch = calloc(1, sizeof(*usearch));
    if (!usearch) return say(usearch_failed_k, reason, "not enough memory");
    usearch_outcome_t outcome = open_library(usearch, reason);
    if (outcome == usearch_ready_k) outcome = make_graph(usearch, dimensions, reason);
    if (outcome == usearch_ready_k) outcome = add_all(usearch, vectors, count, dimensions, shown, context, reason);
    if (outcome == usearch_ready_k) outcome = save_graph(usearch, index_path, graph, reason);
    usearch_close_(usearch);
    return outcome;
}

static usearch_outcome_t view_graph(struct usearch_s *usearch, index_t const *index, char *reason) {
    char *const path = usearch_path_(index->name);
    if (!path) return say(usearch_failed_k, reason, "not enough memory");
    index_graph_t const found = map_graph(usearch, path, reason);
    bool const same = found.bytes == index->graph.bytes && found.checksum == index->graph.checksum;
    if (found.bytes && !same) say(usearch_failed_k, reason, "%s: isn't the graph that was made with the index", path);
    free(path);
    if (!found.bytes || !same) return usearch_failed_k;
    usearch_outcome_t const outcome = make_graph(usearch, index->dimensions, reason);
    if (outcome != usearch_ready_k) return outcome;
    char const *error = NULL;
    usearch->functions.view_buffer(usearch->graph, usearch->mapping, usearch->mapping_bytes, &error);
    size_t const size = error ? 0 : usearch->functions.size(usearch->graph, &error);
    if (error) return say(usearch_failed_k, reason, "%s", error);
    return size == index->count
               ? usearch_ready_k
               : say(usearch_failed_k, reason, "the graph holds %zu vectors, the index %zu", size, index->count);
}

usearch_outcome_t usearch_open_(index_t const *index, usearch_t *usearch, char *reason) {
    *usearch = NULL;
    if (!index->graph.bytes) return say(usearch_absent_k, reason, "the index was made without it");
    struct usearch_s *const opened = calloc(1, sizeof(*opened));
    if (!opened) return say(usearch_failed_k, reason, "not enough memory");
    usearch_outcome_t outcome = open_library(opened, reason);
    if (outcome == usearch_ready_k) outcome = view_graph(opened, index, reason);
    if (outcome == usearch_ready_k) *usearch = opened;
    else usearch_close_(opened);
    return outcome;
}

char const *usearch_version_words_(usearch_t usearch) {
    char const *const version = usearch->functions.version ? usearch->functions.version() : NULL;
    return version ? version : "2";
}

static bool reserve_candidates(struct usearch_s *usearch, size_t count) {
    if (usearch->candidate_limit >= count) return true;
    free(usearch->keys), free(usearch->distances), free(usearch->candidates);
    usearch->keys = calloc(count, sizeof(*usearch->keys));
    usearch->distances = calloc(count, sizeof(*usearch->distances));
    usearch->candidates = calloc(count, sizeof(*usearch->candidates));
    bool const reserved = usearch->keys && usearch->distances && usearch->candidates;
    usearch->candidate_limit = reserved ? count : 0;
    return reserved;
}

bool usearch_find_(usearch_t usearch, index_t const *index, float const *query, size_t top, match_t *matches,
    size_t *found, char *reason) {
    size_t const wanted = candidates_per_match_k * top + candidates_at_least_k;
    size_t const limit = wanted < index->count ? wanted : index->count;
    size_t const needed = top < index->count ? top : index->count;
    if (!reserve_candidates(usearch, limit + 1)) return say(usearch_failed_k, reason, "not enough memory"), false;
    char const *error = NULL;
    size_t const answered = usearch->functions.search(
        usearch->graph, query, scalar_f32_k, limit, usearch->keys, usearch->distances, &error);
    if (error) return say(usearch_failed_k, reason, "%s", error), false;
    size_t count = 0;
    for (size_t rank = 0; rank != (answered < limit ? answered : limit); ++rank) {
        uint64_t const key = usearch->keys[rank];
        if (key >= index->count) continue;
        float const score = match_score_(index->vectors + key * index->dimensions, query, index->dimensions);
        if (score == score) usearch->candidates[count++] = (match_t){score, (size_t)key};
    }
    matches_sort_(usearch->candidates, count);
    *found = 0;
    for (size_t rank = 0; rank != count && *found != needed; ++rank)
        if (!rank || usearch->candidates[rank].position != usearch->candidates[rank - 1].position)
            matches[(*found)++] = usearch->candidates[rank];
    return *found == needed || (say(usearch_failed_k, reason, "found %zu of %zu matches", *found, needed), false);
}

void usearch_close_(usearch_t usearch) {
    if (!usearch) return;
    char const *error = NULL;
    if (usearch->graph) usearch->functions.free(usearch->graph, &error);
    if (usearch->mapping) munmap(usearch->mapping, usearch->mapping_bytes);
    if (usearch->library) dlclose(usearch->library);
    free(usearch->keys), free(usearch->distances), free(usearch->candidates);
    free(usearch);
}
