/* debuginfod.h - one file by build id from servers that speak debuginfod's protocol: GET
 * URL/buildid/ID/debuginfo or /executable.
 *
 * Only the servers that the operator named are called, over http or https; an answer that sends us
 * elsewhere is followed to the same scheme, host and port only. Time and length are bounded, and
 * what comes is checked like an upload. */
#pragma once
#include "symbol/symbol_files.h"

struct sf_debuginfod {
    const char *const *urls; /* borrowed */
    size_t n_urls;
    int64_t timeout_ns;         /* of one answer */
    const atomic_bool *is_over; /* true: give up at once */
};

/* INPUT: not the address of a server, with what is wrong. */
enum sf_err sf_debuginfod_check(const char *url, struct sf_why *why);
/* Asks one server after the other. The file is in its place when it comes back with OK. NOT_FOUND:
 * none of them has it; otherwise the error of the first one that failed. */
enum sf_err sf_debuginfod_fetch(const struct sf_debuginfod *d, struct sf_symbol_files *files,
                                const struct sf_symbol_id *id, enum sf_symbol_part part,
                                struct sf_symbol_info *out, struct sf_why *why);
