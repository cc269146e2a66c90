/* Firefox's profiles, as the browser writes them (raw), as its profiler stores them (processed;
 * also written by samply and importers of other profilers), and as old developer tools wrapped
 * them.
 *
 * Each thread has samples with a stack, a time and perhaps a weight or the CPU time since the
 * sample before; stacks are links into tables, which newer versions share between threads. A sample
 * counts as the sampling interval (wall), as its CPU time if that is in units of time, and as one
 * (samples). weightType gives the meaning of other weights: milliseconds of tracing, or bytes.
 * Times are milliseconds from meta.startTime. Child processes are profiles of their own inside this
 * one; in very old files they are JSON in a string. */
#include <inttypes.h>
#include <math.h>

#include "base/hash.h"
#include "decode/json/gecko.h"
#include "decode/json/json_shape.h"
#include "decode/profile_type.h"
#include "decode/sample_clock.h"

enum {
    MAX_LEVELS = 3,
    MAX_THREADS = 4096,
    MAX_LIBS = 1024 /* bounded, because each frame searches
                     * the libraries */
};

struct thread {
    sf_str name, process, pid, samples;
    uint64_t tid;
    struct sf_gecko_texts own;
    uint32_t profile; /* index of its profile */
};

struct profile { /* a process's */
    double start_ms, interval_ms;
    int64_t cpu_unit_ns; /* unit of threadCPUDelta; 0: none */
    struct sf_gecko_texts shared;
    struct sf_profile_list libs;
    struct sf_gecko_stacks stacks; /* tables shared by the threads */
};

struct reader {
    struct sf_profile_build *b;
    struct sf_json j; /* for the tables */
    struct sf_profile_list threads, profiles;
    uint32_t samples, wall, cpu, bytes; /* indexes of the types */
    bool has_processes;
};

/* Converts whole milliseconds first: a double cannot hold nanoseconds since 1970. */
static int64_t gecko_ns_of(double ms)
{
    double whole = floor(ms);
    return (int64_t)whole * 1000000 + llround((ms - whole) * 1e6);
}

static sf_str gecko_value_text(struct sf_json *j)
{
    const char *from;
    (void)sf_json_peek(j);
    from = j->at;
    sf_json_skip(j);
    return sf_json_ok(j) ? (sf_str){from, (size_t)(j->at - from)} : SF_STR_NONE;
}

/* A text, or the digits of a number. */
static sf_str gecko_word_of(struct sf_json *j)
{
    return sf_json_peek(j) == SF_JSON_STRING ? sf_json_str(j) : gecko_value_text(j);
}

static bool take_table(struct sf_json *j, sf_str key, struct sf_gecko_texts *t)
{
    if (sf_str_eq(key, SF_STR("stackTable")))
        t->stacks = gecko_value_text(j);
    else if (sf_str_eq(key, SF_STR("frameTable")))
        t->frames = gecko_value_text(j);
    else if (sf_str_eq(key, SF_STR("funcTable")))
        t->funcs = gecko_value_text(j);
    else if (sf_str_eq(key, SF_STR("resourceTable")))
        t->resources = gecko_value_text(j);
    else if (sf_str_eq(key, SF_STR("stringTable")) || sf_str_eq(key, SF_STR("stringArray")))
        t->strings = gecko_value_text(j);
    else if (sf_str_eq(key, SF_STR("sources")))
        t->sources = gecko_value_text(j);
    else
        return false;
    return true;
}

static struct profile *profile_at(const struct reader *r, uint32_t place)
{
    return ((struct profile **)r->profiles.items)[place];
}

static void gecko_read_meta(struct sf_json *j, struct profile *p)
{
    sf_str key, unit;
    if (sf_json_peek(j) != SF_JSON_OBJECT || !sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        bool is_number = sf_json_peek(j) == SF_JSON_NUMBER;
        if (sf_str_eq(key, SF_STR("startTime")) && is_number) {
            p->start_ms = sf_json_f64(j);
        } else if (sf_str_eq(key, SF_STR("interval")) && is_number) {
            p->interval_ms = sf_json_f64(j);
        } else if (sf_str_eq(key, SF_STR("sampleUnits")) && sf_json_peek(j) == SF_JSON_OBJECT &&
                   sf_json_object(j)) {
            while (sf_json_key(j, &key)) {
                if (!sf_str_eq(key, SF_STR("threadCPUDelta"))) {
                    sf_json_skip(j);
                    continue;
                }
                unit = gecko_word_of(j);
                p->cpu_unit_ns = sf_str_eq(unit, SF_STR("ns"))          ? 1
                                 : sf_str_eq(unit, SF_STR("\xc2\xb5s")) ? 1000
                                                                        : 0;
            }
        } else {
            sf_json_skip(j);
        }
    }
    if (!(p->interval_ms > 0 && p->interval_ms < 1e9))
        p->interval_ms = 1;
}

