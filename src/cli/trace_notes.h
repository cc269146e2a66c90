/* trace_notes.h - what is written behind the spans of a waterfall: the function each was mostly in.
 */
#pragma once
#include "base/arena.h"
#include "cli/client.h"
#include "model/ids.h"

struct sf_trace_note {
    sf_span_id span;
    sf_str text; /* "checkPriceRules 232 ms, 38 %" */
};

struct sf_trace_notes {
    struct sf_trace_note *list; /* by span */
    uint32_t n, cap;
    bool has_estimates; /* a note begins with "~" */
    sf_str left_out;    /* what they were not made from, or why there are none; empty: nothing */
};

/* Asks the server. One that does not know them (a Tempo, an older server) leaves them empty: the
 * waterfall is worth showing without them. In `req`. */
void sf_trace_notes_ask(const struct sf_client *client, const char *id, struct sf_arena *req,
                        struct sf_trace_notes *out);
/* Empty: none. */
sf_str sf_trace_notes_find(const struct sf_trace_notes *notes, sf_span_id span);
/* The notes of an answer's body. False: it is not one, or `req` is full. */
bool sf_trace_notes_read(sf_str body, struct sf_arena *req, struct sf_trace_notes *out);
