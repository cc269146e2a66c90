#include "store/clickhouse/lease.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "store/clickhouse/first_row.h"
#include "wire/row_binary.h"

struct holder {
    uint64_t term;
    uint8_t node[16];
    bool is_live;
};

static enum sf_err read_holder(const struct sf_lease *l, struct sf_shard *first,
                               const char *database, struct holder *out, struct sf_why *why)
{
    struct sf_buf sql = {0}, answer = {.max = 4096};
    struct sf_row_reader r;
    enum sf_err err;
    *out = (struct holder){0};
    sf_buf_print(&sql,
                 "SELECT term, any(node), toUInt8(toUnixTimestamp64Milli(now64(3)) - "
                 "toUnixTimestamp64Milli(max(at)) < %" PRId64 ") FROM %s.leases WHERE name = '%s' "
                 "GROUP BY term ORDER BY term DESC LIMIT 1 FORMAT RowBinary",
                 l->ttl_ns / SF_NS_PER_MS, database, l->name);
    err = sf_buf_ok(&sql) ? sf_shard_ask(first, sf_buf_str(&sql), 0, &answer, why)
                          : sf_no_memory(why, "a statement");
    r = sf_row_reader_init(sf_buf_bytes(&answer));
    if (!err && sf_row_more(&r)) {
        sf_str node;
        out->term = sf_row_binary_u64(&r);
        node = sf_row_binary_fixed(&r, 16);
        out->is_live = sf_row_binary_u8(&r) != 0;
        err = sf_row_binary_check(&r, why);
        if (!err)
            memcpy(out->node, node.p, 16);
    }
    sf_buf_done(&sql);
    sf_buf_done(&answer);
    return err;
}

struct taking { /* of one call */
    struct sf_lease *lease;
    struct sf_shard *first;
    const char *database;
    const uint8_t *node;
    uint64_t term; /* of the row that is added */
    struct holder holder;
};

/* `token` NULL: a further row of a term that this node has. */
static enum sf_err lease_add_row(void *arg, const char *token, struct sf_why *why)
{
    const struct taking *t = arg;
    struct sf_buf sql = {0};
    char hex[33] = "";
    enum sf_err err;
    sf_hex_encode(t->node, 16, hex);
    sf_buf_print(&sql, "INSERT INTO %s.leases (name, term, node) SETTINGS async_insert = 0",
                 t->database);
    if (token)
        sf_buf_print(&sql, ", insert_deduplicate = 1, insert_deduplication_token = '%s'", token);
    else
        sf_buf_print(&sql, ", insert_deduplicate = 0");
    sf_buf_print(&sql, " VALUES ('%s', %" PRIu64 ", unhex('%s'))", t->lease->name, t->term, hex);
    err = sf_buf_ok(&sql) ? sf_shard_run(t->first, sf_buf_str(&sql), why)
                          : sf_no_memory(why, "a statement");
    sf_buf_done(&sql);
    return err;
}

static enum sf_err lease_find_row(void *arg, bool *out, struct sf_why *why)
{
    struct taking *t = arg;
    enum sf_err err = read_holder(t->lease, t->first, t->database, &t->holder, why);
    *out = !err && t->holder.term >= t->term;
    return err;
}

static bool lease_is_own(const struct taking *t)
{
    return t->holder.is_live && memcmp(t->holder.node, t->node, 16) == 0;
}

enum sf_err sf_lease_ask(struct sf_lease *l, struct sf_shard *first, const char *database,
                         const uint8_t node[16], bool *out, struct sf_why *why)
{
    int64_t begun_ns = sf_clock_mono_ns();
    struct taking t = {.lease = l, .first = first, .database = database, .node = node};
    char token[64];
    enum sf_err err = read_holder(l, first, database, &t.holder, why);
    l->held_until_ns = 0;
    if (!err && t.holder.is_live && !lease_is_own(&t)) {
        *out = false;
        return SF_OK;
    }
    if (!err && lease_is_own(&t)) {
        t.term = t.holder.term;
        err = lease_add_row(&t, NULL, why);
    } else if (!err) { /* another node may take the term first */
        t.term = t.holder.term + 1;
        snprintf(token, sizeof(token), "%.40s.%" PRIu64, l->name, t.term);
        err = sf_first_row_put(&(struct sf_first_row){.shard = first,
                                                      .token = token,
                                                      .insert = lease_add_row,
                                                      .find = lease_find_row,
                                                      .arg = &t},
                               why);
        if (err == SF_ERR_BUSY) { /* it is about to take it */
            *out = false;
            return SF_OK;
        }
    }
    if (err)
        return err;
    *out = lease_is_own(&t);
    if (*out) {
        l->term = t.holder.term;
        l->held_until_ns = begun_ns + l->ttl_ns / 3 * 2;
    }
    return SF_OK;
}

bool sf_lease_is_held(const struct sf_lease *l)
{
    return sf_clock_mono_ns() < l->held_until_ns;
}
