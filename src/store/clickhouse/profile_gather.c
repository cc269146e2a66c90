/* profile_gather.c - reads profiles and samples from all shards into a view.
 *
 * For each tenant and shard there are two or three statements: the rows, and the dictionary
 * entries (series, stacks, frames, processes) that these rows refer to. Each is sent to all shards
 * at once; statements that shards answer quickly are sent together. Conditions are written
 * as SQL that selects at least the rows the local store would select; the local store then
 * evaluates the query over the view. A shard's answer is used completely or not at all. */
#include "store/clickhouse/profile_gather.h"

#include <inttypes.h>
#include <string.h>

#include "base/heap.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "store/clickhouse/profile_answer.h"
#include "store/clickhouse/row_ids.h"
#include "store/clickhouse/schema.h"
#include "store/local/profiles/profile_select.h"
#include "store/local/view.h"

enum {
    ANSWER_LEN = 64 << 20,
    ARENA_LEN = 512 << 20,
    REACH_S = 86400,
    BUCKET_S = 300,
    MOST_IDS = 20000
};

/* One query of one tenant: rows of a table, and the entries that they refer to. */
struct asking {
    struct sf_profile_gather *g;
    struct sf_query_ctx q;       /* with one tenant */
    const char *table, *columns; /* of the rows */
    struct sf_buf where;         /* WHERE clause, beginning with the tenant */
    struct sf_buf tail;          /* after the WHERE clause: GROUP BY, LIMIT */
    bool has_stacks;
    /* For aggregates of single profiles: selects the profiles; otherwise empty. */
    struct sf_buf profiles;
    bool has_totals; /* the rows are profiles */
    bool is_quick;   /* rows are found by an index: ask for entries without waiting for the rows */
};

/* The queries of a shard are in three lists, each with one query for each shard. */
enum { ROWS, ENTRIES, PROFILES, KINDS };

/* ---- open ---- */

enum sf_err sf_profile_gather_open(struct sf_profile_gather *g, const struct sf_remote_source *r,
                                   struct sf_query_ctx *q, struct sf_why *why)
{
    enum sf_err err;
    *g = (struct sf_profile_gather){.r = r, .q = q};
    err = sf_view_open(r->store, &g->view, why);
    if (!err)
        err = sf_view_lend_memory(g->view, &g->after_lsn, why);
    /* If records that are not shipped yet are already in blocks, or older blocks are not moved,
     * read all own data from disk. */
    if (!err &&
        (r->shipped_lsn(r->arg) < g->after_lsn || sf_view_has_blocks(g->view, r->history_lsn))) {
        sf_view_lend_blocks(g->view);
        g->after_lsn = 0;
    }
    if (err)
        sf_profile_gather_close(g);
    return err;
}

void sf_profile_gather_close(struct sf_profile_gather *g)
{
    sf_view_close(g->view);
    g->view = NULL;
}

/* ---- the query ---- */

static void profile_gather_done(struct asking *a)
{
    sf_buf_done(&a->where);
    sf_buf_done(&a->tail);
    sf_buf_done(&a->profiles);
}

static enum sf_err profile_gather_put_series(struct sf_buf *sql, sf_str type,
                                             const struct sf_matcher *match, size_t n_match,
                                             struct sf_why *why)
{
    struct sf_profile_select select = {0};
    enum sf_err err = sf_profile_select_init(&select, type, match, n_match, why);
    if (err)
        return err;
    if (select.service.len) {
        sf_buf_print(sql, " AND service = ");
        sf_remote_source_quote(sql, select.service);
    }
    if (select.n_type) {
        struct sf_buf text = {0};
        for (unsigned i = 0; i < select.n_type; i++) {
            sf_buf_add_str(&text, select.type[i]);
            if (i + 1 < 5)
                sf_buf_add_u8(&text, ':');
        }
        sf_buf_print(sql, select.n_type == 5 ? " AND type = " : " AND startsWith(type, ");
        sf_remote_source_quote(sql, sf_buf_str(&text));
        sf_buf_print(sql, select.n_type == 5 ? "" : ")");
        sf_buf_done(&text);
    }
    sf_profile_select_done(&select);
    return SF_OK;
}

