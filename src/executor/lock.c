/**
 *  The lock is one word that threads park on. Only a thread of the same process can be waited for, so the word tells
 *  which fork generation its holder belongs to.
 */
#include "executor/lock.h"

#include "executor/park.h"
#include "executor/ram.h"

enum { held_k = 1, waited_k = 2, generation_shift_k = 2 };

uform_status_t uform_lock_init_(uform_lock_t *lock) {
    atomic_init(&lock->word, 0);
    return uform_fork_watch_();
}

void uform_lock_(uform_lock_t *lock) {
    unsigned const own = uform_fork_generation_() << generation_shift_k | held_k;
    unsigned mark = 0; // whoever has waited can't tell whether others do
    for (;;) {
        unsigned word = atomic_load(&lock->word);
        bool const taken = word && word >> generation_shift_k == own >> generation_shift_k;
        if (!taken && atomic_compare_exchange_strong(&lock->word, &word, own | mark)) return;
        if (!taken || (!(word & waited_k) && !atomic_compare_exchange_strong(&lock->word, &word, word | waited_k)))
            continue;
        uform_park_(&lock->word, word | waited_k, UFORM_EVERYBODY);
        mark = waited_k;
    }
}

void uform_unlock_(uform_lock_t *lock) {
    if (atomic_exchange(&lock->word, 0) & waited_k) uform_unpark_(&lock->word, UFORM_EVERYBODY);
}
