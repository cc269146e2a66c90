/* Values of events and constants, by the field lists of their classes. */
#include "base/time_unit.h"
#include "decode/jfr/jfr.h"

static void skip_kind(const struct sf_jfr *r, struct sf_jfr_cursor *c, uint8_t kind, uint32_t cls)
{
    struct sf_jfr_text t;
    switch (kind) {
    case SF_JFR_NOTHING: break;
    case SF_JFR_BYTE: sf_jfr_byte(c); break;
    case SF_JFR_SHORT: sf_jfr_short(c); break;
    case SF_JFR_INT: sf_jfr_int(c); break;
    case SF_JFR_LONG: sf_jfr_long(c); break;
    case SF_JFR_FLOAT: sf_jfr_cursor_fixed(c, 4); break;
    case SF_JFR_DOUBLE: sf_jfr_cursor_fixed(c, 8); break;
    case SF_JFR_STRING: sf_jfr_cursor_text_read(c, &t); break;
    default: sf_jfr_value_skip(r, c, (const struct sf_jfr_class *)r->classes.items + cls); break;
    }
}

/* Whether it consists of numbers only. Frames do, and most bytes of a recording are frames. */
static bool is_numbers(const struct sf_jfr *r, const struct sf_jfr_class *k)
{
    const struct sf_jfr_field *f = (const struct sf_jfr_field *)r->fields.items + k->first;
    for (uint32_t i = 0; i < k->n; i++) {
        if (f[i].is_array || f[i].kind < SF_JFR_SHORT || f[i].kind > SF_JFR_LONG)
            return false;
    }
    return k->n > 0;
}

static void skip_array(const struct sf_jfr *r, struct sf_jfr_cursor *c, uint8_t kind, uint32_t cls)
{
    const struct sf_jfr_class *k = (const struct sf_jfr_class *)r->classes.items + cls;
    uint64_t n = sf_jfr_cursor_count(c, 1);
    if (kind == SF_JFR_CLASS && !c->is_plain && is_numbers(r, k)) {
        for (n *= k->n; n > 0 && !c->fault; n--)
            sf_jfr_varint(c);
        return;
    }
    if (kind == SF_JFR_BYTE) {
        c->at += n; /* counted */
        return;
    }
    for (; n > 0 && !c->fault && kind != SF_JFR_NOTHING; n--)
        skip_kind(r, c, kind, cls);
}

void sf_jfr_value_skip(const struct sf_jfr *r, struct sf_jfr_cursor *c,
                       const struct sf_jfr_class *k)
{
    const struct sf_jfr_field *f = k->n ? (const struct sf_jfr_field *)r->fields.items + k->first
                                        : NULL; /* a class without fields */
    if (k->kind != SF_JFR_CLASS) {
        skip_kind(r, c, k->kind, 0);
        return;
    }
    for (uint32_t i = 0; i < k->n && !c->fault; i++) {
        if (f[i].is_array)
            skip_array(r, c, f[i].kind, f[i].cls);
        else
            skip_kind(r, c, f[i].kind, f[i].cls);
    }
}

/* --- the fields that are used --- */

#define ANY 0xff

