/* text_word.h - splits a line into words. Private to this module. */
#pragma once
#include "base/str.h"

static inline bool sf_text_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Takes the next word from `*rest`; false at the end. */
static inline bool sf_text_word(sf_str *rest, sf_str *out)
{
    size_t at = 0, end;
    while (at < rest->len && sf_text_is_blank(rest->p[at]))
        at++;
    for (end = at; end < rest->len && !sf_text_is_blank(rest->p[end]);)
        end++;
    *out = sf_str_part(*rest, at, end - at);
    *rest = sf_str_from_at(*rest, end);
    return out->len > 0;
}
