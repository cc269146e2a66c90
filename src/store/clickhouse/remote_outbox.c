#include "store/clickhouse/remote_outbox.h"

#include "base/hash.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/time_unit.h"

enum {
    KEPT_LEN = 1 << 20,
    /* Rows of this length are compressed while more are added: of one shard, and at least. */
    PACK_LEN = 4 << 20,
    LEAST_PACK_LEN = 1 << 19
};

enum sf_err sf_remote_outbox_init(struct sf_remote_outbox *o, uint32_t n_shards, struct sf_why *why)
{
    *o = (struct sf_remote_outbox){.n_shards = n_shards};
    o->parts = sf_heap_new_n((size_t)n_shards * SF_SHIP_TABLES, sizeof(*o->parts));
    return o->parts ? sf_ship_frame_init(&o->frame, why) : sf_no_memory(why, "rows for ClickHouse");
}

void sf_remote_outbox_done(struct sf_remote_outbox *o)
{
    for (size_t i = 0; o->parts && i < (size_t)o->n_shards * SF_SHIP_TABLES; i++) {
        sf_buf_done(&o->parts[i].rows);
        sf_buf_done(&o->parts[i].body);
    }
    sf_heap_free(o->parts);
    sf_ship_frame_done(&o->frame);
    sf_table_done(&o->known_at);
    sf_heap_free(o->known);
    *o = (struct sf_remote_outbox){0};
}

static void remote_outbox_empty(struct sf_buf *b)
{
    if (b->cap > KEPT_LEN) /* release memory that only a peak needed */
        sf_buf_done(b);
    sf_buf_reset(b);
}

void sf_remote_outbox_begin(struct sf_remote_outbox *o, uint64_t batch)
{
    for (size_t i = 0; i < (size_t)o->n_shards * SF_SHIP_TABLES; i++) {
        struct sf_outbox_part *p = &o->parts[i];
        remote_outbox_empty(&p->rows);
        remote_outbox_empty(&p->body);
        p->rows.max = SF_LIMIT_SHIP_TABLE_LEN;
        p->len = 0;
        p->n = 0;
    }
    remote_outbox_empty(&o->frame.block);
    o->batch = batch;
    o->from_day = UINT16_MAX;
    o->to_day = 0;
    o->n_rows = 0;
    o->is_short = false;
}

void sf_remote_outbox_forget(struct sf_remote_outbox *o)
{
    sf_table_clear(&o->known_at);
    o->n_known = 0;
}

enum sf_err sf_remote_outbox_check(const struct sf_remote_outbox *o, struct sf_why *why)
{
    if (o->is_short)
        return sf_no_memory(why, "rows for ClickHouse");
    for (size_t i = 0; i < (size_t)o->n_shards * SF_SHIP_TABLES; i++) {
        enum sf_err err = o->parts[i].rows.err;
        if (err)
            return sf_fail(why, err, "rows for ClickHouse: %s",
                           err == SF_ERR_LIMIT ? "one request makes too many bytes" : "no memory");
    }
    return SF_OK;
}

bool sf_remote_outbox_is_full(const struct sf_remote_outbox *o)
{
    size_t rows = 0, held = 0;
    for (size_t i = 0; i < (size_t)o->n_shards * SF_SHIP_TABLES; i++) {
        const struct sf_outbox_part *p = &o->parts[i];
        rows += p->len + p->rows.len;
        held += p->body.len + p->rows.len;
    }
    return o->n_rows >= SF_LIMIT_SHIP_ROWS || rows >= SF_LIMIT_SHIP_BATCH_LEN ||
           held >= SF_LIMIT_SHIP_HELD_LEN;
}

/* ---- parts ---- */

static size_t remote_outbox_pack_len(const struct sf_remote_outbox *o)
{
    size_t len = PACK_LEN / o->n_shards;
    return len < LEAST_PACK_LEN ? LEAST_PACK_LEN : len;
}

