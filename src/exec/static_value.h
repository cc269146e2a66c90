/* static_value.h - converts a TraceQL value for answers: numbers, strings and booleans unchanged,
 * others as text (error, server, 1.5s, nil). */
#pragma once
#include "base/arena.h"
#include "query/ast.h"

bool sf_static_value_of(struct sf_arena *req, struct sf_static v,
                        struct sf_value *out); /* false: no space */
