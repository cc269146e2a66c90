/* tag_set.h - different values and how often each was seen. Lives in an arena. */
#pragma once
#include "base/arena.h"
#include "base/table.h"
#include "model/tags.h"

/* An answer holds a million bytes: more different values than this never fit one. */
enum { SF_TAG_SET_MAX = 250000 };

struct sf_tag_set { /* zero it and set `req` */
    struct sf_arena *req;
    struct sf_tag_value *list;
    uint32_t n, cap;
    struct sf_table at;
    bool is_full; /* a value was left out: too many, or no memory */
};

/* Counts a value; `text` is copied when it is new. */
void sf_tag_set_add(struct sf_tag_set *s, enum sf_tag_type type, sf_str text, uint64_t n);
/* The most frequent first, ties by text. */
void sf_tag_set_sort(struct sf_tag_set *s);
void sf_tag_set_sort_by_text(struct sf_tag_set *s);
/* Keeps the first `max` (0: any number) and at most `*room` bytes of text, which it takes from
 * *room. False when something was cut. */
bool sf_tag_set_cut(struct sf_tag_set *s, uint64_t max, size_t *room);
