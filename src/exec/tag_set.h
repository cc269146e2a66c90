/* tag_set.h - distinct values, and how often each occurred. All memory is in an arena. */
#pragma once
#include "base/arena.h"
#include "base/table.h"
#include "model/tags.h"

/* An answer has at most a million bytes: more distinct values than this never fit. */
enum { SF_TAG_SET_MAX = 250000 };

struct sf_tag_set { /* zero-initialize it and set `req` */
    struct sf_arena *req;
    struct sf_tag_value *list;
    uint32_t n, cap;
    struct sf_table at;
    bool is_full; /* a value was left out: too many, or no memory */
};

/* Counts a value; `text` is copied if it is new. */
void sf_tag_set_add(struct sf_tag_set *s, enum sf_tag_type type, sf_str text, uint64_t n);
/* Sorts by frequency, most frequent first, ties by text. */
void sf_tag_set_sort(struct sf_tag_set *s);
void sf_tag_set_sort_by_text(struct sf_tag_set *s);
/* Keeps the first `max` (0: any number) and at most `*room` bytes of text, which are subtracted
 * from *room. False if something was left out. */
bool sf_tag_set_cut(struct sf_tag_set *s, uint64_t max, size_t *room);
