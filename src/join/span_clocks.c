/* span_clocks.c - puts the spans of a trace on one clock, and reports the corrections. */
#include "join/span_clocks.h"

#include "exec/ran_on.h"
#include "join/link_spans.h"

enum { MAX_ROWS = 32 };

/* Calls between two services that were moved separately are one row. */
static struct sf_clock_row *span_clocks_find(struct sf_clocks_view *v, struct sf_clock_row *rows,
                                             sf_str service, sf_str caller)
{
    for (uint32_t i = 0; i < v->n_rows; i++)
        if (rows[i].is_contradictory && sf_str_eq(rows[i].service, service) &&
            sf_str_eq(rows[i].caller, caller))
            return &rows[i];
    return NULL;
}

/* For which span rows are requested. */
struct about {
    const struct sf_span_tree *tree; /* NULL: all rows */
    uint32_t span;
};

static bool is_about(const struct about *a, const struct sf_clock_offset *o, const sf_str *services)
{
    if (!a->tree || sf_str_eq(services[o->parent], services[a->span]))
        return true;
    /* Only a cycle could make the path to the root longer than the number of spans. */
    for (uint32_t at = a->span, n = 0; at != SF_NOBODY && n <= a->tree->n_spans; n++) {
        if (sf_str_eq(services[at], services[o->child]))
            return true;
        at = a->tree->places[at].parent;
    }
    return false;
}

static bool say_about(const struct about *about, const struct sf_clock_fix *fix,
                      const sf_str *services, struct sf_arena *req, struct sf_clocks_view *out)
{
    struct sf_clocks_view v = {.n_moved = fix->n_moved};
    struct sf_clock_row *rows = sf_arena_new_n(req, MAX_ROWS, sizeof(*rows));
    if (!rows)
        return false;
    for (uint32_t i = 0; i < fix->n_offsets; i++) {
        const struct sf_clock_offset *o = &fix->offsets[i];
        if (!is_about(about, o, services))
            continue;
        sf_str service = services[o->child], caller = services[o->parent];
        struct sf_clock_row *same = o->is_contradictory
                                        ? span_clocks_find(&v, rows, service, caller)
                                        : NULL;
        if (same)
            same->n_calls += o->n_calls;
        else if (v.n_rows < MAX_ROWS)
            rows[v.n_rows++] = (struct sf_clock_row){
                service, caller, o->n_calls, o->offset_ns, o->slack_ns, o->is_contradictory};
        else
            v.n_more++;
    }
    v.rows = rows;
    *out = v;
    return true;
}

bool sf_span_clocks_say(const struct sf_clock_fix *fix, const sf_str *services,
                        struct sf_arena *req, struct sf_clocks_view *out)
{
    return say_about(&(struct about){0}, fix, services, req, out);
}

bool sf_span_clocks_of(const struct sf_span_tree *t, const struct sf_clock_fix *fix,
                       const sf_str *services, uint32_t span, struct sf_arena *req,
                       struct sf_clocks_view *out)
{
    if (!say_about(&(struct about){t, span}, fix, services, req, out))
        return false;
    out->shift_ns = t->shifts_ns ? t->shifts_ns[span] : 0;
    return true;
}

static enum sf_err span_clocks_say(const struct sf_span_batch *b, const struct sf_clock_fix *fix,
                                   struct sf_arena *req, struct sf_clocks_view *out,
                                   struct sf_why *why)
{
    sf_str *services = sf_arena_new_n(req, b->n_spans + 1u, sizeof(*services));
    for (uint32_t i = 0; services && i < b->n_spans; i++)
        services[i] = b->resources[b->spans[i].resource].service;
    return services && sf_span_clocks_say(fix, services, req, out) ? SF_OK
                                                                   : sf_no_room(why, "the query");
}

enum sf_err sf_span_clocks_make(const struct sf_span_batch *b, struct sf_arena *req,
                                struct sf_span_tree *out_tree, struct sf_clocks_view *out,
                                struct sf_why *why)
{
    bool is_guess = false;
    struct sf_clock_fix fix;
    uint64_t *processes = sf_ran_on_processes(b->resources, b->n_resources, req, &is_guess);
    struct sf_span_origin *origins = sf_arena_new_n(req, b->n_spans + 1u, sizeof(*origins));
    if (!processes || !origins)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < b->n_spans; i++)
        origins[i].process = processes[b->spans[i].resource];
    enum sf_err err = sf_span_tree_build(b->spans, origins, b->n_spans, req, out_tree, why);
    if (!err)
        err = sf_clock_fix_make(out_tree, req, &fix, why);
    *out = (struct sf_clocks_view){0};
    return err || fix.n_offsets == 0 ? err : span_clocks_say(b, &fix, req, out, why);
}