/* Moves the rows of a part into its body. */
static enum sf_err remote_outbox_pack(struct sf_remote_outbox *o, struct sf_outbox_part *p,
                                      struct sf_why *why)
{
    enum sf_ship_table table = (enum sf_ship_table)((size_t)(p - o->parts) % SF_SHIP_TABLES);
    enum sf_err err = p->rows.len ? sf_ship_frame_add(&o->frame, table, sf_buf_bytes(&p->rows),
                                                      &p->body, why)
                                  : SF_OK;
    if (err)
        return err;
    p->len += p->rows.len;
    p->rows.len = 0;
    p->rows.max = p->len < SF_LIMIT_SHIP_TABLE_LEN ? SF_LIMIT_SHIP_TABLE_LEN - p->len : 1;
    return SF_OK;
}

enum sf_err sf_remote_outbox_body(struct sf_remote_outbox *o, uint32_t shard,
                                  enum sf_ship_table table, sf_bytes *out, struct sf_why *why)
{
    struct sf_outbox_part *p = sf_remote_outbox_part(o, shard, table);
    enum sf_err err = remote_outbox_pack(o, p, why);
    if (!err)
        *out = sf_buf_bytes(&p->body);
    return err;
}

struct sf_outbox_part *sf_remote_outbox_part(struct sf_remote_outbox *o, uint32_t shard,
                                             enum sf_ship_table table)
{
    return &o->parts[(size_t)shard * SF_SHIP_TABLES + table];
}

struct sf_buf *sf_remote_outbox_row(struct sf_remote_outbox *o, uint32_t shard,
                                    enum sf_ship_table table, uint16_t day)
{
    struct sf_outbox_part *p = sf_remote_outbox_part(o, shard, table);
    if (p->rows.len >= remote_outbox_pack_len(o) && !p->rows.err && remote_outbox_pack(o, p, NULL))
        o->is_short = true;
    p->n++;
    o->n_rows++;
    o->from_day = day < o->from_day ? day : o->from_day;
    o->to_day = day > o->to_day ? day : o->to_day;
    return &p->rows;
}

static bool remote_outbox_is_known(struct sf_remote_outbox *o, uint64_t entry)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (o->n_known >= SF_LIMIT_SHIP_KNOWN)
        sf_remote_outbox_forget(o);
    if (!sf_table_more(&o->known_at) || !sf_list_room(&o->known, o->n_known, &o->cap_known, 1024)) {
        o->is_short = true;
        return false;
    }
    lookup = sf_table_lookup(&o->known_at, sf_key_u64(entry));
    while (sf_table_next(&lookup, &at)) {
        if (o->known[at] == entry)
            return true;
    }
    o->known[o->n_known] = entry;
    sf_table_keep(&o->known_at, &lookup, o->n_known++);
    return false;
}

struct sf_buf *sf_remote_outbox_entry(struct sf_remote_outbox *o, uint32_t shard,
                                      enum sf_ship_table table, sf_str tenant, uint16_t day,
                                      uint64_t id)
{
    struct sf_outbox_part *p = sf_remote_outbox_part(o, shard, table);
    uint64_t entry = sf_hash_mix(sf_hash_str(tenant), id);
    entry = sf_hash_mix(entry, (uint64_t)day << 32 | (uint64_t)shard << 8 | (uint64_t)table);
    if (remote_outbox_is_known(o, entry))
        return NULL;
    p->n++;
    o->n_rows++;
    return &p->rows;
}

int64_t sf_remote_outbox_time(uint64_t own_ns, int64_t recv_ns)
{
    int64_t own = (int64_t)own_ns;
    if (own_ns == 0 || own_ns > (uint64_t)INT64_MAX || own > recv_ns + SF_NS_PER_HOUR ||
        own < recv_ns - SF_LIMIT_SHIP_AGE_DAYS * SF_NS_PER_DAY)
        return recv_ns;
    return own;
}

uint16_t sf_remote_outbox_day(int64_t ns)
{
    int64_t day = ns / SF_NS_PER_DAY;
    return day < 0 ? 0 : day > UINT16_MAX ? UINT16_MAX : (uint16_t)day;
}
