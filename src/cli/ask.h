/* ask.h - sends one query to a server and prints its answer, which the server writes as text or
 * JSON. */
#pragma once
#include "cli/answer.h"
#include "cli/client.h"

/* Adds "&name=value", encoded; nothing when the value is NULL. */
void sf_ask_param(struct sf_buf *path, const char *name, const char *value);
/* Adds "/api/v1/spans/TRACE/SPAN/what"; without a trace the server finds it. */
void sf_ask_span(struct sf_buf *path, const char *trace, const char *span, const char *what);
/* GETs `path` (with its parameters) as text or JSON; NOT_FOUND: the server answered 404. */
enum sf_err sf_ask(const struct sf_client *client, enum sf_output form, struct sf_buf *path,
                   struct sf_buf *out, struct sf_why *why);
/* GETs `path` (with its parameters) and prints the answer; returns the exit code. Frees `path`.
 * `output`: the value of --output. */
int sf_ask_and_print(const char *command, const struct sf_client *client, const char *output,
                     struct sf_buf *path);
