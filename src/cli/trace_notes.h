/* trace_notes.h - the notes after the spans of a waterfall: the function in which each spent most
 * time. */
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
    bool has_estimates; /* some notes begin with "~" */
    sf_str left_out;    /* why samples are missing from the notes, or why there are none; empty:
                         * nothing is missing */
};

/* Asks the server. With a server that does not support this (Tempo, an older version) there are no
 * notes, and the waterfall is shown without. In `req`. */
void sf_trace_notes_ask(const struct sf_client *client, const char *id, struct sf_arena *req,
                        struct sf_trace_notes *out);
/* Empty: none. */
sf_str sf_trace_notes_find(const struct sf_trace_notes *notes, sf_span_id span);
/* Reads the notes from an answer's body. False: not such an answer, or `req` is full. */
bool sf_trace_notes_read(sf_str body, struct sf_arena *req, struct sf_trace_notes *out);
