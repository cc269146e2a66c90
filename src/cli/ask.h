/* ask.h - one query to a server whose answer it can write as text or JSON itself. */
#pragma once
#include "cli/answer.h"
#include "cli/client.h"

/* Adds "&name=value", encoded; nothing when there is no value. */
void sf_ask_param(struct sf_buf *path, const char *name, const char *value);
/* Adds "/api/v1/spans/TRACE/SPAN/what"; without a trace the server finds it. */
void sf_ask_span(struct sf_buf *path, const char *trace, const char *span, const char *what);
/* GETs `path` (with its parameters) as text or JSON; NOT_FOUND: the server has no such thing. */
enum sf_err sf_ask(const struct sf_client *client, enum sf_output form, struct sf_buf *path,
                   struct sf_buf *out, struct sf_why *why);
/* GETs `path` (with its parameters) and prints the answer; gives the exit code. `path` is done
 * afterwards. `output`: the value of --output. */
int sf_ask_and_print(const char *command, const struct sf_client *client, const char *output,
                     struct sf_buf *path);
