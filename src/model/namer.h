/* namer.h - interface that finds function names for code that a profile identifies only by build id
 * and offset. The store calls it while it builds an answer; app sets the implementation, which
 * reads debug files. */
#pragma once
#include "base/arena.h"
#include "base/str.h"

struct sf_unnamed { /* code without a name */
    sf_str build_id;
    uint64_t file_off;
};

struct sf_named_line {
    sf_str function, file;
    uint32_t line;
};

struct sf_named {                      /* the result; strings are in the caller's arena */
    const struct sf_named_line *lines; /* the innermost first; NULL: no name */
    uint32_t n_lines;
    uint64_t start_off; /* without a name: file offset where its function begins; 0: unknown */
};

struct sf_naming {       /* counted over one query */
    uint64_t n_asked;    /* frames with a build id and without a name from the sender */
    uint64_t n_named;    /* of those: names found */
    uint64_t n_pending;  /* of those: their file is being read or downloaded; a later query will
                          * have the names */
    uint64_t n_fetching; /* of the pending ones: being downloaded; queries do not wait for that */
};

struct sf_namer {
    /* Fills out[i] for list[i]; never fails: unknown ones stay unnamed. Waits for local files until
     * `deadline_ns` (monotonic; 0: not at all) and never for the network. Any thread. */
    void (*find)(struct sf_namer *namer, const uint32_t *tenants, size_t n_tenants,
                 const struct sf_unnamed *list, uint32_t n, int64_t deadline_ns,
                 struct sf_arena *req, struct sf_named *out, struct sf_naming *naming);
    /* Waits until all requested code was looked up in local files, or until `deadline_ns`. The
     * caller holds no lock. Any thread. */
    void (*settle)(struct sf_namer *namer, int64_t deadline_ns);
};
