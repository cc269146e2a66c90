#include "test.h"

#include <stdlib.h>

#include "store/local/files/catalogue.h"
#include "store/local/write/compact.h"
#include "support/store_rig.h"

static const uint64_t START_NS = UINT64_C(1763200000) * 1000000000;

/* Spans with words that can be found again in any file. */
static void make_marked(struct store_rig *r, const char *service, const char *mark, uint8_t id,
                        uint32_t n, struct sf_span_batch *out)
{
    struct sf_span *spans = sf_arena_new_n(&r->arena, n, sizeof(*spans));
    struct sf_attr *attrs = sf_arena_new_n(&r->arena, n + 1, sizeof(*attrs));
    struct sf_resource *res = sf_arena_new(&r->arena, sizeof(*res));
    struct sf_scope *scope = sf_arena_new(&r->arena, sizeof(*scope));
    attrs[n] = (struct sf_attr){SF_STR("service.name"),
                                {.type = SF_VALUE_STR, .str = sf_str_from(service)}};
    *res = (struct sf_resource){.attrs = {&attrs[n], 1}, .service = sf_str_from(service)};
    for (uint32_t i = 0; i < n; i++) {
        sf_str val;
        assert_true(sf_arena_print(&r->arena, &val, "%s-%u", mark, i));
        attrs[i] = (struct sf_attr){SF_STR("word"), {.type = SF_VALUE_STR, .str = val}};
        spans[i] = (struct sf_span){
            .trace_id = {{0xAB, id, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
            .span_id = ((uint64_t)id << 40) + i + 1,
            .start_ns = START_NS + i * 1000,
            .end_ns = START_NS + i * 1000 + 500,
            .name = val,
            .attrs = {&attrs[i], 1},
            .kind = SF_KIND_SERVER,
        };
    }
    *out = (struct sf_span_batch){res, scope, spans, 1, 1, n};
}

static uint32_t count_scanned(struct store_rig *r)
{
    struct sf_span_query q = {.has_whole_traces = true, .columns = SF_COL_ALL};
    struct sf_span_cursor *c;
    struct store_answer a;
    r->tenant = 1;
    assert_ok(r->store->ops->span_scan(r->store, &q, &r->q, &c, &r->why));
    a = store_drain(r, c);
    assert_ok(a.err);
    return a.n;
}

static bool tags_have(struct store_rig *r, const char *word)
{
    struct sf_tag_query q = {.scope = SF_SCOPE_SPAN, .name = SF_STR("word")};
    struct sf_str_cursor *c;
    struct sf_value v;
    bool has = false;
    assert_ok(r->store->ops->span_tags(r->store, &q, &r->q, &c, &r->why));
    while (c->next(c, &v))
        has = has || sf_str_starts(v.str, sf_str_from(word));
    c->close(c);
    return has;
}

static uint64_t count_operations(struct store_rig *r)
{
    struct sf_operation_rows rows;
    uint64_t n = 0;
    assert_ok(r->store->ops->operations(r->store, 0, 0, &r->q, &rows, &r->why));
    for (uint32_t i = 0; i < rows.n; i++)
        n += rows.rows[i].all.n_spans;
    return n;
}

static uint64_t n_tombstones(struct store_rig *r)
{
    struct sf_local_stats stats;
    sf_local_figures_stats(r->store, &stats);
    return stats.n_tombstones;
}

/* Three traces: one to go, two to stay; some in level 1, some in level 0, some in the log only. */
static void fill(struct store_rig *r)
{
    struct sf_span_batch b;
    store_rig_init(r);
    r->config.tuning.compact_blocks = 2;
    assert_ok(store_rig_open(r));
    for (int round = 0; round < 3; round++) {
        make_marked(r, "checkout", "SECRETWORD", 1, 20, &b);
        b.n_spans = (uint32_t)(5 + 5 * round);
        assert_ok(store_put(r, 0, 1, &b, 0));
        make_marked(r, "cart", "PLAINWORD", 2, 10, &b);
        assert_ok(store_put(r, 1, 1, &b, 0));
        make_marked(r, "checkout", "OTHERTENANT", 1, 10, &b);
        assert_ok(store_put(r, 1, 2, &b, 0));
        if (round < 2)
            assert_ok(r->store->ops->flush(r->store, &r->why));
        if (round == 1)
            assert_ok(sf_compact_all(store_rig_local(r), &r->why));
    }
}

static void assert_hidden(struct store_rig *r)
{
    struct store_answer a;
    a = store_trace(r, 1,
                    (sf_trace_id){{0xAB, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}});
    assert_ok(a.err);
    assert_int_equal(a.n, 0);
    a = store_trace(r, 1,
                    (sf_trace_id){{0xAB, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}});
    assert_int_equal(a.n, 10);
    a = store_trace(r, 2,
                    (sf_trace_id){{0xAB, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}});
    assert_int_equal(a.n, 10);
    assert_int_equal(count_scanned(r), 10);
    assert_false(tags_have(r, "SECRETWORD"));
    assert_true(tags_have(r, "PLAINWORD"));
}

static void erase_and_check(struct store_rig *r, const struct sf_selector *which)
{
    char blocks[200];
    snprintf(blocks, sizeof(blocks), "%s/spans", r->path);
    assert_true(tags_have(r, "SECRETWORD"));
    assert_true(store_has_bytes(blocks, "SECRETWORD", 10)); /* compression does not hide it */
    assert_ok(r->store->ops->erase(r->store, 1, which, &r->why));
    assert_hidden(r);
    assert_ok(sf_compact_all(store_rig_local(r), &r->why));
    assert_int_equal(n_tombstones(r), 0);
    assert_hidden(r);
    assert_false(store_has_bytes(r->path, "SECRETWORD", 10));
    assert_true(count_operations(r) >= 10);
    store_rig_close(r);
    assert_false(store_has_bytes(r->path, "SECRETWORD", 10));
    assert_ok(store_rig_open(r));
    assert_hidden(r);
}

TEST(erase, takes_a_trace_out_of_every_file)
{
    struct store_rig r;
    sf_trace_id id = {{0xAB, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    struct sf_selector which = {.what = SF_SELECT_TRACES, .trace_ids = &id, .n_traces = 1};
    fill(&r);
    erase_and_check(&r, &which);
    store_rig_done(&r);
}

TEST(erase, takes_a_service_of_one_tenant)
{
    struct store_rig r;
    struct sf_selector which = {.what = SF_SELECT_SERVICE, .service = SF_STR("checkout")};
    fill(&r);
    erase_and_check(&r, &which);
    assert_true(store_has_bytes(r.path, "checkout", 8)); /* the other tenant's */
    store_rig_done(&r);
}

TEST(erase, takes_everything_in_a_range)
{
    struct store_rig r;
    struct sf_span_batch b;
    struct sf_selector which = {.what = SF_SELECT_ALL,
                                .from_ns = (int64_t)START_NS,
                                .to_ns = (int64_t)START_NS + 60000000000};
    fill(&r);
    make_marked(&r, "late", "LATER", 3, 10, &b);
    for (uint32_t i = 0; i < 10; i++)
        ((struct sf_span *)(uintptr_t)b.spans)[i].start_ns += 3600000000000;
    assert_ok(store_put(&r, 0, 1, &b, 0));
    assert_ok(r.store->ops->erase(r.store, 1, &which, &r.why));
    assert_int_equal(count_scanned(&r), 10);
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    assert_int_equal(n_tombstones(&r), 0);
    assert_int_equal(count_scanned(&r), 10);
    assert_false(store_has_bytes(r.path, "SECRETWORD", 10));
    assert_false(store_has_bytes(r.path, "PLAINWORD", 9));
    store_rig_done(&r);
}

TEST(erase, does_not_reach_what_comes_later)
{
    struct store_rig r;
    struct sf_span_batch b;
    struct sf_selector which = {.what = SF_SELECT_ALL};
    fill(&r);
    assert_ok(r.store->ops->erase(r.store, 1, &which, &r.why));
    make_marked(&r, "checkout", "SECRETWORD", 1, 7, &b);
    assert_ok(store_put(&r, 0, 1, &b, 0));
    assert_int_equal(count_scanned(&r), 7);
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    assert_int_equal(count_scanned(&r), 7);
    store_rig_done(&r);
}

static void erase_and_die(struct store_rig *r)
{
    struct sf_selector which = {.what = SF_SELECT_SERVICE, .service = SF_STR("checkout")};
    fill(r);
    if (r->store->ops->erase(r->store, 1, &which, &r->why))
        abort();
}

TEST(erase, holds_over_a_crash_and_a_lost_catalogue)
{
    struct store_rig r, child;
    int status;
    int ends[2];
    pid_t pid;
    store_rig_init(&r);
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        erase_and_die(&child);
        if (write(ends[1], child.path, sizeof(child.path)) != sizeof(child.path))
            abort();
        _exit(42);
    }
    assert_int_equal(read(ends[0], child.path, sizeof(child.path)), sizeof(child.path));
    waitpid(pid, &status, 0);
    close(ends[0]);
    close(ends[1]);
    for (int lost = 0; lost < 2; lost++) {
        struct store_rig again;
        char path[300];
        store_rig_init(&again);
        store_rig_remove(again.path);
        snprintf(again.path, sizeof(again.path), "%s", child.path);
        sf_dir_close(again.dir);
        store_rig_dir(&again);
        if (lost == 0) {
            static const char *const names[] = {"meta.db", "meta.db-wal", "meta.db-shm"};
            for (int i = 0; i < 3; i++) {
                snprintf(path, sizeof(path), "%s/%s", child.path, names[i]);
                unlink(path);
            }
        }
        assert_ok(store_rig_open(&again));
        assert_hidden(&again);
        if (lost == 1) {
            again.config.tuning.orphan_age_ns = 1;
            store_rig_close(&again);
            assert_ok(store_rig_open(&again));
            /* A rebuild keeps blocks that it does not count for a day; erasure waits for that. */
            sf_clock_sleep_ms(1100);
            assert_ok(sf_compact_all(store_rig_local(&again), &again.why));
            assert_int_equal(n_tombstones(&again), 0);
            assert_false(store_has_bytes(again.path, "SECRETWORD", 10));
            store_rig_done(&again);
        } else {
            store_rig_close(&again);
            sf_dir_close(again.dir);
            sf_arena_done(&again.arena);
        }
    }
    store_rig_done(&r);
}

static bool note_id(void *arg, uint64_t id, uint32_t tenant, sf_bytes selector,
                    uint64_t below_block, uint64_t lsn, int64_t created_ns)
{
    (void)tenant, (void)selector, (void)below_block, (void)lsn, (void)created_ns;
    *(uint64_t *)arg = id;
    return true;
}

/* The start after a lost catalogue commits the blocks first and then the tombstones of erase.log.
 * The next start must not take a catalogue without them for the whole truth. */
TEST(erase, holds_when_the_rebuild_of_the_catalogue_is_cut_short)
{
    struct sf_selector which = {.what = SF_SELECT_SERVICE, .service = SF_STR("checkout")};
    struct store_rig r;
    struct sf_catalogue *catalogue = NULL;
    bool is_new = true;
    uint64_t id = 0;
    fill(&r);
    assert_ok(r.store->ops->erase(r.store, 1, &which, &r.why));
    assert_hidden(&r);
    store_rig_close(&r);
    assert_ok(sf_catalogue_open(r.dir, false, &catalogue, &is_new, &r.why));
    assert_false(is_new);
    assert_ok(sf_catalogue_erasures(catalogue, note_id, &id, &r.why));
    assert_ok(sf_catalogue_end_erasure(catalogue, id, &r.why));
    sf_catalogue_close(catalogue);
    for (int i = 0; i < 2; i++) {
        assert_ok(store_rig_open(&r));
        assert_hidden(&r);
        assert_int_equal(n_tombstones(&r), 1);
        store_rig_close(&r);
    }
    assert_ok(store_rig_open(&r));
    store_rig_done(&r);
}

static void lose(struct store_rig *r, const char *name)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", r->path, name);
    unlink(path);
}

/* All of them, whichever of their two places is left. */
TEST(erase, several_that_are_not_finished_hold_over_a_restart)
{
    static const char *const words[] = {"FIRSTWORD", "SECONDWORD", "THIRDWORD", "KEPTWORD"};
    struct store_rig r;
    store_rig_init(&r);
    r.config.tuning.has_no_threads = true; /* nobody finishes them */
    assert_ok(store_rig_open(&r));
    for (uint8_t i = 0; i < 4; i++) {
        struct sf_span_batch b;
        make_marked(&r, words[i], words[i], (uint8_t)(i + 1), 10, &b);
        assert_ok(store_put(&r, 0, 1, &b, 0));
    }
    for (int i = 0; i < 3; i++) {
        struct sf_selector which = {.what = SF_SELECT_SERVICE, .service = sf_str_from(words[i])};
        assert_ok(r.store->ops->erase(r.store, 1, &which, &r.why));
    }
    assert_int_equal(n_tombstones(&r), 3);
    for (int lost = 0; lost < 3; lost++) {
        store_rig_close(&r);
        if (lost == 1) { /* made again from the other */
            lose(&r, "meta.db");
            lose(&r, "meta.db-wal");
            lose(&r, "meta.db-shm");
        } else if (lost == 2) {
            lose(&r, "erase.log");
        }
        assert_ok(store_rig_open(&r));
        assert_int_equal(n_tombstones(&r), 3);
        r.tenant = 1;
        for (int i = 0; i < 4; i++)
            assert_int_equal(tags_have(&r, words[i]), i == 3);
    }
    assert_int_equal(count_scanned(&r), 10);
    store_rig_done(&r);
}

static void erase_the_newest_and_die(struct store_rig *r)
{
    static const sf_trace_id newest = {{0xAB, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    struct sf_selector which = {.what = SF_SELECT_TRACES, .trace_ids = &newest, .n_traces = 1};
    struct sf_span_batch b;
    store_rig_init(r);
    r->config.tuning.has_no_threads = true;
    assert_ok(store_rig_open(r));
    make_marked(r, "kept", "KEPTWORD", 1, 10, &b);
    assert_ok(store_put(r, 0, 1, &b, 0));
    assert_ok(r->store->ops->flush(r->store, &r->why));
    make_marked(r, "gone", "GONEWORD", 2, 10, &b);
    assert_ok(store_put(r, 0, 1, &b, 0));
    assert_ok(r->store->ops->erase(r->store, 1, &which, &r->why));
}

/* The block that proved how far the log is in blocks was rewritten to nothing, then the catalogue
 * was lost: replay must not bring back what the tombstone no longer covers. */
TEST(erase, holds_when_the_block_of_the_erased_is_gone_and_the_catalogue_too)
{
    struct store_rig child, again;
    char command[700];
    int status;
    int ends[2];
    pid_t pid;
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        erase_the_newest_and_die(&child);
        if (write(ends[1], child.path, sizeof(child.path)) != sizeof(child.path))
            abort();
        _exit(42);
    }
    assert_int_equal(read(ends[0], child.path, sizeof(child.path)), sizeof(child.path));
    waitpid(pid, &status, 0);
    close(ends[0]);
    close(ends[1]);
    snprintf(command, sizeof(command),
             "rm %s/meta.db* && rm \"$(ls %s/spans/*/*.sfs | sort | tail -n 1)\"", child.path,
             child.path);
    assert_int_equal(system(command), 0);
    store_rig_init(&again);
    store_rig_remove(again.path);
    snprintf(again.path, sizeof(again.path), "%s", child.path);
    sf_dir_close(again.dir);
    store_rig_dir(&again);
    assert_ok(store_rig_open(&again));
    assert_true(tags_have(&again, "KEPTWORD"));
    assert_false(tags_have(&again, "GONEWORD"));
    assert_int_equal(count_scanned(&again), 10);
    store_rig_done(&again);
}

/* An erasure is over when no file holds the rows: not while somebody still reads the old one. */
TEST(erase, is_not_over_while_a_reader_keeps_the_old_file)
{
    struct store_rig r;
    sf_trace_id id = {{0xAB, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    struct sf_selector which = {.what = SF_SELECT_TRACES, .trace_ids = &id, .n_traces = 1};
    struct sf_span_query q = {.columns = SF_COL_ALL};
    struct sf_span_cursor *c;
    fill(&r);
    r.tenant = 1;
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_ok(r.store->ops->span_scan(r.store, &q, &r.q, &c, &r.why));
    assert_ok(r.store->ops->erase(r.store, 1, &which, &r.why));
    for (int i = 0; i < 3; i++) {
        store_rig_local(&r)->erase_retry_ns = 0;
        assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
        assert_int_equal(n_tombstones(&r), 1);
    }
    c->close(c);
    for (int i = 0; i < 3; i++) {
        store_rig_local(&r)->erase_retry_ns = 0;
        assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    }
    assert_int_equal(n_tombstones(&r), 0);
    assert_hidden(&r);
    store_rig_done(&r);
}

static void set_bad(struct store_rig *r, bool is_bad)
{
    struct sf_snapshot *s = sf_snapshot_take(&store_rig_local(r)->snapshots);
    assert_true(s->n > 0);
    for (size_t i = 0; i < s->n; i++)
        atomic_store(&s->runs[i]->is_bad, is_bad);
    sf_snapshot_unref(s);
}

/* A start tries damaged blocks again, because the disk may work then: erased rows must not be found
 * in them. */
TEST(erase, is_not_over_while_a_block_cannot_be_read)
{
    struct store_rig r;
    sf_trace_id id = {{0xAB, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    struct sf_selector which = {.what = SF_SELECT_TRACES, .trace_ids = &id, .n_traces = 1};
    fill(&r);
    assert_ok(r.store->ops->flush(r.store, &r.why));
    set_bad(&r, true);
    assert_ok(r.store->ops->erase(r.store, 1, &which, &r.why));
    for (int i = 0; i < 3; i++) {
        store_rig_local(&r)->erase_retry_ns = 0;
        assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
        assert_int_equal(n_tombstones(&r), 1);
    }
    set_bad(&r, false);
    assert_hidden(&r);
    for (int i = 0; i < 3; i++) {
        store_rig_local(&r)->erase_retry_ns = 0;
        assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
    }
    assert_int_equal(n_tombstones(&r), 0);
    assert_hidden(&r);
    store_rig_done(&r);
}

/* Without its line in erase.log an erasure would end with the catalogue. */
TEST(erase, that_cannot_be_written_down_is_refused_and_takes_nothing)
{
    struct store_rig r;
    struct sf_selector which = {.what = SF_SELECT_ALL};
    uint32_t n;
    fill(&r);
    n = count_scanned(&r);
    assert_true(n > 0);
    (void)sf_dir_unlink(r.dir, "erase.log", NULL);
    assert_ok(sf_dir_make(r.dir, "erase.log", &r.why)); /* no file can take its name */
    assert_err(r.store->ops->erase(r.store, 1, &which, &r.why), SF_ERR_IO);
    assert_int_equal(count_scanned(&r), n);
    assert_int_equal(n_tombstones(&r), 0);
    assert_ok(sf_dir_remove(r.dir, "erase.log", &r.why));
    assert_ok(r.store->ops->erase(r.store, 1, &which, &r.why));
    assert_int_equal(count_scanned(&r), 0);
    store_rig_done(&r);
}

TEST(erase, refuses_a_selector_that_selects_nothing)
{
    struct store_rig r;
    struct sf_selector none = {.what = SF_SELECT_TRACES};
    struct sf_selector nobody = {.what = SF_SELECT_SERVICE};
    struct sf_selector backwards = {.what = SF_SELECT_ALL, .from_ns = 10, .to_ns = 5};
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    assert_err(r.store->ops->erase(r.store, 1, &none, &r.why), SF_ERR_INPUT);
    assert_err(r.store->ops->erase(r.store, 1, &nobody, &r.why), SF_ERR_INPUT);
    assert_err(r.store->ops->erase(r.store, 1, &backwards, &r.why), SF_ERR_INPUT);
    store_rig_done(&r);
}
