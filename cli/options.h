/**
 *  Options of every command, read through one table: a row says an option's name, what follows it, which commands
 *  take it, where its value goes and what the help says. Adding an option is adding a row.
 */
#ifndef UFORM_CLI_OPTIONS_H
#define UFORM_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uform/uform.h"

/// What the process answers with.
typedef enum exit_status_t {
    exit_status_ok_k = 0,
    exit_status_failed_k = 1, ///< an item failed, or reading or writing did
    exit_status_usage_k = 2,  ///< a bad directory, option or command
} exit_status_t;

typedef enum input_format_t {
    input_format_lines_k = 0,
    input_format_jsonl_k,
    input_format_nul_k,
    input_format_images_k, ///< lines that are paths
} input_format_t;

typedef enum output_format_t {
    output_format_derived_k = 0, ///< from the end of the file's name, else jsonl
    output_format_jsonl_k,
    output_format_npy_k,
    output_format_f32_k,
} output_format_t;

/// How answers are shown.
typedef enum answer_format_t { answer_format_words_k = 0, answer_format_jsonl_k } answer_format_t;

/// Everything the options of all commands can say. Zero, and NULL for words, means "not said".
typedef struct settings_t {
    char const *model;
    char const *input;
    char const *output;
    char const *prompt_name;
    char const *prompt_text;
    char const *text;
    char const *image;
    char const *index;
    char const *labels;
    char const *template_text;
    char const *page;
    char **operands; ///< [operand_count], the words that aren't options
    size_t operand_count;
    input_format_t format;
    output_format_t output_format;
    answer_format_t answer_format;
    uform_scalar_t scalar;
    uform_scalar_t precision;
    uform_cpu_class_t cpu_class;
    uform_switch_t normalize;
    uform_switch_t progress;
    uint32_t pooling;
    size_t dimensions;
    size_t max_tokens;
    size_t threads;
    size_t repeats;
    size_t batch;
    double seconds;
    size_t top;
    size_t pixel_limit;
    uform_switch_t truncate_left;
    uform_switch_t orientation;
    uform_switch_t exact;
    bool flatten;
    bool literal_specials;
    bool json;
    bool verbose;
} settings_t;

/// One command of the tool. `bit` says which rows of the table of options are its own.
typedef struct command_t {
    char const *name;
    unsigned bit;
    char const *summary;  ///< one line for the list of commands
    char const *synopsis; ///< what follows the command's name
    char const *manual;   ///< paragraphs and examples, after the list of options
    char const *operands; ///< what the words that aren't options are; NULL for a command that takes none
    bool needs_operands;
    exit_status_t (*run)(settings_t const *settings);
} command_t;

enum {
    command_embed_k = 1,
    command_tokenize_k = 2,
    command_info_k = 4,
    command_bench_k = 8,
    command_pixels_k = 16,
    command_classify_k = 32,
    command_index_k = 64,
    command_search_k = 128,
};

extern command_t const command_embed_;
extern command_t const command_tokenize_;
extern command_t const command_info_;
extern command_t const command_bench_;
extern command_t const command_pixels_;
extern command_t const command_classify_;
extern command_t const command_index_;
extern command_t const command_search_;

typedef enum options_outcome_t { options_parsed_k, options_help_k, options_refused_k } options_outcome_t;

/// Reads the words after the command's name into zeroed settings. Operands are moved to the front of `words`. When
/// refused, one line on standard error has said why.
options_outcome_t options_parse_(command_t const *command, int word_count, char **words, settings_t *settings);

/// The command's help on standard output.
void options_print_help_(command_t const *command);

#endif
