/**
 *  uform, the command-line tool: finds the command in a table and hands it its options.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "progress.h"

static command_t const *const commands[] = {&command_embed_, &command_index_, &command_search_, &command_classify_,
    &command_tokenize_, &command_pixels_, &command_info_, &command_bench_};

enum { command_count_k = sizeof(commands) / sizeof(commands[0]) };

static void print_overview(FILE *stream) {
    fprintf(stream, "uform %s: texts and pictures in, embeddings out\n\nUsage: uform COMMAND [options]\n\nCommands:\n",
        uform_version());
    for (size_t row = 0; row != command_count_k; ++row)
        fprintf(stream, "  %-10s%s\n", commands[row]->name, commands[row]->summary);
    fputs(
        "\n"
        "A model is a directory as sentence-transformers or transformers saves it: config.json, tokenizer.json,\n"
        "model.safetensors, preprocessor_config.json for pictures and, from sentence-transformers, modules.json with\n"
        "the folders it names.\n"
        "\n"
        "Examples:\n"
        "  echo 'How do I boil an egg?' | uform embed --model all-MiniLM-L6-v2\n"
        "  uform embed --model all-MiniLM-L6-v2 --input texts.txt --output vectors.npy\n"
        "  uform index --model clip --output photos.index Pictures\n"
        "  uform search --model clip --index photos.index --text 'a dog on a beach' --html found.html\n"
        "  uform bench --model all-MiniLM-L6-v2 --input texts.txt\n"
        "\n"
        "'uform COMMAND --help' explains a command, 'uform --version' tells the version.\n"
        "Exit status: 0 for success, 1 when an item, reading or writing failed, 2 for a bad directory or option.\n",
        stream);
}

static command_t const *find_command(char const *name) {
    for (size_t row = 0; row != command_count_k; ++row)
        if (strcmp(commands[row]->name, name) == 0) return commands[row];
    return NULL;
}

/// A standard descriptor that is closed would be given to the next file opened, and messages would end up in it.
static void occupy_standard_descriptors(void) {
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) {
            // Opened the wrong way round, so that using it fails as it would have.
            int const opened = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
            (void)opened;
        }
}

/// What printf could not write is a failure too.
static exit_status_t finish_printing(exit_status_t exit_status) {
    bool const failed = fflush(stdout) != 0 || ferror(stdout);
    if (failed && errno != EPIPE) message_("standard output: %s", strerror(errno));
    return failed && exit_status == exit_status_ok_k ? exit_status_failed_k : exit_status;
}

static exit_status_t run_command(command_t const *command, int word_count, char **words) {
    settings_t settings;
    memset(&settings, 0, sizeof(settings));
    options_outcome_t const outcome = options_parse_(command, word_count, words, &settings);
    if (outcome == options_refused_k) return exit_status_usage_k;
    if (outcome == options_help_k) return options_print_help_(command), exit_status_ok_k;
    return command->run(&settings);
}

int main(int argument_count, char **arguments) {
    occupy_standard_descriptors();
    // A reader that goes away is a failed write, not a sudden death.
    signal(SIGPIPE, SIG_IGN);
    // So is a file that would grow beyond what the process may write.
    signal(SIGXFSZ, SIG_IGN);
    if (argument_count < 2) return print_overview(stderr), exit_status_usage_k;
    char const *const name = arguments[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return print_overview(stdout), finish_printing(exit_status_ok_k);
    if (strcmp(name, "--version") == 0) return printf("uform %s\n", uform_version()), finish_printing(exit_status_ok_k);
    command_t const *const command = find_command(name);
    if (!command) {
        message_("unknown command '%s'; 'uform --help' lists them", name);
        return exit_status_usage_k;
    }
    return finish_printing(run_command(command, argument_count - 2, arguments + 2));
}
