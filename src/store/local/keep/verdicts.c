/* verdicts.c - verdict files. Their heads are kept in memory, sorted by tenant and hour; bodies are
 * read when requested. Also what is due to be judged, the state of single traces, and the changes
 * by erasure and age. */
#include "store/local/keep/verdicts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/time_unit.h"
#include "store/local/engine.h"
#include "store/local/files/directory.h"
#include "store/local/keep/rule_sets.h"

enum { MAX_LEN = 64 << 20, MAX_HOURS = 48, GIVE_UP_HOURS = 26 };

static void verdicts_path_of(uint32_t tenant, int64_t hour, char out[64])
{
    snprintf(out, 64, "verdict/%" PRIu32 "-%" PRId64 ".sfv", tenant, hour);
}

/* ---- the list ---- */

/* Index of the first head that is not before this tenant and hour. Call with the book's lock
 * held. */
static size_t verdicts_place_of(const struct sf_keep_book *b, uint32_t tenant, int64_t hour)
{
    size_t low = 0, high = b->n_heads;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct sf_verdict_head *h = &b->heads[mid];
        if (h->tenant < tenant || (h->tenant == tenant && h->hour < hour))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct sf_verdict_head *verdicts_find(const struct sf_keep_book *b, uint32_t tenant,
                                             int64_t hour)
{
    size_t at = verdicts_place_of(b, tenant, hour);
    return at < b->n_heads && b->heads[at].tenant == tenant && b->heads[at].hour == hour
               ? &b->heads[at]
               : NULL;
}

static bool verdicts_insert(struct sf_keep_book *b, const struct sf_verdict_head *head)
{
    size_t at = verdicts_place_of(b, head->tenant, head->hour);
    struct sf_verdict_head *old = verdicts_find(b, head->tenant, head->hour);
    if (old) {
        *old = *head;
        return true;
    }
    if (!sf_list_room(&b->heads, b->n_heads, &b->cap_heads, 64))
        return false;
    memmove(b->heads + at + 1, b->heads + at, (b->n_heads - at) * sizeof(*b->heads));
    b->heads[at] = *head;
    b->n_heads++;
    return true;
}

static void verdicts_forget(struct sf_keep_book *b, uint32_t tenant, int64_t hour)
{
    size_t at = verdicts_place_of(b, tenant, hour);
    if (!verdicts_find(b, tenant, hour))
        return;
    memmove(b->heads + at, b->heads + at + 1, (b->n_heads - at - 1) * sizeof(*b->heads));
    b->n_heads--;
}

bool sf_verdicts_find(struct sf_local *l, uint32_t tenant, int64_t hour,
                      struct sf_verdict_head *out)
{
    const struct sf_verdict_head *found;
    sf_mutex_lock(&l->keep.lock);
    found = verdicts_find(&l->keep, tenant, hour);
    if (found)
        *out = *found;
    sf_mutex_unlock(&l->keep.lock);
    return found != NULL;
}

/* ---- files ---- */

static enum sf_err verdicts_read_head(struct sf_dir *dir, const char *path, const uint8_t *uuid,
                                      struct sf_verdict_head *out, struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    uint8_t bytes[SF_VERDICT_HEADER_LEN + 8];
    size_t len = 0;
    enum sf_err err = sf_dir_open_read(dir, path, &file, why);
    if (!err)
        err = sf_file_read_some(&file, 0, bytes, sizeof(bytes), &len, why);
    sf_file_close(&file);
    return err ? err : sf_verdict_head_decode((sf_bytes){bytes, len}, uuid, out, why);
}

struct loading {
    struct sf_local *l;
    struct sf_dir *dir;
    enum sf_err err;
    struct sf_why *why;
};

static bool is_verdict(const char *entry)
{
    sf_str name = sf_str_from(entry);
    return name.len > 4 && sf_str_eq(sf_str_part(name, name.len - 4, 4), SF_STR(".sfv"));
}

static bool verdicts_load_one(void *arg, const char *entry, bool is_dir)
{
    struct loading *load = arg;
    struct sf_local *l = load->l;
    struct sf_verdict_head head;
    struct sf_why why = {0};
    char path[64], expected[64];
    enum sf_err err;
    if (is_dir || (size_t)snprintf(path, sizeof(path), "verdict/%s", entry) >= sizeof(path))
        return true;
    if (!is_verdict(entry))
        return true;
    err = verdicts_read_head(l->dir, path, l->uuid, &head, &why);
    verdicts_path_of(head.tenant, err ? 0 : head.hour, expected);
    if (!err && strcmp(path, expected) != 0)
        err = sf_fail(&why, SF_ERR_CORRUPT, "verdict: it is of another hour or tenant");
    if (err == SF_ERR_CORRUPT) {
        sf_local_notice(l, "store: %s: %s; moved to orphan/", path, why.text);
        load->err = sf_directory_orphan(l->dir, path, l->now_ns, load->why);
    } else if (err) {
        load->err = sf_fail(load->why, err, "store: %s: %s", path, why.text);
    } else if (!verdicts_insert(&l->keep, &head)) {
        load->err = sf_no_memory(load->why, "the list of verdicts");
    }
    return !load->err;
}

enum sf_err sf_verdicts_load(struct sf_local *l, struct sf_why *why)
{
    struct loading load = {.l = l, .why = why};
    enum sf_err err = sf_dir_list(l->dir, "verdict", verdicts_load_one, &load, why);
    return err ? err : load.err;
}

static bool refuse_one(void *arg, const char *entry, bool is_dir)
{
    struct loading *load = arg;
    struct sf_verdict_head head;
    struct sf_why why = {0};
    char path[64];
    if (!is_dir && is_verdict(entry) &&
        (size_t)snprintf(path, sizeof(path), "verdict/%s", entry) < sizeof(path) &&
        verdicts_read_head(load->dir, path, NULL, &head, &why) == SF_ERR_UNSUPPORTED)
        load->err = sf_fail(load->why, SF_ERR_UNSUPPORTED, "store: %s: %s", path, why.text);
    return !load->err;
}

enum sf_err sf_verdicts_refuse_newer(struct sf_dir *dir, struct sf_why *why)
{
    struct loading load = {.dir = dir, .why = why};
    enum sf_err err = sf_dir_list(dir, "verdict", refuse_one, &load, why);
    return err == SF_ERR_NOT_FOUND ? SF_OK : err ? err : load.err;
}

enum sf_err sf_verdicts_get(struct sf_store *s, uint32_t tenant, int64_t hour, struct sf_arena *req,
                            struct sf_verdict *out, struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)s;
    struct sf_verdict_head head;
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf bytes = {0};
    char path[64];
    enum sf_err err;
    if (!sf_verdicts_find(l, tenant, hour, &head))
        return sf_fail(why, SF_ERR_NOT_FOUND, "this hour was not judged");
    verdicts_path_of(tenant, hour, path);
    err = sf_dir_open_read(l->dir, path, &file, why);
    if (!err)
        err = sf_file_read_all(&file, MAX_LEN, &bytes, why);
    sf_file_close(&file);
    if (!err)
        err = sf_verdict_decode(sf_buf_bytes(&bytes), l->uuid, req, out, why);
    sf_buf_done(&bytes);
    if (err == SF_ERR_CORRUPT) {
        /* The hour is judged again by its own rules: the samples that are left are those that were
         * kept. */
        sf_local_notice(l, "store: %s: %s; moved to orphan/", path, why ? why->text : "damaged");
        sf_mutex_lock(&l->keep.lock);
        verdicts_forget(&l->keep, tenant, hour);
        sf_mutex_unlock(&l->keep.lock);
        (void)sf_directory_orphan(l->dir, path, sf_local_wall_ns(l), NULL);
    }
    return err;
}

