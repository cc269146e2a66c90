/* group_check.c - finds spans that a shard has several times, in three steps: the shard counts the
 * rows of each bucket; buckets with rows that were not compared yet are counted again together with
 * their distinct spans (by a hash of 64 bits: two spans with the same hash only cost a look); and
 * the traces are listed where the numbers differ. Usually they do not, and the first step is all.
 */
#include "store/clickhouse/group_check.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "os/clock.h"
#include "wire/row_binary.h"

enum {
    COUNTS_LEN = 16 << 20,
    MOST_BUCKETS = 20000, /* that are remembered */
    ROUND_ROWS = 4000000, /* rows of a shard that are compared at a time: 20 bytes of it for each */
    ROUND_BUCKETS = 2000,
    MOST_TRACES = SF_TRACE_SET_MOST
};

struct sf_checked_bucket {
    uint64_t tenant; /* hash of its name */
    uint32_t shard, bucket_s;
    uint64_t n, batches; /* rows, and the sum of their batches' numbers */
    sf_trace_id *traces; /* with repeated spans */
    uint32_t n_traces, cap_traces;
};

/* ---- what is remembered ---- */

void sf_group_checks_init(struct sf_group_checks *c)
{
    *c = (struct sf_group_checks){0};
    sf_mutex_init(&c->lock, SF_LOCK_STORE_CHECKS);
}

static void group_check_forget(struct sf_group_checks *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        sf_heap_free(c->list[i].traces);
    c->n = 0;
    sf_table_clear(&c->at);
}

void sf_group_checks_done(struct sf_group_checks *c)
{
    group_check_forget(c);
    sf_heap_free(c->list);
    sf_table_done(&c->at);
    sf_mutex_done(&c->lock);
}

static uint64_t group_check_key(const struct sf_checked_bucket *b)
{
    return sf_key_mix(sf_key_u64(b->tenant), sf_key_u64((uint64_t)b->shard << 32 | b->bucket_s));
}

/* The caller holds the lock. */
static struct sf_checked_bucket *group_check_find(struct sf_group_checks *c,
                                                  const struct sf_checked_bucket *like)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!c->n)
        return NULL;
    lookup = sf_table_lookup(&c->at, group_check_key(like));
    while (sf_table_next(&lookup, &at)) {
        struct sf_checked_bucket *b = &c->list[at];
        if (b->tenant == like->tenant && b->shard == like->shard && b->bucket_s == like->bucket_s)
            return b;
    }
    return NULL;
}

/* Takes over the traces. */
static void group_check_keep(struct sf_group_checks *c, struct sf_checked_bucket *take)
{
    struct sf_checked_bucket *b;
    sf_mutex_lock(&c->lock);
    if (c->n == MOST_BUCKETS)
        group_check_forget(c);
    b = group_check_find(c, take);
    if (!b && sf_table_more(&c->at) && sf_list_room(&c->list, c->n, &c->cap, 256)) {
        sf_table_put(&c->at, group_check_key(take), c->n);
        b = &c->list[c->n++];
        *b = (struct sf_checked_bucket){0};
    }
    if (b) {
        sf_heap_free(b->traces);
        *b = *take;
    } else {
        sf_heap_free(take->traces); /* it is compared again the next time */
    }
    take->traces = NULL;
    sf_mutex_unlock(&c->lock);
}

/* Adds what is known of the bucket to `io`; false in `out`: it must be compared. */
static enum sf_err group_check_recall(struct sf_group_checks *c,
                                      const struct sf_checked_bucket *now, struct sf_trace_set *io,
                                      bool *out, struct sf_why *why)
{
    const struct sf_checked_bucket *b;
    enum sf_err err = SF_OK;
    sf_mutex_lock(&c->lock);
    b = group_check_find(c, now);
    *out = b && b->n == now->n && b->batches == now->batches;
    for (uint32_t i = 0; *out && !err && i < b->n_traces; i++)
        err = sf_trace_set_add(io, b->traces[i], why);
    sf_mutex_unlock(&c->lock);
    return err;
}

