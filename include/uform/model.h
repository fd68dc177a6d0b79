/**
 *  Models: a Hugging Face directory in memory, and the calls that turn texts and images into rows of an embedding matrix.
 *
 *  A model is immutable once loaded and freely shared: any number of executors and threads use it at once. The
 *  directory decides architecture, tokenizer, prompts, pooling, Dense layers, normalising and length limit, as
 *  sentence-transformers and transformers would; options override each of them. Results never depend on a text's
 *  or an image's neighbours, on the number of threads or on the batch: the same one gives the same bits.
 */
#ifndef UFORM_MODEL_H
#define UFORM_MODEL_H

#include "uform/executor.h"
#include "uform/image.h"
#include "uform/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct uform_model_s *uform_model_t;

/**
 *  A three-way switch whose zero leaves the decision to the directory.
 */
typedef enum uform_switch_t {
    uform_switch_auto_k = 0,
    uform_switch_on_k = 1,
    uform_switch_off_k = 2,
} uform_switch_t;

/**
 *  How token vectors become one vector. Several modes at once are concatenated in ascending order of bit, as
 *  sentence-transformers does. Zero leaves it to the directory.
 */
#define UFORM_POOLINGS(row)                                                                                            \
    row(cls, 1) row(max, 2) row(mean, 4) row(mean_sqrt_len, 8) row(weightedmean, 16) row(lasttoken, 32)

typedef enum uform_pooling_t {
    uform_pooling_derived_k = 0,
#define UFORM_POOLING_ROW_(name, value) uform_pooling_##name##_k = value,
    UFORM_POOLINGS(UFORM_POOLING_ROW_)
#undef UFORM_POOLING_ROW_
} uform_pooling_t;

/**
 *  One mode's token, or several joined by '+', e.g. "cls+mean". The name of a single mode has static storage; a combination
 *  answers "combined". `_parse` takes combinations.
 */
UFORM_PUBLIC char const *uform_pooling_name(uint32_t pooling);
UFORM_PUBLIC uform_status_t uform_pooling_parse(char const *token, uint32_t *pooling) UFORM_MUST_CHECK;

/**
 *  Options at load. Zero the struct and set `size` to its size; every zero means the default.
 */
typedef struct uform_model_options_t {
    size_t size; ///< sizeof(uform_model_options_t), so that the struct can grow
    /// f32, bf16 or i8; zero derives: bf16 where the class multiplies it natively, else f32. i8 is bf16 whose matrices are
    /// multiplied as integers of 8 bits.
    uform_scalar_t precision;
    uform_cpu_class_t cpu_class; ///< whose pack format the weights take; zero derives the machine's own
} uform_model_options_t;

/**
 *  Loads a sentence-transformers or transformers directory into RAM: maps its files, packs weights while reading.
 *
 *  @param directory        Path of the directory, NUL-terminated.
 *  @param memory_domains   NUMA nodes the weights are spread over page by page, [memory_domain_count]; empty for the system's
 *                          default. Executors made with other nodes, unless with none, are `mismatched`.
 *  @param options          NULL for the defaults.
 *  @param model            Receives the model, NULL on failure. Free it with `uform_model_free`.
 *  `not_found`, `malformed`, `unsupported`, `io_failed`, and `mismatched` for files that disagree, name file, key and value in
 *  `uform_last_detail()`; `invalid_argument` and `out_of_memory` besides. A directory for texts and images that lacks the files of one
 *  of them is loaded for the other. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_model_load_ram(char const *directory, int32_t const *memory_domains,
    size_t memory_domain_count, uform_model_options_t const *options, uform_model_t *model) UFORM_MUST_CHECK;

/**
 *  Loads a directory into the memory of GPUs, for executors made with the same list of devices.
 *
 *  @param directory        Path of the directory, NUL-terminated.
 *  @param devices          Positions in what `uform_gpu_devices` lists, each once, [device_count], at least one.
 *  @param options          NULL for the defaults.
 *  @param model            Receives the model, NULL on failure. Free it with `uform_model_free`.
 *  This build has no kernels for GPUs: once the arguments are found to be good, the answer is `unsupported`, and so it is
 *  for positions beyond the list. The detail says what is missing. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_model_load_vram(char const *directory, int32_t const *devices, size_t device_count,
    uform_model_options_t const *options, uform_model_t *model) UFORM_MUST_CHECK;

/**
 *  Releases the model; NULL is legal. No call may still use it.
 */
UFORM_PUBLIC void uform_model_free(uform_model_t model);

/**
 *  What a model is, after the directory and the load options were followed.
 */
