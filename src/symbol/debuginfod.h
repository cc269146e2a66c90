/* debuginfod.h - downloads a file by build id from debuginfod servers: GET URL/buildid/ID/debuginfo
 * or /executable.
 *
 * Only configured servers are called, over http or https; redirects are followed only to the same
 * scheme, host and port. Time and length are limited, and the file is checked like an upload. */
#pragma once
#include "symbol/symbol_files.h"

struct sf_debuginfod {
    const char *const *urls; /* borrowed */
    size_t n_urls;
    int64_t timeout_ns;         /* time limit of one answer */
    const atomic_bool *is_over; /* true: stop at once */
};

/* INPUT: not the URL of a server; the message says why. */
enum sf_err sf_debuginfod_check(const char *url, struct sf_why *why);
/* Asks one server after the other. OK: the file is stored. NOT_FOUND: none of them has it;
 * otherwise the error of the first one that failed. */
enum sf_err sf_debuginfod_fetch(const struct sf_debuginfod *d, struct sf_symbol_files *files,
                                const struct sf_symbol_id *id, enum sf_symbol_part part,
                                struct sf_symbol_info *out, struct sf_why *why);
