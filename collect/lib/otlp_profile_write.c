/* The request: 1 ResourceProfiles{1 resource, 2 ScopeProfiles{1 scope, 2 Profile ...}},
 * 2 dictionary. Tables of the dictionary: 1 mappings, 2 locations, 3 functions, 4 links, 5 strings,
 * 6 attributes, 7 stacks; element 0 of each is empty and means none. They grow while the profiles
 * are written, each in a buffer of its own, and are joined at the end. */
#include "collect/lib/otlp_profile_write.h"

#include <string.h>

#include "base/heap.h"
#include "base/invariant.h"
#include "base/text.h"
#include "collect/lib/attr_write.h"
#include "collect/lib/frame_names.h"
#include "collect/lib/name_table.h"
#include "collect/sys/clock.h"
#include "collect/unwind/walk.h"
#include "wire/pb_write.h"

enum { MAPPINGS = 1, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRS, STACKS, TABLES };
enum { NAME_MAX_LEN = 4096 };

struct writer {
    struct sf_buf profiles; /* messages of ScopeProfiles, field 2 each */
    struct sf_buf tables[TABLES];
    struct sf_name_table ids[TABLES];
    struct sf_frame_names names;
    int64_t mono_to_unix_ns;
    uint32_t n_profiles;
};

static uint32_t otlp_profile_write_id_of(struct writer *w, int table, uint64_t key, bool *is_new)
{
    return sf_name_table_id(&w->ids[table], key, 1, is_new);
}

static uint32_t otlp_profile_write_text(struct writer *w, sf_str s)
{
    bool is_new;
    uint32_t id;
    if (!s.len)
        return 0;
    id = otlp_profile_write_id_of(w, STRINGS, sf_name_table_hash(s.p, s.len), &is_new);
    if (is_new)
        sf_attr_write_text(&w->tables[STRINGS], STRINGS, s, NAME_MAX_LEN);
    return id;
}

static uint64_t otlp_profile_write_mix(uint64_t a, uint64_t b)
{
    uint64_t both[2] = {a, b};
    return sf_name_table_hash(both, sizeof(both));
}

/* KeyValueAndUnit{1 key, 2 AnyValue{1 string | 3 int}} */
static uint32_t attr(struct writer *w, sf_str key, sf_str val, int64_t num)
{
    struct sf_buf *b = &w->tables[ATTRS];
    uint32_t key_id = otlp_profile_write_text(w, key), id;
    uint64_t what = val.len ? sf_name_table_hash(val.p, val.len) : (uint64_t)num;
    bool is_new;
    size_t mark, any;
    id = otlp_profile_write_id_of(
        w, ATTRS, otlp_profile_write_mix((uint64_t)key_id << 1 | (val.len > 0), what), &is_new);
    if (!is_new)
        return id;
    mark = sf_pb_write_begin(b, ATTRS);
    sf_pb_write_u64(b, 1, key_id);
    any = sf_pb_write_begin(b, 2);
    if (val.len)
        sf_attr_write_text(b, 1, val, val.len);
    else
        sf_pb_write_i64(b, 3, num);
    sf_pb_write_end(b, any);
    sf_pb_write_end(b, mark);
    return id;
}

/* Function{1 name, 2 system name, 3 file, 4 start line} */
static uint32_t function(struct writer *w, const struct sf_frame_line *l)
{
    struct sf_buf *b = &w->tables[FUNCTIONS];
    uint32_t key[] = {otlp_profile_write_text(w, l->name),
                      otlp_profile_write_text(w, l->system_name),
                      otlp_profile_write_text(w, l->file), l->start_line};
    bool is_new;
    uint32_t id = otlp_profile_write_id_of(w, FUNCTIONS, sf_name_table_hash(key, sizeof(key)),
                                           &is_new);
    if (is_new) {
        size_t mark = sf_pb_write_begin(b, FUNCTIONS);
        sf_pb_write_u64(b, 1, key[0]);
        sf_pb_write_u64(b, 2, key[1]);
        if (key[2])
            sf_pb_write_u64(b, 3, key[2]);
        if (l->start_line)
            sf_pb_write_u64(b, 4, l->start_line);
        sf_pb_write_end(b, mark);
    }
    return id;
}

