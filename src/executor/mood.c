/**
 *  Moods: their names, and how long an idle thread busy-waits in each before it parks. One table.
 */
#include "executor/mood.h"

#include <string.h>

#include "base/detail.h"
#include "executor/park.h"

/// Long enough to catch the next step of a call, short enough not to be seen in a profile.
enum { short_spin_ns_k = 30000 };

/// By value; the first row is no mood.
static struct {
    char const *token;
    uint64_t spin_ns;
} const moods[] = {
    [0] = {"unknown", 0},
    [uform_mood_spinning_k] = {"spinning", UFORM_SPIN_ENDLESS},
    [uform_mood_chilling_k] = {"chilling", short_spin_ns_k},
    [uform_mood_sleeping_k] = {"sleeping", 0},
};

enum { mood_count_k = sizeof(moods) / sizeof(moods[0]) };

uint64_t uform_mood_spin_ns_(uform_mood_t mood) {
    return moods[mood].spin_ns;
}

uform_status_t uform_mood_check_(uform_mood_t mood) {
    if (mood > 0 && (size_t)mood < mood_count_k) return uform_status_ok_k;
    return uform_fail_(
        uform_status_invalid_argument_k, "mood: expected 1 to %d, found %d", (int)mood_count_k - 1, (int)mood);
}

char const *uform_mood_name(uform_mood_t mood) {
    return moods[mood > 0 && (size_t)mood < mood_count_k ? mood : 0].token;
}

uform_status_t uform_mood_parse(char const *token, uform_mood_t *mood) {
    if (!mood) return uform_fail_(uform_status_invalid_argument_k, "mood: expected a pointer, found NULL");
    *mood = (uform_mood_t)0;
    if (!token) return uform_fail_(uform_status_invalid_argument_k, "mood: expected a token, found NULL");
    for (size_t i = 1; i < mood_count_k; i++) {
        if (strcmp(token, moods[i].token) != 0) continue;
        *mood = (uform_mood_t)i;
        return uform_status_ok_k;
    }
    return uform_fail_(
        uform_status_not_found_k, "mood: expected spinning, chilling or sleeping, found \"%.100s\"", token);
}
