/**
 *  Runs the built tool in a process of its own: given words and bytes for standard input, what came out and how it
 * ended.
 */
#ifndef UFORM_TESTS_CLI_TOOL_H
#define UFORM_TESTS_CLI_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Sanitizers keep freed memory and slow everything down: sizes and limits adapt.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TOOL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TOOL_SANITIZED 1
#endif
#endif
#ifndef TOOL_SANITIZED
#define TOOL_SANITIZED 0
#endif

typedef struct tool_result_t {
    int exit_status; ///< -1 when a signal or the time limit ended it
    char *output;    ///< [output_length], and a zero behind it
    size_t output_length;
    char *messages; ///< standard error, and a zero behind it
    long peak_kilobytes;
} tool_result_t;

/// The tool's path and a model's directory, as the program's arguments gave them; and a folder for files, gone at the
/// end.
extern char const *tool_path, *tool_model;
extern char tool_folder[64];

void tool_setup(int argument_count, char **arguments);
void tool_cleanup(void);

/// A path in the folder for files. Valid until the fourth next call.
char const *tool_file(char const *name);
void tool_write_file(char const *path, void const *bytes, size_t length);
char *tool_read_file(char const *path, size_t *length);

/// Makes a folder in the folder for files, and copies one of the model's files to a path in there.
void tool_make_folder(char const *name);
void tool_copy_model_file(char const *file, char const *path);

/// Runs the tool with words separated by single spaces. "MODEL" stands for the model's directory, "@name" for a file in
/// the folder.
tool_result_t tool_run(char const *words, void const *input, size_t length);
/// The same with a string for standard input.
tool_result_t tool_run_text(char const *words, char const *input);
void tool_free(tool_result_t *result);

/// Starts the tool with pipes. Close `input` to end its input; `tool_end` waits for it. An `output` of -1 is not piped:
/// the tool then gets `output_descriptor`.
typedef struct tool_process_t {
    pid_t process;
    int input;
    int output;
} tool_process_t;
tool_process_t tool_start(char const *words, int output_descriptor);
int tool_end(tool_process_t *process);

/// Lines of a text, an unfinished last one included.
size_t tool_line_count(char const *text);

#endif