/* A list, or in old files a string that holds one. */
static void read_libs(struct reader *r, struct sf_json *outer, struct profile *p)
{
    struct sf_json *j = &r->j;
    sf_str key, text = gecko_word_of(outer);
    sf_json_init(j, text, r->b->a);
    if (sf_json_peek(j) != SF_JSON_ARRAY || !sf_json_array(j))
        return;
    while (sf_json_item(j) && p->libs.n < MAX_LIBS) {
        struct sf_gecko_lib lib = {0}, *to;
        double v;
        if (sf_json_peek(j) != SF_JSON_OBJECT || !sf_json_object(j)) {
            sf_json_skip(j);
            continue;
        }
        while (sf_json_key(j, &key)) {
            bool is_start = sf_str_eq(key, SF_STR("start"));
            if (sf_json_peek(j) == SF_JSON_NUMBER && (is_start || sf_str_eq(key, SF_STR("end")))) {
                v = sf_json_f64(j);
                *(is_start ? &lib.start : &lib.end) = v >= 0 && v < 1.8e19 ? (uint64_t)v : 0;
            } else if (sf_str_eq(key, SF_STR("name"))) {
                lib.name = gecko_word_of(j);
            } else {
                sf_json_skip(j);
            }
        }
        to = sf_profile_list_more(r->b, &p->libs, sizeof(*to));
        if (!to)
            return;
        *to = lib;
        p->libs.n++;
    }
}

static void gecko_read_thread(struct reader *r, struct sf_json *j, uint32_t profile)
{
    struct thread t = {.profile = profile}, *to;
    sf_str key, word;
    int64_t tid;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("name"))) {
            t.name = sf_profile_clean(r->b, gecko_word_of(j));
        } else if (sf_str_eq(key, SF_STR("processName"))) {
            t.process = sf_profile_clean(r->b, gecko_word_of(j));
        } else if (sf_str_eq(key, SF_STR("pid"))) {
            t.pid = sf_profile_clean(r->b, gecko_word_of(j));
        } else if (sf_str_eq(key, SF_STR("tid"))) {
            word = gecko_word_of(j);
            t.tid = sf_str_to_i64(word, &tid) && tid >= 0 ? (uint64_t)tid : sf_hash_str(word);
        } else if (sf_str_eq(key, SF_STR("samples"))) {
            t.samples = gecko_value_text(j);
        } else if (!take_table(j, key, &t.own)) {
            sf_json_skip(j);
        }
    }
    if (!sf_json_ok(j))
        return;
    if (r->threads.n == MAX_THREADS) {
        sf_profile_build_drop(r->b, &r->b->drops.n_parts, "Gecko profile: more than %d threads",
                              MAX_THREADS);
        return;
    }
    to = sf_profile_list_more(r->b, &r->threads, sizeof(*to));
    if (!to)
        return;
    if (r->threads.n)
        r->has_processes |= !sf_str_eq(t.pid, ((struct thread *)r->threads.items)[0].pid);
    *to = t;
    r->threads.n++;
}

static void gecko_read_profile(struct reader *r, struct sf_json *j, unsigned level);

/* JSON inside a string: the profile of a child process. The nesting is limited. */
static void gecko_read_text(struct reader *r, struct sf_json *outer, unsigned level)
{
    struct sf_json *j = sf_profile_new(r->b, 1, sizeof(*j));
    sf_str text = sf_json_str(outer);
    if (!j || !sf_json_ok(outer))
        return;
    sf_json_init(j, text, r->b->a);
    if (level + 1 < MAX_LEVELS && sf_json_peek(j) == SF_JSON_OBJECT)
        gecko_read_profile(r, j, level + 1);
    if (!sf_json_ok(j))
        sf_profile_build_drop(r->b, &r->b->drops.n_parts,
                              "Gecko profile: a process in a string: %s at byte %zu", j->fault,
                              j->fault_off);
}

