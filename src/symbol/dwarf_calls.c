/* Entries form a tree in preorder: each is followed by its children and a zero. An entry whose
 * attributes have a fixed length is skipped in one step; only functions and inlined calls with code
 * are examined. */
#include "symbol/dwarf_calls.h"

#include "symbol/dwarf_addresses.h"
#include "symbol/dwarf_names.h"

enum { MAX_CALLS = 1 << 16 };

struct walk {
    struct sf_dwarf_calls *calls;
    struct sf_dwarf *d;
    const struct sf_dwarf_loaded *in;
    const uint64_t *at;
    uint32_t *innermost;
    uint32_t n;
    struct sf_dwarf_cursor c;
    uint32_t depth;
};

struct entry {
    uint16_t tag;
    struct sf_dwarf_code code;
    struct sf_dwarf_call call;
    uint64_t sibling_off; /* 0: not given */
};

void sf_dwarf_calls_done(struct sf_dwarf_calls *c)
{
    sf_buf_done(&c->list);
}

const struct sf_dwarf_call *sf_dwarf_calls_get(const struct sf_dwarf_calls *c, uint32_t place)
{
    return (const struct sf_dwarf_call *)(const void *)c->list.p + (place - 1);
}

static void dwarf_calls_take(struct entry *e, uint16_t name, const struct sf_dwarf_value *v)
{
    switch (name) {
    case SF_AT_SIBLING: e->sibling_off = v->kind == SF_DWARF_ENTRY ? v->u : 0; break;
    case SF_AT_CALL_FILE: e->call.file = v->u; break;
    case SF_AT_CALL_LINE: e->call.line = v->u > UINT32_MAX ? 0 : (uint32_t)v->u; break;
    default: sf_dwarf_ranges_code_take(&e->code, name, v); break;
    }
}

static void dwarf_calls_read_entry(struct walk *w, const struct sf_dwarf_abbrev *shape,
                                   struct entry *e)
{
    const struct sf_dwarf_attr *attrs = sf_dwarf_abbrevs_attrs(&w->in->abbrevs, shape);
    for (uint32_t i = 0; i < shape->n_attrs && !w->c.is_bad && sf_dwarf_spend(w->d); i++) {
        struct sf_dwarf_value v = sf_dwarf_value_read(&w->in->unit, &attrs[i], &w->c);
        dwarf_calls_take(e, attrs[i].name, &v);
    }
}

static void pass_entry(struct walk *w, const struct sf_dwarf_abbrev *shape)
{
    const struct sf_dwarf_attr *attrs = sf_dwarf_abbrevs_attrs(&w->in->abbrevs, shape);
    if (shape->is_fixed) {
        sf_dwarf_skip(&w->c, shape->len);
        return;
    }
    for (uint32_t i = 0; i < shape->n_attrs && !w->c.is_bad && sf_dwarf_spend(w->d); i++)
        sf_dwarf_value_read(&w->in->unit, &attrs[i], &w->c);
}

/* A function is the outermost call. An inlined call is inside the innermost call found so far for
 * the address, unless that is its sibling: then the later one replaces it. */
static uint32_t outer_of(const struct walk *w, const struct entry *e, uint32_t query)
{
    uint32_t outer = e->tag == SF_TAG_INLINED ? w->innermost[query] : 0;
    while (outer && sf_dwarf_calls_get(w->calls, outer)->depth >= e->call.depth)
        outer = sf_dwarf_calls_get(w->calls, outer)->outer;
    return outer;
}

static uint32_t dwarf_calls_add_call(struct walk *w, const struct entry *e, uint32_t query)
{
    struct sf_dwarf_call call = e->call;
    uint32_t n = (uint32_t)(w->calls->list.len / sizeof(call));
    call.outer = outer_of(w, e, query);
    if (n >= MAX_CALLS || (e->tag == SF_TAG_INLINED && !call.outer))
        return 0; /* not inside a function: ignored */
    sf_buf_add(&w->calls->list, &call, sizeof(call));
    return sf_buf_ok(&w->calls->list) ? n + 1 : 0;
}

/* True: it contains one of the addresses. */
static bool dwarf_calls_match(struct walk *w, const struct entry *e)
{
    struct sf_dwarf_ranges r;
    uint32_t place = 0;
    uint64_t lo, hi;
    sf_dwarf_ranges_init(&r, w->d, &w->in->unit, &e->code);
    while (sf_dwarf_ranges_next(&r, &lo, &hi)) {
        for (uint32_t i = sf_dwarf_first_from(w->at, w->n, lo);
             i < w->n && w->at[i] < hi && sf_dwarf_spend(w->d); i++) {
            place = place ? place : dwarf_calls_add_call(w, e, i);
            if (!place)
                return false;
            w->innermost[i] = place;
        }
    }
    return place > 0;
}

/* Calls below an inlined call are inside of it: without one of the addresses it is skipped with its
 * children. */
static bool pass_children(struct walk *w, const struct entry *e)
{
    uint64_t now = (uint64_t)(w->c.at - w->d->info.p);
    if (e->tag != SF_TAG_INLINED || e->sibling_off <= now || e->sibling_off >= w->in->unit.end)
        return false;
    sf_dwarf_skip(&w->c, e->sibling_off - now);
    return true;
}

static bool dwarf_calls_step(struct walk *w)
{
    struct entry e = {.call.entry_off = (uint64_t)(w->c.at - w->d->info.p)};
    uint64_t code = sf_dwarf_uleb(&w->c);
    const struct sf_dwarf_abbrev *shape;
    if (w->c.is_bad || !sf_dwarf_spend(w->d))
        return false;
    if (!code)
        return w->depth-- > 1;
    shape = sf_dwarf_abbrevs_find(&w->in->abbrevs, w->d, code);
    if (!shape)
        return false;
    e.tag = shape->tag;
    e.call.depth = w->depth;
    if (shape->has_code && (e.tag == SF_TAG_SUBPROGRAM || e.tag == SF_TAG_INLINED)) {
        dwarf_calls_read_entry(w, shape, &e);
        if (!dwarf_calls_match(w, &e) && shape->has_children && pass_children(w, &e))
            return true;
    } else {
        pass_entry(w, shape);
    }
    w->depth += shape->has_children;
    return !w->c.is_bad && w->depth > 0;
}

void sf_dwarf_calls_find(struct sf_dwarf_calls *c, struct sf_dwarf *d,
                         const struct sf_dwarf_loaded *unit, const uint64_t *at, uint32_t n,
                         uint32_t *innermost)
{
    struct walk w = {.calls = c, .d = d, .in = unit, .at = at, .innermost = innermost, .n = n};
    sf_buf_reset(&c->list);
    for (uint32_t i = 0; i < n; i++)
        innermost[i] = 0;
    w.c = sf_dwarf_cursor_at((sf_bytes){d->info.p, unit->unit.end}, unit->unit.entry_off);
    while (dwarf_calls_step(&w))
        ;
    if (!sf_buf_ok(&c->list)) { /* discard an incomplete chain of inlined calls: it would name the
                                 * wrong function */
        for (uint32_t i = 0; i < n; i++)
            innermost[i] = 0;
    }
}
