/* span_write.h - what both halves of a span's message agree on. */
#pragma once
#include "base/limits.h"
#include "collect/send/outbox.h"

enum {
    SF_SPAN_NAME_MAX = SF_LIMIT_NAME_LEN,
    /* What a span may grow to: with its end and its head it still fits a piece of the outbox. */
    SF_SPAN_BODY_MAX = SF_OUTBOX_PIECE_CAP - 256
};
/* Has the program set that attribute of the span? */
bool sf_span_attr_has(const struct sf_span_slot *slot, sf_str key);
