/* text_check.h - what a text for people must contain. */
#pragma once
#include <string.h>

#include "base/buf.h"
#include "test.h"

/* Ends and frees `out`. */
static inline void check_contains(struct sf_buf *out, const char *text)
{
    sf_buf_add_u8(out, 0);
    if (!strstr((const char *)out->p, text))
        fail_msg("no '%s' in: %s", text, (const char *)out->p);
    sf_buf_done(out);
}
