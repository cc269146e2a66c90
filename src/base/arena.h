/* arena.h - allocates from a reserved address range with a cap; everything is freed together.
 *
 * A function that returns things takes `struct sf_arena *req`: they live there. One that needs
 * scratch takes `struct sf_arena scratch` by value: its allocations are freed on return, because
 * the caller's copy of the struct is unchanged. An arena at its cap returns NULL and the request
 * ends with LIMIT; a big request is never a reason to abort. One thread at a time. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct sf_arena_touched; /* shared with its copies */

struct sf_arena {
    uint8_t *base;
    size_t at, cap;  /* at: bytes used; cap: bytes reserved */
    size_t tail;     /* bytes used at the end of the range */
    size_t poisoned; /* under the sanitizers: how far a reset has poisoned it */
    /* For an arena that is counted in an account (base/account.h): how much may be used before the
     * touched memory of it and its copies must be checked again. */
    struct sf_arena_touched *touched;
    size_t counted, counted_tail;
};

/* Reserves `cap` bytes; only touched pages cost memory. False: no address space. Touched memory is
 * counted in the thread's account, if it has one. */
bool sf_arena_init(struct sf_arena *a, size_t cap);
/* For an arena made by a thread without an account: counts it in the current thread's account from
 * now on. False: no memory. */
bool sf_arena_count(struct sf_arena *a);
size_t sf_arena_touched(const struct sf_arena *a); /* for a counted arena: touched memory now */
void sf_arena_done(struct sf_arena *a);            /* a zeroed arena is fine */
/* Empties it. Keeps up to 1 MiB of touched memory, and up to 256 KiB of the list at its end, and
 * gives the rest back. With sanitizers the old content is poisoned, so that use of a stale pointer
 * is detected. */
void sf_arena_reset(struct sf_arena *a);
/* The same, and also gives back memory that was touched through copies of the struct. */
void sf_arena_release(struct sf_arena *a);
/* The same for an arena that is kept for reuse, with up to `keep_len` bytes: it leaves the thread's
 * account; sf_arena_borrow() adds it to the account of the thread that takes it. */
void sf_arena_lend(struct sf_arena *a, size_t keep_len);
bool sf_arena_borrow(struct sf_arena *a); /* false: refused by the account */
size_t sf_arena_used(const struct sf_arena *a);

void *sf_arena_new(struct sf_arena *a, size_t size); /* zeroed, 16-aligned; NULL at the cap */
void *sf_arena_new_n(struct sf_arena *a, size_t n,
                     size_t size); /* zeroed array; NULL also on wrap */
void *sf_arena_raw(struct sf_arena *a, size_t size, size_t align); /* not zeroed */
/* Grows the newest allocation in place, or copies; the new part is not zeroed. */
void *sf_arena_grow(struct sf_arena *a, void *old, size_t old_size, size_t new_size);
/* Grows a list downwards from the end of the arena, which is used for nothing else: adds one item
 * before the existing ones. For a list of unknown length that is filled while its items allocate
 * from the same arena: doubling would take three times the memory. NULL at the cap; one such list
 * per arena. */
void *sf_arena_tail(struct sf_arena *a, size_t item_size);
bool sf_arena_copy(struct sf_arena *a, sf_str s, sf_str *out);
/* Formats into the arena, terminated; `out->p` is a C string. */
bool sf_arena_print(struct sf_arena *a, sf_str *out, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
