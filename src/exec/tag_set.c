#include "exec/tag_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"

enum { FIRST = 128 };

/* The index of a value, or SF_TAG_SET_MAX; then `lookup` is the slot for a new one. */
static uint32_t tag_set_find(const struct sf_tag_set *s, enum sf_tag_type type, sf_str text,
                             struct sf_table_lookup *lookup)
{
    uint32_t at;
    *lookup = sf_table_lookup(&s->at, sf_key_mix(sf_key_str(text), (uint64_t)type));
    while (sf_table_next(lookup, &at)) {
        if (s->list[at].type == type && sf_str_eq(s->list[at].text, text))
            return at;
    }
    return SF_TAG_SET_MAX;
}

void sf_tag_set_add(struct sf_tag_set *s, enum sf_tag_type type, sf_str text, uint64_t n)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    bool has_room;
    sf_str kept;
    s->at.arena = s->req;
    has_room = s->n < SF_TAG_SET_MAX && sf_table_more(&s->at) &&
               sf_list_room_in(s->req, &s->list, s->n, &s->cap, FIRST);
    if (!s->at.n_slots) {
        s->is_full = true;
        return;
    }
    at = tag_set_find(s, type, text, &lookup);
    if (at < SF_TAG_SET_MAX) {
        s->list[at].n += n;
        return;
    }
    if (!has_room || !sf_arena_copy(s->req, text, &kept)) {
        s->is_full = true;
        return;
    }
    sf_table_keep(&s->at, &lookup, s->n);
    s->list[s->n++] = (struct sf_tag_value){type, kept, n};
}

static int tag_set_by_text(const void *a, const void *b)
{
    const struct sf_tag_value *x = a, *y = b;
    int c = sf_str_cmp(x->text, y->text);
    return c ? c : (int)x->type - (int)y->type;
}

static int by_count(const void *a, const void *b)
{
    const struct sf_tag_value *x = a, *y = b;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return tag_set_by_text(a, b);
}

/* Sorting invalidates the table's indexes: no values can be added to a sorted set. */
void sf_tag_set_sort(struct sf_tag_set *s)
{
    if (s->n)
        qsort(s->list, s->n, sizeof(*s->list), by_count);
}

void sf_tag_set_sort_by_text(struct sf_tag_set *s)
{
    if (s->n)
        qsort(s->list, s->n, sizeof(*s->list), tag_set_by_text);
}

bool sf_tag_set_cut(struct sf_tag_set *s, uint64_t max, size_t *room)
{
    uint32_t n = 0;
    while (n < s->n && (max == 0 || n < max) && s->list[n].text.len <= *room)
        *room -= s->list[n++].text.len;
    if (n == s->n)
        return true;
    s->n = n;
    return false;
}
