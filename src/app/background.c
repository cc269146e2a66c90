#include "app/background.h"

#include "base/heap.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "os/thread.h"
#include "serve/alerts/alert_delivery.h"
#include "serve/alerts/alerts.h"
#include "serve/keep_hours.h"
#include "serve/own/control.h"
#include "serve/pyroscope/recording_rules.h"
#include "serve/scrape/scraping.h"

#define NOT_READY_NS (SF_NS_PER_S / 4) /* delay before checking again whether the store is open */

struct job {
    const char *name; /* name of the thread */
    void (*run)(struct sf_service *s, struct sf_worker *worker, int64_t now_ns,
                const atomic_bool *is_stopping);
    int64_t interval_ns; /* 0: metrics.rules_interval */
};

/* Reads documents for collectors that other nodes of the fleet changed. */
static void sync_fleet(struct sf_service *s, struct sf_worker *worker, int64_t now_ns,
                       const atomic_bool *is_stopping)
{
    (void)worker;
    (void)now_ns;
    if (!atomic_load(is_stopping))
        sf_control_sync(s->control_docs);
}

static const struct job jobs[] = {
    {.name = "record", .run = sf_recording_run},
    {.name = "keep", .run = sf_keep_hours_judge, .interval_ns = SF_NS_PER_S},
    {.name = "scrape", .run = sf_scraping_run, .interval_ns = SF_NS_PER_S / 20},
    {.name = "alerts", .run = sf_alerts_run, .interval_ns = SF_NS_PER_S / 4}, /* called often; the
                                                                               * function knows when
                                                                               * it is due */
    {.name = "fleet", .run = sync_fleet, .interval_ns = 2 * SF_NS_PER_S},
    {.name = "deliver", .run = sf_alert_delivery_run, .interval_ns = SF_NS_PER_S / 4},
};

enum { N_JOBS = sizeof(jobs) / sizeof(jobs[0]) };

struct runner {
    struct sf_background *all;
    const struct job *job;
    struct sf_thread thread;
    struct sf_worker work;
};

struct sf_background {
    struct sf_service *service;
    const struct sf_config *config;
    struct runner runners[N_JOBS];
    struct sf_condvar wake; /* with the mutex: signalled when the server stops */
    struct sf_mutex mutex;
    atomic_bool is_stopping;
};

static void background_run(void *arg)
{
    struct runner *r = arg;
    struct sf_background *b = r->all;
    int64_t interval_ns = r->job->interval_ns ? r->job->interval_ns
                                              : b->config->metrics.rules_interval_ns;
    while (!atomic_load(&b->is_stopping)) {
        bool is_ready = atomic_load(&b->service->state) == SF_SERVICE_READY;
        if (is_ready)
            r->job->run(b->service, &r->work, sf_clock_wall_ns(), &b->is_stopping);
        sf_mutex_lock(&b->mutex);
        if (!atomic_load(&b->is_stopping))
            sf_condvar_wait_until(&b->wake, &b->mutex,
                                  sf_clock_mono_ns() + (is_ready ? interval_ns : NOT_READY_NS));
        sf_mutex_unlock(&b->mutex);
    }
}

static enum sf_err background_start(struct sf_background *b, size_t i, struct sf_why *why)
{
    struct runner *r = &b->runners[i];
    r->all = b;
    r->job = &jobs[i];
    if (!sf_arena_init(&r->work.arena, b->service->query_memory_len) ||
        !sf_arena_count(&r->work.arena))
        return sf_fail(why, SF_ERR_NOMEM, "server: no memory for thread %s", r->job->name);
    return sf_thread_start(&r->thread, r->job->name, SF_NICE_QUERIES, background_run, r, why);
}

enum sf_err sf_background_start(struct sf_service *service, const struct sf_config *config,
                                struct sf_background **out, struct sf_why *why)
{
    struct sf_background *b = sf_heap_new(sizeof(*b));
    enum sf_err err = SF_OK;
    if (!b)
        return sf_no_memory(why, "the server's threads");
    b->service = service;
    b->config = config;
    sf_mutex_init(&b->mutex, SF_LOCK_APP_BACKGROUND);
    sf_condvar_init(&b->wake);
    for (size_t i = 0; !err && i < N_JOBS; i++)
        err = background_start(b, i, why);
    if (err)
        sf_background_stop(b);
    else
        *out = b;
    return err;
}

void sf_background_stop(struct sf_background *b)
{
    if (!b)
        return;
    sf_mutex_lock(&b->mutex);
    atomic_store(&b->is_stopping, true);
    sf_condvar_wake_all(&b->wake);
    sf_mutex_unlock(&b->mutex);
    for (size_t i = 0; i < N_JOBS; i++) {
        sf_thread_join(&b->runners[i].thread);
        sf_arena_done(&b->runners[i].work.arena);
    }
    sf_condvar_done(&b->wake);
    sf_mutex_done(&b->mutex);
    sf_heap_free(b);
}
