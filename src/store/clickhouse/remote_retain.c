/* remote_retain.c - one pass over the partitions of a shard. Partitions that are too old are
 * dropped, tables of rows before dictionaries. If a partition has rows of pinned traces, only its
 * other rows are deleted. Then rows of tenants with shorter ages are deleted. Every removal is
 * recorded first (row_removal.h). */
#include "store/clickhouse/remote_retain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/time_unit.h"
#include "store/clickhouse/remote_source.h"
#include "store/clickhouse/row_removal.h"
#include "store/clickhouse/shard_clock.h"
#include "wire/row_binary.h"

enum { ANSWER_LEN = 16 << 20 };

/* Which retention age applies to the rows of a table. */
enum age { AGE_SPANS, AGE_PROFILES, AGE_DETAIL, AGE_CODE, AGE_ALL };

static const struct kept {
    const char *name;
    enum age age;
    bool is_counted; /* its rows have a batch and a tenant */
} kept[] = {
    /* Rows first: dictionary entries are deleted after the rows that refer to them. */
    {"spans", AGE_SPANS, true},        {"traces", AGE_SPANS, true},
    {"profiles", AGE_PROFILES, true},  {"aggregates", AGE_PROFILES, true},
    {"details", AGE_DETAIL, true},     {SF_SCHEMA_UNDECIDED, AGE_DETAIL, true},
    {"judged", AGE_DETAIL, false},     {"kept_traces", AGE_DETAIL, false},
    {"kept_roots", AGE_DETAIL, false}, {"resources", AGE_SPANS, false},
    {"scopes", AGE_SPANS, false},      {"series", AGE_CODE, false},
    {"frames", AGE_CODE, false},       {"stacks", AGE_CODE, false},
    {"batches", AGE_ALL, false},       {"removed", AGE_ALL, false},
};
enum { N_KEPT = sizeof(kept) / sizeof(kept[0]) };

struct partition {
    uint8_t table; /* of `kept` */
    uint16_t day;
    char id[16]; /* "20261101" */
    uint64_t n;
    bool is_gone;
};

struct work {
    struct sf_remote_retain *r;
    int64_t now_ns; /* at most the shard's */
    struct partition *list;
    uint32_t n, cap;
    struct sf_buf sql, answer;
};

/* ---- ages ---- */

static int64_t shorter(int64_t a, int64_t b)
{
    return a && (!b || a < b) ? a : b;
}

static int64_t longer(int64_t a, int64_t b)
{
    return !a || !b ? 0 : a > b ? a : b;
}

struct sf_remote_ages sf_remote_retain_ages(const struct sf_retention *rule,
                                            const struct sf_tenant_rule *tenant)
{
    struct sf_remote_ages a = {.spans_ns = tenant->spans_ns, .profiles_ns = tenant->profiles_ns};
    if (rule->spans_by_outcome_ns > a.spans_ns && a.spans_ns)
        a.spans_ns = rule->spans_by_outcome_ns;
    a.detail_ns = shorter(rule->detail_ns, a.profiles_ns);
    return a;
}

static int64_t age_of(const struct sf_remote_ages *a, enum age age)
{
    switch (age) {
    case AGE_SPANS: return a->spans_ns;
    case AGE_PROFILES: return a->profiles_ns;
    case AGE_DETAIL: return a->detail_ns;
    case AGE_CODE: return longer(a->profiles_ns, a->detail_ns);
    case AGE_ALL: break;
    }
    return longer(a->spans_ns, longer(a->profiles_ns, a->detail_ns));
}

/* Delete days before this one. 0: none. */
static uint16_t first_day(const struct work *w, int64_t age_ns)
{
    int64_t day = age_ns > 0 && age_ns < w->now_ns ? (w->now_ns - age_ns) / SF_NS_PER_DAY : 0;
    return day < UINT16_MAX ? (uint16_t)day : 0;
}

/* ---- partitions ---- */

static enum sf_err read_partitions(struct work *w, struct sf_why *why)
{
    struct sf_row_reader r;
    enum sf_err err;
    sf_buf_print(&w->sql,
                 "SELECT table, partition_id, toUInt16(if(table = '" SF_SCHEMA_UNDECIDED
                 "', intDiv(toUInt32OrZero(any(partition)), 24), "
                 "toUInt32(toUInt16(toDateOrZero(any(partition)))))), "
                 "toUInt64(sum(rows)) FROM system.parts WHERE active AND database = '%s' AND rows "
                 "> 0 GROUP BY table, partition_id ORDER BY 3 FORMAT RowBinary",
                 w->r->database);
    err = sf_buf_ok(&w->sql) ? sf_shard_ask(w->r->shard, sf_buf_str(&w->sql), 0, &w->answer, why)
                             : sf_no_memory(why, "a statement");
    r = sf_row_reader_init(sf_buf_bytes(&w->answer));
    while (!err && sf_row_more(&r)) {
        struct partition p = {.table = N_KEPT};
        sf_str name = sf_row_binary_str(&r), id = sf_row_binary_str(&r);
        p.day = sf_row_binary_u16(&r);
        p.n = sf_row_binary_u64(&r);
        for (unsigned i = 0; i < N_KEPT; i++) {
            if (sf_str_eq(name, sf_str_from(kept[i].name)))
                p.table = (uint8_t)i;
        }
        if (p.table == N_KEPT || !p.day || id.len >= sizeof(p.id))
            continue;
        memcpy(p.id, id.p, id.len);
        if (!sf_list_room(&w->list, w->n, &w->cap, 256))
            return sf_no_memory(why, "a list of partitions");
        w->list[w->n++] = p;
    }
    return err ? err : sf_row_binary_check(&r, why);
}

