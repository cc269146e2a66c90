/* collide.h - keys an attacker would send: under the open hashes of base/hash.h all of them lead to
 * one place of a table. Tests count a table's steps for them and for ordinary keys. */
#pragma once
#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/table.h"

enum {
    COLLIDE_KEYS = 600,      /* a table of them has 1,024 slots */
    COLLIDE_LEN = 24,        /* of a text */
    COLLIDE_PLACES = 1 << 10 /* equal in this many places, counted in the upper half */
};

/* Ids whose sf_hash_mix(0, id) has an upper half of zero: its steps, reverted. */
static inline uint64_t collide_id(uint64_t i)
{
    uint64_t x = i, inverse = 1;
    for (int k = 0; k < 6; k++) /* of an odd number, by Newton */
        inverse *= 2 - 0xd6e8feb86659fd93u * inverse;
    x ^= x >> 32;
    x *= inverse;
    x ^= x >> 32;
    return x - 0x9e3779b97f4a7c15u;
}

/* The next text of a series; *io_at counts what was tried. */
static inline sf_str collide_text(char out[COLLIDE_LEN], uint64_t *io_at, bool is_colliding)
{
    sf_str s = {out, 0};
    do {
        s.len = (size_t)snprintf(out, COLLIDE_LEN, "k%" PRIu64, ++*io_at);
    } while (is_colliding && sf_hash_str(s) >> 32 & (COLLIDE_PLACES - 1));
    return s;
}

/* With one place for all, a look-up steps over half of them. */
static inline void collide_check(uint64_t n_steps, uint64_t n_steps_of_others)
{
    assert_true(n_steps_of_others >= COLLIDE_KEYS / 2);
    assert_true(n_steps < 4 * n_steps_of_others);
}
