#include "intake/shed_detail.h"

#include <string.h>

#include "intake/recent_traces.h"

static bool has_detail(const struct sf_sample *s)
{
    return s->span_id || s->has_time || !sf_trace_id_is_zero(s->trace_id);
}

static void strip(struct sf_sample *s)
{
    s->trace_id = (sf_trace_id){0};
    s->span_id = 0;
    s->start_ns = s->length_ns = 0;
    s->has_time = s->is_lent = false;
}

enum sf_err sf_shed_detail(const struct sf_shed_detail *how, struct sf_arena *req,
                           struct sf_profile_batch *p, struct sf_shed_counts *io,
                           struct sf_why *why)
{
    struct sf_sample *own = NULL;
    if (how->level < SF_PRESSURE_BASELINE)
        return SF_OK;
    for (uint32_t i = 0; i < p->n_samples; i++) {
        const struct sf_sample *s = &p->samples[i];
        bool is_wanted = has_detail(s) && how->recent &&
                         sf_recent_traces_has(how->recent, how->tenant, s);
        if (!has_detail(s) || (is_wanted && how->level < SF_PRESSURE_DETAIL))
            continue;
        io->is_of_request = p->series[s->series].is_request;
        if (io->is_of_request)
            return sf_fail(why, SF_ERR_BUSY,
                           "the server is overloaded and does not accept profiles of individual "
                           "requests at the moment; retry");
        if (!own) {
            own = sf_arena_new_n(req, p->n_samples, sizeof(*own));
            if (!own)
                return sf_fail(why, SF_ERR_LIMIT, "intake: the profile does not fit its memory");
            memcpy(own, p->samples, p->n_samples * sizeof(*own));
        }
        strip(&own[i]);
        io->n_baseline += !is_wanted;
        io->n_other += is_wanted;
    }
    if (own)
        p->samples = own;
    return SF_OK;
}
