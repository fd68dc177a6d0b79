/**
 *  Rows are divided among threads. Each goes through its share once for a group of queries, since memory gives out a
 *  row more slowly than a processor multiplies it, and keeps the best of each query in a heap whose root is the worst
 *  of them.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "matches.h"
#include "progress.h"

enum {
    lanes_k = 16,             ///< sums that grow side by side, in vector registers
    group_k = 8,              ///< queries a pass over the rows serves
    rows_per_thread_k = 4096, ///< fewer aren't worth a thread
};

/// What a thread goes through.
typedef struct share_t {
    pthread_t thread;
    float const *rows; ///< [row_count, dimensions]
    size_t first;      ///< the position of the first
    size_t row_count, dimensions;
    float const *queries; ///< [query_count, dimensions]
    size_t query_count;
    size_t top;
    match_t *heaps;        ///< [query_count, top]
    size_t sizes[group_k]; ///< [query_count]
} share_t;

float match_score_(float const *left, float const *right, size_t dimensions) {
    float sums[lanes_k] = {0};
    size_t at = 0;
    for (; at + lanes_k <= dimensions; at += lanes_k)
        for (size_t lane = 0; lane != lanes_k; ++lane) sums[lane] += left[at + lane] * right[at + lane];
    for (size_t lane = 0; at != dimensions; ++at, ++lane) sums[lane] += left[at] * right[at];
    for (size_t width = lanes_k / 2; width; width /= 2)
        for (size_t lane = 0; lane != width; ++lane) sums[lane] += sums[lane + width];
    return sums[0];
}

static bool is_better(match_t left, match_t right) {
    return left.score > right.score || (left.score == right.score && left.position < right.position);
}

static int compare(void const *left, void const *right) {
    return is_better(*(match_t const *)left, *(match_t const *)right) ? -1 : 1;
}

void matches_sort_(match_t *matches, size_t count) {
    if (count) qsort(matches, count, sizeof(*matches), compare);
}

/// Lets the match at a place sink below those that are worse.
static void sink(match_t *heap, size_t size, size_t place) {
    match_t const sinking = heap[place];
    for (size_t child; (child = 2 * place + 1) < size; place = child) {
        if (child + 1 < size && is_better(heap[child], heap[child + 1])) ++child;
        if (!is_better(sinking, heap[child])) break;
        heap[place] = heap[child];
    }
    heap[place] = sinking;
}

/// Offers a match to the best so far.
static void offer(match_t *heap, size_t *size, size_t top, match_t match) {
    if (*size == top) {
        if (!is_better(match, heap[0])) return;
        heap[0] = match;
        sink(heap, top, 0);
        return;
    }
    size_t place = (*size)++;
    for (; place && is_better(heap[(place - 1) / 2], match); place = (place - 1) / 2)
        heap[place] = heap[(place - 1) / 2];
    heap[place] = match;
}

static void *search_share(void *context) {
    share_t *const share = context;
    for (size_t row = 0; row != share->row_count; ++row) {
        float const *const vector = share->rows + row * share->dimensions;
        for (size_t query = 0; query != share->query_count; ++query) {
            float const score = match_score_(vector, share->queries + query * share->dimensions, share->dimensions);
            if (score == score)
                offer(share->heaps + query * share->top, &share->sizes[query], share->top,
                    (match_t){score, share->first + row});
        }
    }
    return NULL;
}

/// Runs all shares, the last of them on the calling thread, and those for which there is no thread too.
static void run_shares(share_t *shares, size_t count) {
    size_t started = 0;
    while (started + 1 < count && pthread_create(&shares[started].thread, NULL, search_share, &shares[started]) == 0)
        ++started;
    for (size_t index = started; index != count; ++index) search_share(&shares[index]);
    for (size_t index = 0; index != started; ++index) pthread_join(shares[index].thread, NULL);
}

/// Puts what the shares found for a query together.
static size_t collect(share_t const *shares, size_t share_count, size_t query, size_t top, match_t *matches) {
    size_t size = 0;
    for (size_t index = 0; index != share_count; ++index)
        for (size_t place = 0; place != shares[index].sizes[query]; ++place)
            offer(matches, &size, top, shares[index].heaps[query * shares[index].top + place]);
    matches_sort_(matches, size);
    return size;
}

bool matches_find_(float const *rows, size_t row_count, size_t dimensions, float const *queries, size_t query_count,
    size_t threads, size_t top, match_t *matches, size_t *found) {
    size_t const useful = row_count / rows_per_thread_k + 1, share_count = threads < useful ? threads : useful;
    size_t const share_rows = (row_count + share_count - 1) / share_count;
    size_t const share_top = top < share_rows ? top : share_rows;
    // Queries go together while their heaps are small.
    size_t const group = share_top <= rows_per_thread_k ? group_k : 1;
    share_t *const shares = calloc(share_count, sizeof(*shares));
    match_t *const heaps = calloc(share_count * group * share_top + 1, sizeof(*heaps));
    if (!shares || !heaps) {
        message_("not enough memory for %zu matches", top);
        free(shares), free(heaps);
        return false;
    }
    for (size_t first = 0; first < query_count; first += group) {
        size_t const served = query_count - first < group ? query_count - first : group;
        for (size_t index = 0; index != share_count; ++index) {
            size_t const begin = index * share_rows < row_count ? index * share_rows : row_count;
            shares[index] = (share_t){.rows = rows + begin * dimensions,
                .first = begin,
                .row_count = row_count - begin < share_rows ? row_count - begin : share_rows,
                .dimensions = dimensions,
                .queries = queries + first * dimensions,
                .query_count = served,
                .top = share_top,
                .heaps = heaps + index * group * share_top};
        }
        run_shares(shares, share_count);
        for (size_t query = 0; query != served; ++query)
            found[first + query] = collect(shares, share_count, query, top, matches + (first + query) * top);
    }
    free(shares), free(heaps);
    return true;
}
