#include "serve/own/findings_each.h"

#include <stdlib.h>

#include "base/time_unit.h"
#include "exec/services.h"
#include "os/clock.h"
#include "render/findings.h"
#include "wire/json_write.h"

/* Total time of the service's requests. */
static double busy(const struct sf_service_stats *s)
{
    return (double)s->sum.requests.n * (double)s->sum.requests.mean_ns;
}

static int busier(const void *a, const void *b)
{
    const struct sf_service_stats *x = *(const struct sf_service_stats *const *)a;
    const struct sf_service_stats *y = *(const struct sf_service_stats *const *)b;
    if (busy(x) != busy(y))
        return busy(x) > busy(y) ? -1 : 1;
    return x < y ? -1 : 1;
}

static const struct sf_service_stats **busiest(const struct sf_services *all, struct sf_arena *req)
{
    const struct sf_service_stats **list = sf_arena_new_n(req, all->n + 1u, sizeof(*list));
    for (uint32_t i = 0; list && i < all->n; i++)
        list[i] = &all->list[i];
    if (list)
        qsort(list, all->n, sizeof(*list), busier);
    return list;
}

/* True: an error of one service, reported there. A closed connection or a stopping store ends the
 * whole call. */
static bool is_of_one(enum sf_err err)
{
    return err == SF_ERR_DEADLINE || err == SF_ERR_LIMIT || err == SF_ERR_NOT_FOUND;
}

static void write_one(sf_str service, enum sf_err err, const struct sf_why *why,
                      const struct sf_findings_view *view, struct sf_json_writer *w)
{
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("service"), service);
    if (err && err != SF_ERR_NOT_FOUND)
        sf_json_write_key_str(w, SF_STR("error"), sf_str_from(why->text));
    sf_findings_members(view, w);
    sf_json_write_object_end(w);
}

enum sf_err sf_findings_each(struct sf_call *call, struct sf_findings_want *want,
                             struct sf_query_ctx *q, struct sf_buf *out, struct sf_why *why)
{
    struct sf_store *store = atomic_load(&call->service->store);
    struct sf_services all = {.from_ns = want->from_ns, .until_ns = want->until_ns};
    struct sf_arena own = {0};
    enum sf_err err = q->n_tenants == 0 ? SF_OK
                                        : sf_services_get(store, want->from_ns, want->until_ns,
                                                          SF_STR_NONE, q, &all, why);
    const struct sf_service_stats **list = err ? NULL : busiest(&all, q->req);
    if (!err && (!list || !sf_arena_init(&own, call->service->query_memory_len)))
        err = sf_no_memory(why, "the query");
    /* One service gets half of the remaining time at most, so that a slow one leaves some for
     * others. */
    int64_t end_ns = q->deadline_ns;
    uint32_t n = all.n < SF_LIMIT_FINDINGS_SERVICES ? all.n : SF_LIMIT_FINDINGS_SERVICES, done = 0;
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key(&w, SF_STR("services"));
    sf_json_write_array(&w);
    for (; !err && done < n; done++) {
        int64_t now_ns = sf_clock_mono_ns();
        struct sf_query_ctx part = *q;
        struct sf_findings_view view = {0};
        if (end_ns > 0 && end_ns - now_ns < SF_NS_PER_S)
            break;
        part.req = &own;
        part.deadline_ns = end_ns > 0 ? now_ns + (end_ns - now_ns) / 2 : 0;
        want->service = list[done]->sum.name;
        err = sf_findings_make(store, want, &part, &view, why);
        q->is_exact = q->is_exact && part.is_exact;
        q->stats = part.stats;
        if (err && !is_of_one(err))
            break;
        if (err)
            view = (struct sf_findings_view){0};
        write_one(want->service, err, why, &view, &w);
        err = SF_OK;
        sf_arena_reset(&own);
    }
    sf_json_write_array_end(&w);
    sf_json_write_key_u64(&w, SF_STR("left"), all.n - done);
    sf_json_write_object_end(&w);
    sf_arena_done(&own);
    return err;
}
