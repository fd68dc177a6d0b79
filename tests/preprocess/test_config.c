/**
 *  Configurations of image processors: which file counts, what each class takes without a key, and what is refused in which words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/detail.h"
#include "images/preprocess.h"
#include "malformed/workspace.h"

static uform_status_t parse(char const *text, uform_preprocessor_t *preprocessor) {
    uform_json_document_t document;
    assert_int_equal(uform_json_parse_(text, strlen(text), "config", &document), uform_status_ok_k);
    uform_status_t const status = uform_preprocessor_parse_(document.root, "config", NULL, preprocessor);
    uform_json_close_(&document);
    return status;
}

/// The keys of a CLIP processor, and these.
static uform_status_t parse_clip(char const *keys, uform_preprocessor_t *preprocessor) {
    char text[512];
    snprintf(text, sizeof(text), "{\"image_processor_type\": \"CLIPImageProcessor\"%s%s}", *keys ? ", " : "", keys);
    return parse(text, preprocessor);
}

static void defaults_are_the_classes_own(void **state) {
    (void)state;
    static struct {
        char const *name;
        uform_arithmetic_t arithmetic;
        uform_filter_t filter;
        uform_sizing_t sizing;
        size_t shortest, height, crop;
    } const cases[] = {
        {"CLIPImageProcessor", uform_arithmetic_pillow_k, uform_filter_bicubic_k, uform_sizing_shortest_k, 224, 0, 224},
        {"CLIPFeatureExtractor", uform_arithmetic_pillow_k, uform_filter_bicubic_k, uform_sizing_shortest_k, 224, 0,
            224},
        {"CLIPImageProcessorPil", uform_arithmetic_pillow_k, uform_filter_bicubic_k, uform_sizing_shortest_k, 224, 0,
            224},
        {"CLIPImageProcessorFast", uform_arithmetic_torch_k, uform_filter_bicubic_k, uform_sizing_shortest_k, 224, 0,
            224},
        {"SiglipImageProcessor", uform_arithmetic_pillow_k, uform_filter_bicubic_k, uform_sizing_exact_k, 0, 224, 0},
        {"Siglip2ImageProcessor", uform_arithmetic_pillow_k, uform_filter_bilinear_k, uform_sizing_patches_k, 0, 0, 0},
        {"ViTImageProcessor", uform_arithmetic_pillow_k, uform_filter_bilinear_k, uform_sizing_exact_k, 0, 224, 0},
        {"DeiTImageProcessorFast", uform_arithmetic_torch_k, uform_filter_bicubic_k, uform_sizing_exact_k, 0, 256, 224},
        {"BitImageProcessor", uform_arithmetic_pillow_k, uform_filter_bicubic_k, uform_sizing_shortest_k, 224, 0, 224},
        {"DINOv3ViTImageProcessor", uform_arithmetic_tensor_k, uform_filter_bilinear_k, uform_sizing_exact_k, 0, 224,
            0},
        {"BlipImageProcessor", uform_arithmetic_pillow_k, uform_filter_bicubic_k, uform_sizing_exact_k, 0, 384, 0},
        {"ConvNextImageProcessor", uform_arithmetic_pillow_k, uform_filter_bicubic_k, uform_sizing_exact_k, 384, 384,
            0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        char text[128];
        uform_preprocessor_t found;
        snprintf(text, sizeof(text), "{\"image_processor_type\": \"%s\"}", cases[i].name);
        assert_int_equal(parse(text, &found), uform_status_ok_k);
        assert_int_equal(found.arithmetic, cases[i].arithmetic);
        assert_int_equal(found.filter, cases[i].filter);
        assert_int_equal(found.sizing, cases[i].sizing);
        assert_int_equal(found.shortest, cases[i].shortest);
        assert_int_equal(found.height, cases[i].height);
        assert_int_equal(found.crop_height, cases[i].crop);
        assert_int_equal(found.crop, cases[i].crop != 0);
    }
}

static void a_null_switch_is_off(void **state) {
    (void)state;
    uform_preprocessor_t preprocessor;
    assert_int_equal(parse_clip("\"do_resize\": null, \"do_normalize\": null", &preprocessor), uform_status_ok_k);
    assert_int_equal(preprocessor.sizing, uform_sizing_none_k);
    assert_true(preprocessor.crop);
    assert_true(preprocessor.values[0][255] == 1.0f);
    assert_int_equal(parse_clip("\"do_center_crop\": null, \"image_mean\": null", &preprocessor), uform_status_ok_k);
    assert_false(preprocessor.crop);
    assert_true(preprocessor.values[0][255] > 1.5f); // the class's own mean and deviation
    // So is the one that says what a size of one number means.
    assert_int_equal(
        parse("{\"image_processor_type\": \"ViTImageProcessor\", \"size\": 30, \"default_to_square\": null}",
            &preprocessor),
        uform_status_ok_k);
    assert_int_equal(preprocessor.sizing, uform_sizing_shortest_k);
    assert_int_equal(preprocessor.shortest, 30);
}

static void sizes_that_nothing_uses_may_be_any(void **state) {
    (void)state;
    static char const sizes[] = "\"crop_size\": {\"shortest_edge\": 9}, \"pad_size\": {\"longest_edge\": 9}";
    char keys[256];
    uform_preprocessor_t preprocessor;
    snprintf(keys, sizeof(keys), "%s, \"do_center_crop\": false", sizes);
    assert_int_equal(parse_clip(keys, &preprocessor), uform_status_ok_k);
    assert_false(preprocessor.crop);
    assert_int_equal(preprocessor.pad_width, 0);
    snprintf(keys, sizeof(keys), "%s, \"do_center_crop\": true", sizes);
    assert_int_equal(parse_clip(keys, &preprocessor), uform_status_unsupported_k);
    assert_non_null(strstr(uform_last_detail(), "crop_size: expected height and width"));
}

static void sizes_are_spelled_in_many_ways(void **state) {
    (void)state;
    static struct {
        char const *keys;
        uform_sizing_t sizing;
        size_t height, width, shortest, longest;
    } const cases[] = {
        {"\"size\": 30", uform_sizing_shortest_k, 0, 0, 30, 0},
        {"\"size\": 30, \"default_to_square\": true", uform_sizing_exact_k, 30, 30, 0, 0},
        {"\"size\": [30, 40]", uform_sizing_exact_k, 30, 40, 0, 0},
        {"\"size\": {\"height\": 30, \"width\": 40}", uform_sizing_exact_k, 30, 40, 0, 0},
        {"\"size\": {\"height\": 30, \"width\": 40, \"shortest_edge\": null}", uform_sizing_exact_k, 30, 40, 0, 0},
        {"\"size\": {\"shortest_edge\": 30}", uform_sizing_shortest_k, 0, 0, 30, 0},
        {"\"size\": {\"shortest_edge\": 30, \"longest_edge\": 50}", uform_sizing_shortest_k, 0, 0, 30, 50},
        {"\"size\": {\"max_height\": 30, \"max_width\": 50}", uform_sizing_inside_k, 30, 50, 0, 0},
        {"\"size\": null", uform_sizing_shortest_k, 0, 0, 224, 0},
        {"\"size\": 30, \"use_square_size\": true", uform_sizing_exact_k, 224, 224, 0, 0},
        {"\"size\": {\"longest_edge\": 30}, \"do_resize\": false", uform_sizing_none_k, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        uform_preprocessor_t found;
        uform_status_t const status = parse_clip(cases[i].keys, &found);
        if (status != uform_status_ok_k) fail_msg("%s: %s", cases[i].keys, uform_last_detail());
        assert_int_equal(found.sizing, cases[i].sizing);
        assert_int_equal(found.height, cases[i].height);
        assert_int_equal(found.width, cases[i].width);
        assert_int_equal(found.shortest, cases[i].shortest);
        assert_int_equal(found.longest, cases[i].longest);
    }
}

static void what_is_wrong_is_named(void **state) {
    (void)state;
    static struct {
        char const *text, *detail;
        uform_status_t status;
    } const cases[] = {
        {"[]", "config: expected an object", uform_status_malformed_k},
        {"{}", "config: image_processor_type: expected a supported image processor", uform_status_unsupported_k},
        {"{\"image_processor_type\": \"FlavaImageProcessor\"}", "found \"FlavaImageProcessor\"",
            uform_status_unsupported_k},
        {"{\"feature_extractor_type\": \"Wav2Vec2FeatureExtractor\"}",
            "config: feature_extractor_type: expected a supported image processor", uform_status_unsupported_k},
        {"{\"image_processor_type\": 3}", "config: image_processor_type: expected a string, found 3",
            uform_status_malformed_k},
        {"{\"image_processor_type\": \"DINOv3ViTImageProcessorFast\", \"do_rescale\": false}",
            "config: do_rescale: expected true", uform_status_unsupported_k},
        {"{\"image_processor_type\": \"ViTImageProcessorFast\", \"resample\": 4}",
            "config: resample: expected a filter of torch's", uform_status_unsupported_k},
        {"{\"image_processor_type\": \"ViTImageProcessor\", \"do_center_crop\": true}",
            "config: crop_size: expected height and width", uform_status_unsupported_k},
        {"{\"image_processor_type\": \"ConvNextImageProcessor\", \"size\": [20, 20]}",
            "config: size: expected shortest_edge", uform_status_unsupported_k},
        {"{\"image_processor_type\": \"Siglip2ImageProcessor\", \"patch_size\": 0}",
            "config: patch_size: ", uform_status_malformed_k},
        {"{\"image_processor_type\": \"Siglip2ImageProcessor\", \"max_num_patches\": 1e9}",
            "config: max_num_patches: ", uform_status_malformed_k},
    };
    static struct {
        char const *keys, *detail;
        uform_status_t status;
    } const clip_cases[] = {
        {"\"size\": 0", "config: size: expected an integer from 1 to 16384, found 0", uform_status_malformed_k},
        {"\"size\": 16385", "config: size: ", uform_status_malformed_k},
        {"\"size\": \"large\"", "config: size: expected a size, found \"large\"", uform_status_malformed_k},
        {"\"size\": [3]", "config: size: expected a height and a width", uform_status_malformed_k},
        {"\"size\": [3, 2.5]", "config: size: expected integers from 1 to 16384, found 2.5", uform_status_malformed_k},
        {"\"size\": {}", "config: size: expected height and width", uform_status_unsupported_k},
        {"\"size\": {\"height\": 3}", "config: size: expected height and width", uform_status_unsupported_k},
        {"\"size\": {\"height\": 3, \"width\": 3, \"shortest_edge\": 3}", "config: size: expected height and width",
            uform_status_unsupported_k},
        {"\"size\": {\"min_pixels\": 3, \"max_pixels\": 9}", "config: size: expected height and width",
            uform_status_unsupported_k},
        {"\"size\": {\"longest_edge\": 3}", "config: size: expected shortest_edge beside longest_edge",
            uform_status_unsupported_k},
        {"\"size\": {\"shortest_edge\": -3}", "config: size: shortest_edge: ", uform_status_malformed_k},
        {"\"crop_size\": {\"shortest_edge\": 3}", "config: crop_size: expected height and width",
            uform_status_unsupported_k},
        {"\"resample\": 6", "config: resample: expected an integer from 0 to 5, found 6", uform_status_malformed_k},
        {"\"resample\": \"bicubic\"", "config: resample: ", uform_status_malformed_k},
        {"\"do_resize\": 1", "config: do_resize: ", uform_status_malformed_k},
        {"\"image_mean\": [1, 2]", "config: image_mean: expected three numbers", uform_status_malformed_k},
        {"\"image_mean\": [1, 2, \"x\"]", "config: image_mean: expected three numbers", uform_status_malformed_k},
        {"\"image_std\": [1, 0, 1]", "config: image_std: expected three numbers from 1e-6", uform_status_malformed_k},
        {"\"rescale_factor\": 0", "config: rescale_factor: expected a number", uform_status_malformed_k},
        {"\"rescale_factor\": 1e400", "config: rescale_factor: ", uform_status_malformed_k},
        {"\"crop_pct\": 2", "config: crop_pct: expected a number from 0.01 to 1, found 2", uform_status_malformed_k},
    };
    size_t const count = sizeof(cases) / sizeof(cases[0]), clip_count = sizeof(clip_cases) / sizeof(clip_cases[0]);
    for (size_t i = 0; i < count + clip_count; ++i) {
        bool const clip = i >= count;
        uform_preprocessor_t found;
        char const *const text = clip ? clip_cases[i - count].keys : cases[i].text;
        uform_status_t const status = clip ? parse_clip(text, &found) : parse(text, &found);
        char const *const detail = clip ? clip_cases[i - count].detail : cases[i].detail;
        if (status != (clip ? clip_cases[i - count].status : cases[i].status) || !strstr(uform_last_detail(), detail))
            fail_msg("%s: %s: %s", text, uform_status_name(status), uform_last_detail());
        assert_true(!found.shortest && !found.height);
    }
}

static uform_status_t read(workspace_t const *workspace, uform_preprocessor_t *preprocessor) {
    return uform_preprocessor_read_(workspace->path, preprocessor);
}

static void files_count_in_order(void **state) {
    workspace_t const *const workspace = *state;
    uform_preprocessor_t found;
    assert_int_equal(read(workspace, &found), uform_status_not_found_k);
    assert_non_null(strstr(uform_last_detail(), "preprocessor_config.json"));

    char const encoder[] = "{\"image_encoder\": {\"image_size\": 56, \"normalization_means\": [0.1, 0.2, 0.3], "
                           "\"normalization_deviations\": [0.5, 0.5, 0.5]}}";
    workspace_write_text(workspace, "config.json", encoder);
    assert_int_equal(read(workspace, &found), uform_status_ok_k);
    assert_int_equal(found.shortest, 56);
    assert_int_equal(found.middle, uform_middle_even_k);

    // The class may follow from the model's type.
    workspace_write_text(workspace, "config.json", "{\"model_type\": \"dinov2\"}");
    assert_int_equal(read(workspace, &found), uform_status_not_found_k);
    workspace_write_text(workspace, "preprocessor_config.json", "{\"size\": 77}");
    assert_int_equal(read(workspace, &found), uform_status_ok_k);
    assert_int_equal(found.shortest, 77);

    // A processor's configuration counts where it holds one of images.
    workspace_write_text(workspace, "processor_config.json", "{\"processor_class\": \"CLIPProcessor\"}");
    assert_int_equal(read(workspace, &found), uform_status_ok_k);
    assert_int_equal(found.shortest, 77);
    workspace_write_text(workspace, "processor_config.json", "{\"image_processor\": null}");
    assert_int_equal(read(workspace, &found), uform_status_ok_k);
    assert_int_equal(found.shortest, 77);
    workspace_write_text(workspace, "processor_config.json",
        "{\"image_processor\": {\"image_processor_type\": \"CLIPImageProcessor\", \"size\": 88}}");
    assert_int_equal(read(workspace, &found), uform_status_ok_k);
    assert_int_equal(found.shortest, 88);
    workspace_write_text(workspace, "processor_config.json",
        "{\"image_processor\": {\"image_processor_type\": \"CLIPImageProcessor\", \"size\": \"x\"}}");
    assert_int_equal(read(workspace, &found), uform_status_malformed_k);
    assert_non_null(strstr(uform_last_detail(), "processor_config.json: image_processor: size: "));
    workspace_write_text(workspace, "processor_config.json", "{\"image_processor\": 3}");
    assert_int_equal(read(workspace, &found), uform_status_malformed_k);
    workspace_write_text(workspace, "processor_config.json", "[]");
    assert_int_equal(read(workspace, &found), uform_status_malformed_k);
    workspace_write_text(workspace, "processor_config.json", "{");
    assert_int_equal(read(workspace, &found), uform_status_malformed_k);
}

/// UForm 3's package looks for torch_config.json first, and so does what reads the towers.
static void torch_config_counts_first(void **state) {
    workspace_t const *const workspace = *state;
    static char const form[] = "{\"image_encoder\": {\"image_size\": %d, \"normalization_means\": [%d, 0, 0], "
                               "\"normalization_deviations\": [1, 1, 1]}}";
    char torch[256], plain[256];
    snprintf(torch, sizeof(torch), form, 56, 2);
    snprintf(plain, sizeof(plain), form, 48, 3);
    uform_preprocessor_t found;
    workspace_remove(workspace, "");
    workspace_write_text(workspace, "torch_config.json", torch);
    for (int both = 0; both < 2; ++both) {
        assert_int_equal(read(workspace, &found), uform_status_ok_k);
        assert_int_equal(found.shortest, 56);
        assert_true(found.values[0][255] == -1.0f);
        workspace_write_text(workspace, "config.json", plain);
    }
    workspace_write_text(workspace, "torch_config.json", "{\"image_encoder\": {}}");
    assert_int_equal(read(workspace, &found), uform_status_malformed_k);
    assert_non_null(strstr(uform_last_detail(), "torch_config.json: image_encoder: "));
    workspace_write_text(workspace, "torch_config.json", "[]");
    assert_int_equal(read(workspace, &found), uform_status_malformed_k);
    assert_non_null(strstr(uform_last_detail(), "torch_config.json: expected an object"));
    workspace_remove(workspace, "torch_config.json");
    assert_int_equal(read(workspace, &found), uform_status_ok_k);
    assert_int_equal(found.shortest, 48);
    workspace_remove(workspace, "config.json");
}

static void encoders_are_checked(void **state) {
    workspace_t const *const workspace = *state;
    static char const *const wrong[] = {
        "{\"image_encoder\": {}}",
        "{\"image_encoder\": {\"image_size\": 0, \"normalization_means\": [1,1,1], \"normalization_deviations\": [1,1,1]}}",
        "{\"image_encoder\": {\"image_size\": 8, \"normalization_means\": [1,1], \"normalization_deviations\": [1,1,1]}}",
        "{\"image_encoder\": {\"image_size\": 8, \"normalization_means\": [1,1,1], \"normalization_deviations\": [1,0,1]}}",
        "{\"image_encoder\": {\"image_size\": 8, \"normalization_means\": 1, \"normalization_deviations\": [1,1,1]}}",
    };
    workspace_remove(workspace, "");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
        workspace_write_text(workspace, "config.json", wrong[i]);
        uform_preprocessor_t found;
        assert_int_equal(read(workspace, &found), uform_status_malformed_k);
        assert_non_null(strstr(uform_last_detail(), "config.json: image_encoder: "));
    }
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(defaults_are_the_classes_own),
        cmocka_unit_test(a_null_switch_is_off),
        cmocka_unit_test(sizes_that_nothing_uses_may_be_any),
        cmocka_unit_test(sizes_are_spelled_in_many_ways),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(files_count_in_order),
        cmocka_unit_test(torch_config_counts_first),
        cmocka_unit_test(encoders_are_checked),
    };
    return cmocka_run_group_tests_name("config", tests, workspace_setup, workspace_teardown);
}
