/**
 *  Threads that run a batch together: the same bits as one alone gives, for every kind of tower and however many they are; and
 *  calls of too few items to go round, whose threads are a team, keep every promise that others keep.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "encode/pictures.h"
#include "encode/texts.h"
#include "models/encode.h"

enum {
    largest_team_k = 7,
    item_count_k = 4,
    row_limit_k = 256,
    patch_limit_k = 4096, // numbers of one
    bytes_limit_k = 1 << 16,
};

static size_t const text_lengths[item_count_k] = {5, 37, 1, 64};
static uform_grid_t const grids[item_count_k] = {{3, 2}, {1, 7}, {5, 5}, {1, 1}};

typedef struct batch_t {
    uform_batch_t batch;
    uint32_t ids[row_limit_k], position_ids[row_limit_k], type_ids[row_limit_k];
    uint8_t pixels[row_limit_k * patch_limit_k];
    float numbers[row_limit_k * patch_limit_k / 4];
    uform_grid_t grids[item_count_k];
    size_t begins[item_count_k + 1];
} batch_t;

static batch_t batch;

static uint32_t draw(void) {
    static uint32_t seed = 1;
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

// Random tokens below every limit of the tower.
static void make_texts(uform_tower_t const *tower) {
    uform_architecture_sizes_t const *sizes = &tower->sizes;
    size_t const longest = sizes->position_count - sizes->first_position;
    batch.batch = (uform_batch_t){.ids = batch.ids,
        .position_ids = batch.position_ids,
        .type_ids = batch.type_ids,
        .text_begins = batch.begins,
        .text_count = item_count_k};
    for (size_t item = 0; item < item_count_k; ++item) {
        size_t const length = text_lengths[item] < longest ? text_lengths[item] : longest;
        batch.begins[item + 1] = batch.begins[item] + length;
        for (size_t i = 0, row = batch.begins[item]; i < length; ++i, ++row) {
            batch.ids[row] = draw() % sizes->vocabulary_count;
            batch.position_ids[row] = (uint32_t)(sizes->first_position + i);
        }
    }
    batch.batch.row_count = batch.begins[item_count_k];
}

// Random patches on grids of their own, but for the first image, which has the usual one if there is one.
static void make_images(uform_patches_t const *patches, bool numbers) {
    assert_true(patches->depth <= patch_limit_k / 4);
    batch.batch = (uform_batch_t){.grids = batch.grids, .text_begins = batch.begins, .text_count = item_count_k};
    if (numbers) batch.batch.numbers = batch.numbers;
    else batch.batch.pixels = batch.pixels;
    for (size_t item = 0; item < item_count_k; ++item) {
        bool const usual = patches->usual_grid.height && (item == 0 || !patches->table_grid.height);
        batch.grids[item] = usual ? patches->usual_grid : grids[item];
        size_t const length = patches->prefix_count + batch.grids[item].height * batch.grids[item].width;
        batch.begins[item + 1] = batch.begins[item] + length;
    }
    batch.batch.row_count = batch.begins[item_count_k];
    assert_true(batch.batch.row_count <= row_limit_k);
    for (size_t i = 0; i < batch.batch.row_count * patches->depth; ++i) {
        batch.pixels[i] = (uint8_t)draw();
        batch.numbers[i] = (float)(draw() % 256) / 128.0f - 1.0f;
    }
}

typedef struct run_t {
    uform_encoder_t const *encoder;
    uform_kernels_t const *kernels;
    uform_member_t member;
    void *scratch;
    uform_panels_t result;
} run_t;

static void *run_member(void *argument) {
    run_t *run = argument;
    run->result = uform_encoder_run_(run->encoder, run->kernels, &batch.batch, &run->member, run->scratch);
    return NULL;
}

// Runs the batch by a team and copies the rows that come out, [rows, width]; gives their number.
static size_t run_team(uform_encoder_t const *encoder, uform_kernels_t const *kernels, size_t members, float *rows) {
    size_t const own_bytes = uform_encoder_member_bytes_(encoder, kernels, row_limit_k);
    size_t const bytes = uform_encoder_scratch_bytes_(encoder, batch.batch.row_count, members);
    char *memory = uform_allocate_aligned_(bytes + members * own_bytes);
    assert_non_null(memory);
    memset(memory, 0xFF, bytes + members * own_bytes); // what is read before it is written shows
    uform_team_t team = {.count = members};
    run_t runs[largest_team_k];
    pthread_t threads[largest_team_k];
    for (size_t i = 0; i < members; ++i)
        runs[i] = (run_t){encoder, kernels, {&team, i, memory + bytes + i * own_bytes}, memory, {0}};
    for (size_t i = 1; i < members; ++i) assert_int_equal(pthread_create(&threads[i], NULL, run_member, &runs[i]), 0);
    run_member(&runs[0]);
    for (size_t i = 1; i < members; ++i) pthread_join(threads[i], NULL);
    bool const texts = uform_encoder_ends_in_texts_(encoder, batch.batch.pooled);
    size_t const count = texts ? batch.batch.text_count : batch.batch.row_count;
    for (size_t row = 0; row < count; ++row)
        for (size_t column = 0; column < encoder->width; column += 16)
            memcpy(rows + row * encoder->width + column,
                (char *)runs[0].result.data + column / 16 * runs[0].result.stride_bytes + row * 64, 64);
    uform_free_(memory);
    return count;
}

// The rows that a pooling of one token looks at, without the others' last layer: the same bits.
static void check_pooled(char const *name, uform_encoder_t const *encoder, uform_kernels_t const *kernels,
    float const *all, uform_pooled_rows_t pooled) {
    static float rows[item_count_k * 128];
    for (size_t members = 1; members <= 3; members += 2) {
        batch.batch.pooled = pooled;
        assert_int_equal(run_team(encoder, kernels, members, rows), item_count_k);
        batch.batch.pooled = uform_pooled_rows_all_k;
        for (size_t item = 0; item < item_count_k; ++item) {
            size_t const row = pooled == uform_pooled_rows_first_k ? batch.begins[item] : batch.begins[item + 1] - 1;
            if (memcmp(rows + item * encoder->width, all + row * encoder->width, encoder->width * sizeof(float)))
                fail_msg("%s: item %zu differs where %s rows count", name, item,
                    pooled == uform_pooled_rows_first_k ? "first" : "last");
        }
    }
}

static void check_encoder(char const *name, uform_model_t model, uform_encoder_t const *encoder) {
    static float alone[row_limit_k * 128], together[row_limit_k * 128];
    uform_kernels_t const *kernels = uform_kernels_(model->cpu_class);
    assert_true(encoder->width <= 128);
    memset(alone, 0, sizeof alone);
    memset(together, 0, sizeof together);
    run_team(encoder, kernels, 1, alone);
    for (size_t i = 0; i < encoder->width; ++i) assert_true(alone[i] == alone[i]);
    for (size_t members = 2; members <= largest_team_k; members += members < 4 ? 1 : 3) {
        run_team(encoder, kernels, members, together);
        if (memcmp(alone, together, sizeof alone)) fail_msg("%s: %zu members differ from one", name, members);
    }
    if (encoder->has_head) return;
    check_pooled(name, encoder, kernels, alone, uform_pooled_rows_first_k);
    check_pooled(name, encoder, kernels, alone, uform_pooled_rows_last_k);
}

static void test_towers(void **state) {
    (void)state;
    static char const *const texts[] = {"mean", "size_two_layers", "size_heads_of_9", "mpnet", "modernbert_biases",
        "nomic_bert", "qwen2", "qwen3", "qwen3_biases", "gemma3", "gemma3_causal", "t5_gated"};
    static char const *const pictures[] = {"clip", "clip_heads_24_96", "siglip", "siglip2", "dinov2_uneven",
        "dinov2_swiglu", "dinov3", "dinov3_gated", "uform_roberta", "vit"};
    static uform_scalar_t const precisions[] = {uform_scalar_f32_k, uform_scalar_bf16_k, uform_scalar_i8_k};
    for (size_t p = 0; p < sizeof precisions / sizeof *precisions; ++p) {
        for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
            uform_model_t model = texts_load(texts[i], precisions[p]);
            make_texts(&model->directory.text);
            check_encoder(texts[i], model, &model->packings->text.encoder);
            uform_model_free(model);
        }
        for (size_t i = 0; i < sizeof pictures / sizeof *pictures; ++i) {
            uform_model_t model = pictures_load(pictures[i], precisions[p]);
            make_images(&model->packings->image.encoder.patches,
                uform_preprocessor_has_planes_(&model->directory.preprocessor));
            check_encoder(pictures[i], model, &model->packings->image.encoder);
            if (uform_tower_works_(&model->directory.text)) {
                make_texts(&model->directory.text);
                check_encoder(pictures[i], model, &model->packings->text.encoder);
            }
            uform_model_free(model);
        }
    }
}

// Calls of one item and of several short ones, by two threads, which with two processors are a team: rows, reports and
// failures as the null executor gives them.
static void test_calls_on_texts(void **state) {
    (void)state;
    static char const longest[bytes_limit_k];
    uform_text_t const texts[] = {
        {"a", 1}, {"two words", 9}, {NULL, 3}, {"", 0}, {"b c d", 5}, {longest, sizeof longest}};
    enum { count_k = sizeof texts / sizeof *texts, width_k = 40 };
    uform_model_t model = texts_load("size_two_layers", uform_scalar_derived_k);
    for (size_t begin = 0; begin < count_k; ++begin)
        for (size_t count = 1; begin + count <= count_k; ++count) {
            float rows[2][count_k * width_k];
            uform_item_report_t items[2][count_k];
            uform_encode_report_t reports[2];
            char details[2][256];
            for (size_t team = 0; team < 2; ++team) {
                uform_executor_t executor = team ? texts_executor(2, uform_cpu_class_derived_k) : NULL;
                reports[team] = (uform_encode_report_t){.size = sizeof *reports, .items = items[team]};
                uform_status_t const status =
                    uform_encode_texts(model, executor, texts + begin, count, NULL, rows[team], 0, &reports[team]);
                assert_int_equal(status, begin <= 2 && begin + count > 2 ? uform_status_invalid_argument_k : 0);
                strcpy(details[team], status ? uform_last_detail() : "");
                uform_executor_free(executor);
            }
            assert_memory_equal(rows[0], rows[1], count * width_k * sizeof(float));
            assert_memory_equal(items[0], items[1], count * sizeof **items);
            assert_int_equal(reports[0].token_count, reports[1].token_count);
            assert_int_equal(reports[0].truncated_count, reports[1].truncated_count);
            assert_int_equal(reports[0].failed_count, reports[1].failed_count);
            assert_string_equal(details[0], details[1]);
        }
    uform_model_free(model);
}

// Images on grids of their own, so that the panel has to grow in the midst of a call.
static void test_calls_on_images(void **state) {
    (void)state;
    enum { count_k = 12 };
    static unsigned char memory[count_k * pictures_side_k * pictures_side_k * 4];
    static float rows[2][count_k * 96];
    static char const *const names[] = {"siglip2", "dinov3", "clip_heads_24_96"};
    uform_image_t pictures[count_k];
    pictures_make(pictures, count_k, memory);
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
        uform_model_t model = pictures_load(names[k], uform_scalar_derived_k);
        size_t dimensions;
        assert_int_equal(uform_encode_dimensions(model, NULL, &dimensions), uform_status_ok_k);
        assert_true(dimensions <= 96);
        uform_executor_t executor = texts_executor(2, uform_cpu_class_derived_k);
        for (size_t count = 1; count <= count_k; count += 5) {
            assert_int_equal(uform_encode_images(model, NULL, pictures, count, NULL, rows[0], 0, NULL), 0);
            assert_int_equal(uform_encode_images(model, executor, pictures, count, NULL, rows[1], 0, NULL), 0);
            assert_memory_equal(rows[0], rows[1], count * dimensions * sizeof(float));
        }
        uform_executor_free(executor);
        uform_model_free(model);
    }
}

int main(void) {
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_towers),
        cmocka_unit_test(test_calls_on_texts),
        cmocka_unit_test(test_calls_on_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
