/* ran_on.h - the process in which a span ran, according to its sender. */
#pragma once
#include "base/arena.h"
#include "model/span.h"

/* The process of each resource, in `tmp`; NULL: it is full. `is_guess` is set if one is unknown. */
uint64_t *sf_ran_on_processes(const struct sf_resource *resources, uint32_t n, struct sf_arena *tmp,
                              bool *is_guess);
