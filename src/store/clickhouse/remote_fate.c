/* remote_fate.c - what retention by outcome did with traces, from the tables of remote_keep.h: the
 * hours that were judged, with their rules, and the traces that were kept. */
#include "store/clickhouse/remote_fate.h"

#include <inttypes.h>
#include <string.h>

#include "base/list.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "wire/row_binary.h"

enum { ANSWER_LEN = 64 << 20, RULES_LEN = 1 << 20, MOST_HOURS = 48 };

struct judged {
    uint32_t tenant;
    int64_t hour;
    bool is_whole;
    uint32_t version, baseline;
    const sf_str *services;
    uint32_t n_services;
};

struct kept {
    uint32_t tenant;
    int64_t hour;
    sf_trace_id id;
    uint16_t reasons, baseline;
};

struct fates {
    struct judged *judged;
    struct kept *kept;
    uint32_t n_judged, cap_judged, n_kept, cap_kept;
};

static enum sf_err take_judged(const struct sf_remote_source *r, struct sf_query_ctx *q,
                               sf_bytes in, struct fates *f, struct sf_why *why)
{
    struct sf_row_reader rows = sf_row_reader_init(in);
    while (sf_row_more(&rows)) {
        struct judged j = {0};
        struct sf_keep_rules rules = {0};
        sf_str name = sf_row_binary_str(&rows), encoded;
        sf_str *services;
        enum sf_err err;
        j.tenant = sf_remote_source_tenant(r, q, name);
        j.hour = sf_row_binary_u32(&rows);
        j.is_whole = sf_row_binary_u8(&rows) != 0;
        j.version = sf_row_binary_u32(&rows);
        encoded = sf_row_binary_str(&rows);
        j.n_services = sf_row_binary_count(&rows, 1);
        services = sf_arena_new_n(q->req, j.n_services + 1, sizeof(*services));
        if (!services || !sf_list_room_in(q->req, &f->judged, f->n_judged, &f->cap_judged, 64))
            return sf_no_room(why, "the list of hours");
        for (uint32_t i = 0; i < j.n_services; i++) {
            if (!sf_arena_copy(q->req, sf_row_binary_str(&rows), &services[i]))
                return sf_no_room(why, "the list of hours");
        }
        j.services = services;
        err = sf_row_binary_check(&rows, why);
        if (!err && !j.is_whole)
            err = sf_keep_rules_decode(sf_str_bytes(encoded), q->req, &rules, why);
        if (err)
            return err;
        j.baseline = rules.all.baseline_per_10000;
        f->judged[f->n_judged++] = j;
    }
    return sf_row_binary_check(&rows, why);
}

static enum sf_err take_kept(const struct sf_remote_source *r, struct sf_query_ctx *q, sf_bytes in,
                             struct fates *f, struct sf_why *why)
{
    struct sf_row_reader rows = sf_row_reader_init(in);
    while (sf_row_more(&rows)) {
        struct kept k = {.tenant = sf_remote_source_tenant(r, q, sf_row_binary_str(&rows))};
        sf_str id;
        k.hour = sf_row_binary_u32(&rows);
        id = sf_row_binary_fixed(&rows, 16);
        k.reasons = sf_row_binary_u16(&rows);
        k.baseline = sf_row_binary_u16(&rows);
        if (!sf_list_room_in(q->req, &f->kept, f->n_kept, &f->cap_kept, 64))
            return sf_no_room(why, "the list of traces");
        if (sf_row_binary_check(&rows, why))
            break;
        memcpy(k.id.b, id.p, 16);
        f->kept[f->n_kept++] = k;
    }
    return sf_row_binary_check(&rows, why);
}

static int64_t last_hour(const struct sf_keep_ask *a)
{
    int64_t first = a->start_ns / SF_NS_PER_HOUR, last = a->end_ns / SF_NS_PER_HOUR;
    return last > first + MOST_HOURS ? first + MOST_HOURS : last;
}

static void put_kept_traces(const struct sf_remote_source *r, const struct sf_keep_ask *asks,
                            uint32_t n, sf_str hours, const char *counts, struct sf_buf *sql)
{
    sf_buf_print(sql,
                 "SELECT tenant, hour, trace_id, groupBitOr(reasons), max(baseline) FROM "
                 "%s.kept_traces WHERE %.*s AND attempt IN (SELECT attempt FROM %s.judged WHERE "
                 "%s) AND trace_id IN (",
                 r->database, SF_STR_ARG(hours), r->database, counts);
    for (uint32_t i = 0; i < n; i++) {
        char hex[33] = "";
        sf_hex_encode(asks[i].trace.b, 16, hex);
        sf_buf_print(sql, "%stoFixedString(unhex('%s'), 16)", i ? ", " : "", hex);
    }
    sf_buf_print(sql, ") GROUP BY tenant, hour, trace_id FORMAT RowBinary");
}