static enum sf_err verdicts_write(struct sf_local *l, const struct sf_verdict *v,
                                  struct sf_why *why)
{
    struct sf_buf bytes = {.max = MAX_LEN};
    char path[64];
    enum sf_err err = SF_OK;
    verdicts_path_of(v->head.tenant, v->head.hour, path);
    sf_verdict_encode(v, l->uuid, &bytes);
    if (!sf_buf_ok(&bytes))
        err = sf_fail(why, bytes.err, "store: no memory for a verdict");
    if (!err)
        err = sf_dir_replace(l->dir, path, sf_buf_bytes(&bytes), why);
    if (!err)
        err = sf_dir_sync(l->dir, "verdict", why);
    sf_buf_done(&bytes);
    if (err)
        return err;
    sf_mutex_lock(&l->keep.lock);
    if (!verdicts_insert(&l->keep, &v->head))
        err = sf_no_memory(why, "the list of verdicts");
    sf_mutex_unlock(&l->keep.lock);
    return err;
}

enum sf_err sf_verdicts_put(struct sf_store *s, const struct sf_verdict *v, struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)s;
    struct sf_verdict copy = *v;
    enum sf_err err;
    /* A running merge uses the earlier verdicts; its blocks get numbers below the one read here, so
     * that they are examined again. */
    sf_mutex_lock(&l->merge_lock);
    sf_mutex_lock(&l->number_lock);
    copy.head.below_block = l->next_block;
    sf_mutex_unlock(&l->number_lock);
    err = verdicts_write(l, &copy, why);
    sf_mutex_unlock(&l->merge_lock);
    if (!err)
        sf_local_wake_compact(l);
    return err;
}

