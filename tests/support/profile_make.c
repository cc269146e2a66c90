#include "support/profile_make.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { FUNCTIONS = 997, MAX_DEPTH = 60 };

uint64_t sf_profile_make_below(struct sf_profile_make *m, uint64_t n)
{
    m->rng = m->rng * 6364136223846793005u + 1442695040888963407u;
    return sf_hash_mix(m->rng >> 11, 1) % n;
}

static void *need(struct sf_arena *req, size_t n, size_t size)
{
    void *p = sf_arena_new_n(req, n ? n : 1, size);
    if (!p)
        abort();
    return p;
}

__attribute__((format(printf, 2, 3))) static sf_str name(struct sf_arena *req, const char *format,
                                                         ...)
{
    char text[80];
    sf_str out;
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!sf_arena_copy(req, (sf_str){text, (size_t)len}, &out))
        abort();
    return out;
}

sf_span_id sf_profile_make_span(uint32_t service, uint32_t i)
{
    return sf_hash_mix(sf_hash_mix(77, service), i) | 1;
}

sf_trace_id sf_profile_make_trace(uint32_t service, uint32_t i)
{
    sf_trace_id id;
    uint64_t a = sf_hash_mix(sf_hash_mix(78, service), i / 4) | 1, b = sf_hash_mix(a, 5);
    memcpy(id.b, &a, 8);
    memcpy(id.b + 8, &b, 8);
    return id;
}

static void make_symbols(struct sf_profile_make *m, uint32_t service, struct sf_arena *req,
                         struct sf_profile_batch *out)
{
    struct sf_mapping *map = need(req, 1, sizeof(*map));
    struct sf_function *functions = need(req, FUNCTIONS, sizeof(*functions));
    struct sf_location *locations = need(req, FUNCTIONS, sizeof(*locations));
    struct sf_line *lines = need(req, 2 * FUNCTIONS, sizeof(*lines));
    map->file = name(req, "/usr/bin/service-%u", service);
    map->build_id = name(req, "build%u", service);
    map->start = 0x400000;
    map->limit = 0x900000;
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        functions[i].name = name(req, "pkg%u.Function%u", i % 37 + service, i);
        functions[i].system_name = functions[i].name;
        functions[i].file = name(req, "/src/pkg%u/file%u.go", i % 37 + service, i % 11);
        functions[i].start_line = i;
        lines[2 * i] = (struct sf_line){i, i + 3};
        lines[2 * i + 1] = (struct sf_line){(i * 7) % FUNCTIONS, i};
        locations[i] = (struct sf_location){
            .mapping = i % 5 ? 0 : SF_NONE,
            .addr = i % 3 ? 0x1000 + i * 16u : 0,
            .lines = &lines[2 * i],
            .n_lines = i % 13 == 0                ? 2
                       : m->is_odd && i % 17 == 0 ? 0
                                                  : 1,
            .kind = (uint8_t)(i % SF_FRAME_KINDS_SENT),
        };
    }
    out->mappings = map;
    out->n_mappings = 1;
    out->functions = functions;
    out->n_functions = FUNCTIONS;
    out->locations = locations;
    out->n_locations = FUNCTIONS;
}

/* Upper frames are shared by 64 stacks, those below by 8, the leaves belong to one. */
static void make_stack(uint32_t service, uint32_t number, struct sf_arena *req,
                       struct sf_stack *out)
{
    uint32_t depth = 30 + (uint32_t)(sf_hash_mix(service, number / 8) % (MAX_DEPTH - 29));
    uint32_t *list = need(req, depth, sizeof(*list));
    for (uint32_t level = 0; level < depth; level++) {
        uint32_t group = number >> (level < 20 ? 6 : level < depth - 3 ? 3 : 0);
        uint64_t hash = sf_hash_mix(sf_hash_mix(service, level), group);
        list[depth - 1 - level] = (uint32_t)(hash % FUNCTIONS);
    }
    *out = (struct sf_stack){list, depth};
}

