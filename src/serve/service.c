#include "serve/service.h"

#include <stdio.h>

#include "base/limits.h"
#include "intake/series_cap.h"

enum sf_err sf_service_init(struct sf_service *s, struct sf_why *why)
{
    s->finding_limits = SF_FINDING_LIMITS;
    sf_mutex_init(&s->large.mutex, SF_LOCK_SERVE_LARGE);
    sf_large_turn_init(s);
    sf_self_profile_init(&s->self_profile);
    s->ingest = sf_queue_new(SF_LIMIT_INGEST_QUEUE);
    s->point = sf_lane_new(SF_LIMIT_QUERY_QUEUE, SF_LIMIT_CLIENT_QUERIES);
    s->query = sf_lane_new(SF_LIMIT_QUERY_QUEUE, SF_LIMIT_CLIENT_QUERIES);
    s->control = sf_queue_new(SF_LIMIT_QUERY_QUEUE);
    s->counters = sf_counters_new();
    if (!s->ingest || !s->point || !s->query || !s->control || !s->counters)
        return sf_fail(why, SF_ERR_NOMEM, "serve: no memory for queues and counters");
    return SF_OK;
}

void sf_service_done(struct sf_service *s)
{
    sf_queue_free(s->ingest);
    sf_lane_free(s->point);
    sf_lane_free(s->query);
    sf_queue_free(s->control);
    sf_counters_free(s->counters);
    sf_span_metrics_free(s->span_metrics);
    sf_service_graph_free(s->service_graph);
    sf_target_info_free(s->target_info);
    sf_series_cap_free(s->series_cap);
    sf_mutex_done(&s->large.mutex);
    sf_self_profile_done(&s->self_profile);
}

void sf_service_say(struct sf_service *s, enum sf_say_level level, const char *format, ...)
{
    struct sf_why text;
    va_list args;
    if (!s->say)
        return;
    va_start(args, format);
    sf_fail_va(&text, SF_OK, format, args);
    va_end(args);
    s->say(s->say_arg, level, text.text);
}

const char *sf_service_unready(struct sf_service *s, char room[200])
{
    switch (atomic_load(&s->state)) {
    case SF_SERVICE_STOPPING: return "stopping";
    case SF_SERVICE_READY: return NULL;
    default: break;
    }
    uint64_t done = atomic_load(&s->replay_done_len), all = atomic_load(&s->replay_all_len);
    if (all == 0)
        return "starting: opening the store";
    snprintf(room, 200, "starting: replaying the log, %llu of %llu MB",
             (unsigned long long)(done / 1000000), (unsigned long long)((all + 999999) / 1000000));
    return room;
}

enum sf_pressure sf_service_pressure(struct sf_service *s)
{
    struct sf_store *store = atomic_load(&s->store);
    /* The fill of the queue alone is not a reason to refuse spans; a full queue refuses by
     * itself. */
    enum sf_pressure queue = sf_pressure_min(
        sf_pressure_of_fill(sf_queue_depth(s->ingest), SF_LIMIT_INGEST_QUEUE),
        SF_PRESSURE_PROFILES);
    bool is_brief;
    return store ? sf_pressure_max(queue, store->ops->pressure(store, &is_brief)) : queue;
}

void sf_service_count_shed(struct sf_service *s, sf_str tenant, enum sf_shed what)
{
    struct sf_tenant_counts counts = {0};
    counts.n_shed[what] = 1;
    sf_counters_tenant(s->counters, tenant, &counts);
}
