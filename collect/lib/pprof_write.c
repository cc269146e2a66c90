/* Profile{1 sample_type, 2 sample, 3 mapping, 4 location, 5 function, 6 strings, 9 time, 10 length,
 * 11 period_type, 12 period, 13 comments}. Ids are positions + 1. */
#include "collect/lib/pprof_write.h"

#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/text.h"
#include "collect/lib/cpu_profiler.h"
#include "collect/lib/frame_names.h"
#include "collect/lib/heap_profiler.h"
#include "collect/lib/name_table.h"
#include "collect/lib/redact.h"
#include "wire/pb_write.h"

struct writer {
    struct sf_buf *out;
    struct sf_frame_names names;
    struct sf_name_table strings, locations, functions;
    bool has_lines[SF_MODULES_MAX], has_inlines[SF_MODULES_MAX];
};

static uint32_t pprof_write_text(struct writer *w, sf_str s)
{
    bool is_new;
    uint32_t id = sf_name_table_id(&w->strings, sf_name_table_hash(s.p, s.len), 0, &is_new);
    if (is_new) {
        struct sf_buf room = {0};
        sf_pb_write_str(w->out, 6, sf_redact_text(s, &room));
        sf_buf_done(&room);
    }
    return id;
}

static void lib_pprof_write_type(struct writer *w, uint32_t field, const struct sf_value_name *v)
{
    uint32_t type_id = pprof_write_text(w, sf_str_from(v->type)),
             unit_id = pprof_write_text(w, sf_str_from(v->unit));
    size_t mark = sf_pb_write_begin(w->out, field);
    sf_pb_write_u64(w->out, 1, type_id);
    sf_pb_write_u64(w->out, 2, unit_id);
    sf_pb_write_end(w->out, mark);
}

/* Called after the locations, which determine what is known of each mapping. */
static void lib_pprof_write_mappings(struct writer *w)
{
    for (uint32_t i = 0; w->names.m && i < w->names.m->n; i++) {
        const struct sf_module *m = w->names.m->list[i];
        char hex[SF_BUILD_ID_MAX * 2];
        uint32_t path = pprof_write_text(w, sf_str_from(m->path)), id;
        size_t mark;
        sf_hex_encode(m->build_id, m->build_id_len, hex);
        id = pprof_write_text(w, (sf_str){hex, (size_t)m->build_id_len * 2});
        mark = sf_pb_write_begin(w->out, 3);
        sf_pb_write_u64(w->out, 1, i + 1);
        sf_pb_write_u64(w->out, 2, m->lo);
        sf_pb_write_u64(w->out, 3, m->hi);
        sf_pb_write_u64(w->out, 4, m->file_off);
        sf_pb_write_u64(w->out, 5, path);
        sf_pb_write_u64(w->out, 6, id);
        sf_pb_write_bool(w->out, 7, true); /* functions; then files, lines, what is inlined */
        sf_pb_write_bool(w->out, 8, w->has_lines[i]);
        sf_pb_write_bool(w->out, 9, w->has_lines[i]);
        sf_pb_write_bool(w->out, 10, w->has_inlines[i]);
        sf_pb_write_end(w->out, mark);
    }
}

static uint32_t write_function(struct writer *w, const struct sf_frame_line *l)
{
    uint32_t key[] = {pprof_write_text(w, l->name), pprof_write_text(w, l->system_name),
                      pprof_write_text(w, l->file), l->start_line};
    bool is_new;
    uint32_t id = sf_name_table_id(&w->functions, sf_name_table_hash(key, sizeof(key)), 1, &is_new);
    if (is_new) {
        size_t mark = sf_pb_write_begin(w->out, 5);
        sf_pb_write_u64(w->out, 1, id);
        sf_pb_write_u64(w->out, 2, key[0]);
        sf_pb_write_u64(w->out, 3, key[1]);
        sf_pb_write_u64(w->out, 4, key[2]);
        sf_pb_write_u64(w->out, 5, l->start_line);
        sf_pb_write_end(w->out, mark);
    }
    return id;
}

/* Lines of a location without an address are at 0. */
static void pprof_write_location(struct writer *w, uint32_t id, uint64_t at,
                                 const struct sf_named_frame *f)
{
    uint32_t functions[SF_FRAME_LINES_MAX];
    size_t mark, line;
    for (uint32_t i = 0; i < f->n_lines; i++)
        functions[i] = write_function(w, &f->lines[i]);
    mark = sf_pb_write_begin(w->out, 4);
    sf_pb_write_u64(w->out, 1, id);
    if (f->module)
        sf_pb_write_u64(w->out, 2, f->module);
    if (at)
        sf_pb_write_u64(w->out, 3, at);
    for (uint32_t i = 0; i < f->n_lines; i++) {
        line = sf_pb_write_begin(w->out, 4);
        sf_pb_write_u64(w->out, 1, functions[i]);
        if (f->lines[i].line)
            sf_pb_write_u64(w->out, 2, f->lines[i].line);
        sf_pb_write_end(w->out, line);
    }
    sf_pb_write_end(w->out, mark);
}

