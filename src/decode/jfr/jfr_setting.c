/* Settings of a recording, which say what one sample represents. async-profiler writes them into
 * its first chunk only, so they are kept from chunk to chunk, separately from those of the JDK. */
#include "base/time_unit.h"
#include "decode/jfr/jfr.h"

enum { CLOCK_NS = 10000000, WALL_NS = 50000000, JDK_NS = 20000000 };

/* Parses "20 ms", "1 s"; 0: not a time. */
static int64_t ns_of_text(sf_str text)
{
    static const struct {
        const char *unit;
        int64_t ns;
    } units[] = {{"ns", 1},
                 {"us", SF_NS_PER_US},
                 {"ms", SF_NS_PER_MS},
                 {"s", SF_NS_PER_S},
                 {"m", SF_NS_PER_MIN}};
    size_t at = 0;
    uint64_t n;
    sf_str unit;
    while (at < text.len && text.p[at] >= '0' && text.p[at] <= '9')
        at++;
    if (!sf_str_to_u64(sf_str_part(text, 0, at), &n) || n > 86400000)
        return 0;
    unit = sf_str_trim(sf_str_from_at(text, at));
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (sf_str_eq(unit, sf_str_from(units[i].unit)) && n <= (uint64_t)(INT64_MAX / units[i].ns))
            return (int64_t)n * units[i].ns;
    }
    return 0;
}

static void jfr_setting_take_number(sf_str value, int64_t *to)
{
    int64_t v;
    if (sf_str_to_i64(value, &v))
        *to = v;
}

/* Datadog's profiler has its intervals in an event of its own. */
static void take_config(struct sf_jfr *r, const struct sf_jfr_values *v)
{
    if (v->v[SF_JFR_PERIOD] > 0)
        r->set->interval = v->v[SF_JFR_PERIOD];
    if (v->v[SF_JFR_TIME_SPAN] > 0)
        r->set->wall = v->v[SF_JFR_TIME_SPAN];
}

static void take_setting(struct sf_jfr *r, const struct sf_jfr_values *v)
{
    sf_str name = sf_jfr_pool_text_of(r, &v->name, &r->scratch);
    sf_str value = sf_jfr_pool_text_of(r, &v->value, &r->scratch);
    const struct sf_jfr_class *of = sf_jfr_meta_class_at(r, (uint64_t)v->v[SF_JFR_ID]);
    int64_t ns;
    if (sf_str_eq(name, SF_STR("event"))) {
        r->set->event = sf_profile_table_copy(r->b, sf_str_part(value, 0, SF_LIMIT_NAME_LEN));
    } else if (sf_str_eq(name, SF_STR("interval"))) {
        jfr_setting_take_number(value, &r->set->interval);
    } else if (sf_str_eq(name, SF_STR("wall"))) {
        jfr_setting_take_number(value, &r->set->wall);
    } else if (sf_str_eq(name, SF_STR("period")) && of) {
        ns = ns_of_text(value);
        if (of->event == SF_JFR_EV_EXECUTION && ns)
            r->set->period_ns = ns;
        if (of->event == SF_JFR_EV_NATIVE && ns)
            r->set->native_period_ns = ns;
    }
}

void sf_jfr_setting_take(struct sf_jfr *r, const struct sf_jfr_class *k,
                         const struct sf_jfr_values *v)
{
    if (k->event == SF_JFR_EV_DD_CONFIG)
        take_config(r, v);
    else
        take_setting(r, v);
}

bool sf_jfr_setting_is_clock(sf_str event)
{
    static const char *const clocks[] = {"", "cpu", "itimer", "ctimer", "cpu-clock", "wall"};
    for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
        if (sf_str_eq(event, sf_str_from(clocks[i])))
            return true;
    }
    return false;
}

/* The default interval of a counter, when none was set. */
static int64_t default_interval(sf_str event)
{
    static const struct {
        const char *event;
        int64_t interval;
    } counters[] = {{"cycles", 1000000},
                    {"instructions", 1000000},
                    {"cache-references", 1000000},
                    {"branch-instructions", 1000000},
                    {"bus-cycles", 1000000},
                    {"ref-cycles", 1000000},
                    {"L1-dcache-load-misses", 1000000},
                    {"cache-misses", 1000},
                    {"branch-misses", 1000},
                    {"LLC-load-misses", 1000},
                    {"dTLB-load-misses", 1000},
                    {"page-faults", 1},
                    {"context-switches", 2}};
    if (sf_jfr_setting_is_clock(event))
        return CLOCK_NS;
    for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
        if (sf_str_eq(event, sf_str_from(counters[i].event)))
            return counters[i].interval;
    }
    return 1; /* a method, a tracepoint */
}

int64_t sf_jfr_setting_interval_of(const struct sf_jfr *r)
{
    const struct sf_jfr_setting_set *s = r->set;
    const struct sf_profile_hint *hint = r->b->hint;
    if (s->interval > 0)
        return s->interval;
    if (s->interval == 0 && sf_str_eq(s->event, SF_STR("wall")) && s->wall < 0)
        return WALL_NS;
    if (s->interval == 0)
        return default_interval(s->event);
    if (s->period_ns)
        return s->period_ns;
    /* No setting recorded: use the upload's sample rate, or the JVM's default. */
    if (hint->has_sample_rate && hint->sample_rate && hint->sample_rate <= 1000000000)
        return SF_NS_PER_S / (int64_t)hint->sample_rate;
    return r->is_native_c ? CLOCK_NS : JDK_NS;
}

int64_t sf_jfr_setting_wall_interval_of(const struct sf_jfr *r)
{
    const struct sf_jfr_setting_set *s = r->set;
    if (s->wall > 0)
        return s->wall;
    return s->wall < 0 && s->interval > 0 ? s->interval : WALL_NS;
}
