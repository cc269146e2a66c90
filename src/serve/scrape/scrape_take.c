#include "serve/scrape/scrape_take.h"

#include "decode/profile_type.h"
#include "exec/tenant.h"
#include "intake/profile_upload.h"
#include "intake/quota.h"
#include "os/clock.h"
#include "serve/profile_take.h"

struct waiting {
    struct sf_ticket ticket;
    struct sf_queue *done;
};

/* Called on the log's thread. */
static void scrape_take_on_durable(struct sf_ticket *ticket)
{
    struct waiting *w = (struct waiting *)ticket; /* its first member */
    (void)sf_queue_give(w->done, w);              /* only one batch is waiting at a time, so the
                                                   * queue has space */
}

static enum sf_err scrape_take_give(struct sf_scrape_taker *t, struct sf_store *store,
                                    struct sf_profile_upload *u, struct sf_why *why)
{
    struct waiting w = {.ticket = {.done = scrape_take_on_durable}, .done = t->done};
    struct sf_batch *batch = sf_profile_upload_take(u);
    enum sf_err err;
    if (!batch)
        return SF_OK;
    err = store->ops->append(store, 0, &batch, &w.ticket, why);
    if (err) {
        sf_batch_free(batch);
        return err;
    }
    (void)sf_queue_take(t->done);
    if (w.ticket.result)
        return sf_fail(why, w.ticket.result, "%s", w.ticket.why.text);
    sf_counters_add(t->service->counters, SF_COUNT_SAMPLES_ACKED, u->sum.n_samples);
    return SF_OK;
}

/* Checks the rates of the tenant and of the target's service. */
static enum sf_err check_quota(const struct sf_scrape_taker *t,
                               const struct sf_scrape_target *target, struct sf_why *why)
{
    struct sf_quota *q = t->service->quota;
    const sf_str services[] = {SF_STR_NONE, target->service};
    struct sf_quota_refusal refusal;
    for (size_t i = 0; q && i < 2; i++) {
        if (!sf_quota_is_over(q, target->job->tenant, services[i], false, sf_clock_mono_ns(),
                              &refusal))
            continue;
        sf_quota_explain(&refusal, target->job->tenant, services[i], why);
        return SF_ERR_BUSY;
    }
    return SF_OK;
}

static void scrape_take_charge(const struct sf_scrape_taker *t,
                               const struct sf_scrape_target *target, uint64_t len, uint64_t n)
{
    struct sf_quota *q = t->service->quota;
    if (!q)
        return;
    sf_quota_charge(q, target->job->tenant, SF_STR_NONE, 0, len, sf_clock_mono_ns());
    if (sf_quota_has_services(q, target->job->tenant))
        sf_quota_charge(q, target->job->tenant, target->service, n, len, sf_clock_mono_ns());
}

struct plain { /* this answer and the previous one, decompressed */
    struct sf_buf body_buf, prev_buf;
    sf_str body, prev;
};

static enum sf_err scrape_take_unwrap(struct sf_scrape_taker *t, const struct sf_scrape_answer *a,
                                      struct plain *p, struct sf_why *why)
{
    struct sf_inflate *z = sf_intake_tools_inflate(t->tools);
    enum sf_err err = sf_profile_format_unwrap(z, a->body, SF_LIMIT_SCRAPE_BODY_LEN, &p->body_buf,
                                               &p->body, why);
    if (!err && a->prev.len)
        err = sf_profile_format_unwrap(z, a->prev, SF_LIMIT_SCRAPE_BODY_LEN, &p->prev_buf, &p->prev,
                                       why);
    return err;
}

/* The instance id in the target's labels: with it, samples are matched exactly to spans of the same
 * instance. */
static sf_str instance_id(const struct sf_scrape_target *t)
{
    for (size_t i = 0; i < t->n_labels; i++) {
        if (sf_str_eq(t->labels[i].key, SF_STR("service_instance_id")) ||
            sf_str_eq(t->labels[i].key, SF_STR("service.instance.id")))
            return t->labels[i].val;
    }
    return SF_STR_NONE;
}

static enum sf_err scrape_take_decode(struct sf_scrape_taker *t, const struct sf_scrape_answer *a,
                                      const struct plain *p, struct sf_profile_upload *u,
                                      bool *out_has_totals, struct sf_why *why)
{
    const struct sf_scrape_target *target = a->target;
    bool is_pprof = sf_str_eq(sf_str_from(sf_profile_format_find(p->body)), SF_STR("pprof"));
    struct sf_attr instance = {.key = SF_STR("service.instance.id"),
                               .val = {.type = SF_VALUE_STR, .str = instance_id(target)}};
    struct sf_profile_hint hint = {.service = target->service,
                                   .labels = target->labels,
                                   .n_labels = (uint32_t)target->n_labels,
                                   .from_ns = a->begun_ns,
                                   .until_ns = a->ended_ns,
                                   .now_ns = a->ended_ns,
                                   .is_scrape = true,
                                   .part = !target->takes_totals   ? SF_PROFILE_LEVELS
                                           : !target->takes_levels ? SF_PROFILE_TOTALS
                                                                   : SF_PROFILE_WHOLE,
                                   .peer = target->instance,
                                   .max_frames = t->service->max_frames};
    if (instance_id(target).len)
        hint.resource = (struct sf_attrs){.list = &instance, .n = 1};
    *out_has_totals = is_pprof && !target->has_seconds && target->takes_totals && !target->is_delta;
    /* The first answer has totals since an unknown time: only later increments count. */
    if (*out_has_totals)
        hint.prev = p->prev.len ? p->prev : p->body;
    return sf_profile_upload_add(u, p->body, &hint, why);
}

enum sf_err sf_scrape_take(void *arg, const struct sf_scrape_answer *a, uint64_t *out_samples,
                           bool *out_has_totals, struct sf_why *why)
{
    struct sf_scrape_taker *t = arg;
    struct sf_service *s = t->service;
    struct sf_store *store = atomic_load(&s->store);
    const struct sf_scrape_job *job = a->target->job;
    struct sf_profile_upload u = {.config = &s->intake,
                                  .tools = t->tools,
                                  .cap = s->series_cap,
                                  .quota = s->quota,
                                  .tenant_name = job->tenant,
                                  .shed = {sf_service_pressure(s), s->recent, job->tenant},
                                  .recv_ns = a->ended_ns,
                                  .max_len = SF_LIMIT_SCRAPE_BODY_LEN};
    struct plain p = {0};
    uint32_t tenants[SF_TENANTS_MAX] = {0};
    size_t n = 0;
    enum sf_err err = store ? check_quota(t, a->target, why)
                            : sf_fail(why, SF_ERR_BUSY, "the store is not open");
    if (!err)
        err = sf_tenant_find(store, job->tenant, true, tenants, &n, why);
    u.tenant = tenants[0];
    if (!err)
        err = scrape_take_unwrap(t, a, &p, why);
    if (!err)
        err = scrape_take_decode(t, a, &p, &u, out_has_totals, why);
    if (!err) {
        sf_profile_take_count(s->counters, &u);
        *out_samples = u.sum.n_samples;
        err = scrape_take_give(t, store, &u, why);
    }
    if (!err)
        scrape_take_charge(t, a->target, p.body.len, *out_samples);
    sf_profile_upload_done(&u);
    sf_buf_done(&p.body_buf);
    sf_buf_done(&p.prev_buf);
    return err;
}
