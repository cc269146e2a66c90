#include "store/clickhouse/lease.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/time_unit.h"
#include "os/clock.h"
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

static enum sf_err lease_add_row(const struct sf_lease *l, struct sf_shard *first,
                                 const char *database, const uint8_t node[16], uint64_t term,
                                 bool is_first, struct sf_why *why)
{
    struct sf_buf sql = {0};
    char hex[33] = "";
    enum sf_err err;
    sf_hex_encode(node, 16, hex);
    sf_buf_print(&sql, "INSERT INTO %s.leases (name, term, node) SETTINGS async_insert = 0",
                 database);
    if (is_first)
        sf_buf_print(&sql,
                     ", insert_deduplicate = 1, insert_deduplication_token = '%s.%" PRIu64 "'",
                     l->name, term);
    else
        sf_buf_print(&sql, ", insert_deduplicate = 0");
    sf_buf_print(&sql, " VALUES ('%s', %" PRIu64 ", unhex('%s'))", l->name, term, hex);
    err = sf_buf_ok(&sql) ? sf_shard_run(first, sf_buf_str(&sql), why)
                          : sf_no_memory(why, "a statement");
    sf_buf_done(&sql);
    return err;
}

enum sf_err sf_lease_ask(struct sf_lease *l, struct sf_shard *first, const char *database,
                         const uint8_t node[16], bool *out, struct sf_why *why)
{
    int64_t begun_ns = sf_clock_mono_ns();
    struct holder h;
    bool is_own;
    enum sf_err err = read_holder(l, first, database, &h, why);
    l->held_until_ns = 0;
    is_own = !err && h.is_live && memcmp(h.node, node, 16) == 0;
    if (!err && h.is_live && !is_own) {
        *out = false;
        return SF_OK;
    }
    if (!err)
        err = lease_add_row(l, first, database, node, is_own ? h.term : h.term + 1, !is_own, why);
    if (!err && !is_own) { /* another node may have taken the term first */
        err = read_holder(l, first, database, &h, why);
        is_own = !err && h.is_live && memcmp(h.node, node, 16) == 0;
    }
    if (err)
        return err;
    if (is_own) {
        l->term = h.term;
        l->held_until_ns = begun_ns + l->ttl_ns / 3 * 2;
    }
    *out = is_own;
    return SF_OK;
}

bool sf_lease_is_held(const struct sf_lease *l)
{
    return sf_clock_mono_ns() < l->held_until_ns;
}