static void pprof_write_name_all(struct sf_named_frame *f, sf_str name)
{
    f->n_lines = 1;
    f->lines[0] = (struct sf_frame_line){.name = name, .system_name = name};
}

static void note_kind(struct writer *w, const struct sf_named_frame *f)
{
    if (!f->module || f->module > SF_MODULES_MAX)
        return;
    w->has_lines[f->module - 1] |= f->lines[0].line > 0;
    w->has_inlines[f->module - 1] |= f->n_lines > 1;
}

static uint32_t pprof_location_id(struct writer *w, uint64_t at)
{
    bool is_new;
    uint32_t id = sf_name_table_id(&w->locations, at, 1, &is_new);
    struct sf_named_frame f;
    char place[128];
    if (!is_new)
        return id;
    sf_frame_names_find(&w->names, at, &f);
    if (!f.module) {
        pprof_write_name_all(&f, SF_STR("[unknown code]"));
    } else if (!f.n_lines) { /* without a name: "libc.so.6+0x1234" */
        const struct sf_module *m = w->names.m->list[f.module - 1];
        const char *base = strrchr(m->path, '/');
        snprintf(place, sizeof(place), "%.80s+0x%llx", base ? base + 1 : m->path,
                 (unsigned long long)(at - m->base));
        pprof_write_name_all(&f, sf_str_from(place));
    }
    note_kind(w, &f);
    pprof_write_location(w, id, at, &f);
    return id;
}

/* A location for how the walk ended, without an address: its key, 0 to 3, says how. */
static uint32_t pprof_write_end_location(struct writer *w, uint8_t end)
{
    static const char *const names[] = {"", "(truncated)", "[unknown caller]", "[unknown caller]"};
    bool is_new;
    uint32_t id = sf_name_table_id(&w->locations, end, 1, &is_new);
    struct sf_named_frame f = {.module = 0};
    if (!is_new)
        return id;
    pprof_write_name_all(&f, sf_str_from(names[end & 3]));
    pprof_write_location(w, id, 0, &f);
    return id;
}

static void lib_pprof_write_label(struct writer *w, uint32_t key, uint32_t str, uint64_t num)
{
    size_t mark = sf_pb_write_begin(w->out, 3);
    sf_pb_write_u64(w->out, 1, key);
    if (str)
        sf_pb_write_u64(w->out, 2, str);
    else
        sf_pb_write_u64(w->out, 3, num);
    sf_pb_write_end(w->out, mark);
}

/* The row's two values, with `before` and `after` zeros for the values of the other profile. */
static void lib_pprof_write_sample(struct writer *w, const struct sf_profile_table *t,
                                   const struct sf_profile_stack_row *row, int before, int after)
{
    const uint64_t *frames = sf_profile_table_frames(t, row);
    uint32_t ids[SF_SAMPLE_FRAMES + 1], n = 0, span = 0, trace = 0;
    uint32_t span_key = pprof_write_text(w, SF_STR("span_id")),
             trace_key = pprof_write_text(w, SF_STR("trace_id"));
    uint32_t thread_key = pprof_write_text(w, SF_STR("thread_id")), wait_key = 0, wait = 0;
    static const uint8_t none[8];
    char hex[32];
    size_t mark;

    for (; n < row->n_frames; n++)
        ids[n] = pprof_location_id(w, frames[n]);
    if (row->end)
        ids[n++] = pprof_write_end_location(w, row->end);
    if (memcmp(row->span_id, none, 8) != 0) {
        sf_hex_encode(row->span_id, 8, hex);
        span = pprof_write_text(w, (sf_str){hex, 16});
        sf_hex_encode(row->trace_id, 16, hex);
        trace = pprof_write_text(w, (sf_str){hex, 32});
    }
    if (row->wait) {
        wait_key = pprof_write_text(w, SF_STR("thread.state"));
        wait = pprof_write_text(w, sf_str_from(sf_sample_kind_wait_name((enum sf_wait)row->wait)));
    }
    mark = sf_pb_write_begin(w->out, 2);
    for (uint32_t i = 0; i < n; i++)
        sf_pb_write_u64(w->out, 1, ids[i]);
    for (int i = 0; i < before; i++)
        sf_pb_write_u64(w->out, 2, 0);
    sf_pb_write_u64(w->out, 2, row->values[0]);
    sf_pb_write_u64(w->out, 2, row->values[1]);
    for (int i = 0; i < after; i++)
        sf_pb_write_u64(w->out, 2, 0);
    if (span) {
        lib_pprof_write_label(w, span_key, span, 0);
        lib_pprof_write_label(w, trace_key, trace, 0);
    }
    lib_pprof_write_label(w, thread_key, 0, row->thread);
    if (wait)
        lib_pprof_write_label(w, wait_key, wait, 0);
    sf_pb_write_end(w->out, mark);
}

