/**
 *  uform search: the pictures of an index that are nearest to a text or a picture. Queries come one by one from the
 *  command's own options, or a window at a time from an input, and go through the index together.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "index_file.h"
#include "input.h"
#include "matches.h"
#include "numbers.h"
#include "options.h"
#include "page.h"
#include "paths.h"
#include "pictures.h"
#include "plain.h"
#include "progress.h"
#include "setup.h"
#include "usearch.h"

enum { answers_by_default_k = 10, window_queries_k = 64 };

/// The least product of what the index's model and this one make of the same picture; different arithmetic changes it
/// by far less, another model by far more.
static float const same_model_product = 0.999f;

typedef struct searching_t {
    settings_t const *settings;
    index_t index;
    char *folder; ///< the index's as the user named it; NULL for the current one
    setup_t setup;
    usearch_t usearch; ///< NULL when every picture is compared
    input_t input;
    pictures_t pictures;
    page_t page;
    bool has_page;
    float *queries;   ///< [window_queries_k, dimensions]
    match_t *matches; ///< [window_queries_k, top]
    size_t *found;    ///< [window_queries_k]
    size_t top;
    uint64_t answered_count, failed_count;
} searching_t;

/// One question, in a window or alone.
typedef struct query_t {
    bool is_picture;
    uform_text_t text; ///< or the path
    char *words;       ///< the same to show, with a NUL behind it
    uform_status_t status;
    char problem[picture_problem_bytes_k];
} query_t;

/// Whether the index was made with this model.
static bool check_model(searching_t *searching) {
    index_t const *const index = &searching->index;
    setup_t const *const setup = &searching->setup;
    float *const probe = calloc(index->dimensions, sizeof(*probe));
    uform_status_t const status = probe ? setup_probe_(setup, probe) : uform_status_out_of_memory_k;
    float const product =
        status == uform_status_ok_k ? match_score_(probe, index->probe, index->dimensions) : same_model_product;
    free(probe);
    if (status != uform_status_ok_k) return message_status_(status), false;
    if (product >= same_model_product) return true;
    message_("--index: %s: was made with another model (%s, %zu dimensions) than %s (%s)", index->name,
        index->architecture, index->dimensions, searching->settings->model, setup->model_facts.architecture);
    return false;
}

/// Opens the graph where there is one to be used. False when there had to be.
static bool choose_way(searching_t *searching) {
    settings_t const *const settings = searching->settings;
    char reason[usearch_reason_bytes_k] = "--exact on";
    usearch_outcome_t const outcome = settings->exact == uform_switch_on_k
                                          ? usearch_absent_k
                                          : usearch_open_(&searching->index, &searching->usearch, reason);
    if (outcome == usearch_ready_k) {
        if (settings->verbose) message_("search: through USearch %s", usearch_version_words_(searching->usearch));
        return true;
    }
    bool const required = settings->exact == uform_switch_off_k;
    if (required) message_("--exact: USearch can't be used: %s", reason);
    else if (settings->verbose || outcome == usearch_failed_k)
        message_("search: comparing with every picture, without USearch: %s", reason);
    return !required;
}

static bool reserve(searching_t *searching) {
    settings_t const *const settings = searching->settings;
    size_t const wanted = settings->top ? settings->top : answers_by_default_k, count = searching->index.count;
    searching->top = wanted < count ? wanted : count ? count : 1;
    size_t const queries = settings->input ? window_queries_k : 1;
    searching->queries = calloc(queries, searching->setup.row_bytes);
    searching->matches = calloc(queries * searching->top, sizeof(*searching->matches));
    searching->found = calloc(queries, sizeof(*searching->found));
    if (searching->queries && searching->matches && searching->found) return pictures_open_(&searching->pictures, 1);
    message_("not enough memory for %zu matches", searching->top);
    return false;
}

static uform_status_t encode_picture(searching_t *searching, query_t *query, float *vector) {
    uform_status_t status = uform_status_ok_k;
    pictures_clear_(&searching->pictures);
    if (pictures_add_(&searching->pictures, query->words, &status, query->problem) == picture_added_k)
        status = pictures_encode_again_(&searching->pictures, &searching->setup, 0, vector);
    pictures_clear_(&searching->pictures);
    return status;
}

/// Fills in the vector of a query, or its status and the words for it.
static void encode_query(searching_t *searching, query_t *query, float *vector) {
    setup_t const *const setup = &searching->setup;
    query->words = strndup(query->text.data, query->text.length);
    if (!query->words) {
        query->status = uform_status_out_of_memory_k;
    } else if (query->is_picture) {
        query->status = encode_picture(searching, query, vector);
    } else if (setup->model_facts.encodes_texts) {
        query->status =
            uform_encode_texts(setup->model, setup->executor, &query->text, 1, &setup->encoding, vector, 0, NULL);
    } else {
        query->status = uform_status_unsupported_k;
        snprintf(query->problem, sizeof(query->problem), "text: the model has no text tower");
    }
    if (query->status != uform_status_ok_k && !query->problem[0])
        snprintf(query->problem, sizeof(query->problem), "%s", problem_of_one_(uform_last_detail(), query->status));
}

/// Finds the matches of queries whose vectors stand side by side.
static bool find(searching_t *searching, size_t count) {
    index_t const *const index = &searching->index;
    size_t const threads = searching->setup.executor_facts.threads;
    for (size_t query = 0; searching->usearch && query != count; ++query) {
        char reason[usearch_reason_bytes_k];
        float const *const vector = searching->queries + query * index->dimensions;
        if (usearch_find_(searching->usearch, index, vector, searching->top,
                searching->matches + query * searching->top, &searching->found[query], reason))
            continue;
        message_("USearch: %s", reason);
        if (searching->settings->exact == uform_switch_off_k) return false;
        usearch_close_(searching->usearch);
        searching->usearch = NULL;
    }
    return searching->usearch || matches_find_(index->vectors, index->count, index->dimensions, searching->queries,
                                     count, threads, searching->top, searching->matches, searching->found);
}

/// The path of a match from where the user is, in memory of its own.
static char *path_of(searching_t const *searching, size_t position) {
    size_t length = 0;
    char const *const kept = index_path_(&searching->index, position, &length);
    char *const path = strndup(kept, length);
    if (!path || !length || path[0] == '/' || !searching->folder) return path;
    char *const joined = path_join_(searching->folder, path);
    free(path);
    return joined;
}

static void print_match(searching_t const *searching, size_t rank, match_t match, char const *path) {
    if (searching->settings->answer_format == answer_format_words_k) {
        printf("%8.4f  ", (double)match.score);
        // Control characters are for no terminal; what reads a pipe needs the name as it is.
        if (isatty(STDOUT_FILENO)) print_plain_(path);
        else fputs(path, stdout);
        putchar('\n');
        return;
    }
    char score[number_text_bytes_k + 1];
    score[number_from_float_(match.score, score)] = '\0';
    printf("%s{\"score\": %s, \"position\": %zu, \"path\": ", rank ? ", " : "", score, match.position);
    print_json_(stdout, path);
    putchar('}');
}

/// What stands before the matches of a query. One that was given on the command line need not be repeated to people.
static void begin_answer(searching_t *searching, query_t const *query) {
    if (searching->settings->answer_format == answer_format_jsonl_k) {
        printf("{\"%s\": ", query->is_picture ? "image" : "text");
        print_json_(stdout, query->words);
        printf(", \"matches\": [");
    } else if (searching->settings->input) {
        print_plain_(query->words);
        putchar('\n');
    }
    if (!searching->has_page) return;
    if (query->is_picture) page_picture_query_(&searching->page, query->words);
    else page_text_query_(&searching->page, query->words);
}

static void end_answer(searching_t const *searching) {
    if (searching->settings->answer_format == answer_format_jsonl_k) printf("]}\n");
    else if (searching->settings->input) putchar('\n');
}

/// Prints the matches of a query, and puts them on the page. False without memory for a path.
static bool answer(searching_t *searching, query_t const *query, match_t const *matches, size_t count) {
    bool good = true;
    begin_answer(searching, query);
    for (size_t rank = 0; good && rank != count; ++rank) {
        char *const path = path_of(searching, matches[rank].position);
        good = path != NULL;
        if (!good) message_("not enough memory for a path");
        if (good) print_match(searching, rank, matches[rank], path);
        if (good && searching->has_page) page_match_(&searching->page, rank + 1, matches[rank].score, path);
        free(path);
    }
    end_answer(searching);
    return good;
}

/// Encodes queries, finds their matches together and answers in order. False when nothing more can be done.
static bool answer_all(searching_t *searching, query_t *queries, size_t count) {
    size_t good_count = 0;
    for (size_t query = 0; query != count; ++query)
        if (queries[query].status == uform_status_ok_k) {
            encode_query(searching, &queries[query], searching->queries + good_count * searching->setup.dimensions);
            good_count += queries[query].status == uform_status_ok_k;
        }
    if (!find(searching, good_count)) return false;
    size_t served = 0;
    for (size_t query = 0; query != count; ++query) {
        if (queries[query].status != uform_status_ok_k) {
            ++searching->failed_count;
            if (!searching->settings->input)
                message_item_(queries[query].is_picture ? "--image" : "--text", searching->settings->image,
                    queries[query].status, queries[query].problem);
            else input_complain_(&searching->input, query, queries[query].status, queries[query].problem);
            if (searching->settings->answer_format == answer_format_jsonl_k) printf("null\n");
            continue;
        }
        if (!answer(searching, &queries[query], searching->matches + served * searching->top, searching->found[served]))
            return false;
        ++served;
        ++searching->answered_count;
    }
    return fflush(stdout) == 0;
}

/// Answers the items of the window.
static bool answer_window(searching_t *searching, query_t *queries) {
    input_t const *const input = &searching->input;
    memset(queries, 0, window_queries_k * sizeof(*queries));
    for (size_t position = 0; position != input->item_count; ++position) {
        input_item_t const *const item = &input->items[position];
        query_t *const query = &queries[position];
        *query = (query_t){.is_picture = item->is_picture, .text = input_text_(input, item), .status = item->status};
        snprintf(query->problem, sizeof(query->problem), "%s", item->problem ? item->problem : "");
    }
    bool const answered = answer_all(searching, queries, input->item_count);
    for (size_t position = 0; position != input->item_count; ++position) free(queries[position].words);
    return answered;
}

static bool answer_stream(searching_t *searching) {
    query_t *const queries = calloc(window_queries_k, sizeof(*queries));
    if (!queries) return message_("not enough memory for %d queries", window_queries_k), false;
    bool reading = true, answering = true;
    while (reading && answering) {
        reading = input_next_(&searching->input);
        if (!searching->input.item_count) break;
        answering = answer_window(searching, queries);
    }
    free(queries);
    return reading && answering;
}

static bool answer_one(searching_t *searching) {
    settings_t const *const settings = searching->settings;
    char const *const words = settings->text ? settings->text : settings->image;
    query_t query = {.is_picture = settings->image != NULL, .text = {words, strlen(words)}};
    bool const answered = answer_all(searching, &query, 1);
    free(query.words);
    return answered;
}

static exit_status_t search(searching_t *searching) {
    settings_t const *const settings = searching->settings;
    if (!check_model(searching) || !choose_way(searching) || !reserve(searching)) return exit_status_usage_k;
    if (settings->input &&
        !input_open_(&searching->input, "input", settings->input, settings->format, window_queries_k))
        return exit_status_usage_k;
    searching->has_page = settings->page != NULL;
    if (searching->has_page && !page_open_(&searching->page, settings->page)) return exit_status_usage_k;
    bool const answered = settings->input ? answer_stream(searching) : answer_one(searching);
    // A page of nothing takes no other one's place.
    bool const shown = !searching->has_page || !answered || !searching->answered_count || page_close_(&searching->page);
    return answered && shown && !searching->failed_count ? exit_status_ok_k : exit_status_failed_k;
}

/// Exactly one of the three ways to ask.
static bool check_queries(settings_t const *settings) {
    int const ways = (settings->text != NULL) + (settings->image != NULL) + (settings->input != NULL);
    if (ways == 1) return true;
    message_("search: expected one of --text, --image and --input, found %s", ways ? "several" : "none");
    return false;
}

/// The folder of the index as the user wrote it; NULL for the current one.
static char *folder_of_index(char const *path) {
    char const *const name = path_name_(path);
    return name == path ? NULL : strndup(path, (size_t)(name - path));
}

static exit_status_t run_search(settings_t const *settings) {
    searching_t searching;
    memset(&searching, 0, sizeof(searching));
    searching.settings = settings;
    if (!check_queries(settings) || !index_open_(&searching.index, settings->index)) return exit_status_usage_k;
    searching.folder = folder_of_index(settings->index);
    // Vectors of the index have length one, and the dimensions it was made with.
    settings_t unit = *settings;
    unit.normalize = uform_switch_on_k;
    unit.dimensions = searching.index.dimensions;
    exit_status_t exit_status = exit_status_usage_k;
    if (setup_open_(&searching.setup, &unit, setup_images_k)) exit_status = search(&searching);
    page_abandon_(&searching.page);
    if (searching.input.items) input_close_(&searching.input);
    usearch_close_(searching.usearch);
    pictures_close_(&searching.pictures);
    free(searching.queries);
    free(searching.matches);
    free(searching.found);
    free(searching.folder);
    setup_close_(&searching.setup);
    index_close_(&searching.index);
    return exit_status;
}

command_t const command_search_ = {
    .name = "search",
    .bit = command_search_k,
    .summary = "find pictures of an index by a text or a picture",
    .synopsis = "--model DIR --index FILE (--text TEXT | --image FILE | --input FILE) [options]",
    .manual =
        "Prints the pictures whose vectors are nearest to the query's, the best first: the cosine of the angle between them,\n"
        "and the path. The model must be the one the index was made with, in whatever directory and precision it is. --html\n"
        "also writes a page that shows the pictures. With --input, every line of a file is a query.\n"
        "\n"
        "Every picture is compared with, which is exact; or, where USearch is installed and the index was made with it,\n"
        "its graph finds the candidates, and their scores are computed as exactly. --verbose says which.\n"
        "\n"
        "Examples:\n"
        "  uform search --model clip --index photos.index --text 'a dog on a beach'\n"
        "  uform search --model clip --index photos.index --image dog.jpg --top 20 --html found.html\n"
        "  uform search --model clip --index photos.index --input queries.txt --output-format jsonl\n",
    .run = run_search,
};
