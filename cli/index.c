/**
 *  uform index: pictures of folders into one file that 'uform search' answers from. Where USearch is installed, a graph
 *  of the vectors is written beside it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folders.h"
#include "index_file.h"
#include "options.h"
#include "paths.h"
#include "pictures.h"
#include "progress.h"
#include "protect.h"
#include "setup.h"
#include "usearch.h"

typedef struct indexing_t {
    setup_t setup;
    paths_t paths;
    pictures_t pictures;
    size_t *positions; ///< [pictures.limit], of the pictures among the paths
    float *rows;       ///< [pictures.limit, dimensions]
    index_writer_t writer;
    char *folder; ///< the index's, links resolved
    progress_t progress;
    progress_counts_t counts;
    uint64_t failed_count;
} indexing_t;

/// A picture's place as the index keeps it: relative to the index's folder for those within it, so that both can be
/// moved together, else from the root. In memory of its own.
static char *kept_path(indexing_t const *indexing, char const *path) {
    char *const full = path_from_root_(path);
    if (!full) return NULL;
    size_t const length = strcmp(indexing->folder, "/") == 0 ? 0 : strlen(indexing->folder);
    bool const within = strncmp(full, indexing->folder, length) == 0 && full[length] == '/';
    char *const kept = strdup(within ? full + length + 1 : full);
    free(full);
    return kept;
}

static void complain(indexing_t *indexing, char const *path, uform_status_t status, char const *problem) {
    message_item_(NULL, path, status, problem);
    ++indexing->failed_count;
}

/// Encodes the pictures that were read and appends them. False when nothing more can be done.
static bool index_pictures(indexing_t *indexing) {
    pictures_t *const pictures = &indexing->pictures;
    if (!pictures_encode_(pictures, &indexing->setup, indexing->rows)) return false;
    for (size_t index = 0; index != pictures->count; ++index) {
        char const *const path = indexing->paths.paths[indexing->positions[index]];
        float *const row = indexing->rows + index * indexing->setup.dimensions;
        uform_status_t status = pictures->items[index].status;
        if (status != uform_status_ok_k) status = pictures_encode_again_(pictures, &indexing->setup, index, row);
        if (status != uform_status_ok_k) {
            complain(indexing, path, status, uform_last_detail());
            continue;
        }
        char *const kept = kept_path(indexing, path);
        if (!kept) complain(indexing, path, status_of_error_(errno), strerror(errno));
        bool const added = !kept || index_add_(&indexing->writer, row, kept, strlen(kept));
        free(kept);
        if (!added) return false;
        ++indexing->counts.pictures;
    }
    pictures_clear_(pictures);
    return true;
}

static bool index_all(indexing_t *indexing) {
    size_t position = 0;
    while (position != indexing->paths.count) {
        uform_status_t status = uform_status_ok_k;
        char problem[picture_problem_bytes_k];
        char const *const path = indexing->paths.paths[position];
        picture_outcome_t const outcome = pictures_add_(&indexing->pictures, path, &status, problem);
        if (outcome == picture_full_k) {
            if (!index_pictures(indexing)) return false;
            progress_update_(&indexing->progress, indexing->counts, position, indexing->paths.count);
            continue;
        }
        if (outcome == picture_refused_k) complain(indexing, path, status, problem);
        else indexing->positions[indexing->pictures.count - 1] = position;
        ++position;
    }
    return index_pictures(indexing);
}

static void show_graph(void *context, size_t added) {
    indexing_t *const indexing = context;
    progress_update_(&indexing->progress, (progress_counts_t){.pictures = added}, added, indexing->counts.pictures);
}

/// Makes the graph, if USearch is wanted and there. False when it had to be and can't.
static bool make_graph(indexing_t *indexing, settings_t const *settings) {
    char reason[usearch_reason_bytes_k] = "--exact on";
    index_t index;
    if (settings->exact == uform_switch_on_k || !indexing->counts.pictures) return true;
    if (!index_open_(&index, settings->output)) return false;
    index_graph_t graph;
    usearch_outcome_t const outcome = usearch_build_(
        settings->output, index.vectors, index.count, index.dimensions, show_graph, indexing, &graph, reason);
    index_close_(&index);
    if (outcome == usearch_ready_k) {
        if (settings->verbose) message_("USearch: made a graph of %llu bytes", (unsigned long long)graph.bytes);
        return index_set_graph_(settings->output, graph);
    }
    bool const required = settings->exact == uform_switch_off_k;
    if (required || settings->verbose || outcome == usearch_failed_k) message_("USearch: no graph: %s", reason);
    return !required;
}

/// Begins the file, beside the place that it takes at the end. What must not be replaced, or can't be written, is told
/// before folders are walked.
static exit_status_t begin_index(indexing_t *indexing, settings_t const *settings) {
    float *const probe = calloc(indexing->setup.dimensions, sizeof(*probe));
    uform_status_t const status = probe ? setup_probe_(&indexing->setup, probe) : uform_status_out_of_memory_k;
    if (status != uform_status_ok_k) message_status_(status);
    bool const begun = status == uform_status_ok_k &&
                       index_create_(&indexing->writer, settings->output, probe, indexing->setup.dimensions);
    free(probe);
    if (!begun) return exit_status_usage_k;
    indexing->folder = replace_folder_(&indexing->writer.file);
    return indexing->folder ? exit_status_ok_k : exit_status_failed_k;
}

static exit_status_t write_index(indexing_t *indexing, settings_t const *settings) {
    progress_begin_(&indexing->progress, settings->progress);
    bool const complete =
        index_all(indexing) && index_finish_(&indexing->writer, indexing->setup.model_facts.architecture);
    bool const usable = complete && make_graph(indexing, settings);
    progress_end_(&indexing->progress, indexing->counts);
    bool const all = usable && !indexing->failed_count && !indexing->paths.failed_count;
    return all ? exit_status_ok_k : exit_status_failed_k;
}

/// A folder that doesn't exist is a mistyped word, told before anything is done.
static exit_status_t check_operands(settings_t const *settings) {
    for (size_t operand = 0; operand != settings->operand_count; ++operand)
        if (access(settings->operands[operand], F_OK) != 0) {
            message_("index: %s: %s", settings->operands[operand], strerror(errno));
            return exit_status_usage_k;
        }
    return exit_status_ok_k;
}

static exit_status_t list_pictures(indexing_t *indexing, settings_t const *settings) {
    for (size_t operand = 0; operand != settings->operand_count; ++operand)
        if (!paths_add_(&indexing->paths, settings->operands[operand])) return exit_status_failed_k;
    paths_sort_(&indexing->paths);
    if (indexing->paths.count) return exit_status_ok_k;
    if (indexing->paths.failed_count) return exit_status_failed_k;
    message_("index: expected pictures, found none in %s%s", settings->operands[0],
        settings->operand_count > 1 ? " and the others" : "");
    return exit_status_usage_k;
}

/// Makes room for a call's worth of pictures.
static bool reserve(indexing_t *indexing) {
    size_t const limit = pictures_a_call_(&indexing->setup);
    if (!pictures_open_(&indexing->pictures, limit)) return false;
    indexing->positions = calloc(limit, sizeof(*indexing->positions));
    indexing->rows = calloc(limit, indexing->setup.row_bytes);
    if (indexing->positions && indexing->rows) return true;
    message_("not enough memory for %zu embeddings", limit);
    return false;
}

static exit_status_t run_index(settings_t const *settings) {
    indexing_t indexing;
    memset(&indexing, 0, sizeof(indexing));
    // Scores are products of vectors of length one.
    settings_t unit = *settings;
    unit.normalize = uform_switch_on_k;
    if (!setup_open_(&indexing.setup, &unit, setup_images_k)) return exit_status_usage_k;
    exit_status_t exit_status = output_permitted_(-1, settings) ? check_operands(settings) : exit_status_usage_k;
    if (exit_status == exit_status_ok_k) exit_status = begin_index(&indexing, settings);
    if (exit_status == exit_status_ok_k) exit_status = list_pictures(&indexing, settings);
    if (exit_status == exit_status_ok_k)
        exit_status = reserve(&indexing) ? write_index(&indexing, settings) : exit_status_failed_k;
    index_abandon_(&indexing.writer);
    paths_free_(&indexing.paths);
    pictures_close_(&indexing.pictures);
    free(indexing.positions);
    free(indexing.rows);
    free(indexing.folder);
    setup_close_(&indexing.setup);
    return exit_status;
}

command_t const command_index_ = {
    .name = "index",
    .bit = command_index_k,
    .summary = "make folders of pictures searchable",
    .synopsis = "--model DIR --output FILE [options] FOLDER|PICTURE...",
    .operands = "folders or pictures",
    .needs_operands = true,
    .manual =
        "Walks the folders and those within them, encodes every picture and writes one file for 'uform search'. A file\n"
        "that is named itself is taken as a picture, whatever its name. In folders, names that begin with a dot are\n"
        "passed over, and links to folders aren't followed. A picture that can't be read has a message and is left out;\n"
        "the exit status is then 1. The index keeps no pictures, only their paths: relative to itself for those in its\n"
        "own folder or below, so that both can be moved together.\n"
        "\n"
        "Where the library USearch is installed, or UFORM_USEARCH_LIBRARY names it, a graph is written to FILE.usearch,\n"
        "by which many pictures are searched faster.\n"
        "\n"
        "Examples:\n"
        "  uform index --model clip --output photos.index Pictures\n"
        "  uform search --model clip --index photos.index --text 'a dog on a beach'\n",
    .run = run_index,
};