/* ---- one call ---- */

struct checking {
    struct sf_group_checks *c;
    const struct sf_remote_source *r;
    struct sf_query_ctx *q;
    struct sf_trace_set *io;
    uint64_t tenant;
    struct sf_checked_bucket *open; /* to be compared, by shard */
    uint32_t n_open, cap_open;
    struct sf_checked_bucket *doubled; /* with repeated spans */
    uint32_t n_doubled, cap_doubled;
};

/* The same statement has another answer later: the comment keeps it out of the request's cache. */
static void put_moment(struct sf_buf *sql)
{
    sf_buf_print(sql, " /* %" PRId64 " */ ", sf_clock_mono_ns());
}

static void put_buckets(const struct sf_checked_bucket *list, uint32_t n, uint32_t shard,
                        struct sf_buf *sql)
{
    const char *joint = "";
    sf_buf_print(sql, " AND bucket IN (");
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].shard != shard)
            continue;
        sf_buf_print(sql, "%s%" PRIu32, joint, list[i].bucket_s);
        joint = ",";
    }
    sf_buf_print(sql, ")");
}

static void group_check_put_counts(const struct checking *k, const char *more, struct sf_buf *sql)
{
    sf_buf_print(sql, "SELECT bucket, toUInt64(count()), toUInt64(sum(batch))%s", more);
    put_moment(sql);
    sf_buf_print(sql, "FROM %s.spans WHERE ", k->r->database);
    sf_remote_source_tenants(k->r, k->q, sql);
}

typedef enum sf_err take_answer(struct checking *k, uint32_t shard, sf_bytes in,
                                struct sf_why *why);

static enum sf_err group_check_ask(struct checking *k, struct sf_remote_query *list,
                                   take_answer *take, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_remote_source_ask_all(k->r, k->q, list, k->r->n_shards);
    for (uint32_t i = 0; !err && i < k->r->n_shards; i++) {
        if (!list[i].sql.len)
            continue;
        err = sf_remote_source_result(&list[i], why);
        if (!err)
            err = take(k, i, sf_buf_bytes(&list[i].out), why);
        else if (sf_remote_source_goes_on(k->r, i, k->q, err))
            err = SF_OK; /* its spans are missing anyway */
    }
    return err;
}

/* ---- step 1: which buckets changed ---- */

static struct sf_checked_bucket read_counts(const struct checking *k, uint32_t shard,
                                            struct sf_row_reader *r)
{
    struct sf_checked_bucket b = {.tenant = k->tenant, .shard = shard};
    b.bucket_s = sf_row_binary_u32(r);
    b.n = sf_row_binary_u64(r);
    b.batches = sf_row_binary_u64(r);
    return b;
}

static enum sf_err group_check_take_counts(struct checking *k, uint32_t shard, sf_bytes in,
                                           struct sf_why *why)
{
    struct sf_row_reader r = sf_row_reader_init(in);
    enum sf_err err = SF_OK;
    while (!err && sf_row_more(&r)) {
        struct sf_checked_bucket b = read_counts(k, shard, &r);
        bool is_known = true;
        if (r.fault)
            break;
        err = group_check_recall(k->c, &b, k->io, &is_known, why);
        if (err || is_known)
            continue;
        if (!sf_list_room(&k->open, k->n_open, &k->cap_open, 64))
            return sf_no_memory(why, "the buckets of a query");
        k->open[k->n_open++] = b;
    }
    return err ? err : sf_row_binary_check(&r, why);
}

static enum sf_err find_unchecked(struct checking *k, uint32_t low_s, uint32_t high_s,
                                  struct sf_why *why)
{
    struct sf_remote_query *list = sf_remote_source_queries(k->r, 1, COUNTS_LEN);
    enum sf_err err;
    if (!list)
        return sf_no_memory(why, "queries to shards");
    for (uint32_t i = 0; i < k->r->n_shards; i++) {
        group_check_put_counts(k, "", &list[i].sql);
        sf_buf_print(&list[i].sql,
                     " AND bucket BETWEEN %" PRIu32 " AND %" PRIu32
                     " GROUP BY bucket FORMAT RowBinary",
                     low_s, high_s);
    }
    err = group_check_ask(k, list, group_check_take_counts, why);
    sf_remote_source_queries_free(k->r, list, 1);
    return err;
}

