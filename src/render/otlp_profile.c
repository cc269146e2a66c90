/* Entry 0 of every table is the zero element, so frames and functions are numbered from 1. There is
 * one location for each frame and one stack for each node with a value. */
#include "render/otlp_profile.h"

#include <string.h>

#include "base/num.h"
#include "render/known.h"
#include "render/string_table.h"
#include "wire/pb_write.h"

struct tables {
    struct sf_string_table strings, functions, mappings;
    struct sf_string_table attributes; /* (key, value) */
    struct sf_string_table links;      /* (trace, span) as bytes */
};

/* Both halves of a trace id and the span id, as written. */
static uint32_t put_link(struct tables *s, const struct sf_profile_owned *o)
{
    uint64_t key[3] = {0};
    memcpy(key, o->trace.b, sizeof(o->trace.b));
    key[2] = o->span;
    return sf_string_table_put_numbers(&s->links, key, 3);
}

static bool otlp_profile_is_written(const struct sf_profile_view *v, uint32_t node, uint32_t at)
{
    return v->tree.nodes[node].self || (at < v->n_owned && v->owned[at].node == node);
}

static uint32_t otlp_profile_put_function(struct tables *s, const struct sf_frame *f)
{
    uint64_t key[] = {sf_string_table_put(&s->strings, f->function),
                      sf_string_table_put(&s->strings, f->file)};
    return f->function.len ? sf_string_table_put_numbers(&s->functions, key, 2) : 0;
}

static uint32_t put_attribute(struct tables *s, sf_str key, sf_str val)
{
    uint64_t pair[] = {sf_string_table_put(&s->strings, key),
                       sf_string_table_put(&s->strings, val)};
    return sf_string_table_put_numbers(&s->attributes, pair, 2);
}

static uint32_t otlp_profile_put_mapping(struct tables *s, const struct sf_frame *f)
{
    uint64_t key[2];
    if (f->module.len == 0 && f->build_id.len == 0)
        return 0;
    key[0] = sf_string_table_put(&s->strings, f->module);
    key[1] = f->build_id.len
                 ? put_attribute(s, SF_STR("process.executable.build_id.gnu"), f->build_id)
                 : 0;
    return sf_string_table_put_numbers(&s->mappings, key, 2);
}

static sf_str otlp_profile_kind_name(uint8_t kind)
{
    static const sf_str names[SF_FRAME_KINDS] = {
        [SF_FRAME_NATIVE] = {"native", 6},  [SF_FRAME_KERNEL] = {"kernel", 6},
        [SF_FRAME_GO] = {"go", 2},          [SF_FRAME_JVM] = {"jvm", 3},
        [SF_FRAME_PYTHON] = {"cpython", 7}, [SF_FRAME_V8] = {"v8js", 4},
        [SF_FRAME_RUBY] = {"ruby", 4},      [SF_FRAME_PHP] = {"php", 3},
        [SF_FRAME_PERL] = {"perl", 4},      [SF_FRAME_DOTNET] = {"dotnet", 6},
        [SF_FRAME_BEAM] = {"beam", 4},      [SF_FRAME_RUST] = {"rust", 4},
        [SF_FRAME_LUAJIT] = {"luajit", 6}};
    return names[kind < SF_FRAME_KINDS ? kind : 0];
}

/* ---- dictionary ---- */

static void write_zero(struct sf_buf *out, uint32_t field)
{
    sf_pb_write_bytes(out, field, SF_BYTES_NONE);
}

static void otlp_profile_write_locations(const struct sf_tree *t, struct tables *s,
                                         struct sf_buf *out)
{
    write_zero(out, 2);
    for (uint32_t i = 0; i < t->n_frames; i++) {
        const struct sf_frame *f = &t->frames[i];
        size_t mark = sf_pb_write_begin(out, 2), inner;
        uint32_t mapping = otlp_profile_put_mapping(s, f),
                 function = otlp_profile_put_function(s, f);
        sf_str kind = otlp_profile_kind_name(f->kind);
        if (mapping)
            sf_pb_write_u64(out, 1, mapping);
        if (f->file_off)
            sf_pb_write_u64(out, 2, f->file_off);
        if (function) {
            inner = sf_pb_write_begin(out, 3);
            sf_pb_write_u64(out, 1, function);
            if (f->line)
                sf_pb_write_u64(out, 2, f->line);
            sf_pb_write_end(out, inner);
        }
        if (kind.len) {
            inner = sf_pb_write_begin(out, 4);
            sf_pb_write_raw_varint(out, put_attribute(s, SF_STR("profile.frame.type"), kind));
            sf_pb_write_end(out, inner);
        }
        sf_pb_write_end(out, mark);
    }
}

