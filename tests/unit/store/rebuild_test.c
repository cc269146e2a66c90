#include "test.h"

#include "store/local/write/compact.h"
#include "support/store_rig.h"

static const uint64_t START_NS = UINT64_C(1763200800) * 1000000000;

static void lose_catalogue(struct store_rig *r)
{
    static const char *const names[] = {"meta.db", "meta.db-wal", "meta.db-shm"};
    for (int i = 0; i < 3; i++)
        assert_ok(sf_dir_unlink(r->dir, names[i], &r->why));
}

static uint32_t count_all(struct store_rig *r, uint32_t tenant)
{
    struct sf_span_query q = {.has_whole_traces = true, .columns = SF_COL_TIMES};
    struct sf_arena before = r->arena;
    struct sf_span_cursor *c;
    struct store_answer a;
    r->tenant = tenant;
    assert_ok(r->store->ops->span_scan(r->store, &q, &r->q, &c, &r->why));
    a = store_drain(r, c);
    assert_ok(a.err);
    r->arena = before;
    return a.n;
}

static uint32_t n_of[2];

static void fill_and_die(struct store_rig *r)
{
    struct sf_otlp_make m;
    struct sf_span_batch b;
    uint32_t other;
    sf_otlp_make_init(&m, 1, START_NS);
    if (store_rig_open(r) ||
        r->store->ops->tenant(r->store, SF_STR("other"), true, &other, &r->why))
        abort();
    for (uint32_t i = 0; i < 12; i++) {
        sf_otlp_make_batch(&m, 100, &r->arena, &b);
        if (store_put(r, i % 2, i % 3 == 0 ? other : 1, &b, 0))
            abort();
        m.now_ns += UINT64_C(7200) * 1000000000; /* over a day in all: flushes have siblings */
        if (i % 4 == 3 && i < 11 && r->store->ops->flush(r->store, &r->why))
            abort();
        if (i == 7 && sf_compact_all(store_rig_local(r), &r->why))
            abort();
    }
}

static bool is_log_missing(struct store_rig *r)
{
    struct sf_local_stats s;
    sf_local_figures_stats(r->store, &s);
    return s.is_log_missing;
}

/* Nothing is left that knows how long the log was; that there was one, LOCK does. */
TEST(rebuild, says_when_the_log_is_gone_with_the_catalogue)
{
    struct store_rig r;
    char path[200];
    store_rig_init(&r);
    store_in_crashing_process(&r, fill_and_die);
    lose_catalogue(&r);
    assert_ok(sf_dir_unlink(r.dir, "wal.tail", &r.why));
    snprintf(path, sizeof(path), "%s/wal", r.path);
    store_rig_remove(path);
    assert_ok(store_rig_open(&r));
    assert_true(is_log_missing(&r));
    store_rig_close(&r);
    assert_ok(store_rig_open(&r)); /* said once: nothing more is lost by the next start */
    assert_false(is_log_missing(&r));
    store_rig_done(&r);

    store_rig_init(&r); /* one that begins is not missing anything */
    assert_ok(store_rig_open(&r));
    assert_false(is_log_missing(&r));
    store_rig_done(&r);
}

TEST(rebuild, loses_nothing_with_the_catalogue)
{
    struct store_rig r;
    uint32_t other;
    store_rig_init(&r);
    r.config.tuning.compact_blocks = 2;
    store_in_crashing_process(&r, fill_and_die);
    n_of[0] = 800;
    n_of[1] = 400;
    for (int round = 0; round < 4; round++) {
        if (round != 1)
            lose_catalogue(&r);
        assert_ok(store_rig_open(&r));
        assert_ok(r.store->ops->tenant(r.store, SF_STR("other"), false, &other, &r.why));
        assert_int_equal(other, 2);
        assert_int_equal(count_all(&r, 1), n_of[0]);
        assert_int_equal(count_all(&r, 2), n_of[1]);
        if (round == 2)
            assert_ok(sf_compact_all(store_rig_local(&r), &r.why));
        store_rig_close(&r);
    }
    store_rig_done(&r);
}

static void merge_under_a_reader_and_die(struct store_rig *r)
{
    struct sf_otlp_make m;
    struct sf_span_batch b;
    sf_otlp_make_init(&m, 1, START_NS);
    if (store_rig_open(r))
        abort();
    for (uint32_t i = 0; i < 3; i++) {
        sf_otlp_make_batch(&m, 100, &r->arena, &b);
        if (store_put(r, 0, 1, &b, 0) || r->store->ops->flush(r->store, &r->why))
            abort();
    }
    (void)sf_snapshot_take(&store_rig_local(r)->snapshots); /* keeps the files of the inputs */
    if (sf_compact_all(store_rig_local(r), &r->why))
        abort();
}

