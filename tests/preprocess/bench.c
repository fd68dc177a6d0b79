/**
 *  Milliseconds a picture, the least of many windows: on shared machines the others tell about the neighbours. Weights are kept
 *  from one picture to the next, as for pictures of one size; `anew` computes them for each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "pictures.h"
#include "uform/types.h"

enum { windows_k = 60, pictures_k = 5 };

/// Sizes of the picture, of the resized one, and the square in its middle that is kept.
static struct {
    size_t width, height, new_width, new_height, kept_width, kept_height;
} const shapes[] = {
    {640, 480, 298, 224, 224, 224},
    {640, 480, 224, 224, 224, 224},
    {1920, 1080, 398, 224, 224, 224},
    {300, 200, 384, 384, 384, 384},
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static double least(uform_resize_t const *resize, uform_resample_t const *kernels, uform_bitmap_t const *source,
    bool anew, void *target) {
    uform_resizer_t resizer = {.horizontal = {0}};
    double best = 1e9;
    for (size_t window = 0; window < windows_k; ++window) {
        double const begin = now();
        for (size_t i = 0; i < pictures_k; ++i) {
            if (anew) resizer.horizontal.known = resizer.vertical.known = false;
            uform_status_t const status =
                resize->arithmetic == uform_arithmetic_tensor_k
                    ? uform_resize_tensor_(resize, kernels, source, 1.0f / 255.0f, &resizer, target)
                    : uform_resize_(resize, kernels, source, &resizer, target, resize->columns * 3);
            assert_int_equal(status, uform_status_ok_k);
        }
        double const spent = (now() - begin) / pictures_k;
        if (spent < best) best = spent;
    }
    uform_resizer_free_(&resizer);
    return best;
}

int bench_resizes(void) {
    static char const *const arithmetics[] = {"pillow", "torch", "tensor"};
    static char const *const filters[] = {"nearest", "lanczos", "bilinear", "bicubic"};
    uform_kernels_t const *kernels[kernels_limit_k];
    size_t const kernels_count = kernels_list(kernels);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i) {
        uint8_t *const pixels = picture_new("noise", shapes[i].width, shapes[i].height, 1);
        void *const target = malloc(shapes[i].kept_width * shapes[i].kept_height * 3 * sizeof(float));
        uform_bitmap_t const source = {pixels, shapes[i].width, shapes[i].height};
        for (int filter = uform_filter_lanczos_k; filter <= uform_filter_bicubic_k; ++filter)
            for (int arithmetic = 0; arithmetic < 3; ++arithmetic) {
                uform_resize_t const resize = {(uform_arithmetic_t)arithmetic, (uform_filter_t)filter,
                    shapes[i].new_width, shapes[i].new_height, (shapes[i].new_width - shapes[i].kept_width) / 2,
                    (shapes[i].new_height - shapes[i].kept_height) / 2, shapes[i].kept_width, shapes[i].kept_height};
                printf("%4zu x %4zu to %3zu x %3zu  %-8s %-6s  ms by class:", shapes[i].width, shapes[i].height,
                    shapes[i].new_width, shapes[i].new_height, filters[filter], arithmetics[arithmetic]);
                for (size_t j = 0; j < kernels_count; ++j)
                    printf(" %7.3f", least(&resize, kernels[j]->resample, &source, false, target));
                printf("   anew %7.3f\n", least(&resize, kernels[kernels_count - 1]->resample, &source, true, target));
                fflush(stdout);
            }
        free(target);
        free(pixels);
    }
    return 0;
}
