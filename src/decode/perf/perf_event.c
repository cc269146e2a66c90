#include "decode/perf/perf_event.h"

#include <string.h>

/* Without ":u", ":ppp", ":pppH": precision and mode are not part of what was measured. */
static sf_str without_modifiers(sf_str name)
{
    size_t at = name.len;
    while (at && memchr("ukhIGHpPSDWeb", name.p[at - 1], 13))
        at--;
    if (at > 1 && at < name.len && name.p[at - 1] == ':')
        name.len = at - 1;
    return name;
}

/* A colon separates the parts of a profile type's id. */
static sf_str without_colons(struct sf_profile_build *b, sf_str name)
{
    char *p;
    if (!sf_str_find_char(name, ':', &(size_t){0}))
        return name;
    p = sf_profile_new(b, name.len, 1);
    if (!p)
        return SF_STR_NONE;
    for (size_t i = 0; i < name.len; i++)
        p[i] = name.p[i] == ':' ? '.' : name.p[i];
    return (sf_str){p, name.len};
}

static struct sf_profile_type perf_event_type_of(struct sf_profile_build *b, sf_str name,
                                                 bool has_period)
{
    sf_str plain = sf_profile_clean(b, without_modifiers(name));
    bool is_clock = sf_str_eq(plain, SF_STR("cpu-clock")) || sf_str_eq(plain, SF_STR("task-clock"));
    if (is_clock && has_period)
        return (struct sf_profile_type){SF_STR("process_cpu"), SF_STR("cpu"), SF_STR("nanoseconds"),
                                        SF_STR("cpu"), SF_STR("nanoseconds")};
    if (is_clock)
        return (struct sf_profile_type){SF_STR("process_cpu"), SF_STR("samples"), SF_STR("count"),
                                        SF_STR_NONE, SF_STR_NONE};
    plain = without_colons(b, plain);
    if (plain.len > SF_LIMIT_KEY_LEN)
        plain.len = SF_LIMIT_KEY_LEN;
    if (!plain.len)
        plain = SF_STR("samples");
    return (struct sf_profile_type){plain, plain, SF_STR("count"), plain, SF_STR("count")};
}

uint32_t sf_perf_events_find(struct sf_perf_events *e, sf_str name, bool has_period)
{
    struct sf_profile_what what = {0};
    uint32_t set;
    for (uint32_t i = 0; i < e->n; i++) {
        if (sf_str_eq(e->names[i], name))
            return e->series[i];
    }
    if (e->n == SF_LIMIT_SAMPLE_TYPES)
        return SF_NONE;
    what.type = perf_event_type_of(e->b, name, has_period);
    set = sf_profile_build_set(e->b, &e->b->me, NULL, 0);
    e->names[e->n] = name;
    e->series[e->n] = sf_profile_build_series(e->b, set, sf_profile_build_what(e->b, &what, false));
    return e->series[e->n++];
}
