#include "render/pprof.h"

#include "base/num.h"
#include "render/known.h"
#include "render/string_table.h"

struct tables {
    struct sf_string_table strings, functions, mappings;
};

static bool pprof_is_named(const struct sf_frame *f)
{
    return f->function.len > 0;
}

static uint32_t pprof_put_function(struct tables *s, const struct sf_frame *f)
{
    uint64_t key[] = {sf_string_table_put(&s->strings, f->function),
                      sf_string_table_put(&s->strings, f->file)};
    return sf_string_table_put_numbers(&s->functions, key, 2);
}

static uint32_t pprof_put_mapping(struct tables *s, const struct sf_frame *f)
{
    uint64_t key[] = {sf_string_table_put(&s->strings, f->module),
                      sf_string_table_put(&s->strings, f->build_id)};
    return f->module.len || f->build_id.len ? sf_string_table_put_numbers(&s->mappings, key, 2) : 0;
}

static void render_pprof_write_type(struct sf_message *m, uint32_t field, const char *key,
                                    struct tables *s, sf_str type, sf_str unit)
{
    size_t mark = key ? sf_message_begin(m, field, key) : sf_message_item(m, field);
    sf_message_u64(m, 1, "type", sf_string_table_put(&s->strings, type));
    sf_message_u64(m, 2, "unit", sf_string_table_put(&s->strings, unit));
    sf_message_end(m, mark);
}

/* A location for each frame, with the same number, from 1. */
static void pprof_write_locations(const struct sf_tree *t, struct tables *s, struct sf_message *m)
{
    for (uint32_t i = 0; i < t->n_frames; i++) {
        const struct sf_frame *f = &t->frames[i];
        size_t mark = sf_message_item(m, 4), line;
        sf_message_u64(m, 1, "id", (uint64_t)i + 1);
        sf_message_u64(m, 2, "mappingId", pprof_put_mapping(s, f));
        sf_message_u64(m, 3, "address", f->file_off);
        if (pprof_is_named(f)) {
            sf_message_list(m, "line");
            line = sf_message_item(m, 4);
            sf_message_u64(m, 1, "functionId", pprof_put_function(s, f));
            sf_message_u64(m, 2, "line", f->line);
            sf_message_end(m, line);
            sf_message_list_end(m);
        }
        sf_message_end(m, mark);
    }
}

static void pprof_write_functions(const struct tables *s, struct sf_message *m)
{
    for (uint32_t i = 1; i < s->functions.n; i++) {
        size_t mark = sf_message_item(m, 5);
        sf_message_u64(m, 1, "id", i);
        sf_message_u64(m, 2, "name", sf_load_u64le(s->functions.list[i].p));
        sf_message_u64(m, 3, "systemName", sf_load_u64le(s->functions.list[i].p));
        sf_message_u64(m, 4, "filename", sf_load_u64le(s->functions.list[i].p + 8));
        sf_message_end(m, mark);
    }
}

/* Each mapping covers the whole address space: readers look addresses up by range, and ours are
 * file offsets. A mapping whose frames all have names is marked as symbolised, so that readers do
 * not try it. */
static bool render_pprof_write_mappings(const struct sf_tree *t, struct tables *s,
                                        struct sf_arena scratch, struct sf_message *m)
{
    static const char *const known[] = {"hasFunctions", "hasFilenames", "hasLineNumbers"};
    bool *has_nameless = sf_arena_new_n(&scratch, s->mappings.n, sizeof(*has_nameless));
    if (!has_nameless)
        return false;
    for (uint32_t i = 0; i < t->n_frames; i++)
        has_nameless[pprof_put_mapping(s, &t->frames[i])] |= !pprof_is_named(&t->frames[i]);
    for (uint32_t i = 1; i < s->mappings.n; i++) {
        size_t mark = sf_message_item(m, 3);
        sf_message_u64(m, 1, "id", i);
        sf_message_u64(m, 3, "memoryLimit", UINT64_MAX);
        sf_message_u64(m, 5, "filename", sf_load_u64le(s->mappings.list[i].p));
        sf_message_u64(m, 6, "buildId", sf_load_u64le(s->mappings.list[i].p + 8));
        for (uint32_t k = 0; k < 3 && !has_nameless[i]; k++)
            sf_message_bool(m, 7 + k, known[k], true);
        sf_message_end(m, mark);
    }
    return true;
}

static void render_pprof_write_label(struct tables *s, sf_str key, sf_str val, struct sf_message *m)
{
    size_t mark = sf_message_item(m, 3);
    sf_message_u64(m, 1, "key", sf_string_table_put(&s->strings, key));
    sf_message_u64(m, 2, "str", sf_string_table_put(&s->strings, val));
    sf_message_end(m, mark);
}

static void pprof_write_id(struct tables *s, sf_str key, const char *hex, struct sf_message *m)
{
    sf_str kept;
    if (!sf_arena_print(s->strings.req, &kept, "%s", hex))
        s->strings.is_full = true;
    else
        render_pprof_write_label(s, key, kept, m);
}

/* Writes ids as labels with the names that other profilers use and that our decoder reads. */
static void pprof_write_ids(const struct sf_profile_owned *o, struct tables *s,
                            struct sf_message *m)
{
    char hex[33];
    if (!sf_trace_id_is_zero(o->trace)) {
        sf_trace_id_render(o->trace, hex);
        pprof_write_id(s, SF_STR("trace_id"), hex, m);
    }
    if (o->span) {
        sf_span_id_render(o->span, hex);
        pprof_write_id(s, SF_STR("span_id"), hex, m);
    }
}

