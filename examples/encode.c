/**
 *  The smallest whole use of the library: three texts in, their pairwise similarities out.
 *
 *      uform_encode MODEL_DIRECTORY
 */
#include <stdio.h>
#include <stdlib.h>

#include <uform/uform.h>

static int fail(uform_status_t status) {
    fprintf(stderr, "%s: %s\n", uform_status_name(status), uform_last_detail());
    return EXIT_FAILURE;
}

int main(int argument_count, char **arguments) {
    if (argument_count != 2) return fprintf(stderr, "usage: uform_encode MODEL_DIRECTORY\n"), 2;

    uform_model_t model = NULL;
    uform_model_description_t about;
    uform_status_t status = uform_model_load_ram(arguments[1], NULL, 0, NULL, &model);
    if (status == uform_status_ok_k) status = uform_model_describe(model, &about);
    if (status != uform_status_ok_k) return fail(status);

    uform_text_t const texts[3] = {{"a cat on a mat", 14}, {"a kitten on a rug", 17}, {"an interest rate", 16}};
    float *rows = malloc(3 * about.dimensions * sizeof(float)); // [3, dimensions]
    if (!rows) return fail(uform_status_out_of_memory_k);
    // The second argument is an executor; NULL runs the call on this thread alone.
    status = uform_encode_texts(model, NULL, texts, 3, NULL, rows, 0, NULL);
    if (status != uform_status_ok_k) return fail(status);

    for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < i; ++j) {
            float cosine = 0; // this model's rows have length one
            for (size_t k = 0; k < about.dimensions; ++k)
                cosine += rows[i * about.dimensions + k] * rows[j * about.dimensions + k];
            printf("%.3f  %s / %s\n", (double)cosine, texts[i].data, texts[j].data);
        }
    free(rows);
    uform_model_free(model);
    return EXIT_SUCCESS;
}
