/* query_text.h - a TraceQL query on the command line: read it, check it, show what is wrong. */
#pragma once
#include "base/buf.h"
#include "query/query_parse.h"

/* `word` is the query, or "-" for standard input. Lines that start with '#', perhaps behind
 * blanks, are left out but still counted. INPUT when nothing is left. */
enum sf_err sf_query_text_read(const char *word, struct sf_buf *out, struct sf_why *why);
/* The faulty line, its faulty place underlined, and red where there are colours: what lies outside
 * `columns` is cut around it. Nothing when the fault has no place. */
void sf_query_text_mark(sf_str query, struct sf_query_fault fault, size_t columns, bool has_color,
                        struct sf_buf *out);
/* Parses it; on a fault the marked query and the sentence go to stderr. Lives in `req`. */
bool sf_query_text_check(const char *command, sf_str query, struct sf_arena *req,
                         const struct sf_query **out);
