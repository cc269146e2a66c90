/* time_samples.c - the samples of all profile types that tell where a span's time went. */
#include "join/time_samples.h"

#include "base/list.h"
#include "link/leaf_state.h"

enum { ROW_NS = 1000000 };

static bool time_samples_has_word(sf_str text, const char *word)
{
    size_t at;
    return sf_str_find(text, sf_str_from(word), &at);
}

enum sf_time_kind sf_time_samples_kind_of(sf_str type)
{
    if (!time_samples_has_word(type, ":nanoseconds"))
        return SF_TIME_NONE;
    if (time_samples_has_word(type, "off_cpu") || time_samples_has_word(type, "offcpu") ||
        time_samples_has_word(type, "off-cpu"))
        return SF_TIME_OFF_CPU;
    if (time_samples_has_word(type, "wall"))
        return SF_TIME_WALL;
    if (time_samples_has_word(type, "mutex"))
        return SF_TIME_LOCK;
    if (time_samples_has_word(type, "block") || time_samples_has_word(type, "park"))
        return SF_TIME_BLOCK;
    return time_samples_has_word(type, ":cpu:nanoseconds") ? SF_TIME_CPU : SF_TIME_NONE;
}

static bool is_lock(enum sf_time_kind kind)
{
    return kind == SF_TIME_LOCK || kind == SF_TIME_BLOCK;
}

static enum sf_ledger_part time_samples_part_of(enum sf_time_kind kind, uint8_t state, uint8_t leaf)
{
    uint8_t said = state != SF_STATE_UNKNOWN ? state : leaf;
    switch (kind) {
    case SF_TIME_CPU: return leaf == SF_STATE_GC || state == SF_STATE_GC ? SF_PART_GC : SF_PART_CPU;
    case SF_TIME_LOCK: return SF_PART_LOCK;
    case SF_TIME_OFF_CPU:
    case SF_TIME_BLOCK: /* it did not run, whatever its stack looks like */
        return said == SF_STATE_RUNNING ? (kind == SF_TIME_BLOCK ? SF_PART_LOCK : SF_PART_UNKNOWN)
                                        : sf_ledger_part_of((enum sf_sample_state)said);
    case SF_TIME_WALL: return sf_ledger_part_of((enum sf_sample_state)said);
    default: return SF_PART_UNKNOWN;
    }
}

/* ---- types ---- */

enum sf_err sf_time_samples_add(struct sf_time_samples *t, struct sf_link_set *set,
                                enum sf_time_kind kind, const bool *is_wanted, struct sf_why *why)
{
    struct sf_time_type type = {.set = set, .kind = kind};
    uint32_t *nodes = sf_arena_new_n(t->req, set->stacks.n_nodes + 1u, sizeof(*nodes));
    type.leaves = sf_leaf_states(&set->stacks, t->req);
    if (!nodes || !type.leaves || !sf_list_room_in(t->req, &t->types, t->n_types, &t->cap_types, 8))
        return sf_no_room(why, "the query");
    enum sf_err err = sf_link_set_attribute(set, is_wanted, t->req, &type.claims, why);
    if (err)
        return err;
    if (!sf_claims_by_span_make(&type.claims, set->tree.n_spans, t->req, &type.by_span))
        return sf_no_room(why, "the query");
    if (t->stacks)
        sf_tree_builder_shape(t->stacks, &set->stacks, nodes);
    type.nodes = nodes;
    t->types[t->n_types++] = type;
    return SF_OK;
}

/* ---- one span ---- */

/* Is a sample tied to the span by an id, or by the thread it names? */
static bool has_certain(const struct sf_time_type *type, uint32_t span)
{
    uint64_t thread = type->set->tree.places[span].thread;
    for (uint32_t i = type->by_span.first[span]; i < type->by_span.first[span + 1]; i++) {
        const struct sf_claim *c = &type->claims.claims[type->by_span.claims[i]];
        if (c->grade == SF_GRADE_EXACT || c->grade == SF_GRADE_INHERITED ||
            (thread != 0 && type->set->samples[c->sample].thread == thread))
            return true;
    }
    return false;
}

