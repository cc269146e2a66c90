#include "render/pprof.h"

#include "render/string_table.h"
#include "wire/pb_writer.h"

struct tables {
    struct sf_string_table strings, functions, mappings;
};

static bool is_named(const struct sf_frame *f)
{
    return f->function.len > 0;
}

static uint32_t put_function(struct tables *s, const struct sf_frame *f)
{
    uint64_t key[] = {sf_string_table_put(&s->strings, f->function),
                      sf_string_table_put(&s->strings, f->file)};
    return sf_string_table_put_numbers(&s->functions, key, 2);
}

static uint32_t put_mapping(struct tables *s, const struct sf_frame *f)
{
    uint64_t key[] = {sf_string_table_put(&s->strings, f->module),
                      sf_string_table_put(&s->strings, f->build_id)};
    return f->module.len || f->build_id.len ? sf_string_table_put_numbers(&s->mappings, key, 2) : 0;
}

static void write_type(struct sf_buf *out, uint32_t field, struct tables *s, sf_str type,
                       sf_str unit)
{
    size_t mark = sf_pb_write_begin(out, field);
    sf_pb_write_u64(out, 1, sf_string_table_put(&s->strings, type));
    sf_pb_write_u64(out, 2, sf_string_table_put(&s->strings, unit));
    sf_pb_write_end(out, mark);
}

/* A location for each frame, numbered like it from 1. */
static void write_locations(const struct sf_tree *t, struct tables *s, struct sf_buf *out)
{
    for (uint32_t i = 0; i < t->n_frames; i++) {
        const struct sf_frame *f = &t->frames[i];
        size_t mark = sf_pb_write_begin(out, 4), line;
        uint32_t mapping = put_mapping(s, f);
        sf_pb_write_u64(out, 1, (uint64_t)i + 1);
        if (mapping)
            sf_pb_write_u64(out, 2, mapping);
        if (f->file_off)
            sf_pb_write_u64(out, 3, f->file_off);
        if (is_named(f)) {
            line = sf_pb_write_begin(out, 4);
            sf_pb_write_u64(out, 1, put_function(s, f));
            if (f->line)
                sf_pb_write_u64(out, 2, f->line);
            sf_pb_write_end(out, line);
        }
        sf_pb_write_end(out, mark);
    }
}

static void write_functions(const struct tables *s, struct sf_buf *out)
{
    for (uint32_t i = 1; i < s->functions.n; i++) {
        size_t mark = sf_pb_write_begin(out, 5);
        sf_pb_write_u64(out, 1, i);
        sf_pb_write_u64(out, 2, sf_load_u64le(s->functions.list[i].p));
        sf_pb_write_u64(out, 3, sf_load_u64le(s->functions.list[i].p));
        sf_pb_write_u64(out, 4, sf_load_u64le(s->functions.list[i].p + 8));
        sf_pb_write_end(out, mark);
    }
}

/* Whole address space each: readers look addresses up by range, and ours are file offsets. A
 * mapping whose frames all have names says so, or readers would try to symbolise it. */
static bool write_mappings(const struct sf_tree *t, struct tables *s, struct sf_arena scratch,
                           struct sf_buf *out)
{
    bool *has_nameless = sf_arena_new_n(&scratch, s->mappings.n, sizeof(*has_nameless));
    if (!has_nameless)
        return false;
    for (uint32_t i = 0; i < t->n_frames; i++)
        has_nameless[put_mapping(s, &t->frames[i])] |= !is_named(&t->frames[i]);
    for (uint32_t i = 1; i < s->mappings.n; i++) {
        size_t mark = sf_pb_write_begin(out, 3);
        sf_pb_write_u64(out, 1, i);
        sf_pb_write_u64(out, 3, UINT64_MAX);
        sf_pb_write_u64(out, 5, sf_load_u64le(s->mappings.list[i].p));
        sf_pb_write_u64(out, 6, sf_load_u64le(s->mappings.list[i].p + 8));
        for (uint32_t field = 7; field <= 9 && !has_nameless[i]; field++)
            sf_pb_write_bool(out, field, true);
        sf_pb_write_end(out, mark);
    }
    return true;
}

static void write_labels(const struct sf_profile_view *v, struct tables *s, struct sf_buf *out)
{
    for (uint32_t i = 0; i < v->n_labels; i++) {
        size_t mark = sf_pb_write_begin(out, 3);
        sf_pb_write_u64(out, 1, sf_string_table_put(&s->strings, v->labels[i].key));
        sf_pb_write_u64(out, 2, sf_string_table_put(&s->strings, v->labels[i].val));
        sf_pb_write_end(out, mark);
    }
}

/* Leaf first. */
static void write_samples(const struct sf_profile_view *v, struct tables *s, struct sf_buf *out)
{
    const struct sf_tree *t = &v->tree;
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        size_t mark, ids;
        if (!t->nodes[i].self)
            continue;
        mark = sf_pb_write_begin(out, 2);
        ids = sf_pb_write_begin(out, 1);
        for (uint32_t up = i; up != 0; up = t->nodes[up].parent)
            sf_pb_write_raw_varint(out, (uint64_t)t->nodes[up].frame + 1);
        sf_pb_write_end(out, ids);
        ids = sf_pb_write_begin(out, 2);
        sf_pb_write_raw_varint(out, (uint64_t)t->nodes[i].self);
        sf_pb_write_end(out, ids);
        write_labels(v, s, out);
        sf_pb_write_end(out, mark);
    }
}

enum sf_err sf_pprof_render(const struct sf_profile_view *v, struct sf_arena scratch,
                            struct sf_buf *out, struct sf_why *why)
{
    struct tables s;
    bool has_room;
    sf_string_table_init(&s.strings, &scratch);
    sf_string_table_init(&s.functions, &scratch);
    sf_string_table_init(&s.mappings, &scratch);
    write_type(out, 1, &s, v->type.sample_type, v->type.sample_unit);
    write_samples(v, &s, out);
    write_locations(&v->tree, &s, out);
    has_room = write_mappings(&v->tree, &s, scratch, out);
    write_functions(&s, out);
    sf_pb_write_i64(out, 9, v->time_ns);
    sf_pb_write_i64(out, 10, v->duration_ns);
    if (v->type.period_type.len || v->type.period_unit.len)
        write_type(out, 11, &s, v->type.period_type, v->type.period_unit);
    sf_pb_write_i64(out, 12, v->period);
    for (uint32_t i = 0; i < s.strings.n; i++)
        sf_pb_write_str(out, 6, s.strings.list[i]);
    if (!has_room || s.strings.is_full || s.functions.is_full || s.mappings.is_full)
        return sf_fail(why, SF_ERR_LIMIT, "pprof: the tables do not fit the memory of one query");
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "pprof: no memory");
}