/* ---- step 2: compare ---- */

static enum sf_err take_compared(struct checking *k, uint32_t shard, sf_bytes in,
                                 struct sf_why *why)
{
    struct sf_row_reader r = sf_row_reader_init(in);
    while (sf_row_more(&r)) {
        struct sf_checked_bucket b = read_counts(k, shard, &r);
        uint64_t n_distinct = sf_row_binary_u64(&r);
        if (r.fault)
            break;
        if (n_distinct == b.n) {
            group_check_keep(k->c, &b);
            continue;
        }
        if (!sf_list_room(&k->doubled, k->n_doubled, &k->cap_doubled, 16))
            return sf_no_memory(why, "the buckets of a query");
        k->doubled[k->n_doubled++] = b;
    }
    return sf_row_binary_check(&r, why);
}

/* The first open buckets of a shard from `*io_at` on, as many as one statement compares. */
static uint32_t next_buckets(const struct checking *k, uint32_t shard, uint32_t *io_at,
                             struct sf_checked_bucket *out)
{
    uint64_t n_rows = 0;
    uint32_t n = 0;
    for (; *io_at < k->n_open && n < ROUND_BUCKETS; ++*io_at) {
        const struct sf_checked_bucket *b = &k->open[*io_at];
        if (b->shard != shard)
            continue;
        if (n && n_rows + b->n > ROUND_ROWS)
            break;
        n_rows += b->n;
        out[n++] = *b;
    }
    return n;
}

/* One round for all shards. `*out_has_any` false: nothing was left. */
static enum sf_err compare_some(struct checking *k, uint32_t *at, bool *out_has_any,
                                struct sf_why *why)
{
    struct sf_remote_query *list = sf_remote_source_queries(k->r, 1, COUNTS_LEN);
    struct sf_checked_bucket *some = sf_heap_new_n(ROUND_BUCKETS, sizeof(*some));
    enum sf_err err = list && some ? SF_OK : sf_no_memory(why, "queries to shards");
    *out_has_any = false;
    for (uint32_t i = 0; !err && i < k->r->n_shards; i++) {
        uint32_t n = next_buckets(k, i, &at[i], some);
        if (!n)
            continue;
        *out_has_any = true;
        group_check_put_counts(k, ", toUInt64(uniqExact(cityHash64(trace_id, span_id, kind)))",
                               &list[i].sql);
        put_buckets(some, n, i, &list[i].sql);
        sf_buf_print(&list[i].sql, " GROUP BY bucket FORMAT RowBinary");
    }
    if (!err && *out_has_any)
        err = group_check_ask(k, list, take_compared, why);
    sf_remote_source_queries_free(k->r, list, 1);
    sf_heap_free(some);
    return err;
}

static enum sf_err compare_open(struct checking *k, struct sf_why *why)
{
    uint32_t *at = sf_heap_new_n(k->r->n_shards, sizeof(*at));
    bool has_any = k->n_open > 0;
    enum sf_err err = at ? SF_OK : sf_no_memory(why, "queries to shards");
    while (!err && has_any)
        err = compare_some(k, at, &has_any, why);
    sf_heap_free(at);
    return err;
}

/* ---- step 3: list the traces ---- */

static struct sf_checked_bucket *doubled_of(struct checking *k, uint32_t shard, uint32_t bucket_s)
{
    for (uint32_t i = 0; i < k->n_doubled; i++) {
        if (k->doubled[i].shard == shard && k->doubled[i].bucket_s == bucket_s)
            return &k->doubled[i];
    }
    return NULL;
}

