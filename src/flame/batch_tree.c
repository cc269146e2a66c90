/* batch_tree.c - lists the profile types in a decoded batch, chooses one by name or by preference
 * (CPU time first), and merges the samples of that type into a tree. Frames of each location are
 * interned once, before the stacks that use them. */
#include "flame/batch_tree.h"

#include "base/buf.h"
#include "base/num.h"
#include "flame/tree_builder.h"

bool sf_batch_tree_type_eq(const struct sf_profile_type *a, const struct sf_profile_type *b)
{
    return sf_str_eq(a->name, b->name) && sf_str_eq(a->sample_type, b->sample_type) &&
           sf_str_eq(a->sample_unit, b->sample_unit) && sf_str_eq(a->period_type, b->period_type) &&
           sf_str_eq(a->period_unit, b->period_unit);
}

void sf_batch_tree_type_add(struct sf_buf *out, const struct sf_profile_type *type)
{
    const sf_str parts[] = {type->name, type->sample_type, type->sample_unit, type->period_type,
                            type->period_unit};
    for (size_t i = 0; i < 5; i++) {
        if (i)
            sf_buf_add_u8(out, ':');
        sf_buf_add_str(out, parts[i]);
    }
}

bool sf_batch_tree_type_print(const struct sf_profile_type *type, struct sf_arena *req, sf_str *out)
{
    struct sf_buf text = {0};
    sf_batch_tree_type_add(&text, type);
    bool is_there = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), out);
    sf_buf_done(&text);
    return is_there;
}

/* ---- types ---- */

static uint32_t batch_tree_type_of(struct sf_batch_type *types, uint32_t *n,
                                   const struct sf_series *s)
{
    for (uint32_t i = 0; i < *n; i++) {
        if (sf_batch_tree_type_eq(&types[i].type, &s->type))
            return i;
    }
    types[*n] = (struct sf_batch_type){.type = s->type, .period = s->period};
    return (*n)++;
}

enum sf_err sf_batch_tree_types(const struct sf_profile_batch *batch, struct sf_arena *req,
                                const struct sf_batch_type **out, uint32_t *out_n,
                                struct sf_why *why)
{
    struct sf_batch_type *types = sf_arena_new_n(req, (size_t)batch->n_series + 1, sizeof(*types));
    uint32_t *of_series = sf_arena_new_n(req, (size_t)batch->n_series + 1, sizeof(*of_series)),
             n = 0;
    if (!types || !of_series)
        return sf_fail(why, SF_ERR_LIMIT, "profile: no room for %u series", batch->n_series);
    for (uint32_t i = 0; i < batch->n_series; i++) {
        const struct sf_series *s = &batch->series[i];
        struct sf_batch_type *type = &types[of_series[i] = batch_tree_type_of(types, &n, s)];
        if (s->duration_ns > type->duration_ns)
            type->duration_ns = s->duration_ns;
        if (s->time_ns && (type->time_ns == 0 || s->time_ns < type->time_ns))
            type->time_ns = s->time_ns;
    }
    for (uint32_t i = 0; i < batch->n_samples; i++) {
        struct sf_batch_type *type = &types[of_series[batch->samples[i].series]];
        type->total = sf_add_sat_i64(type->total, batch->samples[i].value);
        type->n_samples += batch->samples[i].count;
    }
    *out = types;
    *out_n = n;
    return SF_OK;
}

/* ---- choosing a type ---- */

static const struct family {
    sf_str word;
    sf_str names[6]; /* sample types, or profile names, of the family; best first */
} families[] = {
    {{"cpu", 3}, {{"cpu", 3}, {"process_cpu", 11}, {"on_cpu", 6}, {"samples", 7}}},
    {{"wall", 4}, {{"wall", 4}}},
    {{"offcpu", 6}, {{"offcpu", 6}, {"off_cpu", 7}, {"off-cpu", 7}}},
    {{"heap", 4}, {{"inuse_space", 11}, {"space", 5}, {"live", 4}, {"inuse_objects", 13}}},
    {{"memory", 6}, {{"inuse_space", 11}, {"alloc_space", 11}, {"space", 5}, {"memory", 6}}},
    {{"alloc", 5},
     {{"alloc_space", 11},
      {"alloc_in_new_tlab_bytes", 23},
      {"alloc_size", 10},
      {"alloc_objects", 13}}},
    {{"goroutine", 9}, {{"goroutine", 9}, {"goroutines", 10}, {"threads", 7}}},
    {{"block", 5}, {{"block", 5}}},
    {{"mutex", 5}, {{"mutex", 5}, {"lock_time", 9}, {"contentions", 11}}},
    {{"lock", 4}, {{"lock_time", 9}, {"mutex", 5}, {"contentions", 11}}},
};
enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

static bool batch_tree_is_time(const struct sf_batch_type *t)
{
    return sf_str_eq(t->type.sample_unit, SF_STR("nanoseconds")) ||
           sf_str_eq(t->type.sample_unit, SF_STR("microseconds"));
}

