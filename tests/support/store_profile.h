/* store_profile.h - small profiles of known content, put into the store of a rig. */
#pragma once
#include "support/store_rig.h"

struct store_sample { /* its stack is main > function */
    const char *function;
    struct sf_sample sample;
};

struct store_profile {
    const char *service;
    sf_str instance; /* of the process, as its key is written; empty: not given */
    const char *name, *type, *unit;
    int64_t time_ns;
    int64_t duration_ns; /* 0: a second */
};

enum { STORE_PROFILE_SAMPLES = 128 };

static inline enum sf_err store_put_profile(struct store_rig *rig, const struct store_profile *is,
                                            const struct store_sample *puts, uint32_t n)
{
    enum { N = STORE_PROFILE_SAMPLES + 1 };
    const int64_t ms = 1000000;
    struct sf_function functions[N] = {{.name = SF_STR("main")}};
    struct sf_line lines[N];
    struct sf_location locations[N];
    uint32_t chains[N][2];
    struct sf_stack stacks[N];
    struct sf_sample samples[N];
    sf_str service = sf_str_from(is->service);
    struct sf_label labels[] = {{SF_STR("service_name"), service}};
    struct sf_process process = {service, is->instance, false};
    struct sf_series series = {.service = service,
                               .type = {sf_str_from(is->name), sf_str_from(is->type),
                                        sf_str_from(is->unit), SF_STR("cpu"),
                                        SF_STR("nanoseconds")},
                               .labels = labels,
                               .n_labels = 1,
                               .process = is->instance.len ? 0 : SF_NONE,
                               .time_ns = is->time_ns,
                               .duration_ns = is->duration_ns ? is->duration_ns : 1000 * ms,
                               .period = 10 * ms};
    if (n > STORE_PROFILE_SAMPLES)
        return SF_ERR_LIMIT;
    for (uint32_t i = 0; i <= n; i++) {
        if (i > 0)
            functions[i] = (struct sf_function){.name = sf_str_from(puts[i - 1].function)};
        lines[i] = (struct sf_line){i, 1};
        locations[i] = (struct sf_location){.mapping = SF_NONE, .lines = &lines[i], .n_lines = 1};
        if (i == 0)
            continue;
        chains[i - 1][0] = i;
        chains[i - 1][1] = 0;
        stacks[i - 1] = (struct sf_stack){chains[i - 1], 2};
        samples[i - 1] = puts[i - 1].sample;
        samples[i - 1].stack = i - 1;
        samples[i - 1].count = 1;
    }
    struct sf_profile_batch p = {.functions = functions,
                                 .locations = locations,
                                 .stacks = stacks,
                                 .processes = &process,
                                 .series = &series,
                                 .samples = samples,
                                 .n_functions = n + 1,
                                 .n_locations = n + 1,
                                 .n_stacks = n,
                                 .n_processes = is->instance.len ? 1 : 0,
                                 .n_series = 1,
                                 .n_samples = n};
    struct sf_logged rec = {.kind = SF_LOG_PROFILES, .tenant = 1, .recv_ns = is->time_ns};
    struct sf_buf body = {0};
    struct sf_batch *b = NULL;
    static uint64_t hash = 100;
    sf_profile_codec_encode(&p, &body);
    rec.body = sf_buf_bytes(&body);
    enum sf_err err = store_replay(NULL, &rec, &b, &rig->why);
    sf_buf_done(&body);
    if (err)
        return err;
    b->dup_hash = ++hash;
    return store_put_batch(rig, 0, b);
}
