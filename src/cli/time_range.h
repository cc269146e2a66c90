/* time_range.h - the time range of a query: --since, or --from and --until. */
#pragma once
#include "cli/args.h"

struct sf_time_range {
    const char *from, *until; /* as typed; NULL: not given */
    int64_t since_ns;         /* 0: not given */
};

/* Put them into a command's table of flags. */
#define SF_TIME_RANGE_FLAGS(range, from_help, until_help)                                        \
    {"since", SF_FLAG_DURATION, &(range).since_ns, "TIME", "how far to look back (default 1h)"}, \
        {"from", SF_FLAG_STR, &(range).from, "TIME", from_help},                                 \
    {                                                                                            \
        "until", SF_FLAG_STR, &(range).until, "TIME", until_help                                 \
    }

/* Default: the last hour. Returns an error message, or NULL. */
const char *sf_time_range_read(const struct sf_time_range *range, int64_t now_ns,
                               int64_t *out_from_ns, int64_t *out_until_ns);
