/**
 *  The table of options and its interpreter. Values are checked while they are read, so that a wrong one is answered
 *  with the option's name, what it expects and what was found, before anything is opened.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "progress.h"

typedef struct option_t {
    char const *name;
    char const *placeholder; ///< NULL for a flag, whose target is a bool
    unsigned commands;
    bool (*parse)(char const *value, void *target);
    size_t offset; ///< of the target in settings_t
    char const *expected;
    char const *help; ///< lines separated by '\n'
} option_t;

static bool parse_words(char const *value, void *target) {
    *(char const **)target = value;
    return true;
}

static bool parse_path(char const *value, void *target) {
    *(char const **)target = value;
    return value[0] != '\0';
}

static bool parse_count(char const *value, void *target) {
    // strtoull takes signs and blanks, which are typing mistakes here.
    if (!isdigit((unsigned char)value[0])) return false;
    char *end = NULL;
    errno = 0;
    unsigned long long const number = strtoull(value, &end, 10);
    if (errno != 0 || *end != '\0' || number > SIZE_MAX) return false;
    *(size_t *)target = (size_t)number;
    return true;
}

static bool parse_positive(char const *value, void *target) {
    return parse_count(value, target) && *(size_t *)target > 0;
}

/// The results of all runs are kept until the end.
static bool parse_repeats(char const *value, void *target) {
    return parse_positive(value, target) && *(size_t *)target <= 1000000;
}

static bool parse_seconds(char const *value, void *target) {
    if (!isdigit((unsigned char)value[0]) && value[0] != '.') return false;
    char *end = NULL;
    double const number = strtod(value, &end);
    if (*end != '\0' || !isfinite(number)) return false;
    *(double *)target = number;
    return true;
}

static bool parse_scalar(char const *value, void *target) {
    return uform_scalar_parse(value, (uform_scalar_t *)target) == uform_status_ok_k;
}

static bool parse_cpu_class(char const *value, void *target) {
    return uform_cpu_class_parse(value, (uform_cpu_class_t *)target) == uform_status_ok_k;
}

static bool parse_pooling(char const *value, void *target) {
    return uform_pooling_parse(value, (uint32_t *)target) == uform_status_ok_k;
}

/// A token of a list that ends in NULL; the target is an enumeration whose values stand in the same order, from
/// `first` on.
static bool choose(char const *const *tokens, char const *value, unsigned first, void *target) {
    for (unsigned position = 0; tokens[position]; ++position)
        if (strcmp(tokens[position], value) == 0) {
            unsigned const chosen = first + position;
            memcpy(target, &chosen, sizeof(chosen));
            return true;
        }
    return false;
}

static bool parse_switch(char const *value, void *target) {
    static char const *const tokens[] = {"auto", "on", "off", NULL};
    return choose(tokens, value, uform_switch_auto_k, target);
}

/// The side that tokens are cut off at is a switch for the left one.
static bool parse_side(char const *value, void *target) {
    static char const *const tokens[] = {"left", "right", NULL};
    return choose(tokens, value, uform_switch_on_k, target);
}

static bool parse_precision(char const *value, void *target) {
    static char const *const tokens[] = {"f32", "bf16", "i8", NULL};
    unsigned position = 0;
    return choose(tokens, value, 0, &position) && parse_scalar(value, target);
}

static bool parse_input_format(char const *value, void *target) {
    static char const *const tokens[] = {"lines", "jsonl", "nul", NULL};
    return choose(tokens, value, input_format_lines_k, target);
}

/// Commands for which a line may be the path of a picture.
static bool parse_item_format(char const *value, void *target) {
    static char const *const tokens[] = {"lines", "jsonl", "nul", "images", NULL};
    return choose(tokens, value, input_format_lines_k, target);
}

static bool parse_output_format(char const *value, void *target) {
    static char const *const tokens[] = {"jsonl", "npy", "f32", NULL};
    return choose(tokens, value, output_format_jsonl_k, target);
}

static bool parse_answer_format(char const *value, void *target) {
    static char const *const tokens[] = {"words", "jsonl", NULL};
    return choose(tokens, value, answer_format_words_k, target);
}

/// Matches are kept in memory for every query of a window.
static bool parse_top(char const *value, void *target) {
    return parse_positive(value, target) && *(size_t *)target <= 10000;
}

_Static_assert(sizeof(uform_switch_t) == sizeof(unsigned) && sizeof(input_format_t) == sizeof(unsigned) &&
                   sizeof(output_format_t) == sizeof(unsigned) && sizeof(answer_format_t) == sizeof(unsigned),
    "choose() writes enumerations as unsigned integers");

enum {
    texts_k = command_embed_k | command_tokenize_k | command_bench_k | command_search_k,
    pictures_k =
        command_embed_k | command_bench_k | command_pixels_k | command_classify_k | command_index_k | command_search_k,
    computing_k = pictures_k,
    encoding_k = computing_k & ~command_pixels_k,
    vectors_k = command_embed_k | command_bench_k,
    reading_k = command_embed_k | command_bench_k | command_search_k,
    answering_k = command_classify_k | command_search_k,
    all_k = texts_k | pictures_k | command_info_k,
};

#define TARGET(field) offsetof(settings_t, field)

/// What --help lists, in this order.
static option_t const options[] = {
    {"model", "DIR", all_k, parse_path, TARGET(model), "the path of a directory",
        "directory of the model, as sentence-transformers or transformers saves it"},
    {"index", "FILE", command_search_k, parse_path, TARGET(index), "the path of a file",
        "index to search in, as 'uform index' wrote it"},
    {"text", "TEXT", command_search_k, parse_words, TARGET(text), "a text", "search for pictures of this"},
    {"image", "FILE", command_search_k, parse_path, TARGET(image), "the path of a picture",
        "search for pictures like this one"},
    {"image", "FILE", command_pixels_k, parse_path, TARGET(image), "the path of a picture", "picture to read"},
    {"labels", "LABELS", command_classify_k, parse_path, TARGET(labels), "labels or the path of a file",
        "labels to choose from: a file with one a line, '-' for standard input,\nor the labels themselves, separated by commas"},
    {"template", "TEXT", command_classify_k, parse_words, TARGET(template_text), "a text",
        "text around a label, which takes the place of {};\ndefault: a photo of a {}"},
    {"input", "FILE", command_embed_k | command_bench_k, parse_path, TARGET(input), "the path of a file",
        "texts and pictures to read; '-' or nothing for standard input"},
    {"input", "FILE", command_tokenize_k, parse_path, TARGET(input), "the path of a file",
        "texts to read; '-' or nothing for standard input"},
    {"input", "FILE", command_search_k, parse_path, TARGET(input), "the path of a file",
        "many queries to read; '-' for standard input"},
    {"format", "FORMAT", reading_k, parse_item_format, TARGET(format), "lines, jsonl, nul or images",
        "lines (the default): a text a line\n"
        "jsonl: {\"text\": \"...\"}, {\"image\": \"path\"} or \"...\" a line\n"
        "nul: texts that end in a NUL byte\nimages: the path of a picture a line"},
    {"format", "FORMAT", command_tokenize_k, parse_input_format, TARGET(format), "lines, jsonl or nul",
        "lines (the default): a text a line\njsonl: {\"text\": \"...\"} or \"...\" a line\nnul: texts that end in a NUL byte"},
    {"output", "FILE", command_embed_k | command_tokenize_k | command_pixels_k, parse_path, TARGET(output),
        "the path of a file", "where the result goes; '-' or nothing for standard output"},
    {"output", "FILE", command_index_k, parse_path, TARGET(output), "the path of a file",
        "index to write; one that exists is replaced at the end"},
    {"output-format", "FORMAT", command_embed_k, parse_output_format, TARGET(output_format), "jsonl, npy or f32",
        "jsonl: an array a line; npy: a NumPy file of [count, dimensions];\nf32: bare rows of little-endian floats\n"
        "default: what --output ends in (.npy, .f32), else jsonl"},
    {"output-format", "FORMAT", answering_k, parse_answer_format, TARGET(answer_format), "words or jsonl",
        "words (the default): lines for people; jsonl: an object a line"},
    {"top", "N", command_search_k, parse_top, TARGET(top), "a positive integer, at most 10000",
        "pictures to show; default: 10"},
    {"top", "N", command_classify_k, parse_top, TARGET(top), "a positive integer, at most 10000",
        "labels to show; default: 5"},
    {"html", "PAGE", command_search_k, parse_path, TARGET(page), "the path of a file",
        "write a page that shows the pictures found, too"},
    {"exact", "WHEN", command_search_k, parse_switch, TARGET(exact), "auto, on or off",
        "compare with every picture; auto: unless USearch is installed and the\nindex was made with it; off: USearch or nothing"},
    {"exact", "WHEN", command_index_k, parse_switch, TARGET(exact), "auto, on or off",
        "make no graph for USearch; auto: unless it is installed; off: USearch\nor nothing"},
    {"scalar", "TYPE", command_embed_k, parse_scalar, TARGET(scalar), "f32, f16, bf16, i8 or b1",
        "type of the embeddings: f32 (the default), f16, bf16, i8 or b1; i8 is\nfor rows of length one: --normalize on"},
    {"dimensions", "N", vectors_k | command_index_k, parse_positive, TARGET(dimensions), "a positive integer",
        "keep the first N dimensions, for models trained that way"},
    {"precision", "TYPE", encoding_k, parse_precision, TARGET(precision), "f32, bf16 or i8",
        "arithmetic: f32, bf16 or i8; default: bf16 where the processor\nmultiplies it natively, else f32; i8 multiplies integers: faster, for a\ncosine of about 0.9995 to what f32 gives"},
    {"normalize", "WHEN", vectors_k, parse_switch, TARGET(normalize), "auto, on or off",
        "scale embeddings to length one; auto: as the directory says"},
    {"pooling", "MODES", vectors_k, parse_pooling, TARGET(pooling),
        "cls, max, mean, mean_sqrt_len, weightedmean, lasttoken or several joined by '+'",
        "cls, max, mean, mean_sqrt_len, weightedmean, lasttoken or several\njoined by '+'; default: as the directory says"},
    {"prompt", "NAME", texts_k, parse_words, TARGET(prompt_name), "the name of a prompt",
        "put this prompt of the directory before every text; 'query' and\n'document' are empty where a directory has none of them"},
    {"prompt-text", "TEXT", texts_k, parse_words, TARGET(prompt_text), "a text",
        "put these words before every text; '' for no prompt at all"},
    {"max-tokens", "N", texts_k, parse_positive, TARGET(max_tokens), "a positive integer",
        "cut texts after N tokens, special ones included; default: as the\ndirectory says"},
    {"truncate-side", "SIDE", texts_k, parse_side, TARGET(truncate_left), "left or right",
        "side on which long texts lose tokens; default: what the directory says"},
    {"literal-specials", NULL, texts_k, NULL, TARGET(literal_specials), NULL,
        "special tokens typed in a text, like [SEP], are ordinary text"},
    {"image-orientation", "WHEN", pictures_k, parse_switch, TARGET(orientation), "auto, on or off",
        "turn pictures as their EXIF data says; auto and on do, off doesn't"},
    {"image-flatten", NULL, pictures_k, NULL, TARGET(flatten), NULL,
        "put transparent pictures before white; default: drop the transparency"},
    {"image-pixel-limit", "N", pictures_k, parse_positive, TARGET(pixel_limit), "a positive integer",
        "refuse pictures of more pixels; default: 178956970"},
    {"threads", "N", encoding_k, parse_count, TARGET(threads), "an integer, zero or more",
        "threads to compute on; default, and 0: 7/8 of the cores allowed"},
    {"cpu-class", "CLASS", computing_k | command_tokenize_k, parse_cpu_class, TARGET(cpu_class),
        "a class that 'uform info' lists", "kernels to use, e.g. serial or intel_haswell; default: the best here"},
    {"progress", "WHEN", command_embed_k | command_index_k | command_classify_k, parse_switch, TARGET(progress),
        "auto, on or off", "rate and time left on standard error; auto: when it is a terminal"},
    {"repeats", "N", command_bench_k, parse_repeats, TARGET(repeats), "a positive integer, at most 1000000",
        "runs to take the median of; default: 5"},
    {"seconds", "S", command_bench_k, parse_seconds, TARGET(seconds), "a number of seconds",
        "repeat the input within a run until S seconds have passed; default: 0"},
    {"batch", "N", command_bench_k, parse_count, TARGET(batch), "an integer, zero or more",
        "texts or pictures a call; 1 encodes one at a time; default, and 0: all\nat once"},
    {"json", NULL, command_info_k | command_bench_k, NULL, TARGET(json), NULL, "one JSON object instead of text"},
    {"verbose", NULL, command_info_k, NULL, TARGET(verbose), NULL, "say of every class why it is not used"},
    {"verbose", NULL, command_search_k | command_index_k, NULL, TARGET(verbose), NULL,
        "say whether USearch was used, and why not"},
};

enum { option_count_k = sizeof(options) / sizeof(options[0]) };

static option_t const *find_option(command_t const *command, char const *name, size_t length) {
    for (size_t row = 0; row != option_count_k; ++row)
        if ((options[row].commands & command->bit) && strlen(options[row].name) == length &&
            memcmp(options[row].name, name, length) == 0)
            return &options[row];
    return NULL;
}

/// Reads one option that starts at `words[0]`, which begins with "--". Receives how many words it took.
static bool parse_option(
    command_t const *command, int word_count, char *const *words, settings_t *settings, int *taken) {
    char const *const name = words[0] + 2;
    size_t const length = strcspn(name, "=");
    option_t const *const option = find_option(command, name, length);
    if (!option) {
        message_("%s: unknown option '--%.*s'; 'uform %s --help' lists them", command->name, (int)length, name,
            command->name);
        return false;
    }
    char const *value = name[length] == '=' ? name + length + 1 : NULL;
    char *const target = (char *)settings + option->offset;
    *taken = 1;
    if (!option->placeholder) {
        if (value) message_("%s: --%s: takes no value, found '%s'", command->name, option->name, value);
        *(bool *)target = true;
        return !value;
    }
    if (!value && word_count > 1) value = words[1], *taken = 2;
    if (!value) {
        message_("%s: --%s: expected %s, found nothing", command->name, option->name, option->expected);
        return false;
    }
    if (option->parse(value, target)) return true;
    message_("%s: --%s: expected %s, found '%s'", command->name, option->name, option->expected, value);
    return false;
}

/// An option that no command does without.
static bool require(command_t const *command, char const *name, unsigned commands, char const *value) {
    if (!(command->bit & commands) || value) return true;
    option_t const *const option = find_option(command, name, strlen(name));
    message_("%s: --%s: expected %s, found nothing", command->name, name, option->expected);
    return false;
}

/// What can be wrong with options that are right one by one.
static bool check_together(command_t const *command, settings_t const *settings) {
    if (!require(command, "model", all_k & ~command_info_k, settings->model) ||
        !require(command, "index", command_search_k, settings->index) ||
        !require(command, "output", command_index_k, settings->output) ||
        !require(command, "image", command_pixels_k, settings->image) ||
        !require(command, "labels", command_classify_k, settings->labels))
        return false;
    if (settings->prompt_name && settings->prompt_text) {
        message_("%s: --prompt: expected no --prompt-text beside it, found both", command->name);
        return false;
    }
    if (command->needs_operands && !settings->operand_count) {
        message_("%s: expected %s, found nothing; 'uform %s --help' shows examples", command->name, command->operands,
            command->name);
        return false;
    }
    return true;
}

options_outcome_t options_parse_(command_t const *command, int word_count, char **words, settings_t *settings) {
    bool ended = false;
    settings->operands = words;
    for (int position = 0; position != word_count; ++position)
        if (strcmp(words[position], "--help") == 0 || strcmp(words[position], "-h") == 0) return options_help_k;
    for (int position = 0, taken = 0; position < word_count; position += taken) {
        char **const rest = words + position;
        bool const is_option = !ended && strncmp(rest[0], "--", 2) == 0;
        taken = 1;
        if (is_option && rest[0][2] != '\0') {
            if (!parse_option(command, word_count - position, rest, settings, &taken)) return options_refused_k;
        } else if (is_option && command->operands) {
            ended = true;
        } else if (command->operands && (ended || rest[0][0] != '-')) {
            settings->operands[settings->operand_count++] = rest[0];
        } else {
            message_("%s: unexpected argument '%s'; 'uform %s --help' lists the options", command->name, rest[0],
                command->name);
            return options_refused_k;
        }
    }
    return check_together(command, settings) ? options_parsed_k : options_refused_k;
}

static void print_option(char const *name, char const *placeholder, char const *help) {
    char label[64];
    snprintf(label, sizeof(label), "--%s%s%s", name, placeholder ? " " : "", placeholder ? placeholder : "");
    for (char const *line = help; line; label[0] = '\0') {
        size_t const length = strcspn(line, "\n");
        printf("  %-26s%.*s\n", label, (int)length, line);
        line = line[length] ? line + length + 1 : NULL;
    }
}

void options_print_help_(command_t const *command) {
    printf("uform %s: %s\n\nUsage: uform %s %s\n\nOptions:\n", command->name, command->summary, command->name,
        command->synopsis);
    for (size_t row = 0; row != option_count_k; ++row)
        if (options[row].commands & command->bit)
            print_option(options[row].name, options[row].placeholder, options[row].help);
    print_option("help", NULL, "this text");
    printf("\n%s", command->manual);
}
