/**
 *  Standard streams as they are in real life: pipes that dribble, readers that leave, devices that are full,
 * descriptors that are closed, one enormous line, and more lines than memory should hold.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tool.h"

enum { patience_ms_k = 30000 };

/// Reads up to a line's end; fails when it doesn't come.
static void read_line(int descriptor, char *line, size_t capacity) {
    size_t length = 0;
    while (length + 1 < capacity) {
        struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
        assert_int_equal(poll(&waiting, 1, patience_ms_k), 1);
        assert_int_equal(read(descriptor, line + length, 1), 1);
        if (line[length++] == '\n') break;
    }
    line[length] = '\0';
}

static void a_row_comes_before_the_next_text(void **state) {
    (void)state;
    static char const *const words[] = {"embed --model MODEL --dimensions 1", "tokenize --model MODEL"};
    for (size_t row = 0; row != 2; ++row) {
        tool_process_t process = tool_start(words[row], -1);
        for (size_t turn = 0; turn != 3; ++turn) {
            char line[4096];
            // Half a line isn't a text yet.
            assert_int_equal(write(process.input, "the wo", 6), 6);
            assert_int_equal(write(process.input, "rd\n", 3), 3);
            read_line(process.output, line, sizeof(line));
            assert_int_equal(line[0], '[');
        }
        assert_int_equal(tool_end(&process), 0);
    }
}

static void a_reader_may_leave(void **state) {
    (void)state;
    enum { length = 1 << 20 };
    char *const lines = malloc(length);
    for (size_t at = 0; at != length; ++at) lines[at] = at % 8 == 7 ? '\n' : 'a';
    tool_write_file(tool_file("many"), lines, length);
    tool_process_t process = tool_start("tokenize --model MODEL --input @many", -1);
    char line[4096];
    read_line(process.output, line, sizeof(line));
    close(process.output);
    process.output = -1;
    assert_int_equal(tool_end(&process), 1);
    char *const messages = tool_read_file(tool_file(".messages"), NULL);
    assert_string_equal(messages, "");
    free(messages);
    free(lines);
}

static void a_full_device_is_told(void **state) {
    (void)state;
    static char const *const words[] = {"embed --model MODEL", "embed --model MODEL --output-format npy",
        "embed --model MODEL --output-format f32", "tokenize --model MODEL", "--help", "--version", "info"};
    int const full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    for (size_t row = 0; row != sizeof(words) / sizeof(words[0]); ++row) {
        tool_process_t process = tool_start(words[row], full);
        // Those that read nothing may be gone by now.
        ssize_t const written = write(process.input, "a\nb\n", 4);
        assert_true(written == 4 || written == -1);
        int const exit_status = tool_end(&process);
        char *const messages = tool_read_file(tool_file(".messages"), NULL);
        if (exit_status != 1) fail_msg("%s: exit status %d: %s", words[row], exit_status, messages);
        assert_string_equal(messages, "uform: standard output: No space left on device\n");
        free(messages);
    }
    close(full);
    tool_result_t named = tool_run_text("embed --model MODEL --output /dev/full", "a\n");
    assert_int_equal(named.exit_status, 1);
    assert_string_equal(named.messages, "uform: /dev/full: No space left on device\n");
    tool_free(&named);
}

static void devices_serve_as_files(void **state) {
    (void)state;
    tool_result_t result = tool_run_text("embed --model MODEL --input - --output -", "a\n");
    assert_int_equal(result.exit_status, 0);
    assert_int_equal(tool_line_count(result.output), 1);
    tool_free(&result);
    result = tool_run_text("embed --model MODEL --input /dev/stdin --output /dev/null --output-format npy", "a\n");
    assert_int_equal(result.exit_status, 0);
    assert_int_equal(result.output_length, 0);
    tool_free(&result);
}

static void closed_descriptors_are_failures(void **state) {
    (void)state;
    char command[1024];
    snprintf(command, sizeof(command), "echo a | '%s' embed --model '%s' >&- 2>/dev/null", tool_path, tool_model);
    assert_int_equal(WEXITSTATUS(system(command)), 1);
    snprintf(command, sizeof(command), "'%s' embed --model '%s' >/dev/null 2>&1 <&-", tool_path, tool_model);
    assert_int_equal(WEXITSTATUS(system(command)), 1);
    // With standard error closed, messages must not end up in the output.
    snprintf(command, sizeof(command), "echo '{' | '%s' embed --model '%s' --format jsonl --output '%s' 2>&-",
        tool_path, tool_model, tool_file("clean"));
    assert_int_equal(WEXITSTATUS(system(command)), 1);
    char *const clean = tool_read_file(tool_file("clean"), NULL);
    assert_string_equal(clean, "null\n");
    free(clean);
}

static void one_line_may_be_enormous(void **state) {
    (void)state;
    size_t const length = TOOL_SANITIZED ? 1500000 : 9000000;
    char *const line = malloc(length);
    for (size_t at = 0; at != length; ++at) line[at] = at % 4 == 3 ? ' ' : "the"[at % 4];
    memcpy(line, "small\n", 6);
    memcpy(line + length - 6, "\nsmall", 6);
    tool_result_t result = tool_run("embed --model MODEL --dimensions 1", line, length);
    assert_int_equal(result.exit_status, 0);
    assert_int_equal(tool_line_count(result.output), 3);
    size_t const first = strcspn(result.output, "\n");
    assert_memory_equal(result.output, result.output + result.output_length - first - 1, first);
    assert_non_null(strstr(result.messages, "1 of 3 texts were longer"));
    tool_free(&result);
    free(line);
}

static void limits_of_the_process_are_told(void **state) {
    (void)state;
    char command[1024];
    // A file may not grow beyond a block; what is written is longer.
    char *const lines = calloc(1, 400001);
    for (size_t at = 0; at != 400000; ++at) lines[at] = at % 2 ? '\n' : 'a';
    tool_write_file(tool_file("short"), lines, 400000);
    snprintf(command, sizeof(command),
        "trap - XFSZ; ulimit -f 4; '%s' tokenize --model '%s' --input '%s' --output '%s' 2>'%s'", tool_path, tool_model,
        tool_file("short"), tool_file("ids"), tool_file("messages"));
    assert_int_equal(WEXITSTATUS(system(command)), 1);
    char *messages = tool_read_file(tool_file("messages"), NULL);
    assert_non_null(strstr(messages, "ids: File too large\n"));
    assert_int_equal(tool_line_count(messages), 1);
    free(messages), free(lines);
    // Sanitizers reserve more addresses than any limit leaves.
    if (TOOL_SANITIZED) return;
    // Two lines of 200 MB, which are holes in the file.
    FILE *const huge = fopen(tool_file("huge"), "wb");
    assert_non_null(huge);
    assert_true(fputs("b\n", huge) >= 0 && fseek(huge, 200000000, SEEK_CUR) == 0);
    assert_true(fputs("\nb\n", huge) >= 0 && fseek(huge, 200000000, SEEK_CUR) == 0);
    assert_true(fputs("a", huge) >= 0 && fclose(huge) == 0);
    snprintf(command, sizeof(command),
        "ulimit -v 150000; '%s' embed --threads 1 --model '%s' --input '%s' --output '%s' 2>'%s'", tool_path,
        tool_model, tool_file("huge"), tool_file("rows"), tool_file("messages"));
    assert_int_equal(WEXITSTATUS(system(command)), 1);
    messages = tool_read_file(tool_file("messages"), NULL);
    assert_int_equal(tool_line_count(messages), 2);
    assert_non_null(strstr(messages, "item 2: out_of_memory: not enough memory for its text\n"));
    assert_non_null(strstr(messages, "item 4: out_of_memory: not enough memory for its text\n"));
    char *const rows = tool_read_file(tool_file("rows"), NULL);
    size_t const first = strcspn(rows, "\n") + 1;
    assert_int_equal(tool_line_count(rows), 4);
    assert_memory_equal(rows + first, "null\n", 5);
    assert_memory_equal(rows + first + 5, rows, first);
    assert_string_equal(rows + 2 * first + 5, "null\n");
    free(rows), free(messages);
}

/// The peak memory over an input of so many lines, in kilobytes.
static long peak_over(char const *words, size_t line_count) {
    static char const line[] = "{\"text\": \"the words of a line that is long enough to count when there are many\"}\n";
    char *const input = malloc(line_count * (sizeof(line) - 1));
    for (size_t at = 0; at != line_count; ++at) memcpy(input + at * (sizeof(line) - 1), line, sizeof(line) - 1);
    tool_result_t result = tool_run(words, input, line_count * (sizeof(line) - 1));
    assert_int_equal(result.exit_status, 0);
    long const peak = result.peak_kilobytes;
    if (!strstr(words, "npy")) assert_int_equal(tool_line_count(result.output), line_count);
    tool_free(&result);
    free(input);
    return peak;
}

static void memory_is_bounded_by_the_window(void **state) {
    (void)state;
    if (TOOL_SANITIZED) skip();
    // 200,000 lines are 16 MB; what a run needs beyond a window's worth must be far less.
    long const small_tokenize = peak_over("tokenize --model MODEL --format jsonl", 10000);
    long const large_tokenize = peak_over("tokenize --model MODEL --format jsonl", 200000);
    assert_true(large_tokenize - small_tokenize < 4096);
    long const small_embed = peak_over("embed --model MODEL --format jsonl --max-tokens 4 --threads 2", 10000);
    long const large_embed = peak_over("embed --model MODEL --format jsonl --max-tokens 4 --threads 2", 100000);
    assert_true(large_embed - small_embed < 4096);
}

int main(int argument_count, char **arguments) {
    tool_setup(argument_count, arguments);
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(a_row_comes_before_the_next_text),
        cmocka_unit_test(a_reader_may_leave),
        cmocka_unit_test(a_full_device_is_told),
        cmocka_unit_test(devices_serve_as_files),
        cmocka_unit_test(closed_descriptors_are_failures),
        cmocka_unit_test(one_line_may_be_enormous),
        cmocka_unit_test(limits_of_the_process_are_told),
        cmocka_unit_test(memory_is_bounded_by_the_window),
    };
    int const failed = cmocka_run_group_tests(tests, NULL, NULL);
    tool_cleanup();
    return failed;
}