static uint32_t mapping(struct writer *w, const struct sf_module *m)
{
    struct sf_buf *b = &w->tables[MAPPINGS];
    char hex[SF_BUILD_ID_MAX * 2];
    uint32_t file, build_id = 0, id;
    bool is_new;
    size_t mark;
    id = otlp_profile_write_id_of(w, MAPPINGS, m->lo, &is_new);
    if (!is_new)
        return id;
    file = otlp_profile_write_text(w, sf_str_from(m->path));
    sf_hex_encode(m->build_id, m->build_id_len, hex);
    if (m->build_id_len)
        build_id = attr(w, SF_STR("process.executable.build_id.gnu"),
                        (sf_str){hex, (size_t)m->build_id_len * 2}, 0);
    mark = sf_pb_write_begin(b, MAPPINGS);
    sf_pb_write_u64(b, 1, m->lo);
    sf_pb_write_u64(b, 2, m->hi);
    sf_pb_write_u64(b, 3, m->file_off);
    sf_pb_write_u64(b, 4, file);
    if (build_id)
        sf_pb_write_u64(b, 5, build_id);
    sf_pb_write_end(b, mark);
    return id;
}

/* Location{1 mapping, 2 address, 3 Line{1 function, 2 line}}, the innermost line first */
static void otlp_profile_write_location(struct writer *w, uint32_t map, uint64_t at,
                                        const struct sf_named_frame *f)
{
    struct sf_buf *b = &w->tables[LOCATIONS];
    uint32_t functions[SF_FRAME_LINES_MAX];
    size_t mark, line;
    for (uint32_t i = 0; i < f->n_lines; i++)
        functions[i] = function(w, &f->lines[i]);
    mark = sf_pb_write_begin(b, LOCATIONS);
    if (map)
        sf_pb_write_u64(b, 1, map);
    if (at)
        sf_pb_write_u64(b, 2, at);
    for (uint32_t i = 0; i < f->n_lines; i++) {
        line = sf_pb_write_begin(b, 3);
        sf_pb_write_u64(b, 1, functions[i]);
        if (f->lines[i].line)
            sf_pb_write_u64(b, 2, f->lines[i].line);
        sf_pb_write_end(b, line);
    }
    sf_pb_write_end(b, mark);
}

static void otlp_profile_write_name_all(struct sf_named_frame *f, sf_str name)
{
    f->n_lines = 1;
    f->lines[0] = (struct sf_frame_line){.name = name, .system_name = name};
}

static uint32_t otlp_profile_location_id(struct writer *w, uint64_t at)
{
    bool is_new;
    uint32_t id = otlp_profile_write_id_of(w, LOCATIONS, at, &is_new);
    struct sf_named_frame f;
    if (!is_new)
        return id;
    sf_frame_names_find(&w->names, at, &f);
    if (!f.module)
        otlp_profile_write_name_all(&f, SF_STR("[unknown code]"));
    /* Without a function the server symbolizes the address. */
    otlp_profile_write_location(w, f.module ? mapping(w, w->names.m->list[f.module - 1]) : 0, at,
                                &f);
    return id;
}

/* A location for how the walk ended; its key is below any address. */
static uint32_t otlp_profile_write_end_location(struct writer *w, uint8_t end)
{
    bool is_new;
    uint32_t id = otlp_profile_write_id_of(w, LOCATIONS, end, &is_new);
    struct sf_named_frame f = {.module = 0};
    if (!is_new)
        return id;
    if (end == SF_END_PAUSED + SF_PAUSE_LOAD)
        otlp_profile_write_name_all(&f, SF_STR("[paused: the host was overloaded]"));
    else if (end == SF_END_PAUSED + SF_PAUSE_CONTROL)
        otlp_profile_write_name_all(&f, SF_STR("[paused: switched off by the server]"));
    else if (end == SF_END_PAUSED + SF_PAUSE_BUDGET)
        otlp_profile_write_name_all(&f, SF_STR("[paused: profiling exceeded its budget]"));
    else
        otlp_profile_write_name_all(&f, end == SF_WALK_FULL ? SF_STR("(truncated)")
                                                            : SF_STR("[unknown caller]"));
    otlp_profile_write_location(w, 0, 0, &f);
    return id;
}