/* Whether `text` equals the leading parts of the id. */
static bool names_parts(const struct sf_profile_type *type, sf_str text)
{
    const sf_str parts[] = {type->name, type->sample_type, type->sample_unit, type->period_type,
                            type->period_unit};
    sf_str part;
    size_t n = 0;
    while (sf_str_split_next(&text, ':', &part)) {
        if (n == 5)
            return false;
        if (!sf_str_eq(part, parts[n++]))
            return false;
    }
    return n >= 2;
}

static bool find_family(const struct sf_batch_type *types, uint32_t n, const struct family *f,
                        uint32_t *out)
{
    for (size_t k = 0; k < 6 && f->names[k].len; k++) {
        bool has = false;
        for (uint32_t i = 0; i < n; i++) {
            const struct sf_profile_type *type = &types[i].type;
            if (!sf_str_eq(type->sample_type, f->names[k]) && !sf_str_eq(type->name, f->names[k]))
                continue;
            if (!has || (batch_tree_is_time(&types[i]) &&
                         !batch_tree_is_time(&types[*out]))) /* prefer ns to counts */
                *out = i;
            has = true;
        }
        if (has)
            return true;
    }
    return false;
}

/* Every profiler that counts its samples has a type "samples": it means CPU time if the period is
 * CPU time. */
static bool batch_tree_is_meant(const struct sf_batch_type *t)
{
    return !sf_str_eq(t->type.sample_type, SF_STR("samples")) ||
           sf_str_eq(t->type.period_type, SF_STR("cpu")) || batch_tree_is_time(t);
}

static uint32_t choose_first(const struct sf_batch_type *types, uint32_t n)
{
    static const size_t looked_at[] = {0, 1, 2, 3, 5}; /* cpu, wall, offcpu, heap, alloc */
    uint32_t at;
    for (size_t i = 0; i < sizeof(looked_at) / sizeof(looked_at[0]); i++) {
        if (find_family(types, n, &families[looked_at[i]], &at) && batch_tree_is_meant(&types[at]))
            return at;
    }
    for (size_t i = 0; i < sizeof(looked_at) / sizeof(looked_at[0]); i++) {
        if (find_family(types, n, &families[looked_at[i]], &at))
            return at;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (batch_tree_is_time(&types[i]))
            return i;
    }
    return n - 1; /* as pprof does: the last one */
}

static enum sf_err say_what_there_is(const struct sf_batch_type *types, uint32_t n, sf_str text,
                                     struct sf_why *why)
{
    struct sf_buf list = {0};
    for (uint32_t i = 0; i < n && list.len < 150; i++) {
        sf_buf_add_str(&list, i ? SF_STR(", ") : SF_STR_NONE);
        sf_buf_add_str(&list, types[i].type.name);
        sf_buf_add_u8(&list, ':');
        sf_buf_add_str(&list, types[i].type.sample_type);
    }
    sf_fail(why, SF_ERR_NOT_FOUND, "no profile type \"%.*s\" here; there is %.*s",
            SF_STR_ARG(sf_str_part(text, 0, 60)), SF_STR_ARG(sf_buf_str(&list)));
    sf_buf_done(&list);
    return SF_ERR_NOT_FOUND;
}

enum sf_err sf_batch_tree_choose(const struct sf_batch_type *types, uint32_t n, sf_str text,
                                 uint32_t *out, struct sf_why *why)
{
    if (n == 0)
        return sf_fail(why, SF_ERR_NOT_FOUND, "the profile holds no samples of any type");
    if (text.len == 0) {
        *out = choose_first(types, n);
        return SF_OK;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (names_parts(&types[i].type, text)) {
            *out = i;
            return SF_OK;
        }
    }
    for (uint32_t i = n; i-- > 0;) {
        if (sf_str_eq(types[i].type.sample_type, text) &&
            (batch_tree_is_time(&types[i]) || !sf_str_eq(text, SF_STR("cpu")))) {
            *out = i;
            return SF_OK;
        }
    }
    for (size_t k = 0; k < FAMILIES; k++) {
        if (sf_str_eq(families[k].word, text) && find_family(types, n, &families[k], out))
            return SF_OK;
    }
    for (uint32_t i = n; i-- > 0;) { /* a profile name alone: its last type */
        if (sf_str_eq(types[i].type.name, text)) {
            *out = i;
            return SF_OK;
        }
    }
    return say_what_there_is(types, n, text, why);
}

/* ---- samples ---- */

struct frames_of_locations { /* indexes in the builder, outermost first */
    uint32_t *starts;        /* n_locations + 1 */
    uint32_t *places;
};