/* `length`: the column with the duration of a row. */
static void profile_gather_put_times(struct sf_buf *sql, int64_t from_ns, int64_t to_ns,
                                     enum sf_prof_select select, const char *length)
{
    if (from_ns == 0 && to_ns == 0)
        return;
    if (select == SF_PROF_RANGE)
        sf_buf_print(sql, " AND start_ns >= %" PRId64 " AND start_ns < %" PRId64, from_ns, to_ns);
    else
        sf_buf_print(sql,
                     " AND start_ns <= %" PRId64 " AND (start_ns >= %" PRId64
                     " OR start_ns + %s >= %" PRId64 ")",
                     to_ns, from_ns, length, from_ns);
}

static void put_span_ids(struct sf_buf *sql, const sf_span_id *ids, size_t n)
{
    sf_buf_print(sql, "span_id IN (");
    for (size_t i = 0; i < n; i++)
        sf_buf_print(sql, "%s%" PRIu64, i ? "," : "", (uint64_t)ids[i]);
    sf_buf_print(sql, ")");
}

static void put_trace_ids(struct sf_buf *sql, const sf_trace_id *ids, size_t n)
{
    sf_buf_print(sql, "trace_id IN (");
    for (size_t i = 0; i < n; i++) {
        char hex[33] = "";
        sf_hex_encode(ids[i].b, 16, hex);
        sf_buf_print(sql, "%sunhex('%s')", i ? "," : "", hex);
    }
    sf_buf_print(sql, ")");
}

/* Selects the rows that read_set() of the local store selects, and possibly more. */
static void profile_gather_put_ids(struct sf_buf *sql, const struct sf_detail_query *query)
{
    const char *joint = "";
    bool has_both = query->n_spans && query->n_traces;
    if (query->is_tagged)
        sf_buf_print(sql, " AND (span_id != 0 OR trace_id != toFixedString('', 16))");
    if (!query->n_spans && !query->n_traces) {
        if (query->process)
            sf_buf_print(sql, " AND process = %" PRIu64, query->process);
        return;
    }
    sf_buf_print(sql, " AND (");
    if (query->n_spans) {
        put_span_ids(sql, query->span_ids, query->n_spans);
        joint = " OR ";
    }
    if (query->n_traces && (!has_both || query->has_trace_rows)) {
        sf_buf_print(sql, "%s(%s", joint, has_both ? "span_id = 0 AND " : "");
        put_trace_ids(sql, query->trace_ids, query->n_traces);
        sf_buf_print(sql, ")");
        joint = " OR ";
    }
    if (query->has_untagged && query->process)
        sf_buf_print(sql, "%s(span_id = 0 AND process = %" PRIu64 ")", joint, query->process);
    sf_buf_print(sql, ")");
}

/* Rows of details are stored by their start; local ones are truncated to microseconds. */
static void put_detail_times(struct sf_buf *sql, const struct sf_detail_query *query)
{
    int64_t from_ns = query->from_ns > 1000 ? query->from_ns - 1000 : query->from_ns,
            to_ns = query->to_ns < INT64_MAX - 1000 ? query->to_ns + 1000 : query->to_ns,
            from_s = from_ns / SF_NS_PER_S - REACH_S - BUCKET_S, to_s = to_ns / SF_NS_PER_S;
    if (query->from_ns == 0 && query->to_ns == 0)
        return;
    profile_gather_put_times(sql, from_ns, to_ns, query->select, "length_ns");
    if (from_s > 0 && from_s < UINT32_MAX)
        sf_buf_print(sql, " AND bucket >= %" PRId64, from_s);
    if (to_s >= 0 && to_s < UINT32_MAX)
        sf_buf_print(sql, " AND bucket <= %" PRId64, to_s);
}

/* ---- the two tables of samples ---- */

/* Writes " AND ..." for the samples of a table that count. Of an hour that was judged, those that
 * the verdict kept count, in both tables from the same moment on. */
static void profile_gather_put_counts(const struct asking *a, bool is_undecided, struct sf_buf *sql)
{
    const char *database = a->g->r->database;
    if (is_undecided)
        sf_buf_print(
            sql,
            " AND (tenant, intDiv(bucket, 3600), batch) NOT IN (SELECT tenant, hour, batch "
            "FROM %s.judged_batches WHERE attempt IN (SELECT attempt FROM %s.judged WHERE "
            "counts_at <= now()))",
            database, database);
    else
        sf_buf_print(sql,
                     " AND (attempt = 0 OR attempt IN (SELECT attempt FROM %s.judged WHERE "
                     "counts_at <= now()))",
                     database);
}