static void write_labels(const struct sf_profile_view *v, const struct sf_profile_owned *owned,
                         struct tables *s, struct sf_message *m)
{
    if (v->n_labels == 0 && !owned)
        return;
    sf_message_list(m, "label");
    if (owned)
        pprof_write_ids(owned, s, m);
    for (uint32_t i = 0; i < v->n_labels; i++) {
        render_pprof_write_label(s, v->labels[i].key, v->labels[i].val, m);
    }
    sf_message_list_end(m);
}

static void render_pprof_write_sample(const struct sf_profile_view *v,
                                      const struct sf_profile_owned *owned, int64_t value,
                                      struct tables *s, const int64_t *path, size_t n,
                                      struct sf_message *m)
{
    size_t mark = sf_message_item(m, 2);
    sf_message_numbers(m, 1, "locationId", path, n, true);
    sf_message_numbers(m, 2, "value", &value, 1, true);
    write_labels(v, owned, s, m);
    sf_message_end(m, mark);
}

/* Leaf first. `path` has space for the deepest stack. */
static void render_pprof_write_samples(const struct sf_profile_view *v, struct tables *s,
                                       int64_t *path, struct sf_message *m)
{
    const struct sf_tree *t = &v->tree;
    uint32_t at = 0; /* index among those with ids */
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        int64_t rest = t->nodes[i].self;
        size_t n = 0;
        if (!rest && !(at < v->n_owned && v->owned[at].node == i))
            continue;
        for (uint32_t up = i; up != 0; up = t->nodes[up].parent)
            path[n++] = (int64_t)t->nodes[up].frame + 1;
        for (; at < v->n_owned && v->owned[at].node == i; at++) {
            render_pprof_write_sample(v, &v->owned[at], v->owned[at].value, s, path, n, m);
            rest = sf_sub_sat_i64(rest, v->owned[at].value);
        }
        if (rest)
            render_pprof_write_sample(v, NULL, rest, s, path, n, m);
    }
}

/* `go tool pprof -comments` shows them. */
static void write_comments(const struct sf_profile_view *v, struct tables *s, struct sf_message *m)
{
    struct sf_buf text = {0};
    sf_str few;
    int64_t said[2];
    size_t n = 0;
    if (v->is_estimate)
        said[n++] = sf_string_table_put(&s->strings, SF_STR(SF_ESTIMATE_REMARK));
    if (v->is_few) {
        sf_known_few(&text, v);
        if (sf_arena_copy(s->strings.req, sf_buf_str(&text), &few))
            said[n++] = sf_string_table_put(&s->strings, few);
        else
            s->strings.is_full = true;
    }
    if (n)
        sf_message_numbers(m, 13, "comment", said, n, true);
    sf_buf_done(&text);
}

enum sf_err sf_pprof_message(const struct sf_profile_view *v, struct sf_arena scratch,
                             struct sf_message *m, struct sf_why *why)
{
    struct tables s;
    bool has_room;
    int64_t *path = sf_arena_new_n(&scratch, v->tree.n_nodes, sizeof(*path));
    if (!path)
        return sf_fail(why, SF_ERR_LIMIT, "pprof: the stacks do not fit the memory of one query");
    sf_string_table_init(&s.strings, &scratch);
    sf_string_table_init(&s.functions, &scratch);
    sf_string_table_init(&s.mappings, &scratch);
    sf_message_list(m, "sampleType");
    render_pprof_write_type(m, 1, NULL, &s, v->type.sample_type, v->type.sample_unit);
    sf_message_list_end(m);
    sf_message_list(m, "sample");
    render_pprof_write_samples(v, &s, path, m);
    sf_message_list_end(m);
    sf_message_list(m, "location");
    pprof_write_locations(&v->tree, &s, m);
    sf_message_list_end(m);
    sf_message_list(m, "mapping");
    has_room = render_pprof_write_mappings(&v->tree, &s, scratch, m);
    sf_message_list_end(m);
    sf_message_list(m, "function");
    pprof_write_functions(&s, m);
    sf_message_list_end(m);
    sf_message_i64(m, 9, "timeNanos", v->time_ns);
    sf_message_i64(m, 10, "durationNanos", v->duration_ns);
    if (v->type.period_type.len || v->type.period_unit.len)
        render_pprof_write_type(m, 11, "periodType", &s, v->type.period_type, v->type.period_unit);
    sf_message_i64(m, 12, "period", v->period);
    write_comments(v, &s, m);
    sf_message_list(m, "stringTable");
    for (uint32_t i = 0; i < s.strings.n; i++)
        sf_message_item_str(m, 6, s.strings.list[i]);
    sf_message_list_end(m);
    if (!has_room || s.strings.is_full || s.functions.is_full || s.mappings.is_full)
        return sf_fail(why, SF_ERR_LIMIT, "pprof: the tables do not fit the memory of one query");
    return sf_buf_ok(m->out) ? SF_OK : sf_fail(why, m->out->err, "pprof: no memory");
}

enum sf_err sf_pprof_render(const struct sf_profile_view *v, struct sf_arena scratch,
                            struct sf_buf *out, struct sf_why *why)
{
    struct sf_message m = sf_message_init(out, false);
    return sf_pprof_message(v, scratch, &m, why);
}
