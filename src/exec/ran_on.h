/* ran_on.h - where a span ran: its process and its thread, as its sender says. */
#pragma once
#include "base/arena.h"
#include "model/span.h"

/* The thread a span says it ran on; 0: it says none. */
uint64_t sf_ran_on_thread(const struct sf_span *s);
/* Where each resource runs, in `tmp`; NULL: it is full. `is_guess` is set when one does not say. */
uint64_t *sf_ran_on_processes(const struct sf_resource *resources, uint32_t n, struct sf_arena *tmp,
                              bool *is_guess);
