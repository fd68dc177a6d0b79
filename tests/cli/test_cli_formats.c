/**
 *  What goes in and what comes out: every input format, every output format and scalar, items that are broken, and the
 * order. The rows of one text are the same bits in every format, so formats are checked against each other.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "tool.h"

static void expect_contains(char const *text, char const *part) {
    if (!strstr(text, part)) fail_msg("expected '%s' in '%s'", part, text);
}

/// Runs, expects the exit status, and returns what came out.
static char *output_of(char const *words, void const *input, size_t length, int exit_status, size_t *output_length) {
    tool_result_t result = tool_run(words, input, length);
    if (result.exit_status != exit_status)
        fail_msg("%s: exit status %d, expected %d: %s", words, result.exit_status, exit_status, result.messages);
    if (output_length) *output_length = result.output_length;
    char *const output = result.output;
    free(result.messages);
    return output;
}

static char *output_of_text(char const *words, char const *input, int exit_status) {
    return output_of(words, input, strlen(input), exit_status, NULL);
}

/// The line at a position, without its end, in memory of its own.
static char *line_of(char const *text, size_t position) {
    while (position-- && *text) text += strcspn(text, "\n"), text += *text == '\n';
    return strndup(text, strcspn(text, "\n"));
}

static size_t dimensions_of_model(void) {
    char *const output = output_of_text("embed --model MODEL", "x\n", 0);
    json_t *const row = json_loads(output, 0, NULL);
    size_t const dimensions = json_array_size(row);
    assert_true(dimensions > 0);
    json_decref(row);
    free(output);
    return dimensions;
}

static void lines_end_in_many_ways(void **state) {
    (void)state;
    char *const plain = output_of_text("embed --model MODEL", "first one\n\nthird one\nlast", 0);
    assert_int_equal(tool_line_count(plain), 4);
    static char const *const same[] = {"first one\n\nthird one\nlast\n", "first one\r\n\r\nthird one\r\nlast\r\n",
        "\xEF\xBB\xBF\x66irst one\n\nthird one\nlast"};
    for (size_t row = 0; row != sizeof(same) / sizeof(same[0]); ++row) {
        char *const other = output_of_text("embed --model MODEL", same[row], 0);
        assert_string_equal(other, plain);
        free(other);
    }
    static char const separated[] = "first one\0\0third one\0last";
    char *const nul = output_of("embed --model MODEL --format nul", separated, sizeof(separated) - 1, 0, NULL);
    assert_string_equal(nul, plain);
    char *const nul_ended = output_of("embed --model MODEL --format nul", separated, sizeof(separated), 0, NULL);
    assert_string_equal(nul_ended, plain);
    char *const json = output_of_text("embed --model MODEL --format jsonl",
        "{\"text\": \"first one\"}\r\n{\"text\":\"\"}\n  \"third one\"  \n{\"id\": 123456789012345678901234567890, \"text\": \"\\u006cast\"}",
        0);
    assert_string_equal(json, plain);
    char *const marked = output_of_text(
        "embed --model MODEL --format jsonl", "\xEF\xBB\xBF\"first one\"\n\"\"\n\"third one\"\n\"last\"", 0);
    assert_string_equal(marked, plain);
    static char const *const formats[] = {"lines", "jsonl"};
    for (size_t row = 0; row != 2; ++row) {
        char words[64];
        snprintf(words, sizeof(words), "embed --model MODEL --format %s", formats[row]);
        char *const bare_mark = output_of_text(words, "\xEF\xBB\xBF", 0);
        assert_string_equal(bare_mark, "");
        free(bare_mark);
    }
    free(plain), free(nul), free(nul_ended), free(json), free(marked);
}

static void order_is_kept_over_windows(void **state) {
    (void)state;
    enum { count = TOOL_SANITIZED ? 1500 : 5000 };
    char *const input = malloc(count * 32);
    size_t length = 0;
    for (size_t index = 0; index != count; ++index)
        length += (size_t)sprintf(
            input + length, "%s %zu\n", index % 7 ? "text number" : "a longer text, number", index % 97);
    char *const output = output_of("embed --model MODEL --threads 2 --dimensions 2", input, length, 0, NULL);
    assert_int_equal(tool_line_count(output), count);
    // Equal texts have equal rows, wherever they stand and whatever stands beside them.
    char **const rows = calloc(count, sizeof(*rows));
    char const *at = output;
    for (size_t index = 0; index != count; ++index, at += strcspn(at, "\n") + 1)
        rows[index] = strndup(at, strcspn(at, "\n"));
    for (size_t index = 97 * 7; index < count; ++index) assert_string_equal(rows[index], rows[index - 97 * 7]);
    for (size_t index = 1; index < 97; ++index) assert_string_not_equal(rows[index], rows[index - 1]);
    for (size_t index = 0; index != count; ++index) free(rows[index]);
    free(rows), free(output), free(input);
}

static void broken_items_are_numbered_and_null(void **state) {
    (void)state;
    static char const input[] = "{\"text\": \"good\"}\n"                // 1
                                "{\"text\": \"open\n"                   // 2
                                "\n"                                    // 3
                                "{\"text\": 7}\n"                       // 4
                                "[\"a list\"]\n"                        // 5
                                "{\"words\": \"x\"}\n"                  // 6
                                "{\"image\": \"cat.png\"}\n"            // 7
                                "\"\\ud800 alone\"\n"                   // 8
                                "\"invalid \xFF byte\"\n"               // 9
                                "{\"text\": \"a\"} {\"text\": \"b\"}\n" // 10
                                "null\n"                                // 11
                                "{\"text\": \"good\"}";                 // 12
    tool_result_t result = tool_run_text("embed --model MODEL --format jsonl", input);
    assert_int_equal(result.exit_status, 1);
    assert_int_equal(tool_line_count(result.output), 12);
    assert_int_equal(tool_line_count(result.messages), 10);
    char *const first = line_of(result.output, 0), *const last = line_of(result.output, 11);
    assert_int_equal(first[0], '[');
    assert_string_equal(first, last);
    for (size_t number = 2; number != 12; ++number) {
        char *const row = line_of(result.output, number - 1), *const message = line_of(result.messages, number - 2);
        char expected[32];
        snprintf(expected, sizeof(expected), "item %zu: ", number);
        assert_string_equal(row, "null");
        expect_contains(message, expected);
        expect_contains(message, number == 7 ? "unsupported: image: the model has no image tower" : "malformed");
        free(row), free(message);
    }
    free(first), free(last);
    tool_free(&result);
}

/// A tokenizer with an id that the weights have no row for makes some texts fail.
static void failing_texts_say_why(void **state) {
    (void)state;
    static char const *const files[] = {"config.json", "modules.json", "model.safetensors", "1_Pooling/config.json"};
    tool_make_folder("larger");
    tool_make_folder("larger/1_Pooling");
    for (size_t row = 0; row != sizeof(files) / sizeof(files[0]); ++row) {
        char name[64];
        snprintf(name, sizeof(name), "larger/%s", files[row]);
        tool_copy_model_file(files[row], tool_file(name));
    }
    char path[512];
    snprintf(path, sizeof(path), "%s/tokenizer.json", tool_model);
    char *const tokenizer = tool_read_file(path, NULL), *const entry = strstr(tokenizer, "\"z\": 30");
    assert_non_null(entry);
    memcpy(entry, "\"z\":500", 7);
    tool_write_file(tool_file("larger/tokenizer.json"), tokenizer, strlen(tokenizer));
    tool_result_t result = tool_run_text("embed --model @larger --threads 2", "a\nz\nb\nz z\na\n");
    assert_int_equal(result.exit_status, 1);
    assert_int_equal(tool_line_count(result.messages), 2);
    static char const *const items[] = {"uform: standard input: item 2: ", "uform: standard input: item 4: "};
    for (size_t row = 0; row != 2; ++row) {
        char *const message = line_of(result.messages, row);
        assert_memory_equal(message, items[row], strlen(items[row]));
        expect_contains(message, "larger/tokenizer.json: token 500 ");
        assert_null(strstr(message, "text 0"));
        free(message);
    }
    char *const first = line_of(result.output, 0), *const last = line_of(result.output, 4);
    assert_int_equal(first[0], '[');
    assert_string_equal(first, last);
    char *const second = line_of(result.output, 1), *const fourth = line_of(result.output, 3);
    assert_string_equal(second, "null");
    assert_string_equal(fourth, "null");
    free(first), free(last), free(second), free(fourth), free(tokenizer);
    tool_free(&result);
}

static void items_are_numbered_over_windows(void **state) {
    (void)state;
    enum { count = 6000, broken = 5678 };
    char *const input = malloc(count * 8);
    size_t length = 0;
    for (size_t number = 1; number <= count; ++number)
        length += (size_t)sprintf(input + length, number == broken ? "{\n" : "\"a\"\n");
    static char const *const words[] = {
        "embed --model MODEL --format jsonl --dimensions 1", "tokenize --model MODEL --format jsonl"};
    for (size_t row = 0; row != 2; ++row) {
        tool_result_t result = tool_run(words[row], input, length);
        assert_int_equal(result.exit_status, 1);
        assert_int_equal(tool_line_count(result.output), count);
        assert_int_equal(tool_line_count(result.messages), 1);
        expect_contains(result.messages, "standard input: item 5678: malformed: ");
        char *const null_row = line_of(result.output, broken - 1);
        assert_string_equal(null_row, "null");
        free(null_row);
        tool_free(&result);
    }
    free(input);
}

static void ids_of_long_texts_are_complete(void **state) {
    (void)state;
    char *const ids = output_of_text("tokenize --model MODEL --max-tokens 40",
        "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m n o\n", 0);
    json_t *const parsed = json_loads(ids, 0, NULL);
    assert_int_equal(json_array_size(parsed), 40);
    // Letters follow one another in the vocabulary; the first and the last id are special tokens.
    long long const first = json_integer_value(json_array_get(parsed, 1));
    for (long long at = 1; at != 39; ++at)
        assert_int_equal(json_integer_value(json_array_get(parsed, (size_t)at)), first + (at - 1) % 26);
    json_decref(parsed);
    free(ids);
}

static void json_strings_hold_anything(void **state) {
    (void)state;
    // A text with a NUL byte isn't cut there: what follows it counts.
    char *const ids = output_of_text("tokenize --model MODEL --format jsonl",
        "\"the \\u0000 word\"\n\"the\"\n\"\\ud83d\\ude00 \\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"\n\"\xF0\x9F\x98\x80 \\\"\\\\/\\u0008\\u000c\\u000a\\u000d\\u0009\xC3\xA9\"\n",
        0);
    char *lines[4];
    for (size_t row = 0; row != 4; ++row) lines[row] = line_of(ids, row);
    assert_string_not_equal(lines[0], lines[1]);
    assert_string_equal(lines[2], lines[3]);
    char *const with_nul = output_of("tokenize --model MODEL", "the \0 word\nthe\n", 15, 0, NULL);
    char *const nul_line = line_of(with_nul, 0);
    assert_string_equal(nul_line, lines[0]);
    for (size_t row = 0; row != 4; ++row) free(lines[row]);
    free(ids), free(with_nul), free(nul_line);
}

static void invalid_utf8_in_lines_is_replaced(void **state) {
    (void)state;
    char *const replaced = output_of_text("embed --model MODEL",
        "a\xFF"
        "b\n\xE2\x80\n\xED\xA0\x80\n\xF4\x90\x80\x80\n\xC0\x80\n",
        0);
    char *const meant = output_of_text("embed --model MODEL",
        "a\xEF\xBF\xBD"
        "b\n\xEF\xBF\xBD\n\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\n"
        "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\n\xEF\xBF\xBD\xEF\xBF\xBD\n",
        0);
    assert_string_equal(replaced, meant);
    free(replaced), free(meant);
}

/// Checks the header of a NumPy file and returns where its rows begin.
static char const *check_npy(char const *file, size_t length, char const *type, size_t count, size_t columns) {
    assert_true(length >= 10);
    assert_memory_equal(file, "\x93NUMPY\x01\x00", 8);
    size_t const header = (size_t)(unsigned char)file[8] + 256 * (size_t)(unsigned char)file[9];
    assert_int_equal((10 + header) % 64, 0);
    assert_true(length >= 10 + header);
    assert_int_equal(file[10 + header - 1], '\n');
    char expected[160];
    snprintf(expected, sizeof(expected), "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu), }", type, count,
        columns);
    assert_memory_equal(file + 10, expected, strlen(expected));
    return file + 10 + header;
}

static void npy_is_the_same_in_files_and_pipes(void **state) {
    (void)state;
    static char const input[] = "one\ntwo words\n\nthree more words\n";
    size_t const dimensions = dimensions_of_model();
    size_t direct_length = 0, file_length = 0, rows_length = 0;
    // Standard output is a file here, so its header is filled in afterwards; a pipe gets it first.
    char *const direct = output_of("embed --model MODEL --output-format npy", input, strlen(input), 0, &direct_length);
    char *const nothing = output_of_text("embed --model MODEL --output @rows.npy", input, 0);
    assert_string_equal(nothing, "");
    char *const file = tool_read_file(tool_file("rows.npy"), &file_length);
    char *const rows = output_of("embed --model MODEL --output-format=f32", input, strlen(input), 0, &rows_length);
    assert_int_equal(rows_length, 4 * dimensions * 4);
    assert_int_equal(direct_length, file_length);
    assert_memory_equal(direct, file, file_length);
    char const *const values = check_npy(file, file_length, "<f4", 4, dimensions);
    assert_int_equal(file + file_length - values, (ptrdiff_t)rows_length);
    assert_memory_equal(values, rows, rows_length);

    tool_process_t process = tool_start("embed --model MODEL --output-format npy", -1);
    assert_int_equal(write(process.input, input, strlen(input)), (ssize_t)strlen(input));
    close(process.input);
    process.input = -1;
    char *const piped = malloc(file_length + 1);
    size_t piped_length = 0;
    for (ssize_t count; piped_length <= file_length &&
                        (count = read(process.output, piped + piped_length, file_length + 1 - piped_length)) > 0;)
        piped_length += (size_t)count;
    assert_int_equal(tool_end(&process), 0);
    assert_int_equal(piped_length, file_length);
    assert_memory_equal(piped, file, file_length);
    free(direct), free(nothing), free(file), free(rows), free(piped);
}

static void npy_can_be_appended(void **state) {
    (void)state;
    tool_write_file(tool_file("appended"), "before", 6);
    int const descriptor = open(tool_file("appended"), O_WRONLY | O_APPEND);
    assert_true(descriptor >= 0);
    tool_process_t process = tool_start("embed --model MODEL --output-format npy --scalar i8", descriptor);
    assert_int_equal(write(process.input, "a\nb\n", 4), 4);
    assert_int_equal(tool_end(&process), 0);
    close(descriptor);
    size_t length = 0, dimensions = dimensions_of_model();
    char *const file = tool_read_file(tool_file("appended"), &length);
    assert_memory_equal(file, "before", 6);
    char const *const rows = check_npy(file + 6, length - 6, "|i1", 2, dimensions);
    assert_int_equal(file + length - rows, (ptrdiff_t)(2 * dimensions));
    free(file);
}

static void null_rows_fit_their_scalar(void **state) {
    (void)state;
    static struct {
        char const *scalar, *type;
        size_t bits;
        unsigned char null_bytes[4];
    } const cases[] = {{"f32", "<f4", 32, {0, 0, 0xC0, 0x7F}}, {"f16", "<f2", 16, {0, 0x7E, 0, 0x7E}},
        {"bf16", "|V2", 16, {0xC0, 0x7F, 0xC0, 0x7F}}, {"i8", "|i1", 8, {0, 0, 0, 0}}, {"b1", "|u1", 1, {0, 0, 0, 0}}};
    size_t const dimensions = dimensions_of_model();
    for (size_t row = 0; row != sizeof(cases) / sizeof(cases[0]); ++row) {
        char words[128];
        size_t length = 0;
        snprintf(words, sizeof(words), "embed --model MODEL --format jsonl --output-format npy --scalar %s",
            cases[row].scalar);
        char *const file = output_of(words, "\"a\"\nbroken\n\"a\"\n", 15, 1, &length);
        size_t const row_bytes = (cases[row].bits * dimensions + 7) / 8;
        char const *const rows =
            check_npy(file, length, cases[row].type, 3, cases[row].bits == 1 ? row_bytes : dimensions);
        assert_int_equal(file + length - rows, (ptrdiff_t)(3 * row_bytes));
        for (size_t at = 0; at != row_bytes; ++at)
            assert_int_equal((unsigned char)rows[row_bytes + at], cases[row].null_bytes[at % 4]);
        assert_memory_equal(rows, rows + 2 * row_bytes, row_bytes);
        free(file);
    }
}

static void json_rows_are_the_binary_rows(void **state) {
    (void)state;
    static char const input[] = "a text\nanother, longer text\n\n";
    size_t const dimensions = dimensions_of_model();
    size_t f32_length = 0, i8_length = 0, b1_length = 0;
    char *const f32_file =
        output_of("embed --model MODEL --output-format f32 --normalize on", input, strlen(input), 0, &f32_length);
    char *const i8_file = output_of(
        "embed --model MODEL --output-format npy --scalar i8 --normalize on", input, strlen(input), 0, &i8_length);
    char *const b1_file = output_of(
        "embed --model MODEL --output-format npy --scalar b1 --normalize on", input, strlen(input), 0, &b1_length);
    char *texts[5];
    static char const *const scalars[] = {"f32", "f16", "bf16", "i8", "b1"};
    for (size_t scalar = 0; scalar != 5; ++scalar) {
        char words[128];
        snprintf(words, sizeof(words), "embed --model MODEL --normalize on --scalar=%s", scalars[scalar]);
        texts[scalar] = output_of_text(words, input, 0);
    }
    signed char const *const i8_rows = (signed char const *)check_npy(i8_file, i8_length, "|i1", 3, dimensions);
    unsigned char const *const b1_rows =
        (unsigned char const *)check_npy(b1_file, b1_length, "|u1", 3, (dimensions + 7) / 8);
    for (size_t row = 0; row != 3; ++row) {
        json_t *parsed[5];
        for (size_t scalar = 0; scalar != 5; ++scalar) {
            char *const line = line_of(texts[scalar], row);
            parsed[scalar] = json_loads(line, 0, NULL);
            assert_int_equal(json_array_size(parsed[scalar]), dimensions);
            free(line);
        }
        for (size_t at = 0; at != dimensions; ++at) {
            float expected;
            memcpy(&expected, f32_file + (row * dimensions + at) * 4, 4);
            assert_true((float)json_real_value(json_array_get(parsed[0], at)) == expected);
            assert_true(fabs(json_real_value(json_array_get(parsed[1], at)) - (double)expected) <=
                        fabs((double)expected) / 2048 + 1e-7);
            assert_true(fabs(json_real_value(json_array_get(parsed[2], at)) - (double)expected) <=
                        fabs((double)expected) / 256 + 1e-7);
            assert_int_equal(json_integer_value(json_array_get(parsed[3], at)), i8_rows[row * dimensions + at]);
            assert_int_equal(json_integer_value(json_array_get(parsed[4], at)),
                b1_rows[row * ((dimensions + 7) / 8) + at / 8] >> (7 - at % 8) & 1);
        }
        for (size_t scalar = 0; scalar != 5; ++scalar) json_decref(parsed[scalar]);
    }
    for (size_t scalar = 0; scalar != 5; ++scalar) free(texts[scalar]);
    free(f32_file), free(i8_file), free(b1_file);
}

static void empty_input_gives_no_rows(void **state) {
    (void)state;
    size_t length = 0;
    char *const json = output_of("embed --model MODEL", "", 0, 0, &length);
    assert_int_equal(length, 0);
    char *const file = output_of("embed --model MODEL --output-format npy", "", 0, 0, &length);
    assert_ptr_equal(check_npy(file, length, "<f4", 0, dimensions_of_model()), file + length);
    char *const ids = output_of("tokenize --model MODEL", "", 0, 0, &length);
    assert_int_equal(length, 0);
    free(json), free(file), free(ids);
}

static void cut_texts_are_told(void **state) {
    (void)state;
    tool_result_t result =
        tool_run_text("embed --model MODEL --max-tokens 6", "the\nthe and the and the and the and the and\n");
    assert_int_equal(result.exit_status, 0);
    assert_string_equal(result.messages, "uform: 1 of 2 texts were longer than 6 tokens and were cut\n");
    tool_free(&result);
}

static void tokenize_gives_arrays_of_ids(void **state) {
    (void)state;
    tool_result_t result = tool_run_text("tokenize --model MODEL --format jsonl", "\"the and the\"\n{\n\"\"\n");
    assert_int_equal(result.exit_status, 1);
    expect_contains(result.messages, "item 2: malformed");
    char *const long_line = line_of(result.output, 0), *const null_line = line_of(result.output, 1),
                *const empty_line = line_of(result.output, 2);
    assert_string_equal(null_line, "null");
    json_t *const ids = json_loads(long_line, 0, NULL), *const empty_ids = json_loads(empty_line, 0, NULL);
    assert_true(json_is_array(ids) && json_is_array(empty_ids));
    assert_true(json_array_size(ids) > json_array_size(empty_ids));
    for (size_t at = 0; at != json_array_size(ids); ++at) assert_true(json_is_integer(json_array_get(ids, at)));
    json_decref(ids), json_decref(empty_ids);
    free(long_line), free(null_line), free(empty_line);
    tool_free(&result);
}

static void progress_shows_only_when_asked(void **state) {
    (void)state;
    tool_result_t quiet = tool_run_text("embed --model MODEL", "a\nb\n"),
                  shown = tool_run_text("embed --model MODEL --progress on", "a\nb\n");
    assert_string_equal(quiet.messages, "");
    expect_contains(shown.messages, "texts/s");
    expect_contains(shown.messages, "tokens/s");
    expect_contains(shown.messages, "left");
    assert_string_equal(quiet.output, shown.output);
    tool_free(&quiet);
    tool_free(&shown);
}

static void threads_and_prompts_follow_the_options(void **state) {
    (void)state;
    char *const one = output_of_text("embed --model MODEL --threads 1", "the first\nand the second\n", 0);
    char *const three = output_of_text("embed --model MODEL --threads 3", "the first\nand the second\n", 0);
    assert_string_equal(one, three);
    char *const prompted = output_of_text("embed --model MODEL --prompt-text the", " first\n", 0);
    char *const first = line_of(one, 0);
    prompted[strcspn(prompted, "\n")] = '\0';
    assert_string_equal(prompted, first);
    char *const cut = output_of_text("embed --model MODEL --dimensions 2 --normalize on", "the\n", 0);
    json_t *const row = json_loads(cut, 0, NULL);
    assert_int_equal(json_array_size(row), 2);
    assert_true(
        fabs(hypot(json_real_value(json_array_get(row, 0)), json_real_value(json_array_get(row, 1))) - 1) < 1e-5);
    json_decref(row);
    free(one), free(three), free(prompted), free(first), free(cut);
}

static void prompts_are_taken_by_name(void **state) {
    (void)state;
    static struct {
        char const *by_name, *by_text;
    } const pairs[] = {
        {"--prompt passage", "passage:"}, {"", "query:"}, {"--prompt query", "query:"}, {"--prompt-text=", ""}};
    for (size_t row = 0; row != sizeof(pairs) / sizeof(pairs[0]); ++row) {
        char words[128], text[64];
        snprintf(words, sizeof(words), "tokenize --model PROMPTS %s", pairs[row].by_name);
        snprintf(text, sizeof(text), "%s the text\n", pairs[row].by_text);
        char *const named = output_of_text(words, "the text\n", 0);
        char *const spelled = output_of_text("tokenize --model PROMPTS --prompt-text=", text, 0);
        assert_string_equal(named, spelled);
        free(named), free(spelled);
    }
}

int main(int argument_count, char **arguments) {
    tool_setup(argument_count, arguments);
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(lines_end_in_many_ways),
        cmocka_unit_test(order_is_kept_over_windows),
        cmocka_unit_test(broken_items_are_numbered_and_null),
        cmocka_unit_test(failing_texts_say_why),
        cmocka_unit_test(items_are_numbered_over_windows),
        cmocka_unit_test(ids_of_long_texts_are_complete),
        cmocka_unit_test(json_strings_hold_anything),
        cmocka_unit_test(invalid_utf8_in_lines_is_replaced),
        cmocka_unit_test(npy_is_the_same_in_files_and_pipes),
        cmocka_unit_test(npy_can_be_appended),
        cmocka_unit_test(null_rows_fit_their_scalar),
        cmocka_unit_test(json_rows_are_the_binary_rows),
        cmocka_unit_test(empty_input_gives_no_rows),
        cmocka_unit_test(cut_texts_are_told),
        cmocka_unit_test(tokenize_gives_arrays_of_ids),
        cmocka_unit_test(progress_shows_only_when_asked),
        cmocka_unit_test(threads_and_prompts_follow_the_options),
        cmocka_unit_test(prompts_are_taken_by_name),
    };
    int const failed = cmocka_run_group_tests(tests, NULL, NULL);
    tool_cleanup();
    return failed;
}
