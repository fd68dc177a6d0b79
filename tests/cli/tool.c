/**
 *  Standard input, output and error are files in a folder of the run, so that no pipe can fill up and block.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tool.h"

extern char **environ;

enum { words_limit_k = 64, time_limit_ms_k = 60000 };

char const *tool_path, *tool_model;
char tool_folder[64];

static void require(bool condition, char const *what) {
    if (condition) return;
    fprintf(stderr, "tool: %s: %s\n", what, strerror(errno));
    abort();
}

void tool_setup(int argument_count, char **arguments) {
    require(argument_count == 3, "usage: test TOOL MODEL");
    tool_path = arguments[1];
    tool_model = arguments[2];
    strcpy(tool_folder, "/tmp/uform-cli-XXXXXX");
    require(mkdtemp(tool_folder) != NULL, "mkdtemp");
    signal(SIGPIPE, SIG_IGN);
}

static int remove_entry(char const *path, struct stat const *facts, int kind, struct FTW *place) {
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

void tool_cleanup(void) {
    nftw(tool_folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

char const *tool_file(char const *name) {
    static char paths[4][256];
    static unsigned turn;
    char *const path = paths[turn++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", tool_folder, name);
    return path;
}

void tool_write_file(char const *path, void const *bytes, size_t length) {
    FILE *const file = fopen(path, "wb");
    require(file && fwrite(bytes, 1, length, file) == length && fclose(file) == 0, path);
}

char *tool_read_file(char const *path, size_t *length) {
    FILE *const file = fopen(path, "rb");
    require(file && fseek(file, 0, SEEK_END) == 0, path);
    size_t const size = (size_t)ftell(file);
    rewind(file);
    char *const bytes = malloc(size + 1);
    require(bytes && fread(bytes, 1, size, file) == size, path);
    bytes[size] = '\0';
    fclose(file);
    if (length) *length = size;
    return bytes;
}

void tool_make_folder(char const *name) {
    char const *const path = tool_file(name);
    require(mkdir(path, 0700) == 0, path);
}

void tool_copy_model_file(char const *file, char const *path) {
    char source[512];
    snprintf(source, sizeof(source), "%s/%s", tool_model, file);
    size_t length = 0;
    char *const bytes = tool_read_file(source, &length);
    tool_write_file(path, bytes, length);
    free(bytes);
}

/// Splits the words, in place, and puts paths in.
static void split_words(char *words, char **arguments) {
    size_t count = 0;
    arguments[count++] = strdup(tool_path);
    for (char *word = strtok(words, " "); word && count + 1 < words_limit_k; word = strtok(NULL, " ")) {
        char const *const name = word[0] == '@' ? word + 1 : NULL;
        arguments[count++] = strdup(name                           ? tool_file(name)
                                    : strcmp(word, "MODEL") == 0   ? tool_model
                                    : strcmp(word, "PROMPTS") == 0 ? UFORM_TESTS_DIRECTORY "/golden/models/prompts"
                                                                   : word);
    }
    arguments[count] = NULL;
}

static pid_t spawn(char const *words, int input, int output, int messages) {
    char *const copy = strdup(words);
    char *arguments[words_limit_k];
    split_words(copy, arguments);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
    // The test ignores that a reader left; the tool is to find it the way a shell would start it.
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    pid_t process = -1;
    require(posix_spawn(&process, tool_path, &actions, &attributes, arguments, environ) == 0, tool_path);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    for (size_t at = 0; arguments[at]; ++at) free(arguments[at]);
    free(copy);
    return process;
}

/// The most memory a running process has had so far. What the system tells after its end counts the process that
/// started it too.
static long peak_kilobytes_of(pid_t process) {
    char path[64], line[256];
    long peak = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)process);
    FILE *const file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "VmHWM: %ld kB", &peak) == 1) break;
    if (file) fclose(file);
    return peak;
}

/// The exit status, or -1; a process that runs too long is killed.
static int wait_for(pid_t process, long *peak_kilobytes) {
    int status = 0;
    for (int waited_ms = 0; waitpid(process, &status, WNOHANG) == 0; waited_ms += 2) {
        long const peak = peak_kilobytes ? peak_kilobytes_of(process) : 0;
        if (peak) *peak_kilobytes = peak;
        if (waited_ms >= time_limit_ms_k * (1 + 3 * TOOL_SANITIZED)) kill(process, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int open_file(char const *path, int flags) {
    int const descriptor = open(path, flags | O_CLOEXEC, 0600);
    require(descriptor >= 0, path);
    return descriptor;
}

tool_result_t tool_run(char const *words, void const *input, size_t length) {
    tool_result_t result = {0};
    tool_write_file(tool_file(".input"), input, length);
    int const descriptors[3] = {open_file(tool_file(".input"), O_RDONLY),
        open_file(tool_file(".output"), O_RDWR | O_CREAT | O_TRUNC),
        open_file(tool_file(".messages"), O_RDWR | O_CREAT | O_TRUNC)};
    pid_t const process = spawn(words, descriptors[0], descriptors[1], descriptors[2]);
    result.exit_status = wait_for(process, &result.peak_kilobytes);
    for (size_t at = 0; at != 3; ++at) close(descriptors[at]);
    result.output = tool_read_file(tool_file(".output"), &result.output_length);
    result.messages = tool_read_file(tool_file(".messages"), NULL);
    return result;
}

tool_result_t tool_run_text(char const *words, char const *input) {
    return tool_run(words, input, strlen(input));
}

void tool_free(tool_result_t *result) {
    free(result->output);
    free(result->messages);
    memset(result, 0, sizeof(*result));
}

tool_process_t tool_start(char const *words, int output_descriptor) {
    int input[2], output[2] = {-1, output_descriptor};
    require(pipe2(input, O_CLOEXEC) == 0 && (output_descriptor >= 0 || pipe2(output, O_CLOEXEC) == 0), "pipe");
    int const messages = open_file(tool_file(".messages"), O_RDWR | O_CREAT | O_TRUNC);
    tool_process_t const started = {spawn(words, input[0], output[1], messages), input[1], output[0]};
    close(input[0]);
    close(messages);
    if (output_descriptor < 0) close(output[1]);
    return started;
}

int tool_end(tool_process_t *process) {
    if (process->input >= 0) close(process->input);
    if (process->output >= 0) close(process->output);
    return wait_for(process->process, NULL);
}

size_t tool_line_count(char const *text) {
    size_t count = 0;
    for (char const *line = text; *line; ++count) {
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return count;
}