/* Does a sample of this kind count, given which kinds exist? */
static bool time_samples_is_counted(const bool has[SF_TIME_KINDS], enum sf_time_kind kind,
                                    const struct sf_link_sample *p, enum sf_ledger_part part)
{
    bool is_cpu = part == SF_PART_CPU || part == SF_PART_GC;
    if (is_lock(kind))
        return p->has_time || !(has[SF_TIME_OFF_CPU] || has[SF_TIME_WALL]);
    if (kind != SF_TIME_WALL)
        return true;
    if (is_cpu)
        return !has[SF_TIME_CPU];
    return p->has_time || part == SF_PART_RUN_QUEUE || !has[SF_TIME_OFF_CPU];
}

/* Rows start at whole milliseconds: a wait that seems to begin just before its span began with
 * it. */
static int64_t within(const struct sf_span_place *place, int64_t start_ns)
{
    int64_t span_ns = place->start_ns < INT64_MAX ? (int64_t)place->start_ns : INT64_MAX;
    return start_ns < span_ns && start_ns > span_ns - ROW_NS ? span_ns : start_ns;
}

static bool time_samples_add(struct sf_time_samples *t, const struct sf_ledger_sample *s,
                             struct sf_time_origin from)
{
    uint32_t cap = t->cap;
    if (!sf_list_room_in(t->req, &t->samples, t->n, &cap, 256) ||
        !sf_list_room_in(t->req, &t->origins, t->n, &t->cap, 256))
        return false;
    t->origins[t->n] = from;
    t->samples[t->n++] = *s;
    return true;
}

static bool add_claim(struct sf_time_samples *t, const struct sf_time_type *type, uint32_t span,
                      const struct sf_claim *c, const bool has[SF_TIME_KINDS])
{
    const struct sf_link_set *set = type->set;
    const struct sf_link_sample *p = &set->samples[c->sample];
    enum sf_ledger_part part = time_samples_part_of(type->kind, p->state, type->leaves[p->node]);
    bool is_wait = (type->kind == SF_TIME_OFF_CPU || is_lock(type->kind)) && p->has_time;
    if (!time_samples_is_counted(has, type->kind, p, part))
        return true;
    if (t->is_known_only && !c->is_known) {
        t->n_estimated++;
        return true;
    }
    /* The row's length is in whole milliseconds; its value is the exact wait. */
    struct sf_ledger_sample s = {
        .thread = p->thread,
        .start_ns = is_wait ? within(&set->tree.places[span], p->start_ns) : p->start_ns,
        .length_ns = is_wait ? c->value : 0,
        .worth_ns = c->value,
        .part = (uint8_t)part,
        .grade = c->grade,
        .has_time = p->has_time,
        .is_measured = is_wait && c->is_whole,
        .is_shared = !c->is_whole,
        .is_guess = !c->is_known,
        .is_filler = type->kind == SF_TIME_WALL,
        .names_span = p->span_id != 0 && p->span_id == set->spans[span].span_id};
    return time_samples_add(t, &s,
                            (struct sf_time_origin){type->nodes[p->node], c->grade, c->is_known,
                                                    (uint32_t)(type - t->types)});
}

enum sf_err sf_time_samples_of(struct sf_time_samples *t, uint32_t span, struct sf_why *why)
{
    bool has[SF_TIME_KINDS] = {false};
    t->n = 0;
    for (uint32_t i = 0; i < t->n_types; i++)
        has[t->types[i].kind] = has[t->types[i].kind] || has_certain(&t->types[i], span);
    for (uint32_t i = 0; i < t->n_types; i++) {
        const struct sf_time_type *type = &t->types[i];
        for (uint32_t k = type->by_span.first[span]; k < type->by_span.first[span + 1]; k++)
            if (!add_claim(t, type, span, &type->claims.claims[type->by_span.claims[k]], has))
                return sf_no_room(why, "the query");
    }
    return SF_OK;
}