/* ---- what is due ---- */

struct due {
    const struct sf_block_row *row;
    int64_t hour;
    uint32_t version;
    int64_t since_hour;
    bool has_before;
};

/* With the book's lock held. */
static bool verdicts_is_due(struct sf_local *l, const struct sf_block_row *row, int64_t now_ns,
                            int64_t delay_ns, struct due *out)
{
    int64_t hour = sf_local_hour_of(row->ts_min_ns);
    const struct sf_verdict_head *head = verdicts_find(&l->keep, row->tenant, hour);
    int64_t end_ns = (hour + 1) * SF_NS_PER_HOUR;
    if (!sf_rule_sets_is_judged(&l->keep, hour) || (head && row->lsn_hi <= head->lsn) ||
        sf_add_sat_i64(end_ns, delay_ns) > now_ns ||
        sf_add_sat_i64(row->created_ns, delay_ns) > now_ns)
        return false;
    const struct sf_rule_set *set = sf_rule_sets_find(&l->keep, hour);
    *out = (struct due){row, hour, set->version, set->first_hour, head != NULL};
    return true;
}

static enum sf_err give_rules(struct sf_local *l, int64_t hour, struct sf_arena *req,
                              struct sf_keep_rules *out, struct sf_why *why)
{
    const struct sf_rule_set *set;
    enum sf_err err;
    sf_mutex_lock(&l->keep.lock);
    set = sf_rule_sets_find(&l->keep, hour);
    err = set ? sf_keep_rules_decode(set->rules, req, out, why)
              : sf_fail(why, SF_ERR_NOT_FOUND, "no rules are known for this hour");
    sf_mutex_unlock(&l->keep.lock);
    return err;
}

enum sf_err sf_verdicts_rules(struct sf_local *l, int64_t hour, struct sf_arena *req,
                              struct sf_keep_due *out, struct sf_why *why)
{
    const struct sf_rule_set *set = NULL;
    enum sf_err err;
    sf_mutex_lock(&l->keep.lock);
    if (sf_rule_sets_is_judged(&l->keep, hour))
        set = sf_rule_sets_find(&l->keep, hour);
    err = set ? sf_keep_rules_decode(set->rules, req, &out->rules, why)
              : sf_fail(why, SF_ERR_NOT_FOUND, "no rules are known for this hour");
    if (!err) {
        out->version = set->version;
        out->since_hour = set->first_hour;
    }
    sf_mutex_unlock(&l->keep.lock);
    return err;
}

