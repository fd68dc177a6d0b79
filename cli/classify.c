/**
 *  uform classify: which of some labels fits a picture best, by what the model makes of a sentence with each. A model
 *  trained to choose among texts (CLIP) gives probabilities that sum up to one; one trained to judge pairs (SigLIP)
 *  gives each label its own.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input.h"
#include "matches.h"
#include "numbers.h"
#include "options.h"
#include "pictures.h"
#include "plain.h"
#include "progress.h"
#include "setup.h"

enum { answers_by_default_k = 5, window_labels_k = 1024 };

static char const default_template[] = "a photo of a {}", slot[] = "{}";

typedef struct classifying_t {
    settings_t const *settings;
    setup_t setup;
    char **labels; ///< [label_count], each in memory of its own
    size_t label_count, label_capacity;
    float *vectors;   ///< [label_count, dimensions]
    double *logits;   ///< [label_count]
    match_t *matches; ///< [label_count]
    pictures_t pictures;
    size_t *positions; ///< [pictures.limit], of the pictures among the operands
    float *rows;       ///< [pictures.limit, dimensions]
    progress_t progress;
    progress_counts_t counts;
    uint64_t failed_count;
} classifying_t;

/// Adds a label; an empty one is none.
static bool add_label(classifying_t *classifying, char const *words, size_t length) {
    if (!length) return true;
    if (classifying->label_count == classifying->label_capacity) {
        size_t const capacity = classifying->label_capacity ? 2 * classifying->label_capacity : 64;
        char **const grown = realloc(classifying->labels, capacity * sizeof(*grown));
        if (!grown) return message_("not enough memory for the labels"), false;
        classifying->labels = grown;
        classifying->label_capacity = capacity;
    }
    char *const label = strndup(words, length);
    if (!label) return message_("not enough memory for the labels"), false;
    classifying->labels[classifying->label_count++] = label;
    return true;
}

/// Adds the label of a line. A file of something else, a picture say, is told at the first line that isn't text.
static bool add_label_line(classifying_t *classifying, input_t const *input, size_t position) {
    input_item_t const *const item = &input->items[position];
    uform_text_t const text = input_text_(input, item);
    if (item->status != uform_status_ok_k) return input_complain_(input, position, item->status, item->problem), false;
    bool const cut = memchr(text.data, '\0', text.length) != NULL;
    if (!cut && !add_label(classifying, text.data, text.length)) return false;
    if (!cut && (!text.length || is_utf8_(classifying->labels[classifying->label_count - 1]))) return true;
    message_("--labels: %s: line %llu: expected a label in UTF-8, found %s", input->name,
        (unsigned long long)(input->number + position + 1), cut ? "a NUL byte" : "bytes that aren't");
    return false;
}

static bool read_label_file(classifying_t *classifying, char const *path) {
    input_t input;
    if (!input_open_(&input, "labels", path, input_format_lines_k, window_labels_k)) return false;
    bool good = true;
    do {
        good = input_next_(&input);
        for (size_t position = 0; good && position != input.item_count; ++position)
            good = add_label_line(classifying, &input, position);
    } while (good && input.item_count);
    input_close_(&input);
    return good;
}

/// Labels are a file's lines where there is such a file, else what commas separate.
static bool read_labels(classifying_t *classifying) {
    char const *const given = classifying->settings->labels;
    bool good = true;
    if (strcmp(given, "-") == 0 || access(given, F_OK) == 0) good = read_label_file(classifying, given);
    else if (strchr(given, ','))
        for (char const *at = given; good && at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
            at += strspn(at, " ");
            size_t length = strcspn(at, ",");
            while (length && at[length - 1] == ' ') --length;
            good = add_label(classifying, at, length);
        }
    else {
        message_("--labels: expected a file, or labels separated by commas, found '%s'", given);
        return false;
    }
    if (good && !classifying->label_count) message_("--labels: expected labels, found none in '%s'", given);
    return good && classifying->label_count;
}

/// The template with a label in it, in memory of its own.
static char *fill_template(char const *words, char const *label) {
    char const *const at = strstr(words, slot);
    char *filled = NULL;
    int const length = asprintf(&filled, "%.*s%s%s", (int)(at - words), words, label, at + sizeof(slot) - 1);
    return length < 0 ? NULL : filled;
}

/// Encodes the labels, all in one call.
static bool encode_labels(classifying_t *classifying) {
    setup_t const *const setup = &classifying->setup;
    settings_t const *const settings = classifying->settings;
    char const *const words = settings->template_text ? settings->template_text : default_template;
    size_t const count = classifying->label_count;
    uform_text_t *const texts = calloc(count, sizeof(*texts));
    char **const filled = calloc(count, sizeof(*filled));
    classifying->vectors = calloc(count, setup->row_bytes);
    classifying->logits = calloc(count, sizeof(*classifying->logits));
    classifying->matches = calloc(count, sizeof(*classifying->matches));
    bool good = texts && filled && classifying->vectors && classifying->logits && classifying->matches;
    for (size_t label = 0; good && label != count; ++label) {
        filled[label] = fill_template(words, classifying->labels[label]);
        good = filled[label] != NULL;
        if (good) texts[label] = (uform_text_t){filled[label], strlen(filled[label])};
    }
    uform_status_t const status = good ? uform_encode_texts(setup->model, setup->executor, texts, count,
                                             &setup->encoding, classifying->vectors, 0, NULL)
                                       : uform_status_out_of_memory_k;
    if (!good) message_("not enough memory for %zu labels", count);
    else if (status != uform_status_ok_k) message_status_(status);
    for (size_t label = 0; filled && label != count; ++label) free(filled[label]);
    free(filled), free(texts);
    return status == uform_status_ok_k;
}

/// Turns the labels' cosines, sorted, into probabilities in place of `logits`. False for a model that has none.
static bool judge(classifying_t *classifying) {
    uform_model_description_t const *const facts = &classifying->setup.model_facts;
    double *const logits = classifying->logits;
    // Only models that judge pairs have a bias; among all labels it would say nothing.
    bool const in_pairs = facts->has_logit_bias;
    double sum = 0;
    if (!(facts->logit_scale > 0)) return false;
    for (size_t rank = 0; rank != classifying->label_count; ++rank)
        logits[rank] = facts->logit_scale * (double)classifying->matches[rank].score + facts->logit_bias;
    double const largest = logits[0];
    for (size_t rank = 0; rank != classifying->label_count; ++rank) {
        logits[rank] = in_pairs ? 1 / (1 + exp(-logits[rank])) : exp(logits[rank] - largest);
        sum += logits[rank];
    }
    for (size_t rank = 0; !in_pairs && rank != classifying->label_count; ++rank) logits[rank] /= sum;
    return true;
}

static void print_words(classifying_t const *classifying, char const *path, size_t count, bool judged) {
    print_plain_(path);
    putchar('\n');
    for (size_t rank = 0; rank != count; ++rank) {
        match_t const match = classifying->matches[rank];
        if (judged) printf("  %6.2f %%  ", 100 * classifying->logits[rank]);
        else printf("  %8.4f  ", (double)match.score);
        print_plain_(classifying->labels[match.position]);
        putchar('\n');
    }
}

static void print_json(classifying_t const *classifying, char const *path, size_t count, bool judged) {
    printf("{\"image\": ");
    print_json_(stdout, path);
    printf(", \"labels\": [");
    for (size_t rank = 0; rank != count; ++rank) {
        match_t const match = classifying->matches[rank];
        char number[number_text_bytes_k + 1];
        printf("%s{\"label\": ", rank ? ", " : "");
        print_json_(stdout, classifying->labels[match.position]);
        number[number_from_float_(match.score, number)] = '\0';
        printf(", \"cosine\": %s, \"probability\": ", number);
        number[number_from_float_(judged ? (float)classifying->logits[rank] : NAN, number)] = '\0';
        printf("%s}", number);
    }
    printf("]}\n");
}

static void classify(classifying_t *classifying, char const *path, float const *row) {
    size_t const dimensions = classifying->setup.dimensions, count = classifying->label_count;
    for (size_t label = 0; label != count; ++label)
        classifying->matches[label] =
            (match_t){match_score_(row, classifying->vectors + label * dimensions, dimensions), label};
    matches_sort_(classifying->matches, count);
    bool const judged = judge(classifying);
    size_t const wanted = classifying->settings->top ? classifying->settings->top : answers_by_default_k;
    size_t const shown = wanted < count ? wanted : count;
    if (classifying->settings->answer_format == answer_format_jsonl_k) print_json(classifying, path, shown, judged);
    else print_words(classifying, path, shown, judged);
}

static void complain(classifying_t *classifying, char const *path, uform_status_t status, char const *problem) {
    ++classifying->failed_count;
    message_item_(NULL, path, status, problem);
    if (classifying->settings->answer_format == answer_format_jsonl_k) printf("null\n");
}

/// Encodes the pictures that were read and tells what they are. False when nothing more can be done.
static bool classify_pictures(classifying_t *classifying) {
    pictures_t *const pictures = &classifying->pictures;
    if (!pictures_encode_(pictures, &classifying->setup, classifying->rows)) return false;
    for (size_t index = 0; index != pictures->count; ++index) {
        char const *const path = classifying->settings->operands[classifying->positions[index]];
        float *const row = classifying->rows + index * classifying->setup.dimensions;
        uform_status_t status = pictures->items[index].status;
        if (status != uform_status_ok_k) status = pictures_encode_again_(pictures, &classifying->setup, index, row);
        if (status != uform_status_ok_k) complain(classifying, path, status, uform_last_detail());
        else classify(classifying, path, row);
        ++classifying->counts.pictures;
    }
    pictures_clear_(pictures);
    return fflush(stdout) == 0;
}

static bool classify_all(classifying_t *classifying) {
    settings_t const *const settings = classifying->settings;
    size_t position = 0;
    while (position != settings->operand_count) {
        uform_status_t status = uform_status_ok_k;
        char problem[picture_problem_bytes_k];
        picture_outcome_t const outcome =
            pictures_add_(&classifying->pictures, settings->operands[position], &status, problem);
        // A picture that can't be read is told in its turn.
        if (outcome != picture_added_k && classifying->pictures.count) {
            if (!classify_pictures(classifying)) return false;
            progress_update_(&classifying->progress, classifying->counts, position, settings->operand_count);
            if (outcome == picture_full_k) continue;
        }
        if (outcome == picture_refused_k) complain(classifying, settings->operands[position], status, problem);
        else classifying->positions[classifying->pictures.count - 1] = position;
        ++position;
    }
    return classify_pictures(classifying);
}

static exit_status_t run_all(classifying_t *classifying) {
    settings_t const *const settings = classifying->settings;
    setup_t const *const setup = &classifying->setup;
    if (!read_labels(classifying) || !encode_labels(classifying)) return exit_status_usage_k;
    size_t const limit = pictures_a_call_(setup);
    if (!pictures_open_(&classifying->pictures, limit)) return exit_status_failed_k;
    classifying->positions = calloc(limit, sizeof(*classifying->positions));
    classifying->rows = calloc(limit, setup->row_bytes);
    if (!classifying->positions || !classifying->rows)
        return message_("not enough memory for %zu embeddings", limit), exit_status_failed_k;
    if (!(setup->model_facts.logit_scale > 0))
        message_("%s: tells no scale of its scores, so they are cosines", settings->model);
    progress_begin_(&classifying->progress, settings->progress);
    bool const complete = classify_all(classifying);
    progress_end_(&classifying->progress, classifying->counts);
    return complete && !classifying->failed_count ? exit_status_ok_k : exit_status_failed_k;
}

static exit_status_t run_classify(settings_t const *settings) {
    classifying_t classifying;
    memset(&classifying, 0, sizeof(classifying));
    classifying.settings = settings;
    if (settings->template_text && !strstr(settings->template_text, slot)) {
        message_("--template: expected a text with {} in it, found '%s'", settings->template_text);
        return exit_status_usage_k;
    }
    // Scores are products of vectors of length one.
    settings_t unit = *settings;
    unit.normalize = uform_switch_on_k;
    if (!setup_open_(&classifying.setup, &unit, setup_texts_k | setup_images_k)) return exit_status_usage_k;
    exit_status_t const exit_status = run_all(&classifying);
    for (size_t label = 0; label != classifying.label_count; ++label) free(classifying.labels[label]);
    free(classifying.labels);
    free(classifying.vectors);
    free(classifying.logits);
    free(classifying.matches);
    pictures_close_(&classifying.pictures);
    free(classifying.positions);
    free(classifying.rows);
    setup_close_(&classifying.setup);
    return exit_status;
}

command_t const command_classify_ = {
    .name = "classify",
    .bit = command_classify_k,
    .summary = "say which label fits a picture",
    .synopsis = "--model DIR --labels LABELS [options] PICTURE...",
    .operands = "pictures",
    .needs_operands = true,
    .manual =
        "Compares every picture with a sentence for each label and prints the best labels. A model like CLIP chooses one\n"
        "of them: the probabilities of all labels sum up to 1. A model like SigLIP judges each label by itself: all may\n"
        "be improbable. Nothing is trained; other labels are as good. A comma at the end makes a list of one label.\n"
        "\n"
        "Examples:\n"
        "  uform classify --model clip --labels 'cat,dog,cup of tea' *.jpg\n"
        "  uform classify --model siglip --labels labels.txt --template 'This is a photo of {}.' --top 3 cat.jpg\n"
        "  uform classify --model clip --labels cat,dog --output-format jsonl -- *.jpg\n",
    .run = run_classify,
};
