#include "serve/admission.h"

#include "base/list.h"
#include "os/clock.h"

struct sf_admission_service {
    sf_str name;
    uint64_t n; /* spans, or samples */
};

bool sf_admission_refuse_call(struct sf_call *call, const struct sf_quota_refusal *r,
                              sf_str service)
{
    static const enum sf_tenant_limit limits[SF_QUOTA_KEYS] = {
        [SF_QUOTA_SPANS_RATE] = SF_TENANT_LIMIT_SPANS,
        [SF_QUOTA_BYTES_RATE] = SF_TENANT_LIMIT_BYTES,
        [SF_QUOTA_SERIES] = SF_TENANT_LIMIT_SERIES,
        [SF_QUOTA_QUERIES] = SF_TENANT_LIMIT_QUERIES,
    };
    struct sf_outcome status = {429, SF_GRPC_RESOURCE_EXHAUSTED, r->wait_s};
    struct sf_tenant_counts counts = {0};
    struct sf_why why;
    counts.n_limited[limits[r->key]] = 1;
    sf_counters_tenant(call->service->counters, call->tenant, &counts);
    sf_quota_explain(r, call->tenant, service, &why);
    return sf_call_refuse(call, SF_COUNT_REJECT_LIMIT, status, why.text);
}

bool sf_admission_check_tenant(struct sf_call *call, bool has_spans)
{
    struct sf_quota_refusal refusal;
    if (!call->service->quota || !sf_quota_is_over(call->service->quota, call->tenant, SF_STR_NONE,
                                                   has_spans, sf_clock_mono_ns(), &refusal))
        return true;
    sf_admission_refuse_call(call, &refusal, SF_STR_NONE);
    return false;
}

void sf_admission_begin(struct sf_admission *a, struct sf_call *call, struct sf_arena *req)
{
    struct sf_quota *quota = call->service->quota;
    *a = (struct sf_admission){.call = call,
                               .req = req,
                               .now_ns = sf_clock_mono_ns(),
                               .has_services = quota && sf_quota_has_services(quota, call->tenant)};
}

/* Whether the service is over a rate. Remembers the first such service for the answer. */
static bool admission_is_over(struct sf_admission *a, sf_str service, bool has_spans)
{
    struct sf_quota_refusal refusal;
    if (!sf_quota_is_over(a->call->service->quota, a->call->tenant, service, has_spans, a->now_ns,
                          &refusal))
        return false;
    if (!a->first_service.len && sf_arena_copy(a->req, service, &a->first_service))
        a->first = refusal;
    return true;
}

/* Copies the name, because the text it was read from may be freed before the charge. False: no
 * memory. */
static bool admission_add(struct sf_admission *a, sf_str service, uint64_t n)
{
    struct sf_admission_service s = {.n = n};
    if (!sf_arena_copy(a->req, service, &s.name) ||
        !sf_list_room_in(a->req, &a->list, a->n, &a->cap, 8))
        return false;
    a->list[a->n++] = s;
    a->n_kept += n;
    return true;
}

bool sf_admission_sift(void *arg, struct sf_span_batch *spans, struct sf_arena *req)
{
    struct sf_admission *a = arg;
    uint64_t *counts;
    struct sf_span *kept;
    bool *goes, is_any = false;
    uint32_t n = 0;
    if (!a->has_services)
        return true;
    counts = sf_arena_new_n(req, spans->n_resources + 1u, sizeof(*counts));
    goes = sf_arena_new_n(req, spans->n_resources + 1u, sizeof(*goes));
    if (!counts || !goes)
        return false;
    for (uint32_t i = 0; i < spans->n_spans; i++)
        counts[spans->spans[i].resource]++;
    for (uint32_t i = 0; i < spans->n_resources; i++) {
        if (!counts[i])
            continue;
        goes[i] = admission_is_over(a, spans->resources[i].service, true);
        is_any = is_any || goes[i];
        if (goes[i])
            a->n_over += counts[i];
        else if (!admission_add(a, spans->resources[i].service, counts[i]))
            return false;
    }
    if (!is_any)
        return true;
    kept = sf_arena_new_n(req, spans->n_spans, sizeof(*kept));
    if (!kept)
        return false;
    for (uint32_t i = 0; i < spans->n_spans; i++) {
        if (!goes[spans->spans[i].resource])
            kept[n++] = spans->spans[i];
    }
    spans->spans = kept;
    spans->n_spans = n;
    return true;
}

bool sf_admission_add_profile(struct sf_admission *a, const struct sf_profile_batch *p)
{
    uint64_t *counts;
    if (!a->has_services)
        return true;
    counts = sf_arena_new_n(a->req, p->n_series + 1u, sizeof(*counts));
    for (uint32_t i = 0; counts && i < p->n_samples; i++)
        counts[p->samples[i].series]++;
    for (uint32_t i = 0; i < p->n_series; i++) {
        if (admission_is_over(a, p->series[i].service, false))
            return false;
        if (counts) /* when the arena is full, the request is accepted and its services are not
                     * charged */
            (void)admission_add(a, p->series[i].service, counts[i]);
    }
    return true;
}

static uint64_t admission_part_of(uint64_t len, uint64_t n, uint64_t all)
{
    return all ? (uint64_t)((unsigned __int128)len * n / all) : 0;
}

void sf_admission_charge(struct sf_admission *a, uint64_t n_spans, uint64_t plain_len)
{
    struct sf_quota *quota = a->call->service->quota;
    if (!quota)
        return;
    a->len = a->n_over ? admission_part_of(plain_len, a->n_kept, a->n_kept + a->n_over) : plain_len;
    sf_quota_charge(quota, a->call->tenant, SF_STR_NONE, n_spans, a->len, a->now_ns);
    for (uint32_t i = 0; i < a->n; i++) /* each service's part of the bytes is estimated from its
                                         * spans or samples */
        sf_quota_charge(quota, a->call->tenant, a->list[i].name, a->list[i].n,
                        admission_part_of(a->len, a->list[i].n, a->n_kept), a->now_ns);
}

void sf_admission_refund(struct sf_admission *a, uint64_t n_spans)
{
    struct sf_quota *quota = a->call->service->quota;
    if (!quota)
        return;
    sf_quota_refund(quota, a->call->tenant, SF_STR_NONE, n_spans, a->len);
    for (uint32_t i = 0; i < a->n; i++)
        sf_quota_refund(quota, a->call->tenant, a->list[i].name, a->list[i].n,
                        admission_part_of(a->len, a->list[i].n, a->n_kept));
}

bool sf_admission_refuse(struct sf_admission *a)
{
    return sf_admission_refuse_call(a->call, &a->first, a->first_service);
}