static uint32_t stack(struct writer *w, const struct sf_profile_table *t,
                      const struct sf_profile_stack_row *row)
{
    struct sf_buf *b = &w->tables[STACKS];
    const uint64_t *frames = sf_profile_table_frames(t, row);
    uint32_t ids[SF_SAMPLE_FRAMES + 1], n = 0, id;
    bool is_new;
    size_t mark, list;
    for (; n < row->n_frames; n++)
        ids[n] = otlp_profile_location_id(w, frames[n]);
    if (row->end)
        ids[n++] = otlp_profile_write_end_location(w, row->end);
    id = otlp_profile_write_id_of(w, STACKS, sf_name_table_hash(ids, n * sizeof(ids[0])), &is_new);
    if (!is_new)
        return id;
    mark = sf_pb_write_begin(b, STACKS);
    list = sf_pb_write_begin(b, 1);
    for (uint32_t i = 0; i < n; i++)
        sf_pb_write_raw_varint(b, ids[i]);
    sf_pb_write_end(b, list);
    sf_pb_write_end(b, mark);
    return id;
}

static uint32_t link_of(struct writer *w, const struct sf_profile_stack_row *row)
{
    struct sf_buf *b = &w->tables[LINKS];
    static const uint8_t none[8];
    uint8_t both[24];
    uint32_t id;
    bool is_new;
    size_t mark;
    if (memcmp(row->span_id, none, 8) == 0)
        return 0;
    memcpy(both, row->trace_id, 16);
    memcpy(both + 16, row->span_id, 8);
    id = otlp_profile_write_id_of(w, LINKS, sf_name_table_hash(both, sizeof(both)), &is_new);
    if (is_new) {
        mark = sf_pb_write_begin(b, LINKS);
        sf_pb_write_bytes(b, 1, (sf_bytes){row->trace_id, 16});
        sf_pb_write_bytes(b, 2, (sf_bytes){row->span_id, 8});
        sf_pb_write_end(b, mark);
    }
    return id;
}

/* 4 values, 5 times; without times a single sum. */
static void otlp_profile_write_points(struct writer *w, const struct sf_profile_table *t,
                                      const struct sf_profile_stack_row *row, int value)
{
    struct sf_buf *b = &w->profiles;
    size_t mark = sf_pb_write_begin(b, 4);
    if (!row->moments)
        sf_pb_write_raw_varint(b, row->values[value]);
    for (uint32_t at = row->moments; at; at = sf_profile_table_moment(t, at - 1)->next)
        sf_pb_write_raw_varint(b, sf_profile_table_moment(t, at - 1)->values[value]);
    sf_pb_write_end(b, mark);
    if (!row->moments)
        return;
    mark = sf_pb_write_begin(b, 5);
    for (uint32_t at = row->moments; at; at = sf_profile_table_moment(t, at - 1)->next)
        sf_buf_add_u64le(b, sf_profile_table_moment(t, at - 1)->time_ns +
                                (uint64_t)w->mono_to_unix_ns);
    sf_pb_write_end(b, mark);
}

static void lib_otlp_profile_write_sample(struct writer *w, const struct sf_profile_table *t,
                                          const struct sf_profile_stack_row *row, int value)
{
    struct sf_buf *b = &w->profiles;
    uint32_t stack_id = stack(w, t, row), link = link_of(w, row), attrs[2], n_attrs = 0;
    size_t mark, list;
    if (row->thread)
        attrs[n_attrs++] = attr(w, SF_STR("thread.id"), SF_STR_NONE, row->thread);
    if (row->wait)
        attrs[n_attrs++] = attr(w, SF_STR("thread.state"),
                                sf_str_from(sf_sample_kind_wait_name((enum sf_wait)row->wait)), 0);
    mark = sf_pb_write_begin(b, 2);
    sf_pb_write_u64(b, 1, stack_id);
    list = sf_pb_write_begin(b, 2);
    for (uint32_t i = 0; i < n_attrs; i++)
        sf_pb_write_raw_varint(b, attrs[i]);
    sf_pb_write_end(b, list);
    if (link)
        sf_pb_write_u64(b, 3, link);
    otlp_profile_write_points(w, t, row, value);
    sf_pb_write_end(b, mark);
}

static void lib_otlp_profile_write_type(struct writer *w, uint32_t field,
                                        const struct sf_value_name *v)
{
    uint32_t type = otlp_profile_write_text(w, sf_str_from(v->type)),
             unit = otlp_profile_write_text(w, sf_str_from(v->unit));
    size_t mark = sf_pb_write_begin(&w->profiles, field);
    sf_pb_write_u64(&w->profiles, 1, type);
    sf_pb_write_u64(&w->profiles, 2, unit);
    sf_pb_write_end(&w->profiles, mark);
}