enum sf_err sf_verdicts_due(struct sf_store *s, struct sf_arena *req, struct sf_keep_due *out,
                            struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)s;
    struct sf_snapshot *blocks, *spans;
    bool is_by_spans;
    struct due first = {0}, one;
    int64_t now_ns, delay_ns;
    bool is_paused;
    enum sf_err err = SF_OK;
    sf_mutex_lock(&l->rule_lock);
    now_ns = l->now_ns;
    delay_ns = l->retention.tail_delay_ns;
    is_by_spans = l->retention.spans_by_outcome_ns > l->retention.spans_ns;
    is_paused = l->is_clock_ahead;
    sf_mutex_unlock(&l->rule_lock);
    if (is_paused)
        return sf_fail(why, SF_ERR_NOT_FOUND, "the clock is ahead: removal pauses");
    blocks = sf_snapshot_take(&l->prof_snapshots);
    spans = is_by_spans ? sf_snapshot_take(&l->snapshots) : NULL;
    sf_mutex_lock(&l->keep.lock);
    for (size_t i = 0; i < blocks->n + (spans ? spans->n : 0); i++) {
        const struct sf_run *run = i < blocks->n ? blocks->runs[i] : spans->runs[i - blocks->n];
        if (sf_run_is_part(run) || run->row.level != 1 || atomic_load(&run->is_bad))
            continue;
        if (verdicts_is_due(l, &run->row, now_ns, delay_ns, &one) &&
            (!first.row || one.hour < first.hour))
            first = one;
    }
    sf_mutex_unlock(&l->keep.lock);
    if (!first.row)
        err = sf_fail(why, SF_ERR_NOT_FOUND, "no hour is due");
    else
        *out = (struct sf_keep_due){.tenant = first.row->tenant,
                                    .hour = first.hour,
                                    .version = first.version,
                                    .since_hour = first.since_hour,
                                    .has_before = first.has_before};
    sf_snapshot_unref(blocks);
    if (spans)
        sf_snapshot_unref(spans);
    if (!err)
        err = give_rules(l, first.hour, req, &out->rules, why);
    sf_mutex_lock(&l->number_lock);
    if (!err)
        out->lsn = l->ckpt_lsn;
    sf_mutex_unlock(&l->number_lock);
    return err;
}

bool sf_verdicts_holds_back(struct sf_local *l, const struct sf_block_row *row)
{
    int64_t hour = sf_local_hour_of(row->ts_min_ns), now_ns = sf_local_wall_ns(l);
    const struct sf_verdict_head *head;
    bool is_held;
    /* After this time the day is merged even without a verdict. */
    if ((row->day + 1) * SF_NS_PER_DAY + GIVE_UP_HOURS * SF_NS_PER_HOUR < now_ns)
        return false;
    sf_mutex_lock(&l->keep.lock);
    head = verdicts_find(&l->keep, row->tenant, hour);
    is_held = sf_rule_sets_is_judged(&l->keep, hour) &&
              (!head || row->lsn_hi > head->lsn ||
               (!head->is_whole && row->id < head->below_block));
    sf_mutex_unlock(&l->keep.lock);
    return is_held;
}

/* ---- what became of traces ---- */

struct order { /* requests sorted by the hour of the verdict that answers them */
    uint32_t tenant, place;
    int64_t hour;
};

