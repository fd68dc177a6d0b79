/**
 *  A linear congruential generator, of which only the upper bits are used.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "random.h"

static uint64_t state;

void random_seed(void) {
    char const *const chosen = getenv("UFORM_TEST_SEED");
    state = chosen ? strtoull(chosen, NULL, 10) : (uint64_t)time(NULL);
    print_message("UFORM_TEST_SEED=%llu\n", (unsigned long long)state);
}

static uint32_t draw(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

size_t random_below(size_t limit) {
    return draw() % limit;
}

float random_unit(void) {
    return (float)draw() / 2147483648.0f - 1;
}

void random_rows(float *rows, size_t count, size_t dimensions) {
    for (size_t row = 0; row != count; ++row) {
        float *const values = rows + row * dimensions;
        float squares = 0;
        for (size_t at = 0; at != dimensions; ++at) values[at] = random_unit(), squares += values[at] * values[at];
        for (size_t at = 0; at != dimensions; ++at) values[at] /= sqrtf(squares);
    }
}
