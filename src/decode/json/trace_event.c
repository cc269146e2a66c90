/* The Trace Event Format, which Chrome, Perfetto, py-spy, viztracer, clang and Hermes write: a list
 * of events, alone or as "traceEvents" of an object. The list may be unterminated, because programs
 * write it while they run.
 *
 * If a trace contains CPU profiles of V8, only these are read, not Chrome's own tasks. Otherwise
 * slices (B, E, X) are stacks of wall time. "samples" with "stackFrames" besides the events are
 * sampled stacks: with their weights, and the time until the thread's next sample. Other events
 * (counters, flows, asynchronous ones) are skipped. Times are microseconds of any clock. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/key.h"
#include "decode/frame_kind.h"
#include "decode/json/json_shape.h"
#include "decode/json/trace_event.h"

struct stack_frame { /* of the form with samples */
    sf_str id, parent;
    uint32_t location, up; /* up: index of the parent, or SF_NONE */
    uint32_t stack;        /* SF_NONE: not built yet */
    bool is_bad;
};

struct stack_sample {
    int64_t ts_ns, weight;
    sf_str frame;
    uint32_t thread, order;
};

struct reader {
    struct sf_trace_events t;
    struct sf_profile_list frames, samples;
    struct sf_table frame_at;
    uint32_t *path;
};

/* --- values --- */

/* The text as written, without quotes: ids may be numbers or strings. */
static sf_str trace_event_raw_value(struct sf_json *j)
{
    const char *from;
    sf_str raw;
    (void)sf_json_peek(j);
    from = j->at;
    sf_json_skip(j);
    if (!sf_json_ok(j))
        return SF_STR_NONE;
    raw = (sf_str){from, (size_t)(j->at - from)};
    if (raw.len > 1 && raw.p[0] == '"')
        raw = sf_str_part(raw, 1, raw.len - 2);
    return raw;
}

static uint64_t trace_event_id_of(sf_str raw)
{
    int64_t v;
    if (sf_str_to_i64(raw, &v))
        return v >= 0 ? (uint64_t)v : 0;
    return raw.len && !sf_str_eq(raw, SF_STR("null")) ? sf_hash_str(raw) : 0;
}

static int64_t trace_event_ns_of(struct sf_json *j)
{
    double v = sf_json_f64(j);
    if (!isfinite(v) || v < -9e14 || v > 9e15) {
        sf_json_fault(j, "a time out of range");
        return 0;
    }
    return v > 9e14 ? llround(v) * 1000 : llround(v * 1000);
}

/* --- threads --- */

struct thread_key {
    const struct sf_trace_events *t;
    uint64_t pid, tid;
};

static bool trace_event_is_thread(const struct sf_profile_build *b, uint32_t place, const void *key)
{
    const struct thread_key *k = key;
    const struct sf_trace_thread *t = sf_trace_thread_at(k->t, place);
    (void)b;
    return t->pid == k->pid && t->tid == k->tid;
}

static uint32_t find_thread(struct sf_trace_events *t, uint64_t pid, uint64_t tid)
{
    struct thread_key key = {t, pid, tid};
    struct sf_trace_thread item = {.pid = pid, .tid = tid};
    struct sf_profile_spot spot;
    if (!sf_profile_table_is_new(t->b, &t->thread_at, sf_key_mix(sf_key_u64(pid), tid),
                                 trace_event_is_thread, &key, &spot))
        return spot.place;
    return sf_profile_table_keep(t->b, &spot, &t->threads, &item, sizeof(item));
}

uint32_t sf_trace_event_label(struct sf_trace_events *t, uint32_t thread, struct sf_label *out)
{
    const struct sf_trace_thread *at = sf_trace_thread_at(t, thread);
    *out = (struct sf_label){SF_STR("process"), at->process};
    if (!t->has_processes)
        return 0;
    if (!out->val.len && !sf_arena_print(t->b->a, &out->val, "%" PRIu64, at->pid))
        t->b->is_full = true;
    return out->val.len > 0;
}

/* The process's name is given at one of its threads. Also finds out whether there is more than one
 * process. */
