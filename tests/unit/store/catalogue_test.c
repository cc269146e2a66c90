#include "test.h"

#include <sqlite3.h>

#include "base/heap.h"
#include "store/local/files/catalogue.h"
#include "store/local/files/row_sum.h"
#include "support/store_rig.h"

static const struct sf_catalogue_meta BEGINNING = {
    .uuid = "the store's uuid", .ckpt_lsn = 77, .next_block = 9, .next_flush = 4};

static struct sf_block_row block_row(uint64_t id)
{
    struct sf_block_row row = {.id = id,
                               .tenant = 1,
                               .kind = SF_BLOCK_SPANS,
                               .state = SF_BLOCK_LIVE,
                               .day = 20407,
                               .ts_min_ns = 1763200800000000000,
                               .ts_max_ns = 1763200860000000000,
                               .n_rows = 1000 * id,
                               .len = 4096 * id,
                               .lsn_lo = id,
                               .lsn_hi = id + 10,
                               .created_ns = 1763200870000000000};
    snprintf(row.path, sizeof(row.path), "spans/2025-11-15/%016llx.sfs", (unsigned long long)id);
    return row;
}

/* Two live blocks, one dead, two tenants, an erasure; closed in order. */
static void make_catalogue(struct store_rig *r)
{
    struct sf_catalogue *c;
    struct sf_block_row rows[] = {block_row(1), block_row(2)}, third = block_row(3);
    uint64_t dead = 1;
    struct sf_catalogue_change change = {.add = &third,
                                         .n_add = 1,
                                         .dead_ids = &dead,
                                         .n_dead = 1,
                                         .ckpt_lsn = 90,
                                         .next_block = 10};
    bool is_new;
    assert_ok(sf_catalogue_open(r->dir, false, &c, &is_new, &r->why));
    assert_true(is_new);
    assert_ok(sf_catalogue_begin(c, &BEGINNING, rows, 2, &r->why));
    assert_ok(sf_catalogue_add_tenant(c, 1, SF_STR("single-tenant"), &r->why));
    assert_ok(sf_catalogue_add_tenant(c, 2, SF_STR("other"), &r->why));
    assert_ok(sf_catalogue_commit(c, &change, &r->why));
    assert_ok(sf_catalogue_add_erasure(c, 5, 1, (sf_bytes){(const uint8_t *)"selector", 8}, 3, 80,
                                       1763200880000000000, &r->why));
    sf_catalogue_close(c);
}

/* ---- all of it as text ---- */

static bool tell_block(void *arg, const struct sf_block_row *b)
{
    sf_buf_print(arg, "block %llu %u %u %u %u %u %lld %lld %lld %llu %llu %llu %llu %llu %lld %s\n",
                 (unsigned long long)b->id, b->tenant, b->kind, b->level, b->state, b->tier,
                 (long long)b->day, (long long)b->ts_min_ns, (long long)b->ts_max_ns,
                 (unsigned long long)b->n_rows, (unsigned long long)b->len,
                 (unsigned long long)b->lsn_lo, (unsigned long long)b->lsn_hi,
                 (unsigned long long)b->flush_no, (long long)b->created_ns, b->path);
    return true;
}

static bool tell_tenant(void *arg, uint32_t id, sf_str name)
{
    sf_buf_print(arg, "tenant %u %.*s\n", id, SF_STR_ARG(name));
    return true;
}

static bool tell_erasure(void *arg, uint64_t id, uint32_t tenant, sf_bytes selector, uint64_t below,
                         uint64_t lsn, int64_t created_ns)
{
    sf_buf_print(arg, "erase %llu %u %.*s %llu %llu %lld\n", (unsigned long long)id, tenant,
                 (int)selector.len, (const char *)selector.p, (unsigned long long)below,
                 (unsigned long long)lsn, (long long)created_ns);
    return true;
}

static void tell_all(struct sf_catalogue *c, struct sf_buf *out)
{
    struct sf_catalogue_meta m;
    struct sf_why why;
    assert_ok(sf_catalogue_meta(c, &m, &why));
    sf_buf_print(out, "meta %.16s %llu %llu %llu %lld\n", (const char *)m.uuid,
                 (unsigned long long)m.ckpt_lsn, (unsigned long long)m.next_block,
                 (unsigned long long)m.next_flush, (long long)m.retention_now_ns);
    assert_ok(sf_catalogue_blocks(c, tell_block, out, &why));
    assert_ok(sf_catalogue_tenants(c, tell_tenant, out, &why));
    assert_ok(sf_catalogue_erasures(c, tell_erasure, out, &why));
}

static void read_file(struct store_rig *r, struct sf_buf *out)
{
    struct sf_file f = SF_FILE_NONE;
    assert_ok(sf_dir_open_read(r->dir, "meta.db", &f, &r->why));
    assert_ok(sf_file_read_all(&f, 1 << 24, out, &r->why));
    sf_file_close(&f);
}

