/* span_columns.h - rows of whole traces whose columns are read when they are requested.
 *
 * What the store shows of a granule: callers request the most selective column first, and the next
 * one only while rows are left. Everything is borrowed from the store until it shows the next rows.
 * One thread. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/select.h"
#include "model/span_rows.h"

struct sf_span_columns {
    struct sf_span_rows rows; /* with the columns read so far; n_rows may exceed SF_ROWS_MAX */
    uint64_t tables;          /* equal numbers: the same rows.resources and rows.scopes; never 0 */
    uint32_t n_traces;
    const sf_trace_id *trace_ids; /* SF_COL_TRACES */
    const uint32_t *firsts;       /* likewise: first row of each trace; one more at the end */
    const uint8_t *is_parted;     /* by trace: may have rows elsewhere; NULL: any may */
    struct sf_arena *scratch;     /* for the caller; emptied with the rows */
    int64_t min_ns, max_ns;       /* all that can be kept: starts of the rows lie in here, */
    bool has_strays;              /* but for some that may not */
    /* Reads columns (enum sf_column; not ATTRS, EVENTS, LINKS or REST) that are not there yet.
     * CORRUPT: these rows cannot be read, which the store has taken note of; the next ones can. */
    enum sf_err (*add)(struct sf_span_columns *c, uint32_t columns, struct sf_why *why);
    /* One attribute of every row. */
    enum sf_err (*value)(struct sf_span_columns *c, const struct sf_key *key,
                         struct sf_value_column *out, struct sf_why *why);
    /* These rows will be the same whenever they are shown again: what is made of them can be kept
     * under a query, bytes that say everything it depends on but the rows. `recall` gives what
     * was kept, in `scratch`; false: nothing. Both NULL: other rows may be shown next time. */
    bool (*recall)(struct sf_span_columns *c, sf_bytes question, sf_bytes *out);
    void (*keep)(struct sf_span_columns *c, sf_bytes question, sf_bytes result);
};

/* Which traces can match? `hits` has a byte per trace, 1 where the caller needs a result; a 0
 * that is written there must be certain, for traces that may be parted too. */
struct sf_span_judge {
    enum sf_err (*judge)(void *arg, struct sf_span_columns *c, uint8_t *hits, struct sf_why *why);
    void *arg;
    bool wants_parts; /* is_parted is worth finding out */
    /* Bytes that say everything the decision depends on but the rows; conditions sent along follow
     * from them. The store may then skip granules in which nothing was found before. Empty: it
     * depends on more. */
    sf_bytes question;
};
