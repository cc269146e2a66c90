/* process_context.h - identifies the process to external profilers: OpenTelemetry's process
 * context, a mapping named OTEL_CTX.
 *
 *     0 "OTEL_CTX" | 8 version 2 | 12 payload size | 16 published at (0: being changed) | 24
 * payload
 *
 * One per process: when another library has published one, this library does not. A forked child
 * has none until it publishes its own. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"

enum sf_process_context_result {
    SF_PROCESS_CONTEXT_PUBLISHED,
    SF_PROCESS_CONTEXT_OTHERS, /* another library has already published one */
    SF_PROCESS_CONTEXT_FAILED
};

/* `resource` holds the attributes as field 1 each. Publishes them, or replaces those published
 * before. */
enum sf_process_context_result sf_process_context_publish(const struct sf_buf *resource);
void sf_process_context_forget(void); /* in a forked child, which does not inherit the mapping */