/* Writes "SELECT columns FROM table WHERE ..."; for samples, from both tables. `has_all`: also rows
 * that do not count, for dictionary entries, of which there may be more than needed. */
static void put_select(const struct asking *a, const char *columns, bool has_all,
                       struct sf_buf *sql)
{
    bool is_detail = a->columns == sf_profile_answer_details; /* samples */
    for (int i = 0; i < (is_detail ? 2 : 1); i++) {
        sf_buf_print(sql, "%sSELECT %s FROM %s.%s WHERE ", i ? " UNION ALL " : "", columns,
                     a->g->r->database, i ? SF_SCHEMA_UNDECIDED : a->table);
        sf_buf_add_str(sql, sf_buf_str(&a->where));
        if (is_detail && !has_all)
            profile_gather_put_counts(a, i > 0, sql);
        if (!has_all)
            sf_buf_add_str(sql, sf_buf_str(&a->tail));
    }
}

/* ---- entries ---- */

static bool profile_gather_is_of_samples(const struct asking *a)
{
    return a->columns == sf_profile_answer_details;
}

/* Writes "(1,2)"; without the ids a SELECT of them, which reads the rows once more; of samples, for
 * the whole statement once (profile_gather_put_known()). */
static void profile_gather_put_in(const struct asking *a, const struct sf_id_set *ids,
                                  const char *column, struct sf_buf *sql)
{
    sf_buf_print(sql, "(");
    for (uint32_t i = 0; ids && i < ids->n; i++)
        sf_buf_print(sql, "%s%" PRIu64, i ? "," : "", ids->list[i]);
    if (!ids && profile_gather_is_of_samples(a))
        sf_buf_print(sql, "SELECT arrayJoin(known.%d)", strcmp(column, "series") == 0 ? 1 : 2);
    else if (!ids)
        put_select(a, column, true, sql);
    sf_buf_print(sql, ")");
}

/* Series and stacks of the samples, as a value that the statement computes once. */
static void profile_gather_put_known(const struct asking *a, struct sf_buf *sql)
{
    sf_buf_print(sql, "WITH (SELECT (groupUniqArray(series), groupUniqArray(stack)) FROM (");
    put_select(a, "series, stack", true, sql);
    sf_buf_print(sql, ")) AS known ");
}

/* They are in the table of profiles, on the same shard. */
static void put_process_entries(const struct asking *a, const struct sf_row_ids *ids,
                                struct sf_buf *sql)
{
    sf_buf_print(sql,
                 "SELECT toUInt8(3), process, toString(any(process_key)), '', "
                 "emptyArrayString(), emptyArrayString(), emptyArrayString(), "
                 "emptyArrayUInt64(), emptyArrayUInt32(), emptyArrayUInt32(), toUInt64(0), "
                 "max(is_guess) FROM %s.profiles WHERE ",
                 a->g->r->database);
    sf_remote_source_tenants(a->g->r, &a->q, sql);
    sf_buf_print(sql, " AND process IN ");
    profile_gather_put_in(a, ids ? &ids->processes : NULL, "process", sql);
    sf_buf_print(sql, " AND process != 0 GROUP BY process");
}

static void put_stack_entries(const struct asking *a, const struct sf_row_ids *ids,
                              struct sf_buf *sql)
{
    const char *database = a->g->r->database;
    struct sf_buf stacks = {0};
    sf_buf_print(&stacks, " FROM %s.stacks WHERE ", database);
    sf_remote_source_tenants(a->g->r, &a->q, &stacks);
    sf_buf_print(&stacks, " AND stack IN ");
    profile_gather_put_in(a, ids ? &ids->stacks : NULL, "stack", &stacks);
    sf_buf_print(sql, " UNION ALL SELECT toUInt8(1), stack, '', '', emptyArrayString(), "
                      "emptyArrayString(), emptyArrayString(), any(frames), emptyArrayUInt32(), "
                      "emptyArrayUInt32(), toUInt64(0), toUInt8(0)");
    sf_buf_add_str(sql, sf_buf_str(&stacks));
    sf_buf_print(sql,
                 " GROUP BY stack UNION ALL SELECT toUInt8(2), frame, toString(any(module)), "
                 "toString(any(build_id)), any(functions), any(system_names), any(files), "
                 "emptyArrayUInt64(), any(lines), any(start_lines), any(address), any(kind) "
                 "FROM %s.frames WHERE ",
                 database);
    sf_remote_source_tenants(a->g->r, &a->q, sql);
    sf_buf_print(sql, " AND frame IN (SELECT arrayJoin(frames)");
    sf_buf_add_str(sql, sf_buf_str(&stacks));
    sf_buf_print(sql, ") GROUP BY frame");
    if (stacks.err && !sql->err)
        sql->err = stacks.err;
    sf_buf_done(&stacks);
}