static int by_pid(const void *x, const void *y)
{
    const struct sf_trace_thread *const *a = x, *const *b = y;
    if ((*a)->pid != (*b)->pid)
        return (*a)->pid < (*b)->pid ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

static void name_processes(struct sf_trace_events *t)
{
    struct sf_trace_thread **all = sf_profile_new(t->b, t->threads.n + 1u, sizeof(*all));
    for (uint32_t i = 0; all && i < t->threads.n; i++)
        all[i] = sf_trace_thread_at(t, i);
    if (!all || !t->threads.n)
        return;
    qsort(all, t->threads.n, sizeof(*all), by_pid);
    t->has_processes = all[0]->pid != all[t->threads.n - 1]->pid;
    for (uint32_t i = 0, k; i < t->threads.n; i = k) {
        sf_str name = SF_STR_NONE;
        for (k = i; k < t->threads.n && all[k]->pid == all[i]->pid; k++) {
            if (all[k]->process.len)
                name = all[k]->process;
        }
        for (uint32_t m = i; m < k; m++)
            all[m]->process = name;
    }
}

/* --- events --- */

struct event { /* an event as it is read */
    sf_str name, args;
    char ph;
    int64_t ts_ns, dur_ns, tdur_ns;
    bool has_ts, has_dur, has_tdur, has_id;
    uint64_t pid, tid, id;
};

struct args { /* the known arguments */
    sf_str name, file;
    uint32_t line;
};

static void trace_event_read_event(struct sf_json *j, struct event *e)
{
    sf_str key, ph;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("name"))) {
            e->name = sf_json_peek(j) == SF_JSON_STRING ? sf_json_str(j) : trace_event_raw_value(j);
        } else if (sf_str_eq(key, SF_STR("ph"))) {
            ph = sf_json_str(j);
            e->ph = ph.len == 1 ? ph.p[0] : 0;
        } else if (sf_str_eq(key, SF_STR("ts"))) {
            e->has_ts = sf_json_peek(j) != SF_JSON_NULL;
            e->ts_ns = trace_event_ns_of(j);
        } else if (sf_str_eq(key, SF_STR("dur"))) {
            e->has_dur = sf_json_peek(j) != SF_JSON_NULL;
            e->dur_ns = trace_event_ns_of(j);
        } else if (sf_str_eq(key, SF_STR("tdur"))) {
            e->has_tdur = sf_json_peek(j) != SF_JSON_NULL;
            e->tdur_ns = trace_event_ns_of(j);
        } else if (sf_str_eq(key, SF_STR("pid"))) {
            e->pid = trace_event_id_of(trace_event_raw_value(j));
        } else if (sf_str_eq(key, SF_STR("tid"))) {
            e->tid = trace_event_id_of(trace_event_raw_value(j));
        } else if (sf_str_eq(key, SF_STR("id"))) {
            e->id = trace_event_id_of(trace_event_raw_value(j));
            e->has_id = true;
        } else if (sf_str_eq(key, SF_STR("args"))) {
            e->args = trace_event_raw_value(j);
        } else {
            sf_json_skip(j);
        }
    }
}

/* Hermes uses url and line, py-spy filename and line, metadata events name. */
static void read_args(struct sf_trace_events *t, sf_str text, struct args *out)
{
    struct sf_json j;
    sf_str key, raw;
    uint64_t line;
    if (!text.len || text.p[0] != '{')
        return;
    sf_json_init(&j, text, t->b->a);
    if (!sf_json_object(&j))
        return;
    while (sf_json_key(&j, &key)) {
        bool is_text = sf_json_peek(&j) == SF_JSON_STRING;
        if (is_text && sf_str_eq(key, SF_STR("name"))) {
            out->name = sf_json_str(&j);
        } else if (is_text &&
                   (sf_str_eq(key, SF_STR("url")) || sf_str_eq(key, SF_STR("filename")) ||
                    sf_str_eq(key, SF_STR("file")))) {
            out->file = sf_json_str(&j);
        } else if (sf_str_eq(key, SF_STR("line"))) {
            raw = trace_event_raw_value(&j);
            out->line = sf_str_to_u64(raw, &line) && line < INT32_MAX ? (uint32_t)line : 0;
        } else {
            sf_json_skip(&j);
        }
    }
    if (j.err == SF_ERR_LIMIT)
        t->b->is_full = true;
}

static void take_metadata(struct sf_trace_events *t, const struct event *e)
{
    struct args args = {0};
    uint32_t thread = find_thread(t, e->pid, e->tid);
    if (thread == SF_NONE)
        return;
    read_args(t, e->args, &args);
    if (sf_str_eq(e->name, SF_STR("thread_name")))
        sf_trace_thread_at(t, thread)->name = sf_profile_clean(t->b, args.name);
    else if (sf_str_eq(e->name, SF_STR("process_name")))
        sf_trace_thread_at(t, thread)->process = sf_profile_clean(t->b, args.name);
}

