/* guard_ask.h - reads from a server how two versions of the same requests differ, as measures to
 * judge. */
#pragma once
#include "base/arena.h"
#include "cli/client.h"
#include "link/guard.h"

enum {
    SF_GUARD_DURATION,
    SF_GUARD_CPU,
    SF_GUARD_LOCK,
    SF_GUARD_ALLOC,
    SF_GUARD_ERRORS,
    SF_GUARD_N_MEASURES,
};

struct sf_guard_row {
    sf_str name;               /* a sample type of files that is not one of the measures */
    struct sf_guard_measure m; /* nanoseconds or bytes; for errors a share of the spans */
    bool is_there;             /* false: no data */
    sf_str function;           /* the function that grew most, significantly; empty: unknown */
    double function_delta;
};

struct sf_guard_report {
    struct sf_guard_row rows[SF_GUARD_N_MEASURES];
    uint64_t n_left, n_right; /* spans that match, on each side */
    sf_str summary;           /* the server's sentence about the time of a request */
    int64_t asked_ns;         /* unix time: end of the compared range */
    bool is_by_samples;       /* from two files: the interval does not include the variation between
                               * runs */
};

struct sf_guard_question {
    const char *query, *by, *left, *right;
    int64_t since_ns;
};

/* Strings live in `req`. A side without spans is not a failure: n_left or n_right is 0. */
enum sf_err sf_guard_ask(const struct sf_client *client, const struct sf_guard_question *question,
                         struct sf_arena *req, struct sf_guard_report *out, struct sf_why *why);
/* "duration", "CPU", "lock time", "allocation", "errors" */
const char *sf_guard_ask_measure_name(unsigned measure);