/* SELECTs with the same columns for all kinds of entries: profile_answer.h. `ids`: those of the
 * rows; NULL: not known yet. */
static void profile_gather_put_entries(const struct asking *a, const struct sf_row_ids *ids,
                                       struct sf_buf *sql)
{
    bool has_process = !ids || ids->processes.n > 1 || (ids->processes.n && ids->processes.list[0]);
    if (profile_gather_is_of_samples(a))
        has_process = false; /* they have it themselves */
    if (profile_gather_is_of_samples(a) && !ids)
        profile_gather_put_known(a, sql);
    sf_buf_print(sql,
                 "SELECT toUInt8(0), series, toString(any(service)), toString(any(type)), "
                 "CAST(any(keys), 'Array(String)'), any(vals), emptyArrayString(), "
                 "emptyArrayUInt64(), emptyArrayUInt32(), emptyArrayUInt32(), toUInt64(0), "
                 "toUInt8(0) FROM %s.series WHERE ",
                 a->g->r->database);
    sf_remote_source_tenants(a->g->r, &a->q, sql);
    sf_buf_print(sql, " AND series IN ");
    profile_gather_put_in(a, ids ? &ids->series : NULL, "series", sql);
    sf_buf_print(sql, " GROUP BY series");
    if (has_process) {
        sf_buf_print(sql, " UNION ALL ");
        put_process_entries(a, ids, sql);
    }
    if (a->has_stacks)
        put_stack_entries(a, ids, sql);
    sf_buf_print(sql, " FORMAT RowBinary");
}

/* The entries of rows that a shard returned. A list of very many ids would cost more than to read
 * the rows again. */
static void put_entries_of(const struct asking *a, sf_bytes rows, struct sf_buf *sql)
{
    enum sf_row_ids_kind kind = a->columns == sf_profile_answer_details ? SF_ROWS_DETAILS
                                : a->has_totals                         ? SF_ROWS_PROFILES
                                                                        : SF_ROWS_STACKS;
    struct sf_row_ids ids = {0};
    bool is_known = !sf_row_ids_read(kind, rows, &ids) && ids.series.n <= MOST_IDS &&
                    ids.processes.n <= MOST_IDS && ids.stacks.n <= MOST_IDS;
    profile_gather_put_entries(a, is_known ? &ids : NULL, sql);
    sf_row_ids_done(&ids);
}

/* ---- asking ---- */

static void put_all_rows(const struct asking *a, struct sf_buf *sql)
{
    put_select(a, a->columns, false, sql);
    sf_buf_print(sql, " FORMAT RowBinary");
}

static void put_single_profiles(const struct asking *a, struct sf_buf *sql)
{
    sf_buf_print(sql, "SELECT %s FROM %s.profiles WHERE ", sf_profile_answer_profiles,
                 a->g->r->database);
    sf_buf_add_str(sql, sf_buf_str(&a->profiles));
    sf_buf_print(sql, " FORMAT RowBinary");
}

/* One round, or two: entries are needed only of shards that have rows. */
static void profile_gather_read(struct asking *a, struct sf_remote_query *list)
{
    const struct sf_remote_source *r = a->g->r;
    uint32_t n = r->n_shards;
    for (uint32_t i = 0; i < n; i++) {
        put_all_rows(a, &list[ROWS * n + i].sql);
        if (a->is_quick)
            profile_gather_put_entries(a, NULL, &list[ENTRIES * n + i].sql);
    }
    sf_remote_source_ask_all(r, &a->q, list, (size_t)KINDS * n);
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_remote_query *rows = &list[ROWS * n + i];
        if (rows->err || !rows->out.len)
            continue;
        if (!a->is_quick)
            put_entries_of(a, sf_buf_bytes(&rows->out), &list[ENTRIES * n + i].sql);
        if (a->profiles.len)
            put_single_profiles(a, &list[PROFILES * n + i].sql);
    }
    if (!a->is_quick || a->profiles.len)
        sf_remote_source_ask_all(r, &a->q, list + n, (size_t)(KINDS - 1) * n);
}