/* Two rounds: the hours that were judged, and of shards that have such hours what was kept. */
static enum sf_err read_fates(const struct sf_remote_source *r, const struct sf_keep_ask *asks,
                              uint32_t n, struct sf_query_ctx *q, struct fates *f,
                              struct sf_why *why)
{
    static const char counts[] = "counts_at <= now()";
    struct sf_remote_query *list = sf_remote_source_queries(r, 2, ANSWER_LEN), *second;
    struct sf_buf sql = {0}, hours = {0};
    int64_t first = INT64_MAX, last = 0;
    enum sf_err err = SF_OK;
    if (!list)
        return sf_no_memory(why, "queries to shards");
    second = list + r->n_shards;
    for (uint32_t i = 0; i < n; i++) {
        first = asks[i].start_ns / SF_NS_PER_HOUR < first ? asks[i].start_ns / SF_NS_PER_HOUR
                                                          : first;
        last = last_hour(&asks[i]) > last ? last_hour(&asks[i]) : last;
    }
    sf_remote_source_tenants(r, q, &hours);
    sf_buf_print(&hours, " AND hour BETWEEN %" PRId64 " AND %" PRId64, first < 0 ? 0 : first, last);
    sf_buf_print(&sql,
                 "SELECT tenant, hour, is_whole, version, rules, services FROM %s.judged WHERE "
                 "%.*s AND %s FORMAT RowBinary",
                 r->database, SF_STR_ARG(sf_buf_str(&hours)), counts);
    sf_remote_source_ask_each(r, q, &sql, list);
    for (uint32_t i = 0; !err && i < r->n_shards; i++) {
        uint32_t before = f->n_judged;
        err = sf_remote_source_result(&list[i], why);
        if (!err)
            err = take_judged(r, q, sf_buf_bytes(&list[i].out), f, why);
        if (!err && f->n_judged > before) {
            put_kept_traces(r, asks, n, sf_buf_str(&hours), counts, &second[i].sql);
        } else if (err && sf_remote_source_goes_on(r, i, q, err)) {
            f->n_judged = before;
            err = SF_OK;
        }
    }
    if (!err)
        sf_remote_source_ask_all(r, q, second, r->n_shards);
    for (uint32_t i = 0; !err && i < r->n_shards; i++) {
        err = sf_remote_source_result(&second[i], why);
        if (!err)
            err = take_kept(r, q, sf_buf_bytes(&second[i].out), f, why);
        if (err && sf_remote_source_goes_on(r, i, q, err))
            err = SF_OK;
    }
    sf_buf_done(&sql);
    sf_buf_done(&hours);
    sf_remote_source_queries_free(r, list, 2);
    return err;
}

static bool fate_has_service(const struct judged *j, sf_str service)
{
    for (uint32_t i = 0; service.len && i < j->n_services; i++) {
        if (sf_str_eq(j->services[i], service))
            return true;
    }
    return !service.len && j->n_services > 0;
}

static void fate_take_state(const struct fates *f, const struct sf_keep_ask *a,
                            struct sf_keep_state *out)
{
    for (uint32_t i = 0; i < f->n_judged; i++) {
        const struct judged *j = &f->judged[i];
        const struct kept *kept = NULL;
        if (j->is_whole || j->hour < a->start_ns / SF_NS_PER_HOUR || j->hour > last_hour(a))
            continue;
        for (uint32_t k = 0; k < f->n_kept && !kept; k++) {
            const struct kept *x = &f->kept[k];
            if (x->hour == j->hour && x->tenant == j->tenant && sf_trace_id_eq(x->id, a->trace))
                kept = x;
        }
        if (out->fate == SF_FATE_KEPT && !kept)
            continue;
        *out = (struct sf_keep_state){
            .fate = kept ? SF_FATE_KEPT : SF_FATE_THINNED,
            .reasons = (uint16_t)((kept ? kept->reasons : 0) | out->reasons),
            .baseline_per_10000 = kept ? kept->baseline : (uint16_t)j->baseline,
            .version = j->version,
            .hour = j->hour,
            .has_tags = out->has_tags || fate_has_service(j, a->service)};
    }
}

enum sf_err sf_remote_fate_states(const struct sf_remote_source *r, const struct sf_keep_ask *asks,
                                  uint32_t n, struct sf_query_ctx *q, struct sf_keep_state *out,
                                  struct sf_why *why)
{
    struct sf_arena as_it_was = *q->req;
    struct fates f = {0};
    enum sf_err err = n ? read_fates(r, asks, n, q, &f, why) : SF_OK;
    memset(out, 0, n * sizeof(*out));
    for (uint32_t i = 0; !err && i < n; i++)
        fate_take_state(&f, &asks[i], &out[i]);
    *q->req = as_it_was;
    return err;
}

enum sf_err sf_remote_fate_rules(const struct sf_remote_source *r, int64_t hour,
                                 struct sf_query_ctx *q, struct sf_verdict *out, struct sf_why *why)
{
    struct sf_remote_query *list = sf_remote_source_queries(r, 1, RULES_LEN);
    struct sf_buf sql = {0};
    struct sf_verdict v = {.head = {.tenant = q->tenants[0], .hour = hour, .is_shared = true}};
    bool is_found = false;
    enum sf_err err = list ? SF_OK : sf_no_memory(why, "queries to shards");
    sf_buf_print(&sql, "SELECT version, rules FROM %s.judged WHERE ", r->database);
    sf_remote_source_tenants(r, q, &sql);
    sf_buf_print(&sql, " AND hour = %" PRId64 " AND NOT is_whole LIMIT 1 FORMAT RowBinary", hour);
    if (list)
        sf_remote_source_ask_each(r, q, &sql, list);
    for (uint32_t i = 0; !err && !is_found && i < r->n_shards; i++) {
        struct sf_row_reader rows = sf_row_reader_init(sf_buf_bytes(&list[i].out));
        sf_str rules;
        err = sf_remote_source_result(&list[i], why);
        if (err || !sf_row_more(&rows))
            continue;
        v.head.version = sf_row_binary_u32(&rows);
        rules = sf_row_binary_str(&rows);
        err = sf_row_binary_check(&rows, why);
        if (!err)
            err = sf_keep_rules_decode(sf_str_bytes(rules), q->req, &v.rules, why);
        is_found = !err;
    }
    sf_buf_done(&sql);
    sf_remote_source_queries_free(r, list, 1);
    if (is_found)
        *out = v;
    return err || is_found ? err : sf_fail(why, SF_ERR_NOT_FOUND, "this hour was not judged");
}
