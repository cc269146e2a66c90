/* upkeep.c - the thread that deletes data from ClickHouse: erasures, samples that were judged, data
 * that is too old, ended shared texts. Every node runs the thread; in each round the one that holds
 * the lease does the work, step by step, and the others do nothing. All steps can be repeated. */
#include "store/clickhouse/upkeep.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "os/thread.h"
#include "store/clickhouse/lease.h"
#include "store/clickhouse/remote_erase.h"
#include "store/clickhouse/remote_keep.h"
#include "store/clickhouse/remote_retain.h"
#include "store/clickhouse/schema.h"
#include "store/clickhouse/shared_text.h"
#include "store/local/local.h"

#define CONNECT_NS (5 * SF_NS_PER_S)
#define WORK_NS    (600 * SF_NS_PER_S) /* for one statement: a mutation rewrites parts */

enum { ROUND_INTERVALS = 12, TTL_ROUNDS = 3, SLOW_ROUNDS = 30, MAX_TENANTS = 4096 };

struct sf_upkeep {
    struct sf_upkeep_config config;
    struct sf_store *store;
    struct sf_thread thread;
    struct sf_shard **shards;
    struct sf_lease lease;
    char said[240];      /* the last error that was logged */
    uint64_t pins_round; /* before this round, do not check old partitions for pinned traces */

    struct sf_mutex lock; /* guards what follows; a leaf lock */
    struct sf_condvar wake;
    struct sf_upkeep_counts counts;
    atomic_bool is_stopping;
};

static void upkeep_notice(struct sf_upkeep *u, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void upkeep_notice(struct sf_upkeep *u, const char *format, ...)
{
    struct sf_why text;
    va_list args;
    if (!u->config.notice)
        return;
    va_start(args, format);
    (void)sf_fail_va(&text, SF_OK, format, args);
    va_end(args);
    u->config.notice(u->config.notice_arg, text.text);
}

/* ---- retention ---- */

static void usual_rule(const struct sf_retention *rule, struct sf_tenant_rule *out)
{
    *out = (struct sf_tenant_rule){.spans_ns = rule->spans_ns, .profiles_ns = rule->profiles_ns};
}

/* Lists the tenants with their own retention ages. */
static enum sf_err list_tenants(struct sf_upkeep *u, const struct sf_retention *rule,
                                struct sf_tenant_ages **out, size_t *out_n, struct sf_why *why)
{
    sf_str *names = sf_heap_new_n(MAX_TENANTS, sizeof(*names));
    struct sf_tenant_ages *list = sf_heap_new_n(MAX_TENANTS, sizeof(*list));
    size_t n = names ? u->store->ops->tenants(u->store, names, MAX_TENANTS) : 0;
    *out = list;
    *out_n = 0;
    if (!names || !list) {
        sf_heap_free(names);
        return sf_no_memory(why, "ages of tenants");
    }
    for (size_t i = 0; i < n && i < MAX_TENANTS; i++) {
        struct sf_tenant_rule own;
        usual_rule(rule, &own);
        u->config.tenant_rule(u->config.tenant_rule_arg, names[i], &own);
        list[(*out_n)++] = (struct sf_tenant_ages){names[i], sf_remote_retain_ages(rule, &own)};
    }
    sf_heap_free(names);
    return SF_OK;
}

static enum sf_err retain(struct sf_upkeep *u, struct sf_why *why)
{
    struct sf_retention rule;
    struct sf_tenant_rule longest;
    struct sf_tenant_ages *tenants = NULL;
    struct sf_remote_retain r = {.database = u->config.address->database,
                                 .shards = u->shards,
                                 .n_shards = u->config.address->n_shards,
                                 .may_ask_pins = u->counts.n_rounds >= u->pins_round};
    enum sf_err err = SF_OK;
    if (!sf_local_retention(u->store, &rule, &r.now_ns))
        return SF_OK; /* the clock is ahead, as the local store has reported */
    usual_rule(&rule, &longest);
    if (u->config.tenant_rule) {
        u->config.tenant_rule(u->config.tenant_rule_arg, SF_STR_NONE, &longest);
        err = list_tenants(u, &rule, &tenants, &r.n_tenants, why);
    }
    r.longest = sf_remote_retain_ages(&rule, &longest);
    r.tenants = tenants;
    for (uint32_t i = 0; !err && i < u->config.address->n_shards; i++) {
        r.shard = u->shards[i];
        err = sf_remote_retain_work(&r, why);
    }
    sf_heap_free(tenants);
    if (r.n_spared) /* these rows will be there in the next round, too: check
                     * again after SLOW_ROUNDS */
        u->pins_round = u->counts.n_rounds + SLOW_ROUNDS;
    sf_mutex_lock(&u->lock);
    u->counts.n_dropped += r.n_dropped;
    u->counts.n_deleted += r.n_deleted;
    sf_mutex_unlock(&u->lock);
    if (r.n_dropped || r.n_deleted)
        upkeep_notice(
            u, "upkeep: dropped %" PRIu64 " partitions and %" PRIu64 " rows that were too old",
            r.n_dropped, r.n_deleted);
    return err;
}

/* ---- erasures ---- */

static enum sf_err erase(struct sf_upkeep *u, struct sf_why *why)
{
    uint64_t n_open = 0;
    bool is_slow = u->counts.n_rounds % SLOW_ROUNDS == 0;
    enum sf_err err = sf_remote_erase_work(u->shards, u->config.address->n_shards,
                                           u->config.address->database, sf_local_uuid(u->store),
                                           is_slow, &n_open, why);
    sf_mutex_lock(&u->lock);
    u->counts.n_erasures = n_open;
    sf_mutex_unlock(&u->lock);
    return err;
}

/* ---- samples that were judged ---- */

static enum sf_err clear_judged(struct sf_upkeep *u, struct sf_why *why)
{
    int64_t grace_s = sf_upkeep_grace_s(u->config.interval_ns);
    uint64_t n = 0;
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < u->config.address->n_shards; i++)
        err = sf_remote_keep_clear(u->shards[i], u->config.address->database, grace_s, &n, why);
    sf_mutex_lock(&u->lock);
    u->counts.n_judged += n;
    sf_mutex_unlock(&u->lock);
    return err;
}