static bool has_rows(const struct work *w, uint16_t day)
{
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->list[i].day == day && kept[w->list[i].table].is_counted && !w->list[i].is_gone)
            return true;
    }
    return false;
}

static const char *rows_of(const struct kept *k)
{
    return strcmp(k->name, SF_SCHEMA_UNDECIDED) == 0 ? "details" : k->name;
}

/* Leaves the last record of each node in `removed`: `store verify` checks that batches follow each
 * other. A shard that was added later has only batches of at least so many shards. */
static enum sf_err remote_retain_note_batches(struct work *w, const struct partition *p,
                                              struct sf_why *why)
{
    sf_buf_reset(&w->sql);
    sf_buf_print(
        &w->sql,
        "INSERT INTO %s.removed (batch, rows_of, by, day, n) SELECT argMax(batch, "
        "last_record), 'batches', concat('age.%s.', toString(shards)), today(), "
        "max(last_record) FROM %s.batches WHERE _partition_id = '%s' GROUP BY node, shards",
        w->r->database, p->id, w->r->database, p->id);
    return sf_buf_ok(&w->sql) ? sf_shard_run(w->r->shard, sf_buf_str(&w->sql), why)
                              : sf_no_memory(why, "a statement");
}

static enum sf_err remote_retain_drop(struct work *w, struct partition *p, struct sf_why *why)
{
    const struct kept *k = &kept[p->table];
    char where[48], by[60];
    struct sf_row_removal removal = {
        .shard = w->r->shard, .database = w->r->database, .table = k->name, .rows_of = rows_of(k)};
    enum sf_err err = SF_OK;
    if (strcmp(k->name, "batches") == 0) {
        err = remote_retain_note_batches(w, p, why);
    } else if (k->is_counted) {
        /* The name includes the count, so that rows that arrive later for a deleted day are counted
         * apart. */
        snprintf(where, sizeof(where), "_partition_id = '%s'", p->id);
        snprintf(by, sizeof(by), "age.%s.%" PRIu64, p->id, p->n);
        removal.where = sf_str_from(where);
        removal.by = sf_str_from(by);
        err = sf_row_removal_note(&removal, why);
    }
    sf_buf_reset(&w->sql);
    sf_buf_print(&w->sql, "ALTER TABLE %s.%s DROP PARTITION ID '%s'", w->r->database, k->name,
                 p->id);
    if (!err)
        err = sf_buf_ok(&w->sql) ? sf_shard_run(w->r->shard, sf_buf_str(&w->sql), why)
                                 : sf_no_memory(why, "a statement");
    if (!err) {
        p->is_gone = true;
        w->r->n_dropped++;
    }
    return err;
}

/* ---- pinned traces ---- */

/* Reads the pins once per round. False in `out`: pins are not read in this round (may_ask_pins). */
static enum sf_err ask_pins(struct sf_remote_retain *r, bool *out, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (!r->has_pins && r->may_ask_pins) {
        err = sf_pin_set_spread(r->shards, r->n_shards, r->database, &r->pins, why);
        r->has_pins = !err;
    }
    *out = r->has_pins;
    return err;
}

static bool has_traces(const struct kept *k)
{
    return k->is_counted && k->age != AGE_PROFILES;
}

static bool is_undecided(const struct kept *k)
{
    return strcmp(k->name, SF_SCHEMA_UNDECIDED) == 0;
}

static bool is_of_samples(const struct kept *k)
{
    return is_undecided(k) || strcmp(k->name, "details") == 0;
}

/* If the partition has rows of pinned traces, deletes all its other rows and sets `*out_stays`: the
 * partition must not be dropped. */
