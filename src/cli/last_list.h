/* last_list.h - the rows that `search` or `trace` showed last on a terminal, so that the next
 * command takes them by number: `spanflame flame 3`.
 *
 * One file a user, spanflame/last-list in XDG_RUNTIME_DIR, else in XDG_STATE_HOME, else in
 * ~/.local/state, with mode 0600. Lines: "spanflame list 1", "server URL", "tenant NAME" where one
 * was named, "row TRACE SPAN" for each row. A list is used for a day. */
#pragma once
#include "base/arena.h"
#include "cli/client.h"
#include "model/ids.h"

struct sf_last_row {
    sf_trace_id trace;
    sf_span_id span; /* 0: the row is a trace without a span of its own */
};

enum { SF_LAST_ROWS_MAX = 9999 };

/* Is the word the number of a row, 1 to 9999, in a command that takes files too? A file that is
 * called so goes first. */
bool sf_last_list_is_chosen(const char *word);
/* Keeps rows for later, if standard output is a terminal. False: it is none, or the list could not
 * be kept; then rows have no numbers. */
bool sf_last_list_keep(const struct sf_client *client, const struct sf_last_row *rows, uint32_t n);
/* A line that says how to see what a row ran: by number where rows have some, else by `span`. */
void sf_last_list_hint(const struct sf_client *client, sf_span_id span, bool has_numbers,
                       struct sf_buf *out);

enum sf_last_word { SF_LAST_OTHER, SF_LAST_ROW, SF_LAST_FAULT };
/* What a command's word is: SF_LAST_ROW gives the ids of the row as text, `span` NULL where it has
 * none; SF_LAST_FAULT says why there is no such row; anything that is not a number is
 * SF_LAST_OTHER.
 */
enum sf_last_word sf_last_list_read(const char *word, struct sf_client *client,
                                    struct sf_arena *req, const char **trace, const char **span,
                                    struct sf_why *why);
