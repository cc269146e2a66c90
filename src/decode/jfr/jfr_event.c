/* jfr_event.c - events of a recording as samples: which kinds of profile each event gives (CPU,
 * wall, allocation, lock), with which value and weight. States and reasons are matched by name,
 * because their numbers differ between writers. */
#include <inttypes.h>
#include <math.h>

#include "base/num.h"
#include "decode/jfr/jfr.h"

enum what {
    CPU,
    WALL,
    NATIVE,
    COUNTER,
    TLAB_OBJECTS,
    TLAB_BYTES,
    OUTSIDE_OBJECTS,
    OUTSIDE_BYTES,
    ALLOC_OBJECTS,
    ALLOC_BYTES,
    LIVE_OBJECTS,
    LIVE_BYTES,
    MUTEX_COUNT,
    MUTEX_DELAY,
    BLOCK_COUNT,
    BLOCK_DELAY,
    WAIT_COUNT,
    WAIT_DELAY,
    NATIVE_LOCK_COUNT,
    NATIVE_LOCK_DELAY,
    MALLOC_OBJECTS,
    MALLOC_BYTES,
    GC_COUNT,
    GC_PAUSE,
    WHATS
};
_Static_assert((int)WHATS <= (int)SF_JFR_TYPES_MAX, "room for the kinds of profiles");

#define T(name, type, unit, ptype, punit)                                             \
    {                                                                                 \
        {name, sizeof(name) - 1}, {type, sizeof(type) - 1}, {unit, sizeof(unit) - 1}, \
            {ptype, sizeof(ptype) - 1},                                               \
        {                                                                             \
            punit, sizeof(punit) - 1                                                  \
        }                                                                             \
    }
static const struct sf_profile_type types[WHATS] = {
    [CPU] = T("process_cpu", "cpu", "nanoseconds", "cpu", "nanoseconds"),
    [WALL] = T("wall", "wall", "nanoseconds", "wall", "nanoseconds"),
    [NATIVE] = T("native", "native", "nanoseconds", "native", "nanoseconds"),
    [COUNTER] = T("", "", "count", "", "count"), /* by its own name */
    [TLAB_OBJECTS] = T("memory", "alloc_in_new_tlab_objects", "count", "space", "bytes"),
    [TLAB_BYTES] = T("memory", "alloc_in_new_tlab_bytes", "bytes", "space", "bytes"),
    [OUTSIDE_OBJECTS] = T("memory", "alloc_outside_tlab_objects", "count", "space", "bytes"),
    [OUTSIDE_BYTES] = T("memory", "alloc_outside_tlab_bytes", "bytes", "space", "bytes"),
    [ALLOC_OBJECTS] = T("memory", "alloc_sample_objects", "count", "space", "bytes"),
    [ALLOC_BYTES] = T("memory", "alloc_sample_bytes", "bytes", "space", "bytes"),
    [LIVE_OBJECTS] = T("memory", "live", "count", "objects", "count"),
    [LIVE_BYTES] = T("memory", "live_bytes", "bytes", "objects", "count"),
    [MUTEX_COUNT] = T("mutex", "contentions", "count", "mutex", "count"),
    [MUTEX_DELAY] = T("mutex", "delay", "nanoseconds", "mutex", "count"),
    [BLOCK_COUNT] = T("block", "contentions", "count", "block", "count"),
    [BLOCK_DELAY] = T("block", "delay", "nanoseconds", "block", "count"),
    [WAIT_COUNT] = T("monitor_wait", "contentions", "count", "monitor_wait", "count"),
    [WAIT_DELAY] = T("monitor_wait", "delay", "nanoseconds", "monitor_wait", "count"),
    [NATIVE_LOCK_COUNT] = T("native_lock", "contentions", "count", "native_lock", "count"),
    [NATIVE_LOCK_DELAY] = T("native_lock", "delay", "nanoseconds", "native_lock", "count"),
    [MALLOC_OBJECTS] = T("memory", "malloc_objects", "count", "", ""),
    [MALLOC_BYTES] = T("memory", "malloc_bytes", "bytes", "", ""),
    [GC_COUNT] = T("gc", "collections", "count", "gc", "count"),
    [GC_PAUSE] = T("gc", "pauses", "nanoseconds", "gc", "count"),
};

struct event { /* at hand */
    struct sf_jfr *r;
    const struct sf_jfr_values *v;
    struct sf_sample s;
    const struct sf_jfr_context *context; /* or NULL */
};