static void write_stacks(const struct sf_profile_view *v, struct sf_buf *out)
{
    const struct sf_tree *t = &v->tree;
    uint32_t at = 0;
    write_zero(out, 7);
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        size_t mark, ids;
        if (!otlp_profile_is_written(v, i, at))
            continue;
        while (at < v->n_owned && v->owned[at].node == i)
            at++;
        mark = sf_pb_write_begin(out, 7);
        ids = sf_pb_write_begin(out, 1);
        for (uint32_t up = i; up != 0; up = t->nodes[up].parent)
            sf_pb_write_raw_varint(out, (uint64_t)t->nodes[up].frame + 1);
        sf_pb_write_end(out, ids);
        sf_pb_write_end(out, mark);
    }
}

static uint64_t otlp_profile_part(const struct sf_string_table *t, uint32_t place, size_t at)
{
    return sf_load_u64le(t->list[place].p + at * sizeof(uint64_t));
}

static void otlp_profile_write_mappings(const struct tables *s, struct sf_buf *out)
{
    write_zero(out, 1);
    for (uint32_t i = 1; i < s->mappings.n; i++) {
        size_t mark = sf_pb_write_begin(out, 1), ids;
        sf_pb_write_u64(out, 4, otlp_profile_part(&s->mappings, i, 0));
        if (otlp_profile_part(&s->mappings, i, 1)) {
            ids = sf_pb_write_begin(out, 5);
            sf_pb_write_raw_varint(out, otlp_profile_part(&s->mappings, i, 1));
            sf_pb_write_end(out, ids);
        }
        sf_pb_write_end(out, mark);
    }
}

static void otlp_profile_write_functions(const struct tables *s, struct sf_buf *out)
{
    write_zero(out, 3);
    for (uint32_t i = 1; i < s->functions.n; i++) {
        size_t mark = sf_pb_write_begin(out, 3);
        sf_pb_write_u64(out, 1, otlp_profile_part(&s->functions, i, 0));
        sf_pb_write_u64(out, 3, otlp_profile_part(&s->functions, i, 1));
        sf_pb_write_end(out, mark);
    }
}

static void write_attributes(const struct tables *s, struct sf_buf *out)
{
    write_zero(out, 6);
    for (uint32_t i = 1; i < s->attributes.n; i++) {
        size_t mark = sf_pb_write_begin(out, 6), value;
        sf_pb_write_u64(out, 1, otlp_profile_part(&s->attributes, i, 0));
        value = sf_pb_write_begin(out, 2);
        sf_pb_write_str(out, 1, s->strings.list[otlp_profile_part(&s->attributes, i, 1)]);
        sf_pb_write_end(out, value);
        sf_pb_write_end(out, mark);
    }
}

/* ---- the profile ---- */

static void render_otlp_profile_write_type(struct sf_buf *out, uint32_t field, struct tables *s,
                                           sf_str type, sf_str unit)
{
    size_t mark = sf_pb_write_begin(out, field);
    sf_pb_write_u64(out, 1, sf_string_table_put(&s->strings, type));
    sf_pb_write_u64(out, 2, sf_string_table_put(&s->strings, unit));
    sf_pb_write_end(out, mark);
}

static void render_otlp_profile_write_sample(struct sf_buf *out, uint32_t stack, uint32_t link,
                                             int64_t value)
{
    size_t sample = sf_pb_write_begin(out, 2), values;
    sf_pb_write_u64(out, 1, stack);
    if (link)
        sf_pb_write_u64(out, 3, link);
    values = sf_pb_write_begin(out, 4);
    sf_pb_write_raw_varint(out, (uint64_t)value);
    sf_pb_write_end(out, values);
    sf_pb_write_end(out, sample);
}

static void write_links(const struct tables *s, struct sf_buf *out)
{
    write_zero(out, 4);
    for (uint32_t i = 1; i < s->links.n; i++) {
        size_t mark = sf_pb_write_begin(out, 4);
        uint8_t span[8];
        for (size_t k = 0; k < 8; k++)
            span[k] = (uint8_t)(otlp_profile_part(&s->links, i, 2) >> (56 - 8 * k));
        sf_pb_write_bytes(out, 1, (sf_bytes){(const uint8_t *)s->links.list[i].p, 16});
        sf_pb_write_bytes(out, 2, (sf_bytes){span, 8});
        sf_pb_write_end(out, mark);
    }
}

