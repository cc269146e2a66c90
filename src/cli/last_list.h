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

/* Whether the word is a row number, 1 to 9999, for a command that also takes files; a file of that
 * name takes precedence. */
bool sf_last_list_is_chosen(const char *word);
/* Saves rows for later commands if standard output is a terminal. False: it is not one, or saving
 * failed; then rows are shown without numbers. */
bool sf_last_list_keep(const struct sf_client *client, const struct sf_last_row *rows, uint32_t n);
/* Writes how to see the profile of a row: by number if rows have numbers, else by `span`. */
void sf_last_list_hint(const struct sf_client *client, sf_span_id span, bool has_numbers,
                       struct sf_buf *out);

enum sf_last_word { SF_LAST_OTHER, SF_LAST_ROW, SF_LAST_FAULT };
/* Interprets a word of a command. SF_LAST_ROW: a row number; returns its ids as text, `span` NULL
 * if it has none. SF_LAST_FAULT: no such row; `why` says why. SF_LAST_OTHER: not a number. */
enum sf_last_word sf_last_list_read(const char *word, struct sf_client *client,
                                    struct sf_arena *req, const char **trace, const char **span,
                                    struct sf_why *why);