static enum sf_err spare_pinned(struct work *w, const struct partition *p, bool *out_stays,
                                struct sf_why *why)
{
    const struct kept *k = &kept[p->table];
    struct sf_remote_retain *r = w->r;
    struct sf_buf day = {0}, where = {0};
    struct sf_row_removal removal = {
        .shard = r->shard, .database = r->database, .table = k->name, .rows_of = rows_of(k)};
    char by[60];
    uint64_t n = 0;
    bool may = false;
    enum sf_err err = ask_pins(r, &may, why);
    *out_stays = !may;
    if (err || !may || !r->pins.round)
        return err;
    if (is_undecided(k))
        sf_buf_print(&day, "intDiv(bucket, 3600) = %s AND ", p->id);
    else
        sf_buf_print(&day, "day = toDate(%u) AND ", p->day);
    sf_buf_add_str(&where, sf_buf_str(&day));
    sf_pin_set_where(&r->pins, r->database, is_of_samples(k), &where);
    removal.where = sf_buf_str(&where);
    err = sf_buf_ok(&where) ? sf_row_removal_count(&removal, &n, why)
                            : sf_no_memory(why, "a statement");
    if (!err && n) {
        r->n_spared += n;
        *out_stays = true;
        sf_buf_reset(&where);
        sf_buf_print(&where, "%.*sNOT ", SF_STR_ARG(sf_buf_str(&day)));
        sf_pin_set_where(&r->pins, r->database, is_of_samples(k), &where);
        removal.where = sf_buf_str(&where);
        err = sf_buf_ok(&where) ? sf_row_removal_count(&removal, &n, why)
                                : sf_no_memory(why, "a statement");
        snprintf(by, sizeof(by), "age.%s.%" PRIu64, p->id, n);
        removal.by = sf_str_from(by);
        if (!err && n)
            err = sf_row_removal_note(&removal, why);
        if (!err && n)
            err = sf_row_removal_delete(&removal, why);
        r->n_deleted += err ? 0 : n;
    }
    sf_buf_done(&day);
    sf_buf_done(&where);
    return err;
}

static enum sf_err drop_old(struct work *w, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (unsigned t = 0; !err && t < N_KEPT; t++) {
        uint16_t first = first_day(w, age_of(&w->r->longest, kept[t].age));
        for (uint32_t i = 0; !err && i < w->n; i++) {
            struct partition *p = &w->list[i];
            bool stays = false;
            if (p->table != t || p->day >= first || (!kept[t].is_counted && has_rows(w, p->day)))
                continue;
            if (has_traces(&kept[t]))
                err = spare_pinned(w, p, &stays, why);
            if (!err && !stays)
                err = remote_retain_drop(w, p, why);
        }
    }
    return err;
}

/* ---- rows of tenants with ages of their own ---- */

static enum sf_err delete_rows(struct work *w, const struct sf_tenant_ages *t, const struct kept *k,
                               struct sf_why *why)
{
    uint16_t first = first_day(w, age_of(&t->ages, k->age));
    struct sf_buf where = {0};
    char by[60];
    struct sf_row_removal removal = {
        .shard = w->r->shard, .database = w->r->database, .table = k->name, .rows_of = rows_of(k)};
    uint64_t n = 0;
    bool may = true;
    enum sf_err err;
    if (first <= first_day(w, age_of(&w->r->longest, k->age)))
        return SF_OK;
    sf_buf_print(&where, "day < toDate(%u) AND tenant = ", first);
    sf_remote_source_quote(&where, t->tenant);
    removal.where = sf_buf_str(&where);
    err = sf_buf_ok(&where) ? sf_row_removal_count(&removal, &n, why)
                            : sf_no_memory(why, "a statement");
    if (!err && n && has_traces(k)) {
        err = ask_pins(w->r, &may, why);
        if (!err && may && w->r->pins.round) {
            uint64_t n_all = n;
            sf_buf_print(&where, " AND NOT ");
            sf_pin_set_where(&w->r->pins, w->r->database, is_of_samples(k), &where);
            removal.where = sf_buf_str(&where);
            err = sf_buf_ok(&where) ? sf_row_removal_count(&removal, &n, why)
                                    : sf_no_memory(why, "a statement");
            w->r->n_spared += n_all - n;
        }
        n = may ? n : 0;
    }
    if (!err && n) {
        snprintf(by, sizeof(by), "tenant.%u.%" PRIu64, first, n);
        removal.by = sf_str_from(by);
        err = sf_row_removal_note(&removal, why);
        if (!err)
            err = sf_row_removal_delete(&removal, why);
        w->r->n_deleted += err ? 0 : n;
    }
    sf_buf_done(&where);
    return err;
}

enum sf_err sf_remote_retain_work(struct sf_remote_retain *r, struct sf_why *why)
{
    struct work w = {.r = r, .answer = {.max = ANSWER_LEN}};
    enum sf_err err = sf_shard_clock_bound(r->shard, r->now_ns, &w.now_ns, why);
    if (!err)
        err = read_partitions(&w, why);
    if (!err)
        err = drop_old(&w, why);
    for (size_t t = 0; !err && t < r->n_tenants; t++) {
        for (size_t i = 0; !err && i < N_KEPT; i++) {
            if (kept[i].is_counted)
                err = delete_rows(&w, &r->tenants[t], &kept[i], why);
        }
    }
    sf_buf_done(&w.sql);
    sf_buf_done(&w.answer);
    sf_heap_free(w.list);
    return err;
}