static enum sf_err note_doubled(struct checking *k, struct sf_checked_bucket *b, sf_trace_id id,
                                struct sf_why *why)
{
    if (!sf_list_room(&b->traces, b->n_traces, &b->cap_traces, 16))
        return sf_no_memory(why, "the traces of a query");
    b->traces[b->n_traces++] = id;
    return sf_trace_set_add(k->io, id, why);
}

static enum sf_err take_doubled(struct checking *k, uint32_t shard, sf_bytes in, struct sf_why *why)
{
    struct sf_row_reader r = sf_row_reader_init(in);
    uint32_t n = 0;
    while (sf_row_more(&r)) {
        struct sf_checked_bucket *b = doubled_of(k, shard, sf_row_binary_u32(&r));
        sf_str raw = sf_row_binary_fixed(&r, sizeof(sf_trace_id));
        sf_trace_id id;
        enum sf_err err;
        if (r.fault)
            break;
        if (++n > MOST_TRACES)
            return sf_fail(why, SF_ERR_LIMIT, "too many spans are stored more than once");
        memcpy(id.b, raw.p, sizeof(id.b));
        err = b ? note_doubled(k, b, id, why) : SF_OK;
        if (err)
            return err;
    }
    for (uint32_t i = 0; !r.fault && i < k->n_doubled; i++) {
        if (k->doubled[i].shard == shard)
            group_check_keep(k->c, &k->doubled[i]);
    }
    return sf_row_binary_check(&r, why);
}

static enum sf_err list_doubled(struct checking *k, struct sf_why *why)
{
    struct sf_remote_query *list = sf_remote_source_queries(k->r, 1, COUNTS_LEN);
    enum sf_err err = list ? SF_OK : sf_no_memory(why, "queries to shards");
    for (uint32_t i = 0; !err && i < k->r->n_shards; i++) {
        bool has_any = false;
        for (uint32_t n = 0; n < k->n_doubled; n++)
            has_any = has_any || k->doubled[n].shard == i;
        if (!has_any)
            continue;
        sf_buf_print(&list[i].sql,
                     "SELECT DISTINCT bucket, trace_id FROM (SELECT bucket, trace_id");
        put_moment(&list[i].sql);
        sf_buf_print(&list[i].sql, "FROM %s.spans WHERE ", k->r->database);
        sf_remote_source_tenants(k->r, k->q, &list[i].sql);
        put_buckets(k->doubled, k->n_doubled, i, &list[i].sql);
        sf_buf_print(&list[i].sql,
                     " GROUP BY bucket, trace_id, span_id, kind HAVING count() > 1) LIMIT %d "
                     "FORMAT RowBinary",
                     MOST_TRACES + 1);
    }
    if (!err)
        err = group_check_ask(k, list, take_doubled, why);
    sf_remote_source_queries_free(k->r, list, 1);
    return err;
}

/* ---- all ---- */

static void checking_done(struct checking *k)
{
    for (uint32_t i = 0; i < k->n_doubled; i++)
        sf_heap_free(k->doubled[i].traces);
    sf_heap_free(k->doubled);
    sf_heap_free(k->open);
}

enum sf_err sf_group_checks_run(struct sf_group_checks *c, const struct sf_remote_source *r,
                                struct sf_query_ctx *q, uint32_t low_s, uint32_t high_s,
                                struct sf_trace_set *io, struct sf_why *why)
{
    struct checking k = {.c = c, .r = r, .q = q, .io = io};
    struct sf_buf tenants = {0};
    enum sf_err err;
    sf_remote_source_tenants(r, q, &tenants);
    k.tenant = sf_hash_str(sf_buf_str(&tenants));
    err = sf_buf_ok(&tenants) ? find_unchecked(&k, low_s, high_s, why)
                              : sf_no_memory(why, "a question to ClickHouse");
    if (!err)
        err = compare_open(&k, why);
    if (!err && k.n_doubled)
        err = list_doubled(&k, why);
    checking_done(&k);
    sf_buf_done(&tenants);
    return err;
}