typedef struct uform_model_description_t {
    char architecture[32];       ///< e.g. "bert"
    char activation[32];         ///< e.g. "gelu"
    uform_scalar_t precision;    ///< what its weights are packed in
    uform_cpu_class_t cpu_class; ///< whose pack format they have
    size_t dimensions;           ///< length of an embedding
    size_t width; ///< hidden size; of texts where there are two towers, as the next three and the activation
    size_t layers;
    size_t heads;
    size_t feed_forward_width;
    size_t vocabulary_count;
    size_t
        max_tokens; ///< length limit in tokens, special ones included; zero, as the vocabulary, without a tower for texts
    uint32_t pooling;   ///< bits of uform_pooling_t
    size_t dense_count; ///< Dense layers behind the pooling
    bool normalize;     ///< embeddings have length one
    size_t prompt_count;
    char default_prompt[64]; ///< the default prompt's name; empty without one
    size_t weights_bytes;    ///< memory the packed weights take
    double
        flops_per_token; ///< multiplications and additions of the matrices a token passes, attention excluded, and what
                         ///< is left out of the last layer where the pooling takes one token alone
    bool encodes_texts;  ///< the directory has all that `uform_encode_texts` needs
    bool encodes_images; ///< likewise of `uform_encode_images`
    size_t image_height, image_width; ///< of the pixel tensor; zero where they depend on the image
    size_t patch_size;                ///< side of a square patch, in pixels
    size_t image_tokens;              ///< patches and the tokens before them; zero where they depend on the image
    size_t image_layers, image_hidden_width;
    double flops_per_image; ///< as `flops_per_token`; zero where it depends on the image
    double logit_scale;     ///< what a cosine of text and image is multiplied by; zero when the model does not say
    double logit_bias;      ///< and what is added to it
    bool has_logit_bias;    ///< pairs are judged one by one, by a sigmoid; else labels against each other, by a softmax
} uform_model_description_t;

UFORM_PUBLIC uform_status_t uform_model_describe(
    uform_model_t model, uform_model_description_t *description) UFORM_MUST_CHECK;

/**
 *  The prompt at a position below `prompt_count`: its name and text. They live as long as the model. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_model_prompt(
    uform_model_t model, size_t index, char const **name, char const **text) UFORM_MUST_CHECK;

/**
 *  A text: UTF-8, NUL bytes allowed. Invalid sequences are replaced by U+FFFD, as Python's "replace" does.
 */
typedef struct uform_text_t {
    char const *data;
    size_t length; ///< bytes
} uform_text_t;

/**
 *  Options of one call. Zero the struct and set `size` to its size; every zero means what the directory says.
 */
typedef struct uform_encode_options_t {
    size_t size;           ///< sizeof(uform_encode_options_t)
    uform_scalar_t scalar; ///< type of the embeddings: f32 (the default), f16, bf16, i8, b1
    size_t dimensions;     ///< keep the first so many, re-normalised when normalising; zero keeps all
    uform_switch_t normalize;
    uint32_t pooling;             ///< bits of uform_pooling_t
    char const *prompt_name;      ///< a prompt of the directory by name; `not_found` when there is none
    char const *prompt;           ///< text put before every text; wins over `prompt_name`; "" for none at all
    size_t max_tokens;            ///< tokens a text may have, special ones included; at most the model's positions
    uform_switch_t truncate_left; ///< drop tokens at the start of a long text (on) or at its end (off)
    bool literal_specials; ///< special tokens typed in a text are ordinary text, as the directory may have it anyway
    uform_switch_t
        image_orientation;        ///< turn images as their EXIF data says (auto and on), or leave them as stored (off)
    uform_switch_t image_flatten; ///< lay transparent images over white (on), or drop their alpha (auto and off)
    size_t
        image_pixel_limit; ///< images of more pixels are refused by their header; zero for 178,956,970, as Pillow has it
} uform_encode_options_t;

/**
 *  What became of one item.
 */
typedef struct uform_item_report_t {
    uform_status_t status; ///< why its row is null, or ok
    uint32_t token_count; ///< tokens encoded, special ones included; of an image its patches and the tokens before them
    bool truncated;       ///< the text was longer than the limit
} uform_item_report_t;

/**
 *  What became of a call. Set `size`, and `items` to an array of `count` items or NULL; the rest is filled in.
 */
typedef struct uform_encode_report_t {
    size_t size;                ///< sizeof(uform_encode_report_t)
    uform_item_report_t *items; ///< [count], the caller's; may be NULL
    size_t token_count;         ///< over all items
    size_t truncated_count;
    size_t failed_count;
} uform_encode_report_t;

