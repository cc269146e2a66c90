/* answer.h - what all commands use to print results: --output, the request arena, errors on
 * stderr. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum sf_output { SF_OUTPUT_TEXT, SF_OUTPUT_JSON, SF_OUTPUT_CSV, SF_OUTPUT_BAD };

/* NULL means text. BAD, reported on stderr: a word other than text, json and, if `has_csv`, csv. */
enum sf_output sf_answer_output(const char *command, const char *word, bool has_csv);
/* Prints "spanflame trace: <sentence>" on stderr; returns the exit code. */
int sf_answer_fault(const char *command, const struct sf_why *why);
/* Prints a note on stderr, so that standard output contains data only. */
void sf_answer_note(const char *command, const char *note);
/* The same for notes of the server: each text is printed once, however often it comes. */
void sf_answer_note_once(const char *note);
int sf_answer_usage(const char *command,
                    const char *sentence); /* exit code 2, with a hint to --help */
/* Writes to standard output and frees the buffer; returns the exit code. */
int sf_answer_write(struct sf_buf *out);
/* The end of every command: prints the result or the error, frees the buffer, returns the exit
 * code. */
int sf_answer_end(const char *command, enum sf_err err, struct sf_buf *out,
                  const struct sf_why *why);
