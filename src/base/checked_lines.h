/* checked_lines.h - small files of lines with a checksum: alerts, silences, deploys. The first line
 * has the kind, its version and a checksum of all that follows. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* Adds the file to `out` and frees `body`; an error of `body` is copied to `out`. `head` is
 * "spanflame-deploys 1 ". */
void sf_checked_lines_write(const char *head, struct sf_buf *body, struct sf_buf *out);
/* The text after the first line. CORRUPT: another kind of file, or a wrong checksum; `what` is the
 * subject of the message. */
enum sf_err sf_checked_lines_read(const char *head, const char *what, sf_str text, sf_str *out,
                                  struct sf_why *why);