static enum sf_err profile_gather_take(const struct asking *a, const struct sf_remote_query *list,
                                       uint32_t shard, struct sf_profile_answer *to,
                                       struct sf_why *why)
{
    uint32_t n = a->g->r->n_shards;
    const struct sf_remote_query *profiles = &list[PROFILES * n + shard];
    sf_bytes rows = sf_buf_bytes(&list[ROWS * n + shard].out);
    enum sf_err err = SF_OK;
    for (uint32_t kind = 0; !err && kind < KINDS; kind++)
        err = sf_remote_source_result(&list[kind * n + shard], why);
    if (err || !rows.len)
        return err;
    err = sf_profile_answer_add_entries(to, sf_buf_bytes(&list[ENTRIES * n + shard].out), why);
    if (!err && profiles->out.len)
        err = sf_profile_answer_add_profiles(to, sf_buf_bytes(&profiles->out), false, why);
    if (err)
        return err;
    if (a->has_totals)
        return sf_profile_answer_add_profiles(to, rows, true, why);
    return a->columns == sf_profile_answer_details ? sf_profile_answer_add_details(to, rows, why)
                                                   : sf_profile_answer_add_stacks(to, rows, why);
}

/* The answer of a shard is used completely or not at all. */
static enum sf_err gather_shard(struct asking *a, const struct sf_remote_query *list, uint32_t i,
                                struct sf_why *why)
{
    struct sf_arena arena;
    struct sf_profile_answer found = {.req = &arena};
    enum sf_err err;
    if (!sf_arena_init(&arena, ARENA_LEN))
        return sf_no_memory(why, "the answer of a shard");
    err = profile_gather_take(a, list, i, &found, why);
    if (!err && found.n_profiles) {
        struct sf_profile_batch batch = sf_profile_answer_batch(&found);
        a->g->q->stats.n_rows += found.n_samples;
        err = sf_view_add_profiles(a->g->view, a->q.tenants[0], &batch, why);
    }
    sf_profile_answer_done(&found);
    sf_arena_done(&arena);
    return err;
}

static enum sf_err clickhouse_profile_gather(struct asking *a, struct sf_why *why)
{
    const struct sf_remote_source *r = a->g->r;
    struct sf_remote_query *list = sf_remote_source_queries(r, KINDS, ANSWER_LEN);
    enum sf_err err = list ? SF_OK : sf_no_memory(why, "queries to shards");
    if (list)
        profile_gather_read(a, list);
    for (uint32_t i = 0; !err && i < r->n_shards; i++) {
        err = gather_shard(a, list, i, why);
        if (err && sf_remote_source_goes_on(r, i, a->g->q, err))
            err = SF_OK;
    }
    sf_remote_source_queries_free(r, list, KINDS);
    return err;
}

static void profile_gather_begin(struct asking *a, struct sf_profile_gather *g,
                                 const uint32_t *tenant)
{
    *a = (struct asking){.g = g, .q = *g->q};
    a->q.tenants = tenant;
    a->q.n_tenants = 1;
    sf_remote_source_tenants(g->r, &a->q, &a->where);
    sf_remote_source_others(g->r, g->after_lsn, &a->where);
}

/* ---- profiles ---- */

static enum sf_err put_profiles(struct sf_buf *sql, const struct sf_prof_query *query,
                                struct sf_why *why)
{
    enum sf_err err = profile_gather_put_series(sql, query->type, query->match, query->n_match,
                                                why);
    profile_gather_put_times(sql, query->from_ns, query->to_ns, query->select, "duration_ns");
    if (query->process)
        sf_buf_print(sql, " AND process = %" PRIu64, query->process);
    return err;
}