static const struct {
    const char *name;
    uint8_t slot;
    uint8_t event, pool; /* event or pool it applies to; ANY, or NONE */
} wanted[] = {
    {"startTime", SF_JFR_START, ANY, 0},
    {"duration", SF_JFR_DURATION, ANY, 0},
    {"sampledThread", SF_JFR_THREAD, ANY, 0},
    {"eventThread", SF_JFR_THREAD, ANY, 0},
    {"stackTrace", SF_JFR_STACK, ANY, 0},
    {"state", SF_JFR_STATE, ANY, 0},
    {"tlabSize", SF_JFR_SIZE, SF_JFR_EV_TLAB, 0},
    {"allocationSize", SF_JFR_SIZE, SF_JFR_EV_OUTSIDE, 0},
    {"allocationSize", SF_JFR_SIZE, SF_JFR_EV_LIVE, 0},
    {"size", SF_JFR_SIZE, SF_JFR_EV_MALLOC, 0},
    {"size", SF_JFR_SIZE, SF_JFR_EV_DD_ALLOC, 0},
    {"size", SF_JFR_SIZE, SF_JFR_EV_DD_LIVE, 0},
    {"weight", SF_JFR_WEIGHT, ANY, 0},
    {"samples", SF_JFR_SAMPLES, SF_JFR_EV_WALL, 0},
    {"timeSpan", SF_JFR_TIME_SPAN, SF_JFR_EV_WALL, 0},
    {"samplingPeriod", SF_JFR_PERIOD, SF_JFR_EV_CPU_TIME, 0},
    {"cpuInterval", SF_JFR_PERIOD, SF_JFR_EV_DD_CONFIG, 0},
    {"wallInterval", SF_JFR_TIME_SPAN, SF_JFR_EV_DD_CONFIG, 0},
    {"sumOfPauses", SF_JFR_PAUSES, SF_JFR_EV_GC, 0},
    {"name", SF_JFR_NAME, SF_JFR_EV_GC, 0},
    {"cause", SF_JFR_VALUE, SF_JFR_EV_GC, 0},
    {"spanId", SF_JFR_SPAN_ID, ANY, 0},
    {"localRootSpanId", SF_JFR_ROOT_SPAN_ID, ANY, 0},
    {"contextId", SF_JFR_CONTEXT, ANY, 0},
    {"traceIdHi", SF_JFR_TRACE_HI, ANY, 0},
    {"traceIdLo", SF_JFR_TRACE_LO, ANY, 0},
    {"tag", SF_JFR_NAME, SF_JFR_EV_SPAN, 0},
    {"id", SF_JFR_ID, SF_JFR_EV_SETTING, 0},
    {"name", SF_JFR_NAME, SF_JFR_EV_SETTING, 0},
    {"value", SF_JFR_VALUE, SF_JFR_EV_SETTING, 0},
    {"type", SF_JFR_TYPE, 0, SF_JFR_P_METHOD},
    {"name", SF_JFR_NAME, 0, SF_JFR_P_METHOD},
    {"name", SF_JFR_NAME, 0, SF_JFR_P_CLASS},
    {"truncated", SF_JFR_TRUNCATED, 0, SF_JFR_P_STACK},
    {"frames", SF_JFR_STACK, 0, SF_JFR_P_STACK},
    {"method", SF_JFR_METHOD, 0, SF_JFR_P_FRAME},
    {"lineNumber", SF_JFR_LINE, 0, SF_JFR_P_FRAME},
    {"type", SF_JFR_TYPE, 0, SF_JFR_P_FRAME},
    {"osName", SF_JFR_VALUE, 0, SF_JFR_P_THREAD},
    {"osThreadId", SF_JFR_OS_ID, 0, SF_JFR_P_THREAD},
    {"javaName", SF_JFR_NAME, 0, SF_JFR_P_THREAD},
    {"javaThreadId", SF_JFR_JAVA_ID, 0, SF_JFR_P_THREAD},
    {"string", SF_JFR_NAME, 0, SF_JFR_P_SYMBOL},
};

static bool jfr_value_is_for(const struct sf_jfr_class *k, size_t i)
{
    if (k->event)
        return wanted[i].event == ANY || wanted[i].event == k->event;
    return wanted[i].pool == k->pool && k->pool;
}

static bool jfr_value_fits(const struct sf_jfr_field *f, uint8_t slot, const struct sf_jfr_class *k)
{
    if (f->is_array)
        return slot == SF_JFR_STACK && k->pool == SF_JFR_P_STACK && f->kind == SF_JFR_CLASS;
    if (slot == SF_JFR_STACK && k->pool == SF_JFR_P_STACK)
        return false;
    if (f->kind == SF_JFR_STRING)
        return slot == SF_JFR_NAME || slot == SF_JFR_VALUE;
    return f->kind > SF_JFR_NOTHING && f->kind < SF_JFR_STRING;
}

static uint8_t jfr_value_slot_of(const struct sf_jfr_class *k, const struct sf_jfr_field *f)
{
    /* A simple type has one field, of any name. */
    bool is_text = k->pool == SF_JFR_P_SYMBOL || k->pool == SF_JFR_P_FRAME_TYPE ||
                   k->pool == SF_JFR_P_STATE || k->pool == SF_JFR_P_GC_NAME ||
                   k->pool == SF_JFR_P_GC_CAUSE;
    if (is_text)
        return k->n == 1 && jfr_value_fits(f, SF_JFR_NAME, k) ? SF_JFR_NAME : SF_JFR_SKIP;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        if (jfr_value_is_for(k, i) && sf_str_eq(f->name, sf_str_from(wanted[i].name)))
            return jfr_value_fits(f, wanted[i].slot, k) ? wanted[i].slot : SF_JFR_SKIP;
    }
    return SF_JFR_SKIP;
}