/* ---- the thread ---- */

/* The shipper creates the tables; until then there is nothing to do. */
static enum sf_err is_made(struct sf_upkeep *u, bool *out, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    *out = true;
    for (uint32_t i = 0; !err && *out && i < u->config.address->n_shards; i++) {
        uint32_t version = 0;
        err = sf_schema_version(u->shards[i], u->config.address->database, &version, why);
        *out = version == SF_SCHEMA_VERSION;
    }
    return err;
}

static enum sf_err tidy_texts(struct sf_upkeep *u, struct sf_why *why)
{
    return u->counts.n_rounds % SLOW_ROUNDS == 0
               ? sf_shared_text_tidy(u->shards[0], u->config.address->database, why)
               : SF_OK;
}

static enum sf_err upkeep_take_lease(struct sf_upkeep *u, bool *out, struct sf_why *why)
{
    enum sf_err err = sf_lease_ask(&u->lease, u->shards[0], u->config.address->database,
                                   sf_local_uuid(u->store), out, why);
    sf_mutex_lock(&u->lock);
    u->counts.lease_until_ns = u->lease.held_until_ns;
    if (err || !*out)
        u->counts.n_erasures = 0; /* the node that has the lease counts them */
    sf_mutex_unlock(&u->lock);
    return err;
}

/* The steps of a round. On slow shards one of them may take longer than the lease lasts, so the
 * lease is renewed before each step: otherwise the later steps would never run. */
static enum sf_err upkeep_work(struct sf_upkeep *u, struct sf_why *why)
{
    static enum sf_err (*const steps[])(struct sf_upkeep * u, struct sf_why * why) = {
        erase, clear_judged, retain, tidy_texts};
    bool is_ready = false, is_ours = false;
    enum sf_err err = is_made(u, &is_ready, why);
    if (!err && is_ready)
        err = upkeep_take_lease(u, &is_ours, why);
    for (size_t i = 0; !err && is_ours && i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (i && !sf_lease_is_held(&u->lease))
            err = upkeep_take_lease(u, &is_ours, why);
        if (!err && is_ours)
            err = steps[i](u, why);
    }
    return err;
}