static void make_series(struct sf_profile_make *m, uint32_t service, struct sf_arena *req,
                        struct sf_profile_batch *out)
{
    struct sf_series *series = need(req, 2, sizeof(*series));
    struct sf_label *labels = need(req, 3, sizeof(*labels));
    struct sf_process *process = need(req, 1, sizeof(*process));
    process->service = name(req, "service-%u", service);
    process->key = name(req, "instance=%u", (unsigned)sf_profile_make_below(m, 3));
    labels[0] = (struct sf_label){SF_STR("env"), service % 2 ? SF_STR("dev") : SF_STR("prod")};
    labels[1] = (struct sf_label){SF_STR("region"),
                                  name(req, "r%u", (unsigned)sf_profile_make_below(m, 2))};
    labels[2] = (struct sf_label){SF_STR("service_name"), process->service};
    series[0] = (struct sf_series){
        .service = process->service,
        .type = {SF_STR("process_cpu"), SF_STR("cpu"), SF_STR("nanoseconds"), SF_STR("cpu"),
                 SF_STR("nanoseconds")},
        .labels = labels,
        .n_labels = 3,
        .time_ns = m->now_ns,
        .duration_ns = INT64_C(10000000000),
        .period = 10000000,
    };
    series[1] = series[0];
    series[1].type.sample_type = SF_STR("samples");
    series[1].type.sample_unit = SF_STR("count");
    out->processes = process;
    out->n_processes = 1;
    out->series = series;
    out->n_series = 2;
}

static void tag(struct sf_profile_make *m, uint32_t service, struct sf_sample *s)
{
    uint32_t span = (uint32_t)sf_profile_make_below(m, m->n_spans ? m->n_spans : 50);
    s->span_id = sf_profile_make_span(service, span);
    s->trace_id = sf_profile_make_trace(service, span);
    s->thread = 100 + sf_profile_make_below(m, 4);
    s->has_time = true;
    s->start_ns = m->now_ns + (int64_t)sf_profile_make_below(m, 10000) * 1000000;
    s->state = SF_STATE_RUNNING;
    s->is_lent = m->has_lent && sf_profile_make_below(m, 8) == 0;
}

void sf_profile_make_one(struct sf_profile_make *m, uint32_t service, uint32_t n_samples,
                         struct sf_arena *req, struct sf_profile_batch *out)
{
    uint32_t n_stacks = m->n_stacks ? m->n_stacks : 200;
    struct sf_stack *stacks = need(req, n_samples, sizeof(*stacks));
    struct sf_sample *samples = need(req, 2 * (size_t)n_samples, sizeof(*samples));
    *out = (struct sf_profile_batch){0};
    make_symbols(m, service, req, out);
    make_series(m, service, req, out);
    for (uint32_t i = 0; i < n_samples; i++) {
        struct sf_sample *s = &samples[2 * i];
        uint64_t n = 1 + sf_profile_make_below(m, 3);
        make_stack(service, (uint32_t)sf_profile_make_below(m, n_stacks), req, &stacks[i]);
        *s = (struct sf_sample){.stack = i, .value = (int64_t)n * 10000000, .count = (uint32_t)n};
        if (m->is_odd && i % 19 == 0)
            s->value = (int64_t)(sf_profile_make_below(m, UINT64_MAX) >> (i % 60));
        if (sf_profile_make_below(m, 100) < m->span_percent)
            tag(m, service, s);
        s[1] = *s;
        s[1].series = 1;
        s[1].value = (int64_t)n;
    }
    out->stacks = stacks;
    out->n_stacks = n_samples;
    out->samples = samples;
    out->n_samples = 2 * n_samples;
}

/* ---- comparison ---- */

#define SAME(cond, ...)                       \
    do {                                      \
        if (!(cond)) {                        \
            snprintf(what, 160, __VA_ARGS__); \
            return false;                     \
        }                                     \
    } while (0)

