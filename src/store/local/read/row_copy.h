/* row_copy.h - deep copies of rows, which stay valid after the granule or memtable is gone.
 *
 * Each function replaces a borrowed view by a copy in the arena; false: the arena is full. */
#pragma once
#include "base/arena.h"
#include "model/span.h"

bool sf_row_copy_value(struct sf_arena *a, struct sf_value *v);
bool sf_row_copy_span(struct sf_arena *a, struct sf_span *s);
bool sf_row_copy_resource(struct sf_arena *a, struct sf_resource *r);
bool sf_row_copy_scope(struct sf_arena *a, struct sf_scope *s);
