/* coverage_notes.c - notes on profilers whose values are known to differ from what their types say.
 *
 * Each difference was measured against a clock; docs/languages.md has the figures. */
#include "join/coverage_notes.h"

#include "base/time_unit.h"

/* Timers of the kernel fire once per tick, 100 to 1,000 times a second; 250 is usual. */
#define TICKS_PER_S 250

enum { PYTHON_CPU, ABOVE_TICK, PAUSED, NOTES };

static const struct sf_coverage_note notes[NOTES] = {
    [PYTHON_CPU] = {"python_cpu",
                    "the Python profiler's CPU time is wall time in which a thread held the "
                    "interpreter's lock: on a busy machine it is more than the CPU time, and code "
                    "that gives the lock away (hashing, compression, C extensions) is missing"},
    [ABOVE_TICK] = {"above_tick",
                    "profilers that are driven by a timer get at most one sample per kernel tick "
                    "(usually 250 a second) and count each as the interval that was asked for: "
                    "above that rate they report less CPU time than was used. 100 per second works "
                    "everywhere"},
    [PAUSED] = {"profiling_paused",
                "profiling paused for a part of this time: the host was overloaded "
                "(profiling.load_shedding), profiling had exceeded its budget "
                "(profiling.adaptive.budget), or it was switched off. Spans of that part have no "
                "samples; the profile type profiling_paused:nanoseconds says when, why and for "
                "how long"},
};

static bool coverage_notes_is_cpu(const struct sf_profile_type *t)
{
    return sf_str_eq(t->sample_type, SF_STR("cpu")) &&
           sf_str_eq(t->sample_unit, SF_STR("nanoseconds"));
}

static bool coverage_notes_has_label(const struct sf_series *s, sf_str key, sf_str part)
{
    size_t at;
    for (uint32_t i = 0; i < s->n_labels; i++)
        if (sf_str_eq(s->labels[i].key, key) && sf_str_find(s->labels[i].val, part, &at))
            return true;
    return false;
}

static bool is_sender(const struct sf_series *s, sf_str part)
{
    return coverage_notes_has_label(s, SF_STR("pyroscope_spy"), part) ||
           coverage_notes_has_label(s, SF_STR("otel.scope.name"), part) ||
           coverage_notes_has_label(s, SF_STR("otel_scope_name"), part);
}

/* Identified by its sender, because the language is not enough: a whole-host profiler, or one that
 * reads counters, does not have the problem. */
static bool is_timer_driven(const struct sf_series *s)
{
    static const sf_str senders[] = {SF_STR("gospy"),        SF_STR("pyroscope/go"),
                                     SF_STR("javaspy"),      SF_STR("pyroscope/java"),
                                     SF_STR("pyroscope-rs"), SF_STR("pyroscope/rust")};
    for (size_t i = 0; i < sizeof(senders) / sizeof(senders[0]); i++)
        if (is_sender(s, senders[i]))
            return true;
    return false;
}

enum sf_err sf_coverage_notes_make(struct sf_store *store, struct sf_query_ctx *q,
                                   struct sf_coverage *out, struct sf_why *why)
{
    struct sf_matcher match = {SF_STR("service_name"), SF_OP_EQ, out->service};
    struct sf_prof_query ask = {
        .match = &match, .n_match = 1, .from_ns = out->from_ns, .to_ns = out->until_ns};
    struct sf_coverage_note *list = sf_arena_new_n(q->req, NOTES, sizeof(*list));
    bool is_said[NOTES] = {false};
    struct sf_prof_list series;
    enum sf_err err = list ? store->ops->prof_list(store, &ask, q, &series, why)
                           : sf_no_room(why, "the query");
    if (err)
        return err;
    for (uint32_t i = 0; i < series.n; i++) {
        const struct sf_series *s = &series.series[i];
        bool is_fast = s->period > 0 && s->period < SF_NS_PER_S / TICKS_PER_S &&
                       sf_str_eq(s->type.period_unit, SF_STR("nanoseconds"));
        is_said[PAUSED] = is_said[PAUSED] ||
                          sf_str_eq(s->type.sample_type, SF_STR("profiling_paused"));
        if (!coverage_notes_is_cpu(&s->type))
            continue;
        is_said[PYTHON_CPU] = is_said[PYTHON_CPU] || is_sender(s, SF_STR("pyspy")) ||
                              is_sender(s, SF_STR("pyroscope/python"));
        is_said[ABOVE_TICK] = is_said[ABOVE_TICK] || (is_fast && is_timer_driven(s));
    }
    for (int i = 0; i < NOTES; i++)
        if (is_said[i])
            list[out->n_notes++] = notes[i];
    out->notes = list;
    return SF_OK;
}
