/**
 *  What the tool answers to its own words: help, version, exit statuses, and one clear line for every wrong option,
 * file and directory; and that info and bench tell valid JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
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

static void help_teaches(void **state) {
    (void)state;
    static char const *const words[] = {"--help", "-h", "embed --help", "tokenize --help", "info --help",
        "bench --help", "pixels --help", "classify --help", "index --help", "search --help", "embed -h"};
    for (size_t row = 0; row != sizeof(words) / sizeof(words[0]); ++row) {
        tool_result_t result = tool_run_text(words[row], "");
        assert_int_equal(result.exit_status, 0);
        assert_string_equal(result.messages, "");
        expect_contains(result.output, "Usage: uform ");
        expect_contains(result.output, "Examples:\n");
        tool_free(&result);
    }
}

static void help_wins_over_other_options(void **state) {
    (void)state;
    tool_result_t result = tool_run_text("embed --model nowhere --help", "");
    assert_int_equal(result.exit_status, 0);
    expect_contains(result.output, "--output-format");
    tool_free(&result);
}

static void version_is_told(void **state) {
    (void)state;
    tool_result_t result = tool_run_text("--version", "");
    assert_int_equal(result.exit_status, 0);
    assert_memory_equal(result.output, "uform 4.", 8);
    assert_int_equal(tool_line_count(result.output), 1);
    tool_free(&result);
}

static void no_command_shows_help_as_an_error(void **state) {
    (void)state;
    tool_result_t result = tool_run_text("", "");
    assert_int_equal(result.exit_status, 2);
    assert_string_equal(result.output, "");
    expect_contains(result.messages, "Commands:\n");
    tool_free(&result);
}

static void wrong_words_end_with_one_clear_line(void **state) {
    (void)state;
    static struct {
        char const *words;
        char const *parts[3];
    } const cases[] = {
        {"embedd --model MODEL", {"embedd", "--help"}},
        {"embed", {"--model", "expected the path of a directory"}},
        {"tokenize", {"--model"}},
        {"bench", {"--model"}},
        {"embed --model", {"--model", "found nothing"}},
        {"embed --model=", {"--model", "found ''"}},
        {"embed --model MODEL --colour red", {"--colour", "embed --help"}},
        {"embed --model MODEL --dimension=3", {"--dimension'", "embed --help"}},
        {"embed --model MODEL texts.txt", {"texts.txt", "unexpected"}},
        {"embed --model MODEL -x", {"'-x'"}},
        {"embed --model MODEL --", {"'--'"}},
        {"embed --model MODEL --format csv", {"--format", "lines, jsonl, nul or images", "'csv'"}},
        {"tokenize --model MODEL --format images", {"--format", "lines, jsonl or nul", "'images'"}},
        {"embed --model MODEL --format images", {"has no image tower"}},
        {"embed --model MODEL --image-orientation yes", {"--image-orientation", "auto, on or off", "'yes'"}},
        {"embed --model MODEL --image-pixel-limit 0", {"--image-pixel-limit", "positive", "'0'"}},
        {"embed --model MODEL --image-flatten=1", {"--image-flatten", "takes no value", "'1'"}},
        {"pixels --model MODEL", {"--image", "found nothing"}},
        {"pixels --image x", {"--model", "found nothing"}},
        {"pixels --model MODEL --image x", {"has no image tower"}},
        {"index --model MODEL --output @index", {"expected folders or pictures", "index --help"}},
        {"index --model MODEL /tmp", {"--output", "found nothing"}},
        {"index --model MODEL --output @index /tmp", {"has no image tower"}},
        {"search --model MODEL --text x", {"--index", "found nothing"}},
        {"search --model MODEL --index @texts --text x", {"isn't an index"}},
        {"search --model MODEL --index @texts --text x --top 10001", {"--top", "10000", "'10001'"}},
        {"search --model MODEL --index @texts --exact maybe --text x", {"--exact", "auto, on or off", "'maybe'"}},
        {"classify --model MODEL --labels a,b", {"expected pictures", "classify --help"}},
        {"classify --model MODEL x", {"--labels", "found nothing"}},
        {"classify --model MODEL --labels a,b x", {"has no image tower"}},
        {"embed --model MODEL --output-format json", {"--output-format", "jsonl, npy or f32", "'json'"}},
        {"embed --model MODEL --scalar f64", {"--scalar", "b1", "'f64'"}},
        {"embed --model MODEL --precision f16", {"--precision", "bf16", "'f16'"}},
        {"embed --model MODEL --normalize yes", {"--normalize", "auto, on or off", "'yes'"}},
        {"embed --model MODEL --pooling middle", {"--pooling", "lasttoken", "'middle'"}},
        {"embed --model MODEL --dimensions 0", {"--dimensions", "positive", "'0'"}},
        {"embed --model MODEL --dimensions -1", {"--dimensions", "positive", "'-1'"}},
        {"embed --model MODEL --dimensions 12x", {"--dimensions", "positive", "'12x'"}},
        {"embed --model MODEL --dimensions 1000000", {"--dimensions", "1000000"}},
        {"embed --model MODEL --dimensions 99999999999999999999999", {"--dimensions", "'99999999999999999999999'"}},
        {"embed --model MODEL --max-tokens many", {"--max-tokens", "'many'"}},
        {"embed --model MODEL --threads two", {"--threads", "'two'"}},
        {"embed --model MODEL --threads=-2", {"--threads", "'-2'"}},
        {"embed --model MODEL --cpu-class pentium", {"--cpu-class", "'pentium'"}},
        {"embed --model MODEL --cpu-class aws_g2", {"aws_g2"}},
        {"embed --model MODEL --progress loud", {"--progress", "'loud'"}},
        {"embed --model MODEL --truncate-side middle", {"--truncate-side", "'middle'"}},
        {"embed --model MODEL --literal-specials=yes", {"--literal-specials", "'yes'"}},
        {"embed --model MODEL --json", {"--json"}},
        {"embed --model MODEL --prompt no_such_prompt", {"no_such_prompt"}},
        {"embed --model MODEL --output-format f32 --scalar i8", {"--output-format", "--scalar i8"}},
        {"embed --model MODEL --output @rows.f32 --scalar b1", {"--output-format", "--scalar b1"}},
        {"embed --model /nowhere/at/all", {"/nowhere/at/all"}},
        {"embed --model /dev/null", {"/dev/null"}},
        {"tokenize --model /nowhere/at/all", {"/nowhere/at/all"}},
        {"info --model /nowhere/at/all", {"/nowhere/at/all"}},
        {"bench --model /nowhere/at/all --input @texts", {"/nowhere/at/all"}},
        {"embed --model MODEL --input /nowhere/texts", {"--input", "/nowhere/texts"}},
        {"embed --model MODEL --input /tmp", {"--input", "/tmp", "directory"}},
        {"embed --model MODEL --input /nowhere/\033[31m\ntexts", {"/nowhere/?[31m?texts"}},
        {"embed --model MODEL --output /nowhere/rows", {"--output", "/nowhere/rows"}},
        {"tokenize --model MODEL --output /nowhere/rows", {"--output", "/nowhere/rows"}},
        {"tokenize --model MODEL --scalar f32", {"--scalar"}},
        {"bench --model MODEL --input @texts --seconds nan", {"--seconds", "'nan'"}},
        {"bench --model MODEL --input @texts --repeats 0", {"--repeats", "'0'"}},
        {"bench --model MODEL --input @texts --repeats 99999999999", {"--repeats", "'99999999999'"}},
        {"bench --model MODEL --input @empty", {"expected texts"}},
        {"embed --model MODEL --prompt query --prompt-text words", {"--prompt", "--prompt-text"}},
        {"tokenize --model MODEL --prompt-text= --prompt query", {"--prompt", "--prompt-text"}},
        {"embed --model MODEL --precision int8", {"f32, bf16 or i8", "'int8'"}},
        {"embed --model /nowhere/\xE2\x80\xAE\xC2\x9B\xFF\xC3\xA9", {"/nowhere/???\xC3\xA9"}},
    };
    tool_write_file(tool_file("texts"), "one\ntwo\n", 8);
    tool_write_file(tool_file("empty"), "", 0);
    for (size_t row = 0; row != sizeof(cases) / sizeof(cases[0]); ++row) {
        tool_result_t result = tool_run_text(cases[row].words, "a text\n");
        if (result.exit_status != 2)
            fail_msg("%s: exit status %d: %s", cases[row].words, result.exit_status, result.messages);
        assert_string_equal(result.output, "");
        if (tool_line_count(result.messages) != 1) fail_msg("%s: not one line: %s", cases[row].words, result.messages);
        for (size_t part = 0; part != 3 && cases[row].parts[part]; ++part)
            expect_contains(result.messages, cases[row].parts[part]);
        tool_free(&result);
    }
}

static void a_refusal_leaves_an_existing_output_alone(void **state) {
    (void)state;
    tool_write_file(tool_file("kept"), "kept", 4);
    static char const *const words[] = {"embed --model /nowhere --output @kept",
        "embed --model MODEL --prompt nobody --output @kept",
        "embed --model MODEL --input /nowhere/texts --output @kept", "embed --model MODEL --input @kept --output @kept",
        "tokenize --model MODEL --input @kept --output @kept"};
    for (size_t row = 0; row != sizeof(words) / sizeof(words[0]); ++row) {
        tool_result_t result = tool_run_text(words[row], "a text\n");
        assert_int_equal(result.exit_status, 2);
        assert_int_equal(tool_line_count(result.messages), 1);
        char *const kept = tool_read_file(tool_file("kept"), NULL);
        assert_string_equal(kept, "kept");
        free(kept);
        tool_free(&result);
    }
}

static void the_models_files_are_no_output(void **state) {
    (void)state;
    static char const *const files[] = {
        "config.json", "tokenizer.json", "modules.json", "model.safetensors", "1_Pooling/config.json"};
    tool_make_folder("model");
    tool_make_folder("model/1_Pooling");
    for (size_t row = 0; row != sizeof(files) / sizeof(files[0]); ++row) {
        char name[64];
        snprintf(name, sizeof(name), "model/%s", files[row]);
        tool_copy_model_file(files[row], tool_file(name));
    }
    assert_int_equal(symlink("model/config.json", tool_file("link")), 0);
    static char const *const words[] = {"embed --model @model --output @model/tokenizer.json",
        "tokenize --model @model --output @model/model.safetensors",
        "embed --model @model --output @model/1_Pooling/config.json", "embed --model @model --output @link"};
    for (size_t row = 0; row != sizeof(words) / sizeof(words[0]); ++row) {
        tool_result_t result = tool_run_text(words[row], "a text\n");
        assert_int_equal(result.exit_status, 2);
        assert_int_equal(tool_line_count(result.messages), 1);
        expect_contains(result.messages, "is a file of the model's directory");
        tool_free(&result);
    }
    // A file of its own in there is the user's business, and the model still loads.
    tool_result_t result = tool_run_text("tokenize --model @model --output @model/ids.jsonl", "a text\n");
    assert_int_equal(result.exit_status, 0);
    tool_free(&result);
}

static json_t *parse(char const *text) {
    json_error_t error;
    json_t *const root = json_loads(text, 0, &error);
    if (!root) fail_msg("%s in %s", error.text, text);
    return root;
}

static void info_tells_json(void **state) {
    (void)state;
    tool_result_t result = tool_run_text("info --json --model MODEL", "");
    assert_int_equal(result.exit_status, 0);
    json_t *const root = parse(result.output);
    assert_true(json_is_string(json_object_get(root, "version")));
    json_t const *const machine = json_object_get(root, "machine");
    assert_true(json_integer_value(json_object_get(machine, "cores_allowed")) > 0);
    assert_true(json_integer_value(json_object_get(machine, "threads_default")) > 0);
    json_t const *const domains = json_object_get(machine, "memory_domains");
    assert_true(json_array_size(domains) > 0);
    assert_true(json_integer_value(json_object_get(json_array_get(domains, 0), "memory_domain")) >= 0);
    assert_true(json_integer_value(json_object_get(json_array_get(domains, 0), "cores")) > 0);
    assert_true(json_integer_value(json_object_get(json_array_get(domains, 0), "memory_bytes")) > 0);
    json_t const *const classes = json_object_get(root, "classes");
    assert_int_equal(json_array_size(classes), 18);
    size_t chosen = 0;
    for (size_t row = 0; row != 18; ++row) {
        json_t const *const facts = json_array_get(classes, row);
        bool const available = json_is_true(json_object_get(facts, "available"));
        chosen += json_is_true(json_object_get(facts, "chosen"));
        // Each class that doesn't serve says why.
        if (!available) assert_true(json_string_length(json_object_get(facts, "reason")) > 0);
    }
    assert_int_equal(chosen, 1);
    assert_true(json_is_array(json_object_get(root, "gpus")));
    assert_true(json_integer_value(json_object_get(json_object_get(root, "model"), "dimensions")) > 0);
    json_decref(root);
    tool_free(&result);
}

static void info_says_why_a_class_was_declined(void **state) {
    (void)state;
    tool_result_t brief = tool_run_text("info", ""), verbose = tool_run_text("info --verbose --model MODEL", "");
    assert_int_equal(brief.exit_status, 0);
    assert_int_equal(verbose.exit_status, 0);
    assert_null(strstr(brief.output, "declined"));
    expect_contains(brief.output, "serial");
    expect_contains(verbose.output, "aws_g2");
    expect_contains(verbose.output, "declined: ");
    expect_contains(verbose.output, "architecture");
    tool_free(&brief);
    tool_free(&verbose);
}

static void info_explains_a_wrong_variable(void **state) {
    (void)state;
    static char const *const values[] = {"pentium", "aws_g2", "\xFF"};
    char const *const forced = getenv("UFORM_CPU_CLASS");
    char *const kept = forced ? strdup(forced) : NULL;
    for (size_t row = 0; row != sizeof(values) / sizeof(values[0]); ++row) {
        setenv("UFORM_CPU_CLASS", values[row], 1);
        tool_result_t text = tool_run_text("info", ""), json = tool_run_text("info --json --model MODEL", "");
        tool_result_t embed = tool_run_text("embed --model MODEL", "");
        if (kept) setenv("UFORM_CPU_CLASS", kept, 1);
        else unsetenv("UFORM_CPU_CLASS");
        assert_int_equal(text.exit_status, 0);
        assert_int_equal(json.exit_status, 0);
        assert_int_equal(embed.exit_status, 2);
        expect_contains(text.output, "ignored          UFORM_CPU_CLASS: ");
        expect_contains(text.output, "serial");
        json_t *const root = parse(json.output);
        expect_contains(json_string_value(json_object_get(root, "cpu_class_problem")), row == 1 ? "aws_g2" : "found");
        assert_true(json_is_object(json_object_get(root, "model")));
        json_decref(root);
        tool_free(&text), tool_free(&json), tool_free(&embed);
    }
    free(kept);
}

static void bench_tells_json(void **state) {
    (void)state;
    static char const texts[] = "first text\nsecond text, a little longer\n\nand a last one";
    tool_write_file(tool_file("texts"), texts, strlen(texts));
    static char const *const words[] = {"bench --model MODEL --input @texts --repeats 3 --json",
        "bench --model MODEL --input @texts --repeats 1 --json --batch 1 --threads 2 --precision f32 --seconds 0.01"};
    for (size_t row = 0; row != 2; ++row) {
        tool_result_t result = tool_run_text(words[row], "");
        assert_int_equal(result.exit_status, 0);
        json_t *const root = parse(result.output);
        assert_int_equal(json_integer_value(json_object_get(root, "texts")), 4);
        assert_true(json_integer_value(json_object_get(root, "tokens")) >= 4);
        static char const *const positive[] = {"load_seconds", "first_vector_seconds", "tokens_per_second",
            "texts_per_second", "flops_per_token", "limit_flops", "share_of_limit"};
        for (size_t key = 0; key != sizeof(positive) / sizeof(positive[0]); ++key)
            if (!(json_number_value(json_object_get(root, positive[key])) > 0))
                fail_msg("%s: %s", positive[key], result.output);
        assert_int_equal(json_array_size(json_object_get(root, "tokens_per_second_runs")), row ? 1 : 3);
        json_decref(root);
        tool_free(&result);
    }
}

static void bench_tells_people(void **state) {
    (void)state;
    tool_write_file(tool_file("texts"), "one\ntwo\n", 8);
    tool_result_t result = tool_run_text("bench --model MODEL --input @texts --repeats 1", "");
    assert_int_equal(result.exit_status, 0);
    expect_contains(result.output, "tokens/s");
    expect_contains(result.output, "attention excluded");
    tool_free(&result);
}

int main(int argument_count, char **arguments) {
    tool_setup(argument_count, arguments);
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(help_teaches),
        cmocka_unit_test(help_wins_over_other_options),
        cmocka_unit_test(version_is_told),
        cmocka_unit_test(no_command_shows_help_as_an_error),
        cmocka_unit_test(wrong_words_end_with_one_clear_line),
        cmocka_unit_test(a_refusal_leaves_an_existing_output_alone),
        cmocka_unit_test(the_models_files_are_no_output),
        cmocka_unit_test(info_tells_json),
        cmocka_unit_test(info_says_why_a_class_was_declined),
        cmocka_unit_test(info_explains_a_wrong_variable),
        cmocka_unit_test(bench_tells_json),
        cmocka_unit_test(bench_tells_people),
    };
    int const failed = cmocka_run_group_tests(tests, NULL, NULL);
    tool_cleanup();
    return failed;
}
