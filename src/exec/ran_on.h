/* ran_on.h - where a span ran: its process, as its sender says. */
#pragma once
#include "base/arena.h"
#include "model/span.h"

/* Where each resource runs, in `tmp`; NULL: it is full. `is_guess` is set when one does not say. */
uint64_t *sf_ran_on_processes(const struct sf_resource *resources, uint32_t n, struct sf_arena *tmp,
                              bool *is_guess);