static enum sf_err ask_profiles(struct asking *a, const struct sf_prof_query *query,
                                enum sf_gather_stacks stacks, struct sf_buf *columns,
                                struct sf_why *why)
{
    enum sf_err err;
    a->table = "profiles";
    a->columns = sf_profile_answer_profiles;
    a->has_totals = true;
    a->has_stacks = false;
    a->is_quick = stacks == SF_GATHER_TOTALS;
    if (stacks == SF_GATHER_TOTALS)
        return put_profiles(&a->where, query, why);
    a->table = "aggregates";
    a->has_totals = false;
    a->has_stacks = true;
    if (stacks == SF_GATHER_SUMMED) {
        /* Sums all stacks as if they were of one profile that begins with the range. */
        err = put_profiles(&a->where, query, why);
        sf_buf_print(columns,
                     "series, process, is_request, toInt64(%" PRId64
                     "), stack, sum(value), sum(samples)",
                     query->from_ns || query->to_ns ? query->from_ns : INT64_C(1));
        sf_buf_add_u8(columns, 0);
        sf_buf_print(&a->tail, " GROUP BY series, process, is_request, stack");
        a->columns = (const char *)columns->p;
        return sf_buf_ok(columns) ? err : sf_no_memory(why, "a question");
    }
    a->columns = sf_profile_answer_stacks;
    sf_buf_add_str(&a->profiles, sf_buf_str(&a->where));
    err = put_profiles(&a->profiles, query, why);
    sf_buf_print(&a->where,
                 " AND (series, process, start_ns) IN (SELECT series, process, start_ns "
                 "FROM %s.profiles WHERE ",
                 a->g->r->database);
    sf_buf_add_str(&a->where, sf_buf_str(&a->profiles));
    sf_buf_print(&a->where, ")");
    return err;
}

static bool is_asked(const struct asking *a)
{
    struct sf_buf rows = {0}, entries = {0};
    bool is_cached;
    put_all_rows(a, &rows);
    profile_gather_put_entries(a, NULL, &entries);
    is_cached = sf_remote_source_is_cached(a->g->r, &a->q, &rows) &&
                sf_remote_source_is_cached(a->g->r, &a->q, &entries);
    sf_buf_done(&rows);
    sf_buf_done(&entries);
    return is_cached;
}

/* If this request has read the profiles of all services in the same range before, the statements of
 * that query are used again, whose answers are cached: the query is evaluated over the view. */
static void use_wider(struct asking *a, const struct sf_prof_query *query)
{
    struct sf_prof_query all = {
        .from_ns = query->from_ns, .to_ns = query->to_ns, .select = query->select};
    struct sf_buf columns = {0};
    struct asking wide;
    profile_gather_begin(&wide, a->g, a->q.tenants);
    if (!ask_profiles(&wide, &all, SF_GATHER_TOTALS, &columns, NULL) && is_asked(&wide)) {
        struct asking narrow = *a;
        *a = wide;
        wide = narrow;
    }
    profile_gather_done(&wide);
    sf_buf_done(&columns);
}

enum sf_err sf_profile_gather_profiles(struct sf_profile_gather *g,
                                       const struct sf_prof_query *query,
                                       enum sf_gather_stacks stacks, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < g->q->n_tenants; i++) {
        struct sf_buf columns = {0};
        struct asking a;
        profile_gather_begin(&a, g, &g->q->tenants[i]);
        err = ask_profiles(&a, query, stacks, &columns, why);
        if (!err && stacks == SF_GATHER_TOTALS)
            use_wider(&a, query);
        if (!err)
            err = clickhouse_profile_gather(&a, why);
        profile_gather_done(&a);
        sf_buf_done(&columns);
    }
    return err;
}

/* ---- samples ---- */

enum sf_err sf_profile_gather_details(struct sf_profile_gather *g,
                                      const struct sf_detail_query *query, bool has_stacks,
                                      struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < g->q->n_tenants; i++) {
        struct asking a;
        profile_gather_begin(&a, g, &g->q->tenants[i]);
        a.table = "details";
        a.columns = sf_profile_answer_details;
        a.has_stacks = has_stacks;
        a.is_quick = query->n_spans || query->n_traces;
        err = profile_gather_put_series(&a.where, query->type, query->match, query->n_match, why);
        profile_gather_put_ids(&a.where, query);
        put_detail_times(&a.where, query);
        if (!err)
            err = clickhouse_profile_gather(&a, why);
        profile_gather_done(&a);
    }
    return err;
}

enum sf_err sf_profile_gather_spans(struct sf_profile_gather *g, sf_span_id low, sf_span_id high,
                                    size_t cap, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < g->q->n_tenants; i++) {
        struct asking a;
        profile_gather_begin(&a, g, &g->q->tenants[i]);
        a.table = "details";
        a.columns = sf_profile_answer_details;
        sf_buf_print(&a.where, " AND span_id != 0 AND span_id BETWEEN %" PRIu64 " AND %" PRIu64,
                     (uint64_t)low, (uint64_t)high);
        sf_buf_print(&a.tail, " LIMIT 1 BY span_id, service LIMIT %zu", cap);
        err = clickhouse_profile_gather(&a, why);
        profile_gather_done(&a);
    }
    return err;
}
