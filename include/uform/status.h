/**
 *  Status codes, their names, and the words behind the calling thread's last failure.
 */
#ifndef UFORM_STATUS_H
#define UFORM_STATUS_H

#if defined(__GNUC__) || defined(__clang__)
#define UFORM_PUBLIC __attribute__((visibility("default")))
#define UFORM_MUST_CHECK __attribute__((warn_unused_result))
#else
#define UFORM_PUBLIC
#define UFORM_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 *  The one table of statuses: name, value, and what it means. Every binding asks C for names and texts.
 */
#define UFORM_STATUSES(row)                                                                                            \
    row(ok, 0, "success") row(invalid_argument, 1, "an argument is out of its documented range")                       \
        row(unsupported, 2, "this build, machine or model cannot do it")                                               \
            row(contended, 3, "the executor or its table of deferred calls is in use") row(out_of_memory, 4,           \
                "memory could not be allocated") row(not_found, 5, "a file, a key or a name does not exist")           \
                row(io_failed, 6, "reading or writing failed") row(malformed, 7, "a file or an input is broken")       \
                    row(mismatched, 8, "objects that do not belong together")                                          \
                        row(timed_out, 9, "the time given was not enough")                                             \
                            row(device_failed, 10, "a device reported a fault")                                        \
                                row(not_finite, 11, "a result holds a NaN or an infinity")

typedef enum uform_status_t {
#define UFORM_STATUS_ROW_(name, value, text) uform_status_##name##_k = value,
    UFORM_STATUSES(UFORM_STATUS_ROW_)
#undef UFORM_STATUS_ROW_
} uform_status_t;

/**
 *  The status's token, e.g. "not_found"; "unknown" for a value outside the enumeration. Static storage, thread-safe.
 */
UFORM_PUBLIC char const *uform_status_name(uform_status_t status);

/**
 *  One sentence that says what the status means. Static storage, thread-safe.
 */
UFORM_PUBLIC char const *uform_status_text(uform_status_t status);

/**
 *  The calling thread's last failure in words, e.g.
 *  `model/config.json: hidden_size: expected a positive integer, found "x"`; an empty string before any failure.
 *  Valid until the same thread's next failing call. Thread-safe: every thread has its own.
 */
UFORM_PUBLIC char const *uform_last_detail(void);

#ifdef __cplusplus
}
#endif

#endif
