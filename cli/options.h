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
} input_format_t;

typedef enum output_format_t {
    output_format_derived_k = 0, ///< from the end of the file's name, else jsonl
    output_format_jsonl_k,
    output_format_npy_k,
    output_format_f32_k,
} output_format_t;

/// Everything the options of all commands can say. Zero, and NULL for words, means "not said".
typedef struct settings_t {
    char const *model;
    char const *input;
    char const *output;
    char const *prompt_name;
    char const *prompt_text;
    input_format_t format;
    output_format_t output_format;
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
    uform_switch_t truncate_left;
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
    exit_status_t (*run)(settings_t const *settings);
} command_t;

enum { command_embed_k = 1, command_tokenize_k = 2, command_info_k = 4, command_bench_k = 8 };

extern command_t const command_embed_;
extern command_t const command_tokenize_;
extern command_t const command_info_;
extern command_t const command_bench_;

typedef enum options_outcome_t { options_parsed_k, options_help_k, options_refused_k } options_outcome_t;

/// Reads the words after the command's name into zeroed settings. When refused, one line on standard error has said
/// why.
options_outcome_t options_parse_(command_t const *command, int word_count, char *const *words, settings_t *settings);

/// The command's help on standard output.
void options_print_help_(command_t const *command);

#endif