static void take_slice(struct sf_trace_events *t, const struct event *e)
{
    struct sf_trace_event *to, item = {.ph = e->ph, .ts_ns = e->ts_ns, .dur_ns = INT64_MAX};
    struct sf_function f = {.name = e->name.len ? e->name : SF_STR("(unnamed)")};
    struct args args = {0};
    item.thread = find_thread(t, e->pid, e->tid);
    if (item.thread == SF_NONE)
        return;
    if (e->ph == 'X')
        item.dur_ns = e->has_dur ? e->dur_ns : e->has_tdur ? e->tdur_ns : 0;
    if (item.dur_ns < 0)
        item.dur_ns = 0;
    if (!t->pieces.n && e->ph != 'E') { /* slices are not needed when there are CPU profiles */
        read_args(t, e->args, &args);
        f.file = args.file;
    }
    if (e->args.len)
        item.args_hash = sf_hash_str(e->args) | 1;
    item.name = e->ph == 'E' && !e->name.len
                    ? SF_NONE
                    : sf_profile_build_function(t->b, &(struct sf_function){.name = f.name});
    if (e->ph != 'E')
        item.location = sf_profile_build_frame(t->b, &f, args.line,
                                               sf_frame_kind_of_file(f.file, SF_STR_NONE));
    to = sf_profile_list_more(t->b, &t->events, sizeof(*to));
    if (!to || t->b->is_full)
        return;
    item.order = t->events.n++;
    *to = item;
}

static bool take_piece(struct sf_trace_events *t, const struct event *e)
{
    bool is_head = sf_str_eq(e->name, SF_STR("Profile")),
         is_whole = sf_str_eq(e->name, SF_STR("CpuProfile"));
    struct sf_trace_piece *to;
    if (!is_head && !is_whole && !sf_str_eq(e->name, SF_STR("ProfileChunk")))
        return false;
    to = sf_profile_list_more(t->b, &t->pieces, sizeof(*to));
    if (!to)
        return true;
    *to = (struct sf_trace_piece){.ts_ns = e->ts_ns,
                                  .pid = e->pid,
                                  .id = e->has_id ? e->id : e->tid,
                                  .thread = find_thread(t, e->pid, e->tid),
                                  .order = t->pieces.n,
                                  .args = e->args,
                                  .is_head = is_head,
                                  .is_whole = is_whole};
    t->pieces.n += to->thread != SF_NONE;
    return true;
}

static void trace_event_take_event(struct sf_trace_events *t, struct sf_json *j)
{
    struct event e = {0};
    if (sf_json_peek(j) != SF_JSON_OBJECT) {
        sf_json_skip(j);
        return;
    }
    if (!sf_json_object(j))
        return;
    trace_event_read_event(j, &e);
    if (!sf_json_ok(j))
        return;
    if (e.ph == 'M') {
        take_metadata(t, &e);
        return;
    }
    if ((e.ph == 'P' || e.ph == 'I') && take_piece(t, &e))
        e.has_ts = true;
    else if ((e.ph == 'B' || e.ph == 'E' || e.ph == 'X') && e.has_ts)
        take_slice(t, &e);
    else
        return;
    if (!t->has_first || e.ts_ns < t->first_ns)
        t->first_ns = e.ts_ns;
    t->has_first = true;
}

static void trace_event_read_events(struct sf_trace_events *t, struct sf_json *j)
{
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j) && !t->b->is_full)
        trace_event_take_event(t, j);
}

/* --- the sampled form --- */

struct frame_key {
    const struct reader *r;
    sf_str id;
};

static struct stack_frame *trace_event_frame_at(const struct reader *r, uint32_t place)
{
    return (struct stack_frame *)r->frames.items + place;
}

static bool trace_event_is_frame(const struct sf_profile_build *b, uint32_t place, const void *key)
{
    const struct frame_key *k = key;
    (void)b;
    return sf_str_eq(trace_event_frame_at(k->r, place)->id, k->id);
}

static uint32_t find_frame(struct reader *r, sf_str id)
{
    struct frame_key key = {r, id};
    struct sf_profile_spot spot;
    (void)sf_profile_table_is_new(r->t.b, &r->frame_at, sf_key_str(id), trace_event_is_frame, &key,
                                  &spot);
    return spot.place;
}