/**
 *  Encodes texts into rows of an embedding matrix.
 *
 *  @param executor         NULL for the calling thread.
 *  @param texts            [count]
 *  @param options          NULL for what the directory says.
 *  @param embeddings       [count, dimensions] of the output scalar; b1 rows are packed eight dimensions a byte, the first in the
 *                          highest bit; i8 maps -1..1 to -127..127.
 *  @param stride_bytes     Distance between rows; zero means densely packed.
 *  @param report           NULL when not wanted.
 *  A text that fails gets a null row (NaN in f32, f16 and bf16, zeros in i8 and b1), its own status in the report, and the call goes
 *  on; the call's status is then the first failing item's. Thread-safe: models and executors may be shared.
 */
UFORM_PUBLIC uform_status_t uform_encode_texts(uform_model_t model, uform_executor_t executor,
    uform_text_t const *texts, size_t count, uform_encode_options_t const *options, void *embeddings,
    size_t stride_bytes, uform_encode_report_t *report) UFORM_MUST_CHECK;

/**
 *  Encodes images into rows of an embedding matrix, in the same space as texts where the model has both. Files are decoded and
 *  resized on the executor's threads as the directory's image processor does it, a thread's next image while others compute.
 *
 *  @param images           [count]
 *  An image may become at most 16,384 patches. The other parameters and the failures are those of `uform_encode_texts`: a broken image gets a null row and its own status, and the
 *  call goes on. Options that concern texts are ignored. `unsupported` for a model without a tower for images. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_encode_images(uform_model_t model, uform_executor_t executor,
    uform_image_t const *images, size_t count, uform_encode_options_t const *options, void *embeddings,
    size_t stride_bytes, uform_encode_report_t *report) UFORM_MUST_CHECK;

/**
 *  The tensor that the tower for images gets: decoded, resized, cropped, rescaled, normalised. Runs on the calling thread.
 *
 *  @param pixels           [channels, height, width] f32; receives them when `capacity` is enough; may be NULL with a zero capacity.
 *  @param capacity         Numbers there is room for.
 *  @param shape            [3]; receives channels, height and width.
 *  Too small a capacity is no failure: nothing is written then. On failure the shape is zeros. Where the reference cuts patches itself
 *  (NaFlex), they are cut from this tensor. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_image_pixels(uform_model_t model, uform_image_t image,
    uform_encode_options_t const *options, float *pixels, size_t capacity, size_t shape[3]) UFORM_MUST_CHECK;

/**
 *  Submits the same call to be awaited later; see `uform_call_t` for when it runs.
 *
 *  @param call             Receives the call, NULL on failure. Free it with `uform_call_free`.
 *  The other parameters are those of `uform_encode_texts`. The model, the texts' array and bytes, the embeddings, the report and its
 *  items stay the caller's: they must outlive the call, and embeddings and report mean nothing before it has finished. The options and
 *  their strings are copied. What can be refused at once is: parameters that `uform_encode_texts` would refuse, and `contended` when
 *  the executor's table of deferred calls is full or it is deferred from inside a call on the same executor. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_defer_texts(uform_model_t model, uform_executor_t executor, uform_text_t const *texts,
    size_t count, uform_encode_options_t const *options, void *embeddings, size_t stride_bytes,
    uform_encode_report_t *report, uform_call_t *call) UFORM_MUST_CHECK;

/**
 *  The same for images: the array and what its images point at stay the caller's until the call has finished.
 */
UFORM_PUBLIC uform_status_t uform_defer_images(uform_model_t model, uform_executor_t executor,
    uform_image_t const *images, size_t count, uform_encode_options_t const *options, void *embeddings,
    size_t stride_bytes, uform_encode_report_t *report, uform_call_t *call) UFORM_MUST_CHECK;

/**
 *  How many dimensions a row of `uform_encode_texts` has with these options, which is what its memory is sized by; of
 *  `uform_encode_images` where the model encodes no texts. With both, rows of both are as long wherever both calls take the options.
 *
 *  @param options      NULL for what the directory says.
 *  Refuses what the call would refuse of pooling, dimensions, scalar and normalising; other options have no say. Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_encode_dimensions(
    uform_model_t model, uform_encode_options_t const *options, size_t *dimensions) UFORM_MUST_CHECK;

/**
 *  The ids the model would be given for a text, special tokens included, prompt and truncation applied as in `uform_encode_texts`.
 *
 *  @param ids      [capacity]; receives as many as fit; may be NULL with a zero capacity.
 *  @param count    Receives how many there are, which may exceed the capacity.
 *  Thread-safe.
 */
UFORM_PUBLIC uform_status_t uform_tokenize(uform_model_t model, uform_text_t text,
    uform_encode_options_t const *options, uint32_t *ids, size_t capacity, size_t *count) UFORM_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