/* Without the catalogue only the merged block itself tells which files were its inputs. */
TEST(rebuild, takes_a_merged_block_and_not_its_inputs_too)
{
    struct store_rig r;
    struct sf_snapshot *s;
    uint64_t n_rows = 0;
    store_rig_init(&r);
    r.config.tuning.compact_blocks = 2;
    store_in_crashing_process(&r, merge_under_a_reader_and_die);
    lose_catalogue(&r);
    assert_ok(store_rig_open(&r));
    s = sf_snapshot_take(&store_rig_local(&r)->snapshots);
    assert_true(s->n < 3); /* something was merged */
    for (size_t i = 0; i < s->n; i++)
        n_rows += s->runs[i]->row.n_rows;
    sf_snapshot_unref(s);
    assert_int_equal(n_rows, 300);
    assert_int_equal(count_all(&r, 1), 300);
    store_rig_done(&r);
}

TEST(rebuild, sets_a_damaged_catalogue_aside)
{
    struct store_rig r;
    struct sf_file f = SF_FILE_NONE;
    store_rig_init(&r);
    store_in_crashing_process(&r, fill_and_die);
    assert_ok(store_rig_open(&r));
    store_rig_close(&r);
    assert_ok(sf_dir_open_write(r.dir, "meta.db", &f, &r.why));
    assert_ok(sf_file_write_at(&f, 0, "this is no database at all......", 32, &r.why));
    sf_file_close(&f);
    assert_ok(store_rig_open(&r));
    assert_int_equal(count_all(&r, 1), 800);
    store_rig_done(&r);
}

/* ---- files without a row, rows without a file, files that are damaged ---- */

static char some_block[64];

static bool pick(void *arg, const struct sf_block_row *row)
{
    (void)arg;
    snprintf(some_block, sizeof(some_block), "%s", row->path);
    return true;
}

static void flip_byte(struct store_rig *r, const char *path, int64_t off)
{
    struct sf_file f = SF_FILE_NONE;
    uint64_t len, at;
    uint8_t byte;
    assert_ok(sf_dir_open_write(r->dir, path, &f, &r->why));
    assert_ok(sf_file_len(&f, &len, &r->why));
    at = off >= 0 ? (uint64_t)off : len - (uint64_t)-off;
    assert_ok(sf_file_read_at(&f, at, &byte, 1, &r->why));
    byte ^= 0x10;
    assert_ok(sf_file_write_at(&f, at, &byte, 1, &r->why));
    sf_file_close(&f);
}

static void add_lines(struct store_rig *r, const char *path, const char *lines)
{
    struct sf_file f = SF_FILE_NONE;
    uint64_t len;
    assert_ok(sf_dir_open_write(r->dir, path, &f, &r->why));
    assert_ok(sf_file_len(&f, &len, &r->why));
    assert_ok(sf_file_write_at(&f, len, lines, strlen(lines), &r->why));
    sf_file_close(&f);
}

TEST(rebuild, moves_unknown_blocks_to_orphan_for_a_day)
{
    struct store_rig r;
    char from[300], to[300];
    struct sf_local_stats s;
    store_rig_init(&r);
    store_in_crashing_process(&r, fill_and_die);
    assert_ok(store_rig_open(&r));
    assert_ok(sf_catalogue_blocks(store_rig_local(&r)->catalogue, pick, NULL, &r.why));
    store_rig_close(&r);
    snprintf(from, sizeof(from), "%s/%s", r.path, some_block);
    snprintf(to, sizeof(to), "%s/spans/2025-11-15/00000000000000ff.sfs", r.path);
    assert_int_equal(link(from, to), 0);
    assert_ok(store_rig_open(&r));
    assert_non_null(strstr(r.last_notice, "orphan"));
    assert_false(sf_dir_exists(r.dir, "spans/2025-11-15/00000000000000ff.sfs"));
    assert_int_equal(count_all(&r, 1), 800);
    sf_local_figures_stats(r.store, &s);
    assert_int_equal(s.n_quarantined, 0);
    assert_true(store_rig_local(&r)->next_block > 0xff); /* its number is not used again */
    store_rig_done(&r);
}

static bool pick_newest(__attribute__((unused)) void *arg, const struct sf_block_row *b)
{
    if (strcmp(b->path, some_block) > 0)
        snprintf(some_block, sizeof(some_block), "%s", b->path);
    return true;
}

/* A file that was copied here by mistake. */
TEST(rebuild, takes_no_blocks_of_another_store)
{
    struct store_rig r, other;
    struct sf_otlp_make m;
    struct sf_span_batch b;
    char from[300], to[300];
    store_rig_init(&other);
    store_in_crashing_process(&other, fill_and_die);
    assert_ok(store_rig_open(&other));
    some_block[0] = 0;
    assert_ok(
        sf_catalogue_blocks(store_rig_local(&other)->catalogue, pick_newest, NULL, &other.why));
    store_rig_close(&other);
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    sf_otlp_make_init(&m, 2, START_NS);
    sf_otlp_make_batch(&m, 100, &r.arena, &b);
    assert_ok(store_put(&r, 0, 1, &b, 0));
    assert_ok(r.store->ops->flush(r.store, &r.why));
    store_rig_close(&r);
    lose_catalogue(&r);
    snprintf(from, sizeof(from), "%s/%s", other.path, some_block);
    snprintf(to, sizeof(to), "%s/spans/2025-11-15/%s", r.path, strrchr(some_block, '/') + 1);
    assert_int_equal(link(from, to), 0);
    assert_ok(store_rig_open(&r));
    assert_int_equal(count_all(&r, 1), 100);
    assert_int_not_equal(access(to, F_OK), 0); /* in orphan */
    store_rig_done(&r);
    store_rig_done(&other);
}