static void gecko_read_list(struct reader *r, struct sf_json *j, uint32_t profile, unsigned level,
                            bool is_threads)
{
    if (sf_json_peek(j) != SF_JSON_ARRAY) {
        sf_json_skip(j);
        return;
    }
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j) && !r->b->is_full) {
        enum sf_json_type type = sf_json_peek(j);
        if (type == SF_JSON_STRING)
            gecko_read_text(r, j, level);
        else if (type == SF_JSON_OBJECT && is_threads)
            gecko_read_thread(r, j, profile);
        else if (type == SF_JSON_OBJECT && level + 1 < MAX_LEVELS)
            gecko_read_profile(r, j, level + 1);
        else
            sf_json_skip(j);
    }
}

static void gecko_read_profile(struct reader *r, struct sf_json *j, unsigned level)
{
    struct profile *p = sf_profile_new(r->b, 1, sizeof(*p)),
                   **to = sf_profile_list_more(r->b, &r->profiles, sizeof(*to));
    uint32_t place = r->profiles.n;
    sf_str key;
    if (!p || !to || !sf_json_object(j))
        return;
    p->interval_ms = 1;
    p->stacks = (struct sf_gecko_stacks){.b = r->b, .libs = &p->libs};
    *to = p;
    r->profiles.n++;
    while (sf_json_key(j, &key) && !r->b->is_full) {
        if (sf_str_eq(key, SF_STR("meta"))) {
            gecko_read_meta(j, p);
        } else if (sf_str_eq(key, SF_STR("libs"))) {
            read_libs(r, j, p);
        } else if (sf_str_eq(key, SF_STR("threads"))) {
            gecko_read_list(r, j, place, level, true);
        } else if (sf_str_eq(key, SF_STR("processes"))) {
            gecko_read_list(r, j, place, level, false);
        } else if (sf_str_eq(key, SF_STR("shared")) && sf_json_peek(j) == SF_JSON_OBJECT &&
                   sf_json_object(j)) {
            while (sf_json_key(j, &key)) {
                if (!take_table(j, key, &p->shared))
                    sf_json_skip(j);
            }
        } else {
            sf_json_skip(j);
        }
    }
}

/* --- samples --- */

enum { STACK, TIME, TIME_DELTA, WEIGHT, CPU, N_COLUMNS };

struct moment {
    const struct thread *t;
    const struct profile *p;
    struct sf_sample_clock clock;
    uint32_t set;
    enum weights { BY_SAMPLES, BY_MS, BY_BYTES } by;
};

static void gecko_add(struct reader *r, const struct moment *m, uint32_t what, uint32_t stack,
                      double value, double at_ms, bool has_length)
{
    struct sf_sample s = {.stack = stack,
                          .count = 1,
                          .thread = m->t->tid,
                          .thread_name = m->t->name,
                          .series = sf_profile_build_series(r->b, m->set, what)};
    if (!(fabs(value) < 9e18))
        return;
    s.value = llround(value);
    if (fabs(at_ms) < 9e12)
        sf_sample_clock_stamp(&m->clock, gecko_ns_of(at_ms), has_length ? s.value : 0, &s);
    sf_profile_build_sample(r->b, &r->b->me, &s);
}

static void gecko_add_sample(struct reader *r, const struct moment *m,
                             const struct sf_gecko_column *columns, uint32_t i, uint32_t stack,
                             double at)
{
    double weight = columns[WEIGHT].list.n ? sf_gecko_table_number(&columns[WEIGHT], i) : 1;
    double cpu = sf_gecko_table_number(&columns[CPU], i);
    if (!isfinite(weight))
        weight = 1;
    if (m->by == BY_BYTES) {
        gecko_add(r, m, r->bytes, stack, weight, at, false);
        return;
    }
    if (m->by == BY_MS) {
        gecko_add(r, m, r->wall, stack, weight * 1e6, at, weight > 0);
        return;
    }
    gecko_add(r, m, r->samples, stack, weight, at, false);
    gecko_add(r, m, r->wall, stack, weight * m->p->interval_ms * 1e6, at, weight > 0);
    if (m->p->cpu_unit_ns && cpu > 0 && i > 0)
        gecko_add(r, m, r->cpu, stack, cpu * (double)m->p->cpu_unit_ns, at, false);
}