static void pprof_write_types(struct writer *w, const struct sf_profile *p)
{
    lib_pprof_write_type(w, 1, &sf_sample_kind_info(p->kind)->values[0]);
    lib_pprof_write_type(w, 1, &sf_sample_kind_info(p->kind)->values[1]);
}

static void lib_pprof_write_samples(struct writer *w, const struct sf_profile *p, int before,
                                    int after)
{
    for (uint32_t i = 0; i < sf_profile_table_n(&p->table); i++)
        lib_pprof_write_sample(w, &p->table, sf_profile_table_row(&p->table, i), before, after);
}

/* A comment with the numbers of samples, dropped and lost ones; for a CPU profile also the actual
 * and the requested rate. */
static void write_comment(struct writer *w, const struct sf_profile *p)
{
    const struct sf_kind_info *info = sf_sample_kind_info(p->kind);
    double cpu_s = (double)p->table.values[1] / 1e9;
    const char *no_perf = sf_cpu_profiler_no_perf();
    char said[480];
    int len = snprintf(
        said, sizeof(said), "%s: %llu samples, %llu %s in all, %llu dropped, %llu lost", info->word,
        (unsigned long long)p->n_samples, (unsigned long long)p->table.values[0],
        info->values[0].type, (unsigned long long)p->n_dropped, (unsigned long long)p->table.lost);
    if (p->kind == SF_SAMPLES_CPU && cpu_s > 0 && p->period)
        len += snprintf(said + len, sizeof(said) - (size_t)len,
                        ", %.1f a second of CPU time, %.1f asked for", (double)p->n_samples / cpu_s,
                        1e9 / (double)p->period);
    if (p->kind == SF_SAMPLES_CPU)
        snprintf(said + len, sizeof(said) - (size_t)len, no_perf ? ", by timers: %s" : ", by perf",
                 no_perf);
    else if ((1u << p->kind & SF_HEAP_KINDS) && sf_heap_profiler_blind())
        snprintf(said + len, sizeof(said) - (size_t)len, ": %s", sf_heap_profiler_blind());
    sf_pb_write_u64(w->out, 13, pprof_write_text(w, sf_str_from(said)));
}

static void pprof_write_profile(struct writer *w, const struct sf_profile *p,
                                const struct sf_profile *beside)
{
    const struct sf_kind_info *info = sf_sample_kind_info(p->kind);
    pprof_write_text(w, SF_STR_NONE);
    pprof_write_types(w, p);
    if (beside)
        pprof_write_types(w, beside);
    lib_pprof_write_samples(w, p, 0, beside ? 2 : 0);
    if (beside)
        lib_pprof_write_samples(w, beside, 2, 0);
    lib_pprof_write_mappings(w);
    sf_pb_write_i64(w->out, 9, p->begin_unix_ns);
    sf_pb_write_i64(w->out, 10, p->length_ns);
    if (info->period.type) {
        lib_pprof_write_type(w, 11, &info->period);
        sf_pb_write_u64(w->out, 12, p->period);
    }
    write_comment(w, p);
}

static void pprof_write_look_up(struct writer *w, const struct sf_profile *p,
                                const struct sf_profile *beside)
{
    const struct sf_profile_table *tables[] = {&p->table, beside ? &beside->table : NULL};
    sf_frame_names_look_up(&w->names, tables, beside ? 2 : 1);
}

enum sf_err sf_pprof_write(const struct sf_profile *profile, const struct sf_profile *beside,
                           struct sf_buf *out, struct sf_why *why)
{
    struct writer *w = sf_heap_new(sizeof(*w));
    bool ok = w != NULL;
    if (ok) {
        w->out = out;
        sf_frame_names_open(&w->names, NULL);
        pprof_write_look_up(w, profile, beside);
        pprof_write_profile(w, profile, beside);
        ok = !w->strings.has_failed && !w->locations.has_failed && !w->functions.has_failed &&
             sf_buf_ok(out);
        sf_frame_names_close(&w->names);
        sf_name_table_done(&w->strings);
        sf_name_table_done(&w->locations);
        sf_name_table_done(&w->functions);
        sf_heap_free(w);
    }
    return ok ? SF_OK : sf_fail(why, SF_ERR_NOMEM, "profile: no memory to write it");
}