/* --- common fields of events --- */

enum state { OTHER, DEFAULT, RUNNABLE, SLEEPING };

/* Numbers of states differ from writer to writer; names do not. */
static enum state jfr_event_state_of(struct sf_jfr *r, int64_t key)
{
    struct sf_jfr_constant *k = sf_jfr_pool_constant_find(r, SF_JFR_P_STATE, key);
    sf_str name, prefix = SF_STR("STATE_");
    enum state state = OTHER;
    if (!k)
        return DEFAULT;
    if (k->place)
        return (enum state)(k->place - 1);
    name = sf_jfr_pool_text(r, SF_JFR_P_STATE, key);
    if (sf_str_starts(name, prefix))
        name = sf_str_from_at(name, prefix.len);
    if (sf_str_eq(name, SF_STR("RUNNABLE")))
        state = RUNNABLE;
    else if (sf_str_eq(name, SF_STR("SLEEPING")))
        state = SLEEPING;
    else if (sf_str_eq(name, SF_STR("DEFAULT")))
        state = DEFAULT;
    k->place = (uint32_t)state + 1;
    return state;
}

static void jfr_event_set_time(struct event *e)
{
    const struct sf_jfr *r = e->r;
    double ns = (double)(int64_t)((uint64_t)e->v->v[SF_JFR_START] - (uint64_t)r->h.start_ticks) *
                r->ns_per_tick;
    if (!r->has_time || fabs(ns) > 1e17) /* three years */
        return;
    e->s.start_ns = r->h.start_ns + (int64_t)ns;
    e->s.has_time = e->s.start_ns > 0;
    if (!e->s.has_time)
        e->s.start_ns = 0;
}

static void set_ids(struct event *e)
{
    const struct sf_jfr_values *v = e->v;
    sf_span_id span = (sf_span_id)v->v[SF_JFR_SPAN_ID];
    e->context = sf_jfr_labels_context_of(e->r, v->v[SF_JFR_CONTEXT]);
    if (e->context)
        sf_profile_label_ids_put(&e->context->ids, &e->s);
    if (!span)
        span = (sf_span_id)v->v[SF_JFR_ROOT_SPAN_ID];
    if (span)
        e->s.span_id = span;
    if (v->v[SF_JFR_TRACE_HI] || v->v[SF_JFR_TRACE_LO]) {
        sf_store_u64be(e->s.trace_id.b, (uint64_t)v->v[SF_JFR_TRACE_HI]);
        sf_store_u64be(e->s.trace_id.b + 8, (uint64_t)v->v[SF_JFR_TRACE_LO]);
    }
}

static void jfr_event_open_event(struct event *e)
{
    struct sf_jfr *r = e->r;
    struct sf_jfr_thread t = sf_jfr_stack_thread_of(r, e->v->v[SF_JFR_THREAD]);
    set_ids(e);
    jfr_event_set_time(e);
    if (t.id || t.name.len) {
        e->s.thread = t.id;
        e->s.is_kernel_thread = t.is_kernel;
        e->s.runtime_thread = t.java_id;
        e->s.thread_name = t.name;
    }
    e->s.stack = sf_jfr_stack_of(r, e->v->v[SF_JFR_STACK]);
}

static uint32_t what_of(struct sf_jfr *r, enum what what, int64_t period)
{
    if (r->whats[what] == SF_NONE) {
        struct sf_profile_what w = {.type = types[what],
                                    .time_ns = r->from_ns,
                                    .duration_ns = r->until_ns - r->from_ns,
                                    .period = period};
        if (what == COUNTER)
            w.type.name = w.type.sample_type = w.type.period_type = r->set->event;
        r->whats[what] = sf_profile_build_what(r->b, &w, false);
    }
    return r->whats[what];
}

static void jfr_event_emit(struct event *e, enum what what, int64_t value, int64_t count,
                           int64_t period)
{
    struct sf_jfr *r = e->r;
    bool is_base = !e->context || e->context->set == r->base_set;
    if (value < 0) {
        sf_profile_build_drop(r->b, &r->b->drops.n_samples,
                              "jfr: chunk %" PRIu32 ": an event of less than nothing", r->n_chunk);
        return;
    }
    if (!is_base) {
        e->s.series = sf_profile_build_series(r->b, e->context->set, what_of(r, what, period));
    } else {
        if (r->series[what] == SF_NONE)
            r->series[what] = sf_profile_build_series(r->b, r->base_set, what_of(r, what, period));
        e->s.series = r->series[what];
    }
    e->s.value = value;
    e->s.count = count < 1 ? 1 : count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
    sf_profile_build_sample(r->b, &r->b->me, &e->s);
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t out;
    return __builtin_mul_overflow(a, b, &out) ? INT64_MAX : out;
}

