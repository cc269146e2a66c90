/* query_text.h - a TraceQL query on the command line: reads and checks it, and shows where an error
 * is. */
#pragma once
#include "base/buf.h"
#include "query/query_parse.h"

/* `word` is the query, or "-" for standard input. Lines whose first non-blank character is '#' are
 * comments; they still count as lines. INPUT when nothing else is left. */
enum sf_err sf_query_text_read(const char *word, struct sf_buf *out, struct sf_why *why);
/* Shows the line with the error, underlined and, with colours, red; longer lines are cut to
 * `columns` around it. Writes nothing when the error has no position. */
void sf_query_text_mark(sf_str query, struct sf_query_fault fault, size_t columns, bool has_color,
                        struct sf_buf *out);
/* Parses the query into `req`; on an error prints the marked query and the message on stderr. */
bool sf_query_text_check(const char *command, sf_str query, struct sf_arena *req,
                         const struct sf_query **out);
