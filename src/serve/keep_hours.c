#include "serve/keep_hours.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/time_unit.h"
#include "join/keep_judge.h"
#include "os/clock.h"

static const int64_t JUDGE_NS = 600 * SF_NS_PER_S; /* time limit for one hour of data; when it is
                                                    * exceeded, all its detail is kept */

static void keep_hours_say(struct sf_service *s, const struct sf_verdict *v,
                           const struct sf_unread *unread)
{
    char unread_said[200], whole[240] = "";
    sf_unread_say(unread, unread_said, sizeof(unread_said));
    if (v->head.is_whole)
        snprintf(whole, sizeof(whole), " kept whole: %s",
                 unread->n ? unread_said : "too much for a query, or for 10 minutes");
    sf_service_say(s, v->head.is_whole ? SF_SAY_WARN : SF_SAY_INFO,
                   "keep: tenant=%" PRIu32 " hour=%" PRId64 " traces=%" PRIu64 " kept=%" PRIu32
                   " rules=%" PRIu32 "%s",
                   v->head.tenant, v->head.hour * (SF_NS_PER_HOUR / SF_NS_PER_S), v->n_traces,
                   v->n_kept, v->head.version, whole);
}

/* False: no hour is due, or it has to wait. */
static bool judge_next(struct sf_service *s, struct sf_worker *worker, struct sf_arena *scratch,
                       int64_t now_ns, const atomic_bool *is_stopping)
{
    struct sf_store *store = atomic_load(&s->store);
    struct sf_keep_due due;
    struct sf_verdict verdict;
    struct sf_unread unread = {0};
    struct sf_why why = {0};
    sf_arena_reset(&worker->arena);
    enum sf_err err = store->ops->keep_due(store, &worker->arena, &due, &why);
    if (err == SF_ERR_NOT_FOUND)
        return false;
    struct sf_query_ctx q = {.tenants = &due.tenant,
                             .n_tenants = 1,
                             .deadline_ns = sf_clock_mono_ns() + JUDGE_NS,
                             .cancel = is_stopping,
                             .req = &worker->arena,
                             .is_exact = true,
                             .unread = &unread};
    if (!err)
        err = sf_keep_judge_run(store, &due, &q, scratch, now_ns, &verdict, &why);
    if (!err)
        keep_hours_say(s, &verdict, &unread);
    else if (err != SF_ERR_CANCELLED)
        sf_service_say(s, SF_SAY_WARN, "keep: an hour was not evaluated: %s", why.text);
    return !err;
}

void sf_keep_hours_judge(struct sf_service *s, struct sf_worker *worker, int64_t now_ns,
                         const atomic_bool *is_stopping)
{
    struct sf_arena scratch = {0};
    if (!sf_arena_init(&scratch, s->query_memory_len))
        return;
    while (!atomic_load(is_stopping) && judge_next(s, worker, &scratch, now_ns, is_stopping)) {
        /* one hour per iteration */
    }
    sf_arena_done(&scratch);
    sf_arena_release(&worker->arena);
}
