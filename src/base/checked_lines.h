/* checked_lines.h - small files of lines that the server keeps for itself: alerts, silences,
 * deploys. The first line has the kind, its version and a checksum of all that follows. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* Adds the file to `out` and frees `body`; a fault of `body` becomes one of `out`. `head` is
 * "spanflame-deploys 1 ". */
void sf_checked_lines_write(const char *head, struct sf_buf *body, struct sf_buf *out);
/* What follows the first line. CORRUPT: that is another, or the checksum is wrong; `what` is the
 * sentence's subject. */
enum sf_err sf_checked_lines_read(const char *head, const char *what, sf_str text, sf_str *out,
                                  struct sf_why *why);