static void render_otlp_profile_write_profile(const struct sf_profile_view *v, struct tables *s,
                                              struct sf_buf *out)
{
    size_t mark = sf_pb_write_begin(out, 2);
    uint32_t stack = 0, at = 0;
    render_otlp_profile_write_type(out, 1, s, v->type.sample_type, v->type.sample_unit);
    for (uint32_t i = 0; i < v->tree.n_nodes; i++) {
        int64_t rest = v->tree.nodes[i].self;
        if (!otlp_profile_is_written(v, i, at))
            continue;
        stack++;
        for (; at < v->n_owned && v->owned[at].node == i; at++) {
            render_otlp_profile_write_sample(out, stack, put_link(s, &v->owned[at]),
                                             v->owned[at].value);
            rest = sf_sub_sat_i64(rest, v->owned[at].value);
        }
        if (rest)
            render_otlp_profile_write_sample(out, stack, 0, rest);
    }
    sf_pb_write_fixed64(out, 3, (uint64_t)v->time_ns);
    sf_pb_write_u64(out, 4, (uint64_t)v->duration_ns);
    if (v->type.period_type.len || v->type.period_unit.len)
        render_otlp_profile_write_type(out, 5, s, v->type.period_type, v->type.period_unit);
    sf_pb_write_i64(out, 6, v->period);
    sf_pb_write_end(out, mark);
}

static void write_attribute(struct sf_buf *out, sf_str key, sf_str val)
{
    size_t mark = sf_pb_write_begin(out, 1), value;
    sf_pb_write_str(out, 1, key);
    value = sf_pb_write_begin(out, 2);
    sf_pb_write_str(out, 1, val);
    sf_pb_write_end(out, value);
    sf_pb_write_end(out, mark);
}

static void otlp_profile_write_resource(const struct sf_profile_view *v, struct sf_buf *out)
{
    size_t mark = sf_pb_write_begin(out, 1);
    write_attribute(out, SF_STR("service.name"), v->service);
    for (uint32_t i = 0; i < v->n_labels; i++) {
        if (!sf_str_eq(v->labels[i].key, SF_STR("service_name")))
            write_attribute(out, v->labels[i].key, v->labels[i].val);
    }
    sf_pb_write_end(out, mark);
}

/* Scope attributes may contain remarks, which readers keep. */
static void otlp_profile_write_scope(struct sf_buf *out)
{
    size_t mark = sf_pb_write_begin(out, 1), attribute, value;
    sf_pb_write_str(out, 1, SF_STR("spanflame"));
    attribute = sf_pb_write_begin(out, 3);
    sf_pb_write_str(out, 1, SF_STR("spanflame.estimate"));
    value = sf_pb_write_begin(out, 2);
    sf_pb_write_str(out, 1, SF_STR(SF_ESTIMATE_REMARK));
    sf_pb_write_end(out, value);
    sf_pb_write_end(out, attribute);
    sf_pb_write_end(out, mark);
}

enum sf_err sf_otlp_profile_render(const struct sf_profile_view *v, struct sf_arena scratch,
                                   struct sf_buf *out, struct sf_why *why)
{
    struct tables s;
    size_t resource, scope, dictionary;
    sf_string_table_init(&s.strings, &scratch);
    sf_string_table_init(&s.functions, &scratch);
    sf_string_table_init(&s.mappings, &scratch);
    sf_string_table_init(&s.attributes, &scratch);
    sf_string_table_init(&s.links, &scratch);
    resource = sf_pb_write_begin(out, 1);
    otlp_profile_write_resource(v, out);
    scope = sf_pb_write_begin(out, 2);
    if (v->is_estimate)
        otlp_profile_write_scope(out);
    render_otlp_profile_write_profile(v, &s, out);
    sf_pb_write_end(out, scope);
    sf_pb_write_end(out, resource);
    dictionary = sf_pb_write_begin(out, 2);
    otlp_profile_write_locations(&v->tree, &s, out);
    write_stacks(v, out);
    otlp_profile_write_mappings(&s, out);
    otlp_profile_write_functions(&s, out);
    write_links(&s, out);
    write_attributes(&s, out);
    for (uint32_t i = 0; i < s.strings.n; i++)
        sf_pb_write_str(out, 5, s.strings.list[i]);
    sf_pb_write_end(out, dictionary);
    if (s.strings.is_full || s.functions.is_full || s.mappings.is_full || s.attributes.is_full ||
        s.links.is_full)
        return sf_fail(why, SF_ERR_LIMIT, "OTLP: the tables do not fit the memory of one query");
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "OTLP: no memory");
}
