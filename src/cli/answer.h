/* answer.h - what commands share when they show something: --output, the request arena, the fault
 * on stderr. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum sf_output { SF_OUTPUT_TEXT, SF_OUTPUT_JSON, SF_OUTPUT_CSV, SF_OUTPUT_BAD };

/* NULL is text. A word other than text, json and, if `has_csv`, csv: BAD, reported on stderr. */
enum sf_output sf_answer_output(const char *command, const char *word, bool has_csv);
/* "spanflame trace: <sentence>" on stderr; gives the exit code. */
int sf_answer_fault(const char *command, const struct sf_why *why);
/* Something worth knowing that is not a failure, on stderr: standard output stays data. */
void sf_answer_note(const char *command, const char *note);
/* The same of all answers of the server together: each sentence once, however often it comes. */
void sf_answer_note_once(const char *note);
int sf_answer_usage(const char *command,
                    const char *sentence); /* exit code 2, with a hint to --help */
/* Writes to standard output; gives the exit code. The buffer is done afterwards. */
int sf_answer_write(struct sf_buf *out);
/* How every command ends: what was written, or the fault. Gives the exit code; the buffer is done.
 */
int sf_answer_end(const char *command, enum sf_err err, struct sf_buf *out,
                  const struct sf_why *why);
