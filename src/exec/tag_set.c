#include "exec/tag_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/key.h"

enum { FIRST_SLOTS = 256 };

static uint32_t *slot_of(const struct sf_tag_set *s, enum sf_tag_type type, sf_str text)
{
    uint32_t at = (uint32_t)sf_key_mix(sf_key_str(text), (uint64_t)type) & (s->n_slots - 1);
    for (; s->slots[at]; at = (at + 1) & (s->n_slots - 1)) {
        const struct sf_tag_value *v = &s->list[s->slots[at] - 1];
        if (v->type == type && sf_str_eq(v->text, text))
            break;
    }
    return &s->slots[at];
}

static bool grow(struct sf_tag_set *s)
{
    uint32_t n_slots = s->n_slots ? s->n_slots * 2 : FIRST_SLOTS;
    struct sf_tag_value *list = sf_arena_new_n(s->req, n_slots / 2, sizeof(*list));
    uint32_t *slots = sf_arena_new_n(s->req, n_slots, sizeof(*slots));
    if (!list || !slots)
        return false;
    if (s->n)
        memcpy(list, s->list, s->n * sizeof(*list));
    s->list = list;
    s->cap = n_slots / 2;
    s->slots = slots;
    s->n_slots = n_slots;
    for (uint32_t i = 0; i < s->n; i++)
        *slot_of(s, list[i].type, list[i].text) = i + 1;
    return true;
}

void sf_tag_set_add(struct sf_tag_set *s, enum sf_tag_type type, sf_str text, uint64_t n)
{
    uint32_t *slot;
    sf_str kept;
    if (s->n == s->cap && (s->n >= SF_TAG_SET_MAX || !grow(s)) && s->n_slots == 0) {
        s->is_full = true;
        return;
    }
    slot = slot_of(s, type, text);
    if (*slot) {
        s->list[*slot - 1].n += n;
        return;
    }
    if (s->n == s->cap || s->n >= SF_TAG_SET_MAX || !sf_arena_copy(s->req, text, &kept)) {
        s->is_full = true;
        return;
    }
    s->list[s->n++] = (struct sf_tag_value){type, kept, n};
    *slot = s->n;
}

static int by_text(const void *a, const void *b)
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
    return by_text(a, b);
}

/* Sorting moves what the slots point at: a sorted set takes no more values. */
void sf_tag_set_sort(struct sf_tag_set *s)
{
    if (s->n)
        qsort(s->list, s->n, sizeof(*s->list), by_count);
}

void sf_tag_set_sort_by_text(struct sf_tag_set *s)
{
    if (s->n)
        qsort(s->list, s->n, sizeof(*s->list), by_text);
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