/* A Profile has one value type. Its id lets a server recognise one that was sent twice. */
static void lib_otlp_profile_write_profile(struct writer *w, const struct sf_profile *p, int value)
{
    const struct sf_kind_info *info = sf_sample_kind_info(p->kind);
    struct sf_buf *b = &w->profiles;
    size_t mark = sf_pb_write_begin(b, 2);
    uint8_t id[16];
    sf_clock_random_fill(id, sizeof(id));
    lib_otlp_profile_write_type(w, 1, &info->values[value]);
    for (uint32_t i = 0; i < sf_profile_table_n(&p->table); i++)
        lib_otlp_profile_write_sample(w, &p->table, sf_profile_table_row(&p->table, i), value);
    sf_pb_write_fixed64(b, 3, (uint64_t)(p->begin_mono_ns + w->mono_to_unix_ns));
    sf_pb_write_u64(b, 4, (uint64_t)p->length_ns);
    if (info->period.type && p->period) {
        lib_otlp_profile_write_type(w, 5, &info->period);
        sf_pb_write_u64(b, 6, p->period);
    }
    sf_pb_write_bytes(b, 7, (sf_bytes){id, sizeof(id)});
    sf_pb_write_end(b, mark);
    w->n_profiles++;
}

static void otlp_profile_write_join(struct writer *w, const struct sf_otlp_frame *frame,
                                    struct sf_buf *out)
{
    size_t resource = sf_pb_write_begin(out, 1), scope, dictionary;
    sf_buf_add(out, frame->resource.p, frame->resource.len);
    scope = sf_pb_write_begin(out, 2);
    sf_buf_add(out, frame->scope.p, frame->scope.len);
    sf_buf_add(out, w->profiles.p, w->profiles.len);
    sf_pb_write_end(out, scope);
    sf_pb_write_end(out, resource);
    dictionary = sf_pb_write_begin(out, 2);
    for (uint32_t table = MAPPINGS; table < TABLES; table++) {
        sf_pb_write_bytes(out, table, (sf_bytes){0}); /* element 0 */
        sf_buf_add(out, w->tables[table].p, w->tables[table].len);
    }
    sf_pb_write_end(out, dictionary);
}

static bool otlp_profile_write_is_written(const struct writer *w)
{
    bool ok = sf_buf_ok(&w->profiles);
    for (int table = MAPPINGS; table < TABLES; table++)
        ok = ok && sf_buf_ok(&w->tables[table]) && !w->ids[table].has_failed;
    return ok;
}

static void writer_done(struct writer *w)
{
    sf_frame_names_close(&w->names);
    for (int table = MAPPINGS; table < TABLES; table++) {
        sf_buf_done(&w->tables[table]);
        sf_name_table_done(&w->ids[table]);
    }
    sf_buf_done(&w->profiles);
    sf_heap_free(w);
}

static void otlp_profile_write_look_up(struct writer *w, const struct sf_profile *list, unsigned n)
{
    const struct sf_profile_table *tables[SF_SAMPLES_KINDS];
    SF_ASSERT(n <= SF_SAMPLES_KINDS);
    for (unsigned i = 0; i < n; i++)
        tables[i] = &list[i].table;
    sf_frame_names_look_up(&w->names, tables, n); /* each file is read once */
}

enum sf_err sf_otlp_profile_write(const struct sf_profile *list, unsigned n,
                                  const struct sf_otlp_frame *frame, struct sf_buf *out,
                                  uint32_t *n_profiles, struct sf_why *why)
{
    struct writer *w = sf_heap_new(sizeof(*w));
    bool ok = w != NULL;
    *n_profiles = 0;
    if (ok) {
        w->mono_to_unix_ns = sf_clock_unix_ns() - sf_clock_mono_ns();
        sf_frame_names_open(&w->names, frame->budget);
        otlp_profile_write_look_up(w, list, n);
        for (unsigned i = 0; i < n && ok; i++) {
            for (int value = 0; value < 2; value++) {
                if (sf_sample_kind_info(list[i].kind)->is_sent[value] &&
                    sf_profile_table_n(&list[i].table))
                    lib_otlp_profile_write_profile(w, &list[i], value);
            }
        }
        ok = ok && otlp_profile_write_is_written(w);
        if (ok && w->n_profiles)
            otlp_profile_write_join(w, frame, out);
        *n_profiles = w->n_profiles;
        writer_done(w);
    }
    return ok && sf_buf_ok(out) ? SF_OK
                                : sf_fail(why, SF_ERR_NOMEM, "profile: no memory to send it");
}