static struct sf_frame batch_tree_frame_of(const struct sf_profile_batch *batch,
                                           const struct sf_location *location, uint32_t line)
{
    struct sf_frame f = {.kind = location->kind};
    if (location->mapping != SF_NONE) {
        f.module = batch->mappings[location->mapping].file;
        f.build_id = batch->mappings[location->mapping].build_id;
    }
    if (line < location->n_lines) {
        const struct sf_line *l = &location->lines[line];
        const struct sf_function *fn = &batch->functions[l->function];
        f.function = fn->name.len ? fn->name : fn->system_name;
        f.file = fn->file;
        f.line = l->line;
    }
    if (f.function.len == 0)
        f.file_off = location->addr;
    return f;
}

static bool intern_locations(const struct sf_profile_batch *batch, struct sf_tree_builder *b,
                             struct sf_arena *scratch, struct frames_of_locations *out)
{
    size_t n = 0;
    for (uint32_t i = 0; i < batch->n_locations; i++)
        n += batch->locations[i].n_lines ? batch->locations[i].n_lines : 1;
    out->starts = sf_arena_new_n(scratch, (size_t)batch->n_locations + 1, sizeof(uint32_t));
    out->places = sf_arena_new_n(scratch, n + 1, sizeof(uint32_t));
    if (!out->starts || !out->places || n >= UINT32_MAX)
        return false;
    n = 0;
    for (uint32_t i = 0; i < batch->n_locations; i++) {
        const struct sf_location *location = &batch->locations[i];
        uint32_t n_lines = location->n_lines ? location->n_lines : 1;
        out->starts[i] = (uint32_t)n;
        while (n_lines-- > 0) { /* lines are innermost first */
            struct sf_frame f = batch_tree_frame_of(batch, location, n_lines);
            out->places[n++] = sf_tree_builder_frame(b, &f);
        }
    }
    out->starts[batch->n_locations] = (uint32_t)n;
    return true;
}

static uint32_t insert_stack(const struct sf_stack *stack, const struct frames_of_locations *frames,
                             struct sf_tree_builder *b)
{
    uint32_t node = 0;
    for (uint32_t i = stack->n; i-- > 0;) {
        uint32_t location = stack->locations[i];
        for (uint32_t k = frames->starts[location]; k < frames->starts[location + 1]; k++)
            node = sf_tree_builder_child(b, node, frames->places[k]);
    }
    return node;
}

static bool has_ids(const struct sf_sample *s)
{
    return s->span_id || !sf_trace_id_is_zero(s->trace_id);
}

enum sf_err sf_batch_tree_owned(const struct sf_profile_batch *batch,
                                const struct sf_profile_type *type, struct sf_arena *req,
                                struct sf_tree *out, struct sf_owned *out_owned, struct sf_why *why)
{
    uint32_t n_owned = 0;
    for (uint32_t i = 0; out_owned && i < batch->n_samples; i++)
        n_owned += has_ids(&batch->samples[i]);
    struct sf_profile_owned *owned = out_owned
                                         ? sf_arena_new_n(req, (size_t)n_owned + 1, sizeof(*owned))
                                         : NULL;
    struct sf_arena scratch = *req;
    struct sf_tree_builder b;
    struct frames_of_locations frames;
    bool *is_asked = sf_arena_new_n(&scratch, (size_t)batch->n_series + 1, sizeof(*is_asked));
    uint32_t *nodes = sf_arena_new_n(&scratch, (size_t)batch->n_stacks + 1, sizeof(*nodes));
    enum sf_err err;
    sf_tree_builder_init(&b, req, 0, SF_TREE_BORROWS);
    if (!is_asked || !nodes || (out_owned && !owned) ||
        !intern_locations(batch, &b, &scratch, &frames)) {
        sf_tree_builder_done(&b);
        return sf_fail(why, SF_ERR_LIMIT, "profile: no room for %u locations", batch->n_locations);
    }
    for (uint32_t i = 0; i < batch->n_series; i++)
        is_asked[i] = sf_batch_tree_type_eq(&batch->series[i].type, type);
    n_owned = 0;
    for (uint32_t i = 0; i < batch->n_samples; i++) {
        const struct sf_sample *s = &batch->samples[i];
        if (!is_asked[s->series])
            continue;
        if (!nodes[s->stack]) /* 0: not seen, or an empty stack, which is cheap to insert again */
            nodes[s->stack] = insert_stack(&batch->stacks[s->stack], &frames, &b);
        sf_tree_builder_add(&b, nodes[s->stack], s->value, s->count);
        if (owned && has_ids(s))
            owned[n_owned++] = (struct sf_profile_owned){nodes[s->stack], s->trace_id, s->span_id,
                                                         s->value};
    }
    err = sf_tree_builder_take(&b, type->sample_unit, out, why); /* overwrites the scratch */
    sf_tree_builder_done(&b);
    if (out_owned) {
        out_owned->list = owned;
        sf_owned_merge(out_owned, err ? 0 : n_owned);
    }
    return err;
}

enum sf_err sf_batch_tree(const struct sf_profile_batch *batch, const struct sf_profile_type *type,
                          struct sf_arena *req, struct sf_tree *out, struct sf_why *why)
{
    return sf_batch_tree_owned(batch, type, req, out, NULL, why);
}