/* --- kinds of events --- */

static void take_execution(struct event *e)
{
    struct sf_jfr *r = e->r;
    enum state state = jfr_event_state_of(r, e->v->v[SF_JFR_STATE]);
    bool is_wall = sf_str_eq(r->set->event, SF_STR("wall"));
    int64_t interval = sf_jfr_setting_interval_of(r);
    e->s.state = state == SLEEPING ? SF_STATE_SLEEP : SF_STATE_RUNNING;
    if (!is_wall && r->set->wall >= 0 && (state == RUNNABLE || state == SLEEPING)) {
        /* both engines at once: the states are those of the wall-clock one */
        jfr_event_emit(e, WALL, sf_jfr_setting_wall_interval_of(r), 1,
                       sf_jfr_setting_wall_interval_of(r));
    } else if (!sf_jfr_setting_is_clock(r->set->event)) {
        jfr_event_emit(e, COUNTER, interval, 1, interval);
    } else {
        if (is_wall || state == SLEEPING)
            jfr_event_emit(e, WALL, interval, 1, interval);
        if (state != SLEEPING)
            jfr_event_emit(e, CPU, interval, 1, interval);
    }
}

static void take_wall(struct event *e)
{
    struct sf_jfr *r = e->r;
    enum state state = jfr_event_state_of(r, e->v->v[SF_JFR_STATE]);
    int64_t interval = sf_jfr_setting_wall_interval_of(r);
    int64_t n = e->v->v[SF_JFR_SAMPLES] > 0 ? e->v->v[SF_JFR_SAMPLES] : 1;
    int64_t span = e->v->v[SF_JFR_TIME_SPAN];
    e->s.state = state == SLEEPING ? SF_STATE_SLEEP : SF_STATE_RUNNING;
    if (n > 1 || span > 0) /* it stands for samples that were not written */
        e->s.length_ns = span > 0 ? span : times(n, interval);
    jfr_event_emit(e, WALL, times(n, interval), n, interval);
    if (state == RUNNABLE && sf_str_eq(r->set->event, SF_STR("wall")))
        jfr_event_emit(e, CPU, times(n, interval), n, interval);
}

static void take_native(struct event *e)
{
    int64_t ns = e->r->set->native_period_ns ? e->r->set->native_period_ns
                                             : sf_jfr_setting_interval_of(e->r);
    jfr_event_emit(e, NATIVE, ns, 1, ns);
}

static void take_cpu_time(struct event *e)
{
    int64_t ns = e->v->v[SF_JFR_PERIOD] > 0 ? e->v->v[SF_JFR_PERIOD]
                                            : sf_jfr_setting_interval_of(e->r);
    e->s.state = SF_STATE_RUNNING;
    jfr_event_emit(e, CPU, ns, 1, ns);
}

static void take_objects(struct event *e, enum what objects, int64_t bytes)
{
    jfr_event_emit(e, objects, 1, 1, 0);
    jfr_event_emit(e, objects + 1, bytes, 1, 0);
}

static void take_wait(struct event *e, enum what count, enum sf_sample_state state)
{
    int64_t ns = e->v->v[SF_JFR_DURATION];
    e->s.state = (uint8_t)state;
    e->s.length_ns = ns > 0 ? ns : 0;
    jfr_event_emit(e, count, 1, 1, 1);
    jfr_event_emit(e, count + 1, ns, 1, 1);
}

static int64_t whole(double v)
{
    return v >= 1 && v < 9e18 ? (int64_t)(v + .5) : v >= 9e18 ? INT64_MAX : 1;
}

static void take_datadog_samples(struct event *e, enum what what)
{
    int64_t interval = what == CPU ? sf_jfr_setting_interval_of(e->r)
                                   : sf_jfr_setting_wall_interval_of(e->r);
    int64_t n = whole(e->v->weight);
    e->s.state = what == CPU ? SF_STATE_RUNNING : SF_STATE_UNKNOWN;
    jfr_event_emit(e, what, times(n, interval), n, interval);
}

static void take_datadog_objects(struct event *e, enum what objects)
{
    double weight = e->v->weight > 0 && isfinite(e->v->weight) ? e->v->weight : 1;
    jfr_event_emit(e, objects, whole(weight), 1, 0);
    jfr_event_emit(e, objects + 1, whole((double)e->v->v[SF_JFR_SIZE] * weight), 1, 0);
}

