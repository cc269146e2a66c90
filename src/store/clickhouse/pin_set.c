#include "store/clickhouse/pin_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/text.h"
#include "model/ids.h"
#include "os/clock.h"
#include "os/random.h"
#include "store/clickhouse/pin_book.h"
#include "store/clickhouse/remote_source.h"
#include "store/clickhouse/shard_clock.h"
#include "store/clickhouse/shared_text.h"
#include "wire/deflate.h"
#include "wire/row_binary.h"

enum { ANSWER_LEN = 64 << 20, TRACES_AT_ONCE = 1000 };

struct pin_rows {
    uint64_t round;
    struct sf_buf rows;  /* of the table `pinned`, in RowBinary */
    struct sf_buf names; /* ('tenant', unhex('...')), ... of at most TRACES_AT_ONCE traces */
    struct sf_buf *lists;
    uint32_t n_lists, cap_lists, n_in_last, n;
    int64_t now_ns;
};

static void pin_set_add_row(struct pin_rows *p, sf_str tenant, const void *trace, uint64_t span,
                            sf_str service, int64_t start_ns, int64_t end_ns)
{
    sf_buf_add_u64le(&p->rows, p->round);
    sf_row_add_str(&p->rows, tenant);
    sf_buf_add(&p->rows, trace, 16);
    sf_buf_add_u64le(&p->rows, span);
    sf_row_add_str(&p->rows, service);
    sf_buf_add_u64le(&p->rows, (uint64_t)start_ns);
    sf_buf_add_u64le(&p->rows, (uint64_t)end_ns);
}

static enum sf_err pin_set_see(void *arg, const struct sf_shared_text *t, struct sf_why *why)
{
    struct pin_rows *p = arg;
    struct sf_buf *list;
    sf_trace_id id;
    char hex[33] = "";
    if (t->is_gone || t->ends_ns <= p->now_ns || !sf_pin_book_trace(t, &id))
        return SF_OK;
    if (p->n_lists == 0 || p->n_in_last == TRACES_AT_ONCE) {
        if (!sf_list_room(&p->lists, p->n_lists, &p->cap_lists, 4))
            return sf_no_memory(why, "pinned traces");
        p->lists[p->n_lists++] = (struct sf_buf){0};
        p->n_in_last = 0;
    }
    list = &p->lists[p->n_lists - 1];
    sf_hex_encode(id.b, 16, hex);
    sf_buf_print(list, "%s(", p->n_in_last++ ? ", " : "");
    sf_remote_source_quote(list, t->tenant);
    sf_buf_print(list, ", toFixedString(unhex('%s'), 16))", hex);
    pin_set_add_row(p, t->tenant, id.b, 0, SF_STR_NONE, 0, 0);
    p->n++;
    return SF_OK;
}

static enum sf_err pin_set_read_spans(struct pin_rows *p, struct sf_shard *shard,
                                      const char *database, struct sf_why *why)
{
    struct sf_buf sql = {0}, answer = {.max = ANSWER_LEN};
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < p->n_lists; i++) {
        struct sf_row_reader r;
        sf_buf_reset(&sql);
        sf_buf_reset(&answer);
        sf_buf_print(&sql,
                     "SELECT tenant, trace_id, span_id, service, toInt64(start_ns), "
                     "toInt64(start_ns) + duration_ns FROM %s.spans WHERE (tenant, trace_id) IN "
                     "(%.*s) FORMAT RowBinary",
                     database, SF_STR_ARG(sf_buf_str(&p->lists[i])));
        err = sf_buf_ok(&sql) ? sf_shard_ask(shard, sf_buf_str(&sql), 0, &answer, why)
                              : sf_no_memory(why, "a statement");
        r = sf_row_reader_init(sf_buf_bytes(&answer));
        while (!err && sf_row_more(&r)) {
            sf_str tenant = sf_row_binary_str(&r), trace = sf_row_binary_fixed(&r, 16), service;
            uint64_t span = sf_row_binary_u64(&r);
            int64_t start_ns, end_ns;
            service = sf_row_binary_str(&r);
            start_ns = (int64_t)sf_row_binary_u64(&r);
            end_ns = (int64_t)sf_row_binary_u64(&r);
            err = sf_row_binary_check(&r, why);
            if (!err)
                pin_set_add_row(p, tenant, trace.p, span, service, start_ns, end_ns);
        }
    }
    sf_buf_done(&sql);
    sf_buf_done(&answer);
    return err;
}

