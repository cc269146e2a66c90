/* profile_check.h - what every decoded profile must be, whatever the bytes were. Aborts with a
 * sentence otherwise. */
#pragma once
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "model/profile.h"

#define PROFILE_MUST(what)                                         \
    do {                                                           \
        if (!(what)) {                                             \
            fprintf(stderr, "profile: %s does not hold\n", #what); \
            abort();                                               \
        }                                                          \
    } while (0)

static inline uint64_t profile_check_str(sf_str s) /* touches every byte, for the sanitizers */
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s.len; i++)
        sum = sum * 31 + (unsigned char)s.p[i];
    return sum;
}

static inline uint64_t profile_check_series(const struct sf_profile_batch *b)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < b->n_series; i++) {
        const struct sf_series *s = &b->series[i];
        bool has_service = false;
        PROFILE_MUST(s->service.len > 0);
        PROFILE_MUST(s->process == SF_NONE || s->process < b->n_processes);
        sum += profile_check_str(s->type.name) + profile_check_str(s->type.sample_type) +
               profile_check_str(s->type.sample_unit) + profile_check_str(s->type.period_type) +
               profile_check_str(s->type.period_unit);
        for (uint32_t k = 0; k < s->n_labels; k++) {
            PROFILE_MUST(s->labels[k].key.len > 0);
            PROFILE_MUST(k == 0 || sf_str_cmp(s->labels[k - 1].key, s->labels[k].key) < 0);
            has_service |= sf_str_eq(s->labels[k].key, SF_STR("service_name"));
            sum += profile_check_str(s->labels[k].key) + profile_check_str(s->labels[k].val);
        }
        PROFILE_MUST(has_service);
    }
    return sum;
}

static inline uint64_t profile_check(const struct sf_profile_batch *b)
{
    uint64_t sum = profile_check_series(b);
    for (uint32_t i = 0; i < b->n_mappings; i++)
        sum += profile_check_str(b->mappings[i].file) + profile_check_str(b->mappings[i].build_id);
    for (uint32_t i = 0; i < b->n_functions; i++) {
        const struct sf_function *f = &b->functions[i];
        PROFILE_MUST(f->name.len <= SF_LIMIT_NAME_LEN && f->file.len <= SF_LIMIT_NAME_LEN);
        sum += profile_check_str(f->name) + profile_check_str(f->file) +
               profile_check_str(f->system_name);
    }
    for (uint32_t i = 0; i < b->n_locations; i++) {
        const struct sf_location *l = &b->locations[i];
        PROFILE_MUST(l->mapping == SF_NONE || l->mapping < b->n_mappings);
        PROFILE_MUST(l->kind < SF_FRAME_KINDS_SENT);
        for (uint32_t k = 0; k < l->n_lines; k++)
            PROFILE_MUST(l->lines[k].function < b->n_functions);
    }
    for (uint32_t i = 0; i < b->n_stacks; i++) {
        PROFILE_MUST(b->stacks[i].n <= SF_LIMIT_FRAMES);
        for (uint32_t k = 0; k < b->stacks[i].n; k++)
            PROFILE_MUST(b->stacks[i].locations[k] < b->n_locations);
    }
    for (uint32_t i = 0; i < b->n_processes; i++)
        sum += profile_check_str(b->processes[i].key);
    PROFILE_MUST(b->n_samples <= SF_LIMIT_SAMPLES);
    for (uint32_t i = 0; i < b->n_samples; i++) {
        const struct sf_sample *s = &b->samples[i];
        PROFILE_MUST(s->series < b->n_series && s->stack < b->n_stacks);
        PROFILE_MUST(s->value != 0 && s->count > 0 && s->state < SF_STATES);
        PROFILE_MUST(s->value > 0 || b->series[s->series].is_diff);
        PROFILE_MUST(s->length_ns >= 0);
        sum += profile_check_str(s->thread_name);
    }
    return sum;
}
