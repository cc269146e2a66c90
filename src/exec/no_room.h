/* no_room.h - what a query says when its arena is full. */
#pragma once
#include "base/err.h"

static inline enum sf_err sf_exec_no_room(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "the query does not fit its memory");
}