static enum weights weights_of(struct sf_json *j, sf_str samples)
{
    sf_str key, type = SF_STR_NONE;
    sf_json_init(j, samples, NULL);
    if (sf_json_peek(j) == SF_JSON_OBJECT && sf_json_object(j)) {
        while (sf_json_key(j, &key)) {
            if (sf_str_eq(key, SF_STR("weightType")) && sf_json_peek(j) == SF_JSON_STRING)
                type = sf_json_str(j);
            else
                sf_json_skip(j);
        }
    }
    return sf_str_eq(type, SF_STR("tracing-ms")) ? BY_MS
           : sf_str_eq(type, SF_STR("bytes"))    ? BY_BYTES
                                                 : BY_SAMPLES;
}

/* Tables that a thread does not have are those shared by its profile. */
static struct sf_gecko_stacks *stacks_of(struct reader *r, const struct thread *t,
                                         struct sf_gecko_stacks *own)
{
    struct profile *p = profile_at(r, t->profile);
    struct sf_gecko_texts texts = t->own;
    if (!texts.stacks.len) {
        if (!p->stacks.is_read)
            sf_gecko_table_stacks_read(&p->stacks, &r->j, &p->shared);
        return &p->stacks;
    }
    *own = (struct sf_gecko_stacks){.b = r->b, .libs = &p->libs};
    if (!texts.strings.len) { /* only the strings are shared: read them once */
        if (!p->stacks.is_read)
            sf_gecko_table_stacks_read(&p->stacks, &r->j, &p->shared);
        own->strings = p->stacks.strings;
        own->sources = p->stacks.sources;
    }
    if (sf_json_ok(&r->j))
        sf_gecko_table_stacks_read(own, &r->j, &texts);
    return own;
}

static uint32_t gecko_set_of(struct reader *r, const struct thread *t)
{
    struct sf_label label = {SF_STR("process"), t->process.len ? t->process : t->pid};
    return sf_profile_build_set(r->b, &r->b->me, &label, r->has_processes && label.val.len);
}

static enum sf_err gecko_add_thread(struct reader *r, const struct thread *t)
{
    struct sf_gecko_column columns[N_COLUMNS] = {{.name = "stack"},
                                                 {.name = "time"},
                                                 {.name = "timeDeltas"},
                                                 {.name = "weight"},
                                                 {.name = "threadCPUDelta"}};
    struct sf_gecko_stacks own, *stacks;
    struct moment m = {.t = t, .p = profile_at(r, t->profile)};
    double at = 0;
    r->j.fault = NULL;
    stacks = stacks_of(r, t, &own);
    if (sf_json_ok(&r->j))
        sf_gecko_table_read(r->b, &r->j, t->samples, columns, N_COLUMNS);
    if (r->b->is_full)
        return SF_OK;
    if (!sf_json_ok(&r->j))
        return sf_json_why(&r->j, "Gecko profile: a table", r->b->why);
    m.by = weights_of(&r->j, t->samples);
    m.set = gecko_set_of(r, t);
    m.clock = (struct sf_sample_clock){0, 0};
    if (m.p->start_ms > 1e11 && m.p->start_ms < 9e12)
        m.clock.unix_ns = gecko_ns_of(m.p->start_ms);
    else if (columns[STACK].list.n && !columns[TIME_DELTA].list.n &&
             fabs(sf_gecko_table_number(&columns[TIME], 0)) < 9e12)
        m.clock = sf_sample_clock_init(r->b, gecko_ns_of(sf_gecko_table_number(&columns[TIME], 0)));
    else
        m.clock = sf_sample_clock_init(r->b, 0);
    for (uint32_t i = 0; i < columns[STACK].list.n && sf_profile_build_ok(r->b); i++) {
        double delta = sf_gecko_table_number(&columns[TIME_DELTA], i);
        uint32_t place = sf_gecko_table_place(&columns[STACK], i, UINT32_MAX), stack;
        at += isfinite(delta) ? delta : 0;
        if (!isfinite(sf_gecko_table_number(&columns[STACK], i)))
            continue; /* no stack: nothing ran */
        stack = sf_gecko_table_stacks_make(stacks, place);
        if (stack == SF_NONE && !r->b->is_full)
            sf_profile_build_drop(r->b, &r->b->drops.n_samples,
                                  "Gecko profile: thread %.*s: sample %" PRIu32
                                  " has a stack that is not there or goes round in a circle",
                                  (int)(t->name.len < 40 ? t->name.len : 40),
                                  t->name.p ? t->name.p : "", i);
        else
            gecko_add_sample(r, &m, columns, i, stack,
                             columns[TIME].list.n ? sf_gecko_table_number(&columns[TIME], i) : at);
    }
    return SF_OK;
}