static int verdicts_by_hour(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    if (x->hour != y->hour)
        return x->hour < y->hour ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Lists the hours of a span that were judged. */
static bool list_hours(struct sf_local *l, const struct sf_keep_ask *ask, uint32_t place,
                       const struct sf_query_ctx *q, struct order **list, uint32_t *n,
                       uint32_t *cap, struct sf_arena *tmp)
{
    int64_t from = sf_local_hour_of(ask->start_ns), to = sf_local_hour_of(ask->end_ns);
    if (to > from + MAX_HOURS)
        to = from + MAX_HOURS;
    for (size_t t = 0; t < q->n_tenants; t++) {
        for (int64_t h = from; h <= to; h++) {
            if (!verdicts_find(&l->keep, q->tenants[t], h))
                continue;
            if (!sf_list_room_in(tmp, list, *n, cap, 256))
                return false;
            (*list)[(*n)++] = (struct order){q->tenants[t], place, h};
        }
    }
    return true;
}

static void verdicts_take_state(const struct sf_verdict *v, const struct sf_keep_ask *ask,
                                struct sf_keep_state *out)
{
    const struct sf_verdict_entry *t = sf_verdict_trace(v, ask->trace);
    if (v->head.is_whole || out->fate == SF_FATE_KEPT)
        return;
    *out = (struct sf_keep_state){
        .fate = t ? SF_FATE_KEPT : SF_FATE_THINNED,
        .reasons = t ? t->reasons : 0,
        .baseline_per_10000 = t ? t->baseline_per_10000 : (uint16_t)v->rules.all.baseline_per_10000,
        .version = v->head.version,
        .hour = v->head.hour,
        .has_tags = ask->service.len == 0 ? v->n_services > 0
                                          : sf_verdict_has_service(v, ask->service)};
}

enum sf_err sf_verdicts_states(struct sf_store *s, const struct sf_keep_ask *asks, uint32_t n,
                               struct sf_query_ctx *q, struct sf_keep_state *out,
                               struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)s;
    struct sf_arena tmp = *q->req, room;
    struct order *list = NULL;
    uint32_t n_list = 0, cap = 0;
    bool is_full = false;
    enum sf_err err = SF_OK;
    memset(out, 0, n * sizeof(*out));
    sf_mutex_lock(&l->keep.lock);
    for (uint32_t i = 0; l->keep.n_heads && !is_full && i < n; i++)
        is_full = !list_hours(l, &asks[i], i, q, &list, &n_list, &cap, &tmp);
    sf_mutex_unlock(&l->keep.lock);
    if (is_full)
        return sf_no_room(why, "the list of hours");
    if (n_list)
        qsort(list, n_list, sizeof(*list), verdicts_by_hour);
    for (uint32_t i = 0, end; !err && i < n_list; i = end) {
        struct sf_verdict v;
        room = tmp;
        err = sf_verdicts_get(s, list[i].tenant, list[i].hour, &room, &v, why);
        for (end = i;
             end < n_list && list[end].tenant == list[i].tenant && list[end].hour == list[i].hour;
             end++) {
            if (!err)
                verdicts_take_state(&v, &asks[list[end].place], &out[list[end].place]);
        }
        if (err == SF_ERR_CORRUPT || err == SF_ERR_NOT_FOUND)
            err = SF_OK; /* damage was reported; or the verdict expired meanwhile */
    }
    return err;
}

/* ---- erasure, age ---- */

static enum sf_err verdicts_delete_one(struct sf_local *l, uint32_t tenant, int64_t hour,
                                       struct sf_why *why)
{
    char path[64];
    enum sf_err err;
    verdicts_path_of(tenant, hour, path);
    err = sf_dir_unlink(l->dir, path, why);
    if (err)
        return err;
    sf_mutex_lock(&l->keep.lock);
    verdicts_forget(&l->keep, tenant, hour);
    sf_mutex_unlock(&l->keep.lock);
    return SF_OK;
}

static bool verdicts_is_erased(const struct sf_selector *which, sf_trace_id id)
{
    for (uint32_t i = 0; i < which->n_traces; i++) {
        if (sf_trace_id_eq(which->trace_ids[i], id))
            return true;
    }
    return false;
}

