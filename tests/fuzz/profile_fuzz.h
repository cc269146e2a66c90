/* profile_fuzz.h - what all profile targets do: decode a copy of exact size, as the named format,
 * with an arena that may be too small, and check what comes out. */
#pragma once
#include <stdlib.h>
#include <string.h>

#include "decode/profile_format.h"
#include "support/profile_check.h"

static inline void profile_fuzz_decode(sf_str bytes, const struct sf_profile_hint *hint,
                                       struct sf_arena *a)
{
    struct sf_profile_batch batch, before;
    struct sf_why why;
    enum sf_err err;
    const void *now = &batch, *was = &before; /* bytes: nothing of it may be touched */
    memset(&batch, 0x5a, sizeof(batch));
    memcpy(&before, &batch, sizeof(batch));
    err = sf_profile_format_decode(bytes, hint, a, &batch, &why);
    if (err) {
        PROFILE_MUST(err == SF_ERR_INPUT || err == SF_ERR_LIMIT || err == SF_ERR_UNSUPPORTED);
        PROFILE_MUST(memcmp(now, was, sizeof(batch)) == 0);
        PROFILE_MUST(why.text[0]);
    } else {
        profile_check(&batch);
    }
}

static inline int profile_fuzz_run(const uint8_t *data, size_t size,
                                   const struct sf_profile_hint *hint)
{
    struct sf_arena a = {0};
    char *copy = malloc(size ? size : 1);
    size_t whole = SF_LIMIT_ARENA_LEN;
    if (!copy || !sf_arena_init(&a, whole))
        abort();
    memcpy(copy, data, size);
    (void)sf_profile_format_find((sf_str){copy, size});
    profile_fuzz_decode((sf_str){copy, size}, hint, &a);
    /* Once more with less memory than it took, somewhere in the middle. */
    a.cap = sf_arena_used(&a) ? sf_arena_used(&a) - 1 - (size * 7919) % sf_arena_used(&a) : 0;
    sf_arena_reset(&a);
    profile_fuzz_decode((sf_str){copy, size}, hint, &a);
    a.cap = whole;
    sf_arena_done(&a);
    free(copy);
    return 0;
}
