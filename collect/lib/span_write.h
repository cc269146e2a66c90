/* span_write.h - shared by span.c and span_attr.c, which write a span's message. */
#pragma once
#include "base/limits.h"
#include "collect/send/outbox.h"

enum {
    SF_SPAN_NAME_MAX = SF_LIMIT_NAME_LEN,
    /* Maximum length of a span: with the fields of its end and its header it still fits a piece of
     * the outbox. */
    SF_SPAN_BODY_MAX = SF_OUTBOX_PIECE_CAP - 256
};
/* Whether the program has set that attribute of the span. */
bool sf_span_attr_has(const struct sf_span_slot *slot, sf_str key);