static void trace_event_read_frame(struct reader *r, struct sf_json *j, sf_str id)
{
    struct stack_frame f = {.id = id, .up = SF_NONE, .stack = SF_NONE};
    struct sf_function function = {0};
    struct frame_key key = {r, id};
    struct sf_profile_spot spot;
    sf_str name;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &name)) {
        if (sf_str_eq(name, SF_STR("name")))
            function.name = sf_json_str(j);
        else if (sf_str_eq(name, SF_STR("parent")))
            f.parent = trace_event_raw_value(j);
        else
            sf_json_skip(j);
    }
    if (!function.name.len)
        function.name = SF_STR("(unknown)");
    f.location = sf_profile_build_frame(r->t.b, &function, 0, SF_FRAME_UNKNOWN);
    if (f.location != SF_NONE && sf_profile_table_is_new(r->t.b, &r->frame_at, sf_key_str(id),
                                                         trace_event_is_frame, &key, &spot))
        sf_profile_table_keep(r->t.b, &spot, &r->frames, &f, sizeof(f));
}

static void trace_event_read_frames(struct reader *r, struct sf_json *j)
{
    sf_str id;
    if (sf_json_peek(j) != SF_JSON_OBJECT) {
        sf_json_skip(j);
        return;
    }
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &id) && !r->t.b->is_full)
        trace_event_read_frame(r, j, id);
}

static void trace_event_read_sample(struct reader *r, struct sf_json *j)
{
    struct stack_sample s = {.weight = 1}, *to;
    uint64_t pid = 0, tid = 0;
    double weight;
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("ts"))) {
            s.ts_ns = trace_event_ns_of(j);
        } else if (sf_str_eq(key, SF_STR("pid"))) {
            pid = trace_event_id_of(trace_event_raw_value(j));
        } else if (sf_str_eq(key, SF_STR("tid"))) {
            tid = trace_event_id_of(trace_event_raw_value(j));
        } else if (sf_str_eq(key, SF_STR("sf"))) {
            s.frame = trace_event_raw_value(j);
        } else if (sf_str_eq(key, SF_STR("weight"))) {
            weight = sf_json_f64(j);
            s.weight = weight > 0 && weight < 9e15 ? llround(weight) : 1;
        } else {
            sf_json_skip(j);
        }
    }
    s.thread = find_thread(&r->t, pid, tid);
    to = sf_profile_list_more(r->t.b, &r->samples, sizeof(*to));
    if (!to || s.thread == SF_NONE)
        return;
    s.order = r->samples.n++;
    *to = s;
    if (!r->t.has_first || s.ts_ns < r->t.first_ns)
        r->t.first_ns = s.ts_ns;
    r->t.has_first = true;
}

static int trace_event_by_thread(const void *x, const void *y)
{
    const struct stack_sample *a = x, *b = y;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->ts_ns != b->ts_ns)
        return a->ts_ns < b->ts_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Built once per frame; SF_NONE if its parents form a cycle. */
static uint32_t stack_of(struct reader *r, uint32_t place)
{
    struct stack_frame *leaf = trace_event_frame_at(r, place);
    uint32_t n = 0, at = place;
    if (leaf->stack != SF_NONE || leaf->is_bad)
        return leaf->stack;
    while (at != SF_NONE && n < 2 * SF_LIMIT_FRAMES) {
        struct stack_frame *f = trace_event_frame_at(r, at);
        r->path[n++] = f->location;
        if (f->parent.len && f->up == SF_NONE)
            f->up = find_frame(r, f->parent);
        at = f->up;
    }
    leaf->is_bad = at != SF_NONE;
    if (!leaf->is_bad)
        leaf->stack = sf_profile_build_stack(r->t.b, r->path, n);
    return leaf->stack;
}