static void write_file(struct store_rig *r, const struct sf_buf *bytes)
{
    struct sf_file f = SF_FILE_NONE;
    assert_ok(sf_dir_unlink(r->dir, "meta.db-wal", NULL));
    assert_ok(sf_dir_unlink(r->dir, "meta.db-shm", NULL));
    assert_ok(sf_dir_create(r->dir, "meta.db", &f, &r->why));
    assert_ok(sf_file_write_at(&f, 0, bytes->p, bytes->len, &r->why));
    sf_file_close(&f);
}

static void say_nothing(void *arg, const char *sentence)
{
    (void)arg;
    assert_non_null(strstr(sentence, "meta.db"));
}

/* As a server does (which makes a damaged one again, with many syncs), or as fsck does. */
static bool opens_as_whole(struct store_rig *r, bool is_server, struct sf_catalogue **out)
{
    bool is_new = false;
    uint64_t n_faults = 0;
    enum sf_err err = sf_catalogue_open(r->dir, !is_server, out, &is_new, &r->why);
    if (is_server) {
        assert_ok(err);
    } else if (err) {
        *out = NULL;
        return false;
    } else if (sf_catalogue_verify(*out, say_nothing, NULL, &n_faults, &r->why)) {
        return false;
    }
    return !is_new && n_faults == 0;
}

TEST(catalogue, takes_a_flipped_bit_for_a_lost_catalogue_or_for_nothing)
{
    struct store_rig r;
    struct sf_buf bytes = {0}, wanted = {0};
    struct sf_catalogue *c;
    bool is_new;
    unsigned n_lost = 0, n_same = 0, n_seen = 0;
    store_rig_init(&r);
    make_catalogue(&r);
    read_file(&r, &bytes);
    assert_ok(sf_catalogue_open(r.dir, false, &c, &is_new, &r.why));
    tell_all(c, &wanted);
    sf_catalogue_close(c);
    for (size_t i = 0; i < bytes.len; i += test_stride()) {
        struct sf_buf got = {0};
        if (bytes.p[i] == 0)
            continue;
        bytes.p[i] ^= (uint8_t)(1u << i % 8);
        write_file(&r, &bytes);
        bytes.p[i] ^= (uint8_t)(1u << i % 8);
        if (opens_as_whole(&r, ++n_seen % 400 == 0, &c)) {
            tell_all(c, &got);
            assert_true(sf_str_eq(sf_buf_str(&got), sf_buf_str(&wanted)));
            n_same++;
        } else {
            n_lost++;
        }
        sf_catalogue_close(c);
        sf_buf_done(&got);
    }
    assert_true(n_lost > 100 / test_stride());
    assert_true(n_same > 0);
    sf_buf_done(&bytes);
    sf_buf_done(&wanted);
    store_rig_done(&r);
}

static void alter(struct store_rig *r, const char *sql)
{
    char path[300];
    sqlite3 *db;
    snprintf(path, sizeof(path), "%s/meta.db", r->path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sf_row_sum_register(db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

TEST(catalogue, adds_sums_to_one_of_the_first_format)
{
    struct store_rig r;
    struct sf_catalogue *c;
    struct sf_buf wanted = {0}, got = {0};
    bool is_new;
    store_rig_init(&r);
    make_catalogue(&r);
    assert_ok(sf_catalogue_open(r.dir, false, &c, &is_new, &r.why));
    tell_all(c, &wanted);
    sf_catalogue_close(c);
    alter(&r, "ALTER TABLE meta DROP COLUMN sum; ALTER TABLE tenant DROP COLUMN sum;"
              "ALTER TABLE block DROP COLUMN sum; ALTER TABLE erase DROP COLUMN sum;"
              "UPDATE meta SET v = 1 WHERE k = 'format'");
    for (int round = 0; round < 2; round++) {
        got.len = 0;
        assert_ok(sf_catalogue_open(r.dir, false, &c, &is_new, &r.why));
        assert_false(is_new);
        tell_all(c, &got);
        assert_true(sf_str_eq(sf_buf_str(&got), sf_buf_str(&wanted)));
        sf_catalogue_close(c);
    }
    alter(&r, "UPDATE meta SET v = v + 1 WHERE k = 'ckpt_lsn'");
    assert_ok(sf_catalogue_open(r.dir, false, &c, &is_new, &r.why));
    assert_true(is_new);
    sf_catalogue_close(c);
    sf_buf_done(&wanted);
    sf_buf_done(&got);
    store_rig_done(&r);
}

TEST(catalogue, refuses_a_newer_format_and_leaves_it_alone)
{
    struct store_rig r;
    struct sf_catalogue *c;
    bool is_new;
    store_rig_init(&r);
    assert_ok(sf_catalogue_open(r.dir, false, &c, &is_new, &r.why));
    assert_ok(sf_catalogue_begin(c, &BEGINNING, NULL, 0, &r.why));
    sf_catalogue_close(c);
    alter(&r, "UPDATE meta SET v = 9, sum = row_sum(k, 9) WHERE k = 'format'");
    assert_int_equal(sf_catalogue_open(r.dir, false, &c, &is_new, &r.why), SF_ERR_UNSUPPORTED);
    assert_non_null(strstr(r.why.text, "newer"));
    assert_true(sf_dir_exists(r.dir, "meta.db"));
    store_rig_done(&r);
}