static enum sf_err pin_set_send(struct pin_rows *p, struct sf_shard *const *shards,
                                uint32_t n_shards, const char *database, struct sf_why *why)
{
    struct sf_deflate *deflate = sf_deflate_new();
    struct sf_buf frame = {0}, sql = {0};
    enum sf_shard_fault fault;
    char token[40];
    enum sf_err err = deflate && sf_buf_ok(&p->rows)
                          ? sf_deflate_zstd(deflate, 1, true, sf_buf_bytes(&p->rows), &frame, why)
                          : sf_no_memory(why, "pinned traces");
    snprintf(token, sizeof(token), "pinned.%016" PRIx64, p->round);
    sf_buf_print(&sql,
                 "INSERT INTO %s.pinned (round, tenant, trace_id, span_id, service, start_ns, "
                 "end_ns) FORMAT RowBinary",
                 database);
    for (uint32_t i = 0; !err && i < n_shards; i++)
        err = sf_shard_insert(shards[i], sf_buf_str(&sql), token, sf_buf_bytes(&frame), &fault,
                              why);
    sf_deflate_free(deflate);
    sf_buf_done(&frame);
    sf_buf_done(&sql);
    return err;
}

enum sf_err sf_pin_set_spread(struct sf_shard *const *shards, uint32_t n_shards,
                              const char *database, struct sf_pin_set *out, struct sf_why *why)
{
    struct pin_rows p = {.round = sf_random_u64() | 1};
    int64_t newest_ms = 0;
    enum sf_err err = sf_shard_clock_bound(shards[0], sf_clock_wall_ns(), &p.now_ns, why);
    if (!err)
        err = sf_shared_text_list(shards[0], database, SF_STR(SF_PIN_BOOK_KIND), 0, pin_set_see, &p,
                                  &newest_ms, why);
    for (uint32_t i = 0; !err && p.n && i < n_shards; i++)
        err = pin_set_read_spans(&p, shards[i], database, why);
    if (!err && p.n)
        err = pin_set_send(&p, shards, n_shards, database, why);
    for (uint32_t i = 0; i < p.n_lists; i++)
        sf_buf_done(&p.lists[i]);
    sf_heap_free(p.lists);
    sf_buf_done(&p.rows);
    if (!err)
        *out = (struct sf_pin_set){.round = p.n ? p.round : 0};
    return err;
}

void sf_pin_set_where(const struct sf_pin_set *p, const char *database, bool is_samples,
                      struct sf_buf *sql)
{
    sf_buf_print(sql,
                 "((tenant, trace_id) IN (SELECT tenant, trace_id FROM %s.pinned WHERE round = "
                 "%" PRIu64 ")",
                 database, p->round);
    if (is_samples)
        sf_buf_print(
            sql,
            " OR (trace_id = toFixedString('', 16) AND ((span_id != 0 AND (tenant, span_id) IN "
            "(SELECT tenant, span_id FROM %s.pinned WHERE round = %" PRIu64
            ")) OR (span_id = 0 AND (tenant, toString(service), bucket) IN (SELECT tenant, "
            "toString(service), arrayJoin(range(toUInt32(intDiv(start_ns, 300000000000) * 300 - "
            "300), toUInt32(least(intDiv(end_ns, 1000000000), intDiv(start_ns, 1000000000) + "
            "86400) + 1), 300)) FROM %s.pinned WHERE round = %" PRIu64
            " AND start_ns >= 300000000000))))",
            database, p->round, database, p->round);
    sf_buf_print(sql, ")");
}