/* Garbage collections have no stack: kind and cause are used as frames. */
static void take_gc(struct event *e)
{
    struct sf_jfr *r = e->r;
    uint32_t stack[2], n = 0;
    const struct {
        enum sf_jfr_pool_kind pool;
        const struct sf_jfr_text *text;
    } names[] = {{SF_JFR_P_GC_CAUSE, &e->v->value}, {SF_JFR_P_GC_NAME, &e->v->name}};
    for (int i = 0; i < 2; i++) {
        const struct sf_jfr_text *t = names[i].text;
        sf_str name = t->encoding == SF_JFR_POOL ? sf_jfr_pool_text(r, names[i].pool, t->key)
                                                 : sf_jfr_pool_text_of(r, t, &r->scratch);
        struct sf_line line = {.line = 0};
        line.function = name.len ? sf_jfr_stack_function_of(r, name) : SF_NONE;
        if (line.function != SF_NONE)
            stack[n++] = sf_profile_build_location(
                r->b, &(struct sf_location){
                          .mapping = SF_NONE, .lines = &line, .n_lines = 1, .kind = SF_FRAME_JVM});
    }
    if (r->b->is_full)
        return;
    e->s.stack = sf_profile_build_stack(r->b, stack, n);
    e->s.state = SF_STATE_GC;
    e->s.length_ns = e->v->v[SF_JFR_DURATION] > 0 ? e->v->v[SF_JFR_DURATION] : 0;
    jfr_event_emit(e, GC_COUNT, 1, 1, 1);
    jfr_event_emit(e, GC_PAUSE, e->v->v[SF_JFR_PAUSES], 1, 1);
}

void sf_jfr_event_take(struct sf_jfr *r, const struct sf_jfr_class *k,
                       const struct sf_jfr_values *v)
{
    struct event e = {.r = r, .v = v};
    jfr_event_open_event(&e);
    switch ((enum sf_jfr_event)k->event) {
    case SF_JFR_EV_EXECUTION: take_execution(&e); break;
    case SF_JFR_EV_NATIVE: take_native(&e); break;
    case SF_JFR_EV_CPU_TIME: take_cpu_time(&e); break;
    case SF_JFR_EV_WALL: take_wall(&e); break;
    case SF_JFR_EV_TLAB: take_objects(&e, TLAB_OBJECTS, v->v[SF_JFR_SIZE]); break;
    case SF_JFR_EV_OUTSIDE: take_objects(&e, OUTSIDE_OBJECTS, v->v[SF_JFR_SIZE]); break;
    case SF_JFR_EV_ALLOC: take_objects(&e, ALLOC_OBJECTS, whole(v->weight)); break;
    case SF_JFR_EV_LIVE: take_objects(&e, LIVE_OBJECTS, v->v[SF_JFR_SIZE]); break;
    case SF_JFR_EV_MONITOR: take_wait(&e, MUTEX_COUNT, SF_STATE_LOCK); break;
    case SF_JFR_EV_WAIT: take_wait(&e, WAIT_COUNT, SF_STATE_SLEEP); break;
    case SF_JFR_EV_PARK: take_wait(&e, BLOCK_COUNT, SF_STATE_LOCK); break;
    case SF_JFR_EV_NATIVE_LOCK: take_wait(&e, NATIVE_LOCK_COUNT, SF_STATE_LOCK); break;
    case SF_JFR_EV_MALLOC: take_objects(&e, MALLOC_OBJECTS, v->v[SF_JFR_SIZE]); break;
    case SF_JFR_EV_GC: take_gc(&e); break;
    case SF_JFR_EV_SPAN: sf_jfr_span_take(r, v, &e.s); break;
    case SF_JFR_EV_DD_CPU: take_datadog_samples(&e, CPU); break;
    case SF_JFR_EV_DD_WALL: take_datadog_samples(&e, WALL); break;
    case SF_JFR_EV_DD_ALLOC: take_datadog_objects(&e, ALLOC_OBJECTS); break;
    case SF_JFR_EV_DD_LIVE: take_datadog_objects(&e, LIVE_OBJECTS); break;
    case SF_JFR_EV_SETTING:
    case SF_JFR_EV_DD_CONFIG:
    case SF_JFR_EV_NONE:
    case SF_JFR_EVENTS: break;
    }
}
