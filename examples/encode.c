/**
 *  The smallest whole use of the library: three texts in, their pairwise similarities out. The README shows this
 *  program.
 *
 *      uform_encode MODEL_DIRECTORY
 */
#include <stdio.h>
#include <stdlib.h>

#include <uform/uform.h>

static void require(uform_status_t status) {
    if (status == uform_status_ok_k) return;
    fprintf(stderr, "%s: %s\n", uform_status_name(status), uform_last_detail());
    exit(EXIT_FAILURE);
}

int main(int argument_count, char **arguments) {
    if (argument_count != 2) return fprintf(stderr, "usage: uform_encode MODEL_DIRECTORY\n"), 2;

    uform_executor_t executor; // zeros: every memory domain, the machine's own class, 7/8 of its cores
    require(uform_executor_for_ram(NULL, 0, uform_cpu_class_derived_k, 0, 0, &executor));
    uform_model_t model;
    require(uform_model_load_ram(arguments[1], NULL, 0, NULL, &model));
    uform_model_description_t about;
    require(uform_model_describe(model, &about));

    uform_text_t const texts[3] = {{"a cat on a mat", 14}, {"a kitten on a rug", 17}, {"an interest rate", 16}};
    float *rows = malloc(3 * about.dimensions * sizeof(float)); // [3, dimensions]
    if (!rows) return EXIT_FAILURE;
    require(uform_encode_texts(model, executor, texts, 3, NULL, rows, 0, NULL));

    for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < i; ++j) {
            float cosine = 0; // rows of this model have length one
            for (size_t k = 0; k < about.dimensions; ++k)
                cosine += rows[i * about.dimensions + k] * rows[j * about.dimensions + k];
            printf("%.3f  %s / %s\n", (double)cosine, texts[i].data, texts[j].data);
        }

    free(rows);
    uform_model_free(model);
    uform_executor_free(executor);
    return EXIT_SUCCESS;
}