static void gecko_open_types(struct reader *r)
{
    struct sf_profile_what what = {.type = {SF_STR("process_cpu"), SF_STR("samples"),
                                            SF_STR("count"), SF_STR_NONE, SF_STR_NONE}};
    const struct profile *p = profile_at(r, 0);
    bool unused;
    if (p->start_ms > 1e11 && p->start_ms < 9e12)
        what.time_ns = gecko_ns_of(p->start_ms);
    r->samples = sf_profile_build_what(r->b, &what, false);
    what.period = llround(p->interval_ms * 1e6);
    what.type = (struct sf_profile_type){SF_STR("wall"), SF_STR("wall"), SF_STR("nanoseconds"),
                                         SF_STR("wall"), SF_STR("nanoseconds")};
    r->wall = sf_profile_build_what(r->b, &what, false);
    what.type = (struct sf_profile_type){SF_STR("process_cpu"), SF_STR("cpu"),
                                         SF_STR("nanoseconds"), SF_STR("cpu"),
                                         SF_STR("nanoseconds")};
    r->cpu = sf_profile_build_what(r->b, &what, false);
    what.period = 0;
    sf_profile_type_of_word(SF_STR("bytes"), false, &what.type, &unused);
    r->bytes = sf_profile_build_what(r->b, &what, false);
}

/* In the member "profile" of the old developer tools' files, or the whole text. */
static void find_profile(struct reader *r, struct sf_json *j, sf_str bytes)
{
    sf_str key;
    bool is_wrapped = false;
    sf_json_init(j, bytes, r->b->a);
    if (sf_json_peek(j) == SF_JSON_OBJECT && sf_json_object(j)) {
        while (sf_json_key(j, &key) && !is_wrapped) {
            is_wrapped = sf_str_eq(key, SF_STR("profile")) && sf_json_peek(j) == SF_JSON_OBJECT;
            if (is_wrapped)
                gecko_read_profile(r, j, 0);
            else
                sf_json_skip(j);
        }
    }
    if (is_wrapped || !sf_json_ok(j))
        return;
    sf_json_init(j, bytes, r->b->a);
    if (sf_json_peek(j) == SF_JSON_OBJECT)
        gecko_read_profile(r, j, 0);
    sf_json_end(j);
}

static enum sf_err gecko_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct reader *r = sf_profile_new(b, 1, sizeof(*r));
    struct sf_json *j = sf_profile_new(b, 1, sizeof(*j));
    enum sf_err err;
    if (!r || !j)
        return SF_OK; /* finish() reports the error */
    r->b = b;
    find_profile(r, j, bytes);
    if (b->is_full)
        return SF_OK;
    err = sf_json_why(j, "Gecko profile", b->why);
    if (!err && !r->profiles.n)
        err = sf_fail(b->why, SF_ERR_INPUT, "Gecko profile: an object is needed");
    if (err)
        return err;
    gecko_open_types(r);
    for (uint32_t i = 0; !err && i < r->threads.n && sf_profile_build_ok(b); i++)
        err = gecko_add_thread(r, (const struct thread *)r->threads.items + i);
    return err;
}

static bool is_gecko(const struct sf_json_shape *s)
{
    return (sf_json_shape_has(s, "", "meta") && sf_json_shape_has(s, "", "threads")) ||
           (sf_json_shape_has(s, "profile", "meta") && sf_json_shape_has(s, "profile", "threads"));
}

const struct sf_profile_format sf_gecko_format = {
    .name = "gecko",
    .also = "firefox",
    .is_json = is_gecko,
    .decode = gecko_decode,
};
