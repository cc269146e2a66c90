/* arena.h - a reserved range with a cap, freed whole; nothing inside has a free function.
 *
 * A function that returns things takes `struct sf_arena *req`: they live there. One that needs
 * scratch takes `struct sf_arena scratch` by value: what it uses is returned on return, because
 * the caller's own copy never moved. An arena at its cap returns NULL and the request ends with
 * LIMIT; a big request is never a reason to abort. One thread at a time. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct sf_arena_touched; /* shared with its copies */

struct sf_arena {
    uint8_t *base;
    size_t at, cap;  /* bytes used; bytes reserved */
    size_t tail;     /* bytes used at the far end */
    size_t poisoned; /* under the sanitizers: how far a reset has poisoned it */
    /* Of one that counts in an account (base/account.h): how far it may be used without a examine
     * what it and its copies have touched. */
    struct sf_arena_touched *touched;
    size_t counted, counted_tail;
};

/* Reserves `cap` bytes; only touched pages cost memory. False: no address space. What it touches
 * counts in the account of the thread, if that has one. */
bool sf_arena_init(struct sf_arena *a, size_t cap);
/* For one that was made by a thread without an account: from now on it counts in the account of
 * its user. False: no memory. */
bool sf_arena_count(struct sf_arena *a);
size_t sf_arena_touched(const struct sf_arena *a); /* of one that counts: what it costs just now */
void sf_arena_done(struct sf_arena *a);            /* a zeroed arena is fine */
/* Empties. Keeps up to 1 MiB of touched memory, gives the rest back. Under tests' sanitizers the
 * old content is poisoned, so that a stale view fails at once. */
void sf_arena_reset(struct sf_arena *a);
/* The same, and returns what was touched through copies of it, of which it does not know. */
void sf_arena_release(struct sf_arena *a);
/* The same for one that is kept for others, and keeps more: it leaves the thread's account, and
 * enters that of the thread that takes it. */
void sf_arena_lend(struct sf_arena *a, size_t keep_len);
bool sf_arena_borrow(struct sf_arena *a); /* false: refused by the account */
size_t sf_arena_used(const struct sf_arena *a);

void *sf_arena_new(struct sf_arena *a, size_t size); /* zeroed, 16-aligned; NULL at the cap */
void *sf_arena_new_n(struct sf_arena *a, size_t n,
                     size_t size); /* zeroed array; NULL also on wrap */
void *sf_arena_raw(struct sf_arena *a, size_t size, size_t align); /* not zeroed */
/* Grows the newest allocation in place, or copies; the new part is not zeroed. */
void *sf_arena_grow(struct sf_arena *a, void *old, size_t old_size, size_t new_size);
/* Grows a list downwards from the far end of the arena, where nothing else is ever put: one item
 * more, in front of those it has. For a list whose length is not known, filled beside what its
 * items point to: doubling it would take three times its room. NULL at the cap; one such list an
 * arena. */
void *sf_arena_tail(struct sf_arena *a, size_t item_size);
bool sf_arena_copy(struct sf_arena *a, sf_str s, sf_str *out);
/* Formats into the arena, terminated; `out->p` is a C string. */
bool sf_arena_print(struct sf_arena *a, sf_str *out, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