static enum sf_err erase_traces(struct sf_local *l, uint32_t tenant, int64_t hour,
                                const struct sf_selector *which, struct sf_arena *tmp,
                                struct sf_why *why)
{
    struct sf_verdict v;
    struct sf_verdict_entry *traces;
    uint32_t n = 0;
    enum sf_err err;
    sf_arena_reset(tmp);
    err = sf_verdicts_get(&l->base, tenant, hour, tmp, &v, why);
    if (err)
        /* It was moved to orphan/, for which an erasure waits. */
        return err == SF_ERR_CORRUPT ? SF_OK : err;
    traces = sf_arena_new_n(tmp, v.n_kept + 1u, sizeof(*traces));
    if (!traces)
        return sf_no_room(why, "a verdict");
    for (uint32_t i = 0; i < v.n_kept; i++) {
        if (!verdicts_is_erased(which, v.traces[i].id))
            traces[n++] = v.traces[i];
    }
    if (n == v.n_kept)
        return SF_OK;
    v.traces = traces;
    v.n_kept = n;
    return verdicts_write(l, &v, why);
}

enum sf_err sf_verdicts_erase(struct sf_local *l, uint32_t tenant, const struct sf_selector *which,
                              struct sf_why *why)
{
    int64_t from = which->from_ns ? sf_local_hour_of(which->from_ns) : INT64_MIN;
    int64_t to = which->to_ns ? sf_local_hour_of(which->to_ns) : INT64_MAX;
    struct sf_arena tmp = {0};
    enum sf_err err = SF_OK;
    size_t at = 0;
    if (which->what == SF_SELECT_SERVICE)
        return SF_OK; /* verdicts contain ids of traces, but no services */
    if (!sf_arena_init(&tmp, 256 << 20))
        return sf_no_memory(why, "a verdict");
    for (;; at++) {
        struct sf_verdict_head head = {0};
        bool is_there;
        sf_mutex_lock(&l->keep.lock);
        is_there = at < l->keep.n_heads;
        if (is_there)
            head = l->keep.heads[at];
        sf_mutex_unlock(&l->keep.lock);
        if (!is_there || err)
            break;
        if (head.tenant != tenant)
            continue;
        if (which->what == SF_SELECT_TRACES) {
            err = erase_traces(l, tenant, head.hour, which, &tmp, why);
        } else if (head.hour > from && head.hour < to) {
            err = verdicts_delete_one(l, tenant, head.hour, why);
            at--; /* the next entry is at this index now */
        }
    }
    sf_arena_done(&tmp);
    return err;
}

static int64_t oldest_hour(struct sf_local *l)
{
    int64_t longest = 0;
    int64_t out = INT64_MIN;
    sf_mutex_lock(&l->rule_lock);
    const int64_t ages[] = {l->retention.detail_ns, l->retention.spans_ns};
    for (size_t i = 0; i < 2; i++)
        longest = ages[i] == 0 || longest < 0 ? -1 : ages[i] > longest ? ages[i] : longest;
    if (longest > 0 && l->retention.spans_by_outcome_ns > longest)
        longest = l->retention.spans_by_outcome_ns;
    if (longest > 0 && !l->is_clock_ahead)
        out = sf_local_hour_of(l->now_ns - longest) -
              25; /* blocks of a day are deleted with its last hour */
    sf_mutex_unlock(&l->rule_lock);
    return out;
}

enum sf_err sf_verdicts_age(struct sf_local *l, struct sf_why *why)
{
    int64_t oldest = oldest_hour(l);
    enum sf_err err = SF_OK;
    for (bool has_more = true; !err && has_more;) {
        struct sf_verdict_head head = {0};
        has_more = false;
        sf_mutex_lock(&l->keep.lock);
        for (size_t i = 0; !has_more && i < l->keep.n_heads; i++) {
            head = l->keep.heads[i];
            has_more = head.hour < oldest;
        }
        sf_mutex_unlock(&l->keep.lock);
        if (has_more)
            err = verdicts_delete_one(l, head.tenant, head.hour, why);
    }
    return err;
}