static void trace_event_add_samples(struct reader *r)
{
    struct sf_profile_what counts = {.type = {SF_STR("process_cpu"), SF_STR("samples"),
                                              SF_STR("count"), SF_STR_NONE, SF_STR_NONE}},
                           times = {.type = {SF_STR("wall"), SF_STR("wall"), SF_STR("nanoseconds"),
                                             SF_STR("wall"), SF_STR("nanoseconds")}};
    const struct stack_sample *all = r->samples.items;
    struct sf_profile_build *b = r->t.b;
    uint32_t count, time, set;
    if (!r->samples.n)
        return;
    qsort(r->samples.items, r->samples.n, sizeof(*all), trace_event_by_thread);
    count = sf_profile_build_what(b, &counts, false);
    time = sf_profile_build_what(b, &times, false);
    r->path = sf_profile_new(b, 2 * SF_LIMIT_FRAMES, sizeof(*r->path));
    for (uint32_t i = 0; i < r->samples.n && sf_profile_build_ok(b); i++) {
        const struct sf_trace_thread *thread = sf_trace_thread_at(&r->t, all[i].thread);
        uint32_t place = find_frame(r, all[i].frame);
        bool has_next = i + 1 < r->samples.n && all[i + 1].thread == all[i].thread;
        struct sf_label label;
        struct sf_sample s = {.count = 1,
                              .thread = thread->tid,
                              .thread_name = thread->name,
                              .value = all[i].weight,
                              .stack = place == SF_NONE ? SF_NONE : stack_of(r, place)};
        if (s.stack == SF_NONE) {
            sf_profile_build_drop(b, &b->drops.n_samples,
                                  "trace: samples[%" PRIu32 "] has no stack: %s", all[i].order,
                                  place == SF_NONE ? "its frame is not there"
                                                   : "frames are each other's parents");
            continue;
        }
        set = sf_profile_build_set(b, &b->me, &label,
                                   sf_trace_event_label(&r->t, all[i].thread, &label));
        s.series = sf_profile_build_series(b, set, count);
        sf_sample_clock_stamp(&r->t.clock, all[i].ts_ns, 0, &s);
        sf_sample_sums_add(&r->t.sums, &s);
        s.series = sf_profile_build_series(b, set, time);
        s.value = has_next ? all[i + 1].ts_ns - all[i].ts_ns : 0;
        sf_sample_clock_stamp(&r->t.clock, all[i].ts_ns, s.value, &s);
        sf_sample_sums_add(&r->t.sums, &s);
    }
}

/* --- the file --- */

static void trace_event_read_all(struct reader *r, struct sf_json *j)
{
    sf_str key;
    if (sf_json_peek(j) == SF_JSON_ARRAY) {
        trace_event_read_events(&r->t, j);
        return;
    }
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key) && !r->t.b->is_full) {
        if (sf_str_eq(key, SF_STR("traceEvents"))) {
            trace_event_read_events(&r->t, j);
        } else if (sf_str_eq(key, SF_STR("stackFrames"))) {
            trace_event_read_frames(r, j);
        } else if (sf_str_eq(key, SF_STR("samples")) && sf_json_peek(j) == SF_JSON_ARRAY &&
                   sf_json_array(j)) {
            while (sf_json_item(j) && !r->t.b->is_full)
                trace_event_read_sample(r, j);
        } else if (!sf_str_eq(key, SF_STR("samples")) || sf_json_peek(j) != SF_JSON_NONE) {
            sf_json_skip(j);
        }
    }
}

/* An unterminated list, or one that ends inside an event, is accepted: a killed program leaves
 * that. */
static enum sf_err trace_event_check_end(struct reader *r, struct sf_json *j, sf_str bytes)
{
    struct sf_profile_build *b = r->t.b;
    bool is_cut = j->fault && (j->fault_off == bytes.len ||
                               sf_str_eq(sf_str_from(j->fault), SF_STR("a string does not end")));
    if (!is_cut || !(r->t.events.n + r->t.pieces.n))
        return sf_json_why(j, "trace", b->why);
    if (j->depth > 2 || (j->depth == 2 && j->open[0].is_array))
        sf_profile_build_drop(b, &b->drops.n_parts, "trace: it ends inside an event, at byte %zu",
                              bytes.len);
    return SF_OK;
}

static enum sf_err trace_event_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct reader *r = sf_profile_new(b, 1, sizeof(*r));
    struct sf_json *j = r ? &r->t.j : NULL;
    enum sf_err err;
    if (!r)
        return SF_OK; /* finish() reports the error */
    r->t.b = r->t.sums.b = b;
    sf_json_init(j, bytes, b->a);
    trace_event_read_all(r, j);
    if (b->is_full)
        return SF_OK;
    sf_json_end(j);
    err = trace_event_check_end(r, j, bytes);
    if (err || b->is_full)
        return err;
    name_processes(&r->t);
    r->t.clock = sf_sample_clock_init(b, r->t.first_ns);
    trace_event_add_samples(r);
    if (r->t.pieces.n)
        return sf_trace_profiles(&r->t);
    sf_trace_slices(&r->t);
    return SF_OK;
}

static bool is_trace(const struct sf_json_shape *s)
{
    return s->is_array ? sf_json_shape_has(s, "[]", "ph") : sf_json_shape_has(s, "", "traceEvents");
}

const struct sf_profile_format sf_trace_event_format = {
    .name = "trace-event",
    .also = "trace_event,chrome-trace,chrometrace",
    .is_json = is_trace,
    .decode = trace_event_decode,
};