bool sf_jfr_value_steps_make(struct sf_jfr *r, struct sf_jfr_class *k)
{
    const struct sf_jfr_field *f = k->n ? (const struct sf_jfr_field *)r->fields.items + k->first
                                        : NULL; /* a class without fields */
    k->n_steps = 0;
    k->steps = sf_jfr_new(r, k->n + 1u, sizeof(*k->steps));
    if (!k->steps)
        return false;
    for (uint32_t i = 0; i < k->n; i++) {
        struct sf_jfr_step *s = &k->steps[i];
        *s = (struct sf_jfr_step){.kind = f[i].kind,
                                  .unit = f[i].unit,
                                  .slot = jfr_value_slot_of(k, &f[i]),
                                  .is_array = f[i].is_array,
                                  .is_pool = f[i].is_pool,
                                  .cls = f[i].cls};
        if (s->slot == SF_JFR_DURATION && !s->unit)
            s->unit = SF_JFR_TICKS;
        if (s->slot != SF_JFR_SKIP)
            k->n_steps = i + 1; /* fields after the last one needed are not read */
    }
    return true;
}

static int64_t in_ns(const struct sf_jfr *r, int64_t v, uint8_t unit)
{
    int64_t out, by = unit == SF_JFR_US   ? SF_NS_PER_US
                      : unit == SF_JFR_MS ? SF_NS_PER_MS
                                          : SF_NS_PER_S;
    double ns;
    if (unit <= SF_JFR_NO_UNIT || unit == SF_JFR_NS)
        return v;
    if (unit == SF_JFR_TICKS) {
        ns = (double)v * r->ns_per_tick;
        return ns > 9e18 ? INT64_MAX : ns < -9e18 ? INT64_MIN : (int64_t)(ns + (ns < 0 ? -.5 : .5));
    }
    if (__builtin_mul_overflow(v, by, &out))
        return v < 0 ? INT64_MIN : INT64_MAX;
    return out;
}

static double real_of(uint64_t bits, bool is_float)
{
    uint32_t low = (uint32_t)bits;
    float f;
    double d;
    memcpy(&f, &low, sizeof(f));
    memcpy(&d, &bits, sizeof(d));
    return is_float ? (double)f : d;
}

static void jfr_value_read_text(struct sf_jfr_cursor *c, const struct sf_jfr_step *s,
                                struct sf_jfr_text *to)
{
    if (s->kind == SF_JFR_STRING)
        sf_jfr_cursor_text_read(c, to);
    else
        *to = (struct sf_jfr_text){.encoding = SF_JFR_POOL, .key = sf_jfr_long(c)};
}

static void jfr_value_read_step(const struct sf_jfr *r, struct sf_jfr_cursor *c,
                                const struct sf_jfr_step *s, struct sf_jfr_values *out)
{
    int64_t v = 0;
    if (s->slot == SF_JFR_NAME || s->slot == SF_JFR_VALUE) {
        jfr_value_read_text(c, s, s->slot == SF_JFR_NAME ? &out->name : &out->value);
        return;
    }
    switch (s->kind) {
    case SF_JFR_BYTE: v = sf_jfr_byte(c); break;
    case SF_JFR_SHORT: v = (int16_t)sf_jfr_short(c); break;
    case SF_JFR_INT: v = sf_jfr_int(c); break;
    case SF_JFR_LONG: v = sf_jfr_long(c); break;
    case SF_JFR_FLOAT: out->weight = real_of(sf_jfr_cursor_fixed(c, 4), true); break;
    default: out->weight = real_of(sf_jfr_cursor_fixed(c, 8), false); break;
    }
    if (s->slot == SF_JFR_WEIGHT && s->kind <= SF_JFR_LONG)
        out->weight = (double)v;
    out->v[s->slot] = s->slot == SF_JFR_START ? v : in_ns(r, v, s->unit);
}

void sf_jfr_values_read(const struct sf_jfr *r, struct sf_jfr_cursor *c,
                        const struct sf_jfr_class *k, struct sf_jfr_values *out,
                        struct sf_jfr_cursor *out_array)
{
    memset(out, 0, sizeof(*out));
    for (uint32_t i = 0; i < k->n_steps && !c->fault; i++) {
        const struct sf_jfr_step *s = &k->steps[i];
        if (s->slot != SF_JFR_SKIP && !s->is_array) {
            jfr_value_read_step(r, c, s, out);
            continue;
        }
        if (s->slot != SF_JFR_SKIP && out_array)
            *out_array = *c;
        if (s->is_array)
            skip_array(r, c, s->kind, s->cls);
        else
            skip_kind(r, c, s->kind, s->cls);
    }
    out->has_fault = c->fault != NULL;
}
