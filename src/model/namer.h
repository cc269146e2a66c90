/* namer.h - names for code that a profile names by build id and offset only. The store asks while
 * it builds an answer; app points it at the space that reads debug files. */
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

struct sf_named { /* what is known of it; strings are allocated by the caller */
    const struct sf_named_line *lines; /* the innermost first; NULL: no name */
    uint32_t n_lines;
    uint64_t start_off; /* without a name: where its function begins in the file; 0: not known */
};

struct sf_naming {       /* counted over one query */
    uint64_t n_asked;    /* frames with a build id and no name of the sender's */
    uint64_t n_named;    /* of those: got one */
    uint64_t n_pending;  /* of those: their file is being read or fetched; a later query has them */
    uint64_t n_fetching; /* of the pending ones: from a server, for which no query waits */
};

struct sf_namer {
    /* Fills out[i] for list[i]; never fails: what is not known now stays unnamed. Waits for files
     * that are here until `deadline_ns` (monotonic; 0: not at all) and never for the network.
     * Any thread. */
    void (*find)(struct sf_namer *namer, const uint32_t *tenants, size_t n_tenants,
                 const struct sf_unnamed *list, uint32_t n, int64_t deadline_ns,
                 struct sf_arena *req, struct sf_named *out, struct sf_naming *naming);
    /* Waits until all that was asked is looked up in the files that are here, or until
     * `deadline_ns` at the latest. The caller holds no lock. Any thread. */
    void (*settle)(struct sf_namer *namer, int64_t deadline_ns);
};