TEST(rebuild, quarantines_a_damaged_block_and_goes_on)
{
    static const int64_t places[] = {0, 60, 200, 4000, -1, -40};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct store_rig r;
        struct sf_local_stats s;
        uint32_t n;
        store_rig_init(&r);
        store_in_crashing_process(&r, fill_and_die);
        assert_ok(store_rig_open(&r));
        assert_ok(r.store->ops->flush(r.store, &r.why));
        assert_ok(sf_catalogue_blocks(store_rig_local(&r)->catalogue, pick, NULL, &r.why));
        store_rig_close(&r);
        flip_byte(&r, some_block, places[i]);
        assert_ok(store_rig_open(&r));
        n = count_all(&r, 1) + count_all(&r, 2);
        sf_local_figures_stats(r.store, &s);
        if (n < 1200) { /* otherwise the byte was padding, or one that only a full read finds */
            assert_int_equal(s.n_quarantined, 1);
            assert_true(s.is_degraded);
            assert_true(strlen(s.reason) > 0);
            assert_false(r.q.is_exact);
        }
        assert_true(n >= 600);
        store_rig_done(&r);
    }
}

TEST(rebuild, says_when_a_block_is_gone)
{
    struct store_rig r;
    struct sf_local_stats s;
    store_rig_init(&r);
    store_in_crashing_process(&r, fill_and_die);
    assert_ok(store_rig_open(&r));
    assert_ok(sf_catalogue_blocks(store_rig_local(&r)->catalogue, pick, NULL, &r.why));
    store_rig_close(&r);
    assert_ok(sf_dir_unlink(r.dir, some_block, &r.why));
    assert_ok(store_rig_open(&r));
    sf_local_figures_stats(r.store, &s);
    assert_int_equal(s.n_quarantined, 1);
    assert_true(s.is_degraded);
    store_rig_done(&r);
}

/* ---- fsck ---- */

static unsigned n_said;
static char last_said[400];

static void say(void *arg, const char *sentence)
{
    (void)arg;
    n_said++;
    snprintf(last_said, sizeof(last_said), "%s", sentence);
}

TEST(rebuild, fsck_finds_what_is_wrong_and_changes_nothing)
{
    struct store_rig r;
    uint64_t n_faults = 99;
    store_rig_init(&r);
    store_in_crashing_process(&r, fill_and_die);
    assert_ok(sf_local_fsck(r.dir, say, NULL, &n_faults, &r.why)); /* after a crash */
    assert_int_equal(n_faults, 0);
    assert_ok(store_rig_open(&r));
    assert_err(sf_local_fsck(r.dir, say, NULL, &n_faults, &r.why), SF_ERR_BUSY);
    assert_ok(sf_catalogue_blocks(store_rig_local(&r)->catalogue, pick, NULL, &r.why));
    store_rig_close(&r);
    assert_ok(sf_local_fsck(r.dir, say, NULL, &n_faults, &r.why));
    assert_int_equal(n_faults, 0);
    flip_byte(&r, some_block, 400);
    assert_ok(sf_local_fsck(r.dir, say, NULL, &n_faults, &r.why));
    assert_true(n_faults > 0);
    assert_non_null(strstr(last_said, some_block));
    flip_byte(&r, some_block, 400);
    assert_ok(sf_local_fsck(r.dir, say, NULL, &n_faults, &r.why));
    assert_int_equal(n_faults, 0);
    flip_byte(&r, "tenants.log", -4); /* a copy of what the catalogue has */
    assert_ok(sf_local_fsck(r.dir, say, NULL, &n_faults, &r.why));
    assert_int_equal(n_faults, 1);
    assert_non_null(strstr(last_said, "tenants.log"));
    flip_byte(&r, "tenants.log", -4);
    add_lines(&r, "tenants.log", "7 made\n8 up\n");
    assert_ok(sf_local_fsck(r.dir, say, NULL, &n_faults, &r.why));
    assert_int_equal(n_faults, 0); /* a start that was cut short leaves such */
    assert_non_null(strstr(last_said, "tenants.log has 2 lines"));
    assert_ok(sf_dir_unlink(r.dir, some_block, &r.why));
    assert_ok(sf_local_fsck(r.dir, say, NULL, &n_faults, &r.why));
    assert_int_equal(n_faults, 1);
    assert_false(sf_dir_exists(r.dir, "meta.db-wal"));
    lose_catalogue(&r);
    assert_ok(sf_local_fsck(r.dir, say, NULL, &n_faults, &r.why));
    assert_int_equal(n_faults, 1);
    assert_false(sf_dir_exists(r.dir, "meta.db"));
    store_rig_done(&r);
}