static bool upkeep_wait_ns(struct sf_upkeep *u, int64_t ns)
{
    int64_t until_ns = sf_clock_mono_ns() + ns;
    sf_mutex_lock(&u->lock);
    while (!atomic_load(&u->is_stopping) && sf_clock_mono_ns() < until_ns)
        sf_condvar_wait_until(&u->wake, &u->lock, until_ns);
    sf_mutex_unlock(&u->lock);
    return !atomic_load(&u->is_stopping);
}

static void upkeep_loop(void *arg)
{
    struct sf_upkeep *u = arg;
    while (upkeep_wait_ns(u, u->config.interval_ns * ROUND_INTERVALS)) {
        struct sf_why why = {0};
        enum sf_err err = upkeep_work(u, &why);
        sf_mutex_lock(&u->lock);
        u->counts.n_rounds++;
        u->counts.n_failed += err && err != SF_ERR_CANCELLED;
        sf_mutex_unlock(&u->lock);
        if (!err)
            u->said[0] = 0;
        if (!err || err == SF_ERR_CANCELLED || strcmp(u->said, why.text) == 0)
            continue;
        snprintf(u->said, sizeof(u->said), "%s", why.text); /* log a continuing fault once */
        upkeep_notice(u, "upkeep: %s", why.text);
    }
}

/* ---- start and stop ---- */

static void free_upkeep(struct sf_upkeep *u)
{
    for (uint32_t i = 0; u->shards && i < u->config.address->n_shards; i++)
        sf_shard_close(u->shards[i]);
    sf_heap_free(u->shards);
    sf_condvar_done(&u->wake);
    sf_mutex_done(&u->lock);
    sf_heap_free(u);
}

static enum sf_err upkeep_open_shards(struct sf_upkeep *u, struct sf_why *why)
{
    const struct sf_remote_address *a = u->config.address;
    enum sf_err err = SF_OK;
    u->shards = sf_heap_new_n(a->n_shards, sizeof(struct sf_shard *));
    if (!u->shards)
        return sf_no_memory(why, "shards");
    for (uint32_t i = 0; !err && i < a->n_shards; i++) {
        struct sf_shard_config c = {.address = a->shards[i],
                                    .database = a->database,
                                    .user = u->config.user,
                                    .password = u->config.password,
                                    .ca_file = u->config.ca_file,
                                    .connect_ns = CONNECT_NS,
                                    .whole_ns = WORK_NS,
                                    .memory_len = u->config.memory_len,
                                    .answer_len = sf_local_memory_len(u->store) /
                                                  SF_SHARD_ANSWER_PARTS,
                                    .cancel = &u->is_stopping};
        err = sf_shard_open(&c, &u->shards[i], why);
    }
    return err;
}

enum sf_err sf_upkeep_start(const struct sf_upkeep_config *config, struct sf_store *store,
                            struct sf_upkeep **out, struct sf_why *why)
{
    struct sf_upkeep *u = sf_heap_new(sizeof(*u));
    enum sf_err err;
    if (!u)
        return sf_no_memory(why, "upkeep");
    u->config = *config;
    u->store = store;
    u->lease = (struct sf_lease){.name = "upkeep",
                                 .ttl_ns = config->interval_ns * ROUND_INTERVALS * TTL_ROUNDS};
    sf_mutex_init(&u->lock, SF_LOCK_STORE_UPKEEP);
    sf_condvar_init(&u->wake);
    err = upkeep_open_shards(u, why);
    if (!err)
        err = sf_thread_start(&u->thread, "upkeep", 10, upkeep_loop, u, why);
    if (err) {
        free_upkeep(u);
        return err;
    }
    *out = u;
    return SF_OK;
}

void sf_upkeep_stop(struct sf_upkeep *u)
{
    if (!u)
        return;
    sf_mutex_lock(&u->lock);
    atomic_store(&u->is_stopping, true);
    sf_condvar_wake_all(&u->wake);
    sf_mutex_unlock(&u->lock);
    sf_thread_join(&u->thread);
    free_upkeep(u);
}

void sf_upkeep_counts(struct sf_upkeep *u, struct sf_upkeep_counts *out)
{
    sf_mutex_lock(&u->lock);
    *out = u->counts;
    sf_mutex_unlock(&u->lock);
    out->has_lease = sf_clock_mono_ns() < out->lease_until_ns;
}