static bool same_symbols(const struct sf_profile_batch *a, const struct sf_profile_batch *b,
                         char what[160])
{
    for (uint32_t i = 0; i < a->n_mappings; i++) {
        const struct sf_mapping *x = &a->mappings[i], *y = &b->mappings[i];
        SAME(sf_str_eq(x->file, y->file) && sf_str_eq(x->build_id, y->build_id) &&
                 x->start == y->start && x->limit == y->limit && x->file_off == y->file_off,
             "mapping %u", i);
    }
    for (uint32_t i = 0; i < a->n_functions; i++) {
        const struct sf_function *x = &a->functions[i], *y = &b->functions[i];
        SAME(sf_str_eq(x->name, y->name) && sf_str_eq(x->system_name, y->system_name) &&
                 sf_str_eq(x->file, y->file) && x->start_line == y->start_line,
             "function %u", i);
    }
    for (uint32_t i = 0; i < a->n_locations; i++) {
        const struct sf_location *x = &a->locations[i], *y = &b->locations[i];
        SAME(x->mapping == y->mapping && x->addr == y->addr && x->kind == y->kind &&
                 x->n_lines == y->n_lines &&
                 (x->n_lines == 0 || !memcmp(x->lines, y->lines, x->n_lines * sizeof(*x->lines))),
             "location %u", i);
    }
    for (uint32_t i = 0; i < a->n_stacks; i++) {
        const struct sf_stack *x = &a->stacks[i], *y = &b->stacks[i];
        SAME(x->n == y->n &&
                 (x->n == 0 || !memcmp(x->locations, y->locations, x->n * sizeof(uint32_t))),
             "stack %u", i);
    }
    return true;
}

static bool same_series(const struct sf_series *x, const struct sf_series *y)
{
    if (!sf_str_eq(x->service, y->service) || !sf_str_eq(x->type.name, y->type.name) ||
        !sf_str_eq(x->type.sample_type, y->type.sample_type) ||
        !sf_str_eq(x->type.sample_unit, y->type.sample_unit) ||
        !sf_str_eq(x->type.period_type, y->type.period_type) ||
        !sf_str_eq(x->type.period_unit, y->type.period_unit) || x->n_labels != y->n_labels ||
        x->process != y->process || x->time_ns != y->time_ns || x->duration_ns != y->duration_ns ||
        x->period != y->period || memcmp(x->id.b, y->id.b, 16) != 0 ||
        x->is_request != y->is_request || x->is_cumulative != y->is_cumulative)
        return false;
    for (uint32_t i = 0; i < x->n_labels; i++) {
        if (!sf_str_eq(x->labels[i].key, y->labels[i].key) ||
            !sf_str_eq(x->labels[i].val, y->labels[i].val))
            return false;
    }
    return true;
}

static bool same_sample(const struct sf_sample *x, const struct sf_sample *y)
{
    return x->series == y->series && x->stack == y->stack && x->value == y->value &&
           x->count == y->count && sf_trace_id_eq(x->trace_id, y->trace_id) &&
           x->span_id == y->span_id && x->thread == y->thread &&
           sf_str_eq(x->thread_name, y->thread_name) && x->start_ns == y->start_ns &&
           x->length_ns == y->length_ns && x->state == y->state && x->has_time == y->has_time &&
           x->is_lent == y->is_lent;
}

bool sf_profile_make_is_same(const struct sf_profile_batch *a, const struct sf_profile_batch *b,
                             char what[160])
{
    SAME(a->n_mappings == b->n_mappings && a->n_functions == b->n_functions &&
             a->n_locations == b->n_locations && a->n_stacks == b->n_stacks &&
             a->n_processes == b->n_processes && a->n_series == b->n_series &&
             a->n_samples == b->n_samples,
         "counts");
    if (!same_symbols(a, b, what))
        return false;
    for (uint32_t i = 0; i < a->n_processes; i++)
        SAME(sf_str_eq(a->processes[i].service, b->processes[i].service) &&
                 sf_str_eq(a->processes[i].key, b->processes[i].key) &&
                 a->processes[i].is_guess == b->processes[i].is_guess,
             "process %u", i);
    for (uint32_t i = 0; i < a->n_series; i++)
        SAME(same_series(&a->series[i], &b->series[i]), "series %u", i);
    for (uint32_t i = 0; i < a->n_samples; i++)
        SAME(same_sample(&a->samples[i], &b->samples[i]), "sample %u", i);
    return true;
}
