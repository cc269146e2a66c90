#include "store/clickhouse/ship_state.h"

#include <stdlib.h>

#include "base/checked_lines.h"
#include "test.h"

TEST(ship_state, comes_back_as_it_was_written)
{
    char path[] = "/tmp/sf_ship.XXXXXX";
    struct sf_dir *dir = NULL;
    struct sf_why why;
    struct sf_ship_state st = {.node = "0123456789abcde",
                               .shipped_lsn = 1200,
                               .batch_lsn = 1350,
                               .n_shards = 2,
                               .n_lost = 3,
                               .first_record = 700,
                               .received_ns = 1790000000123456789};
    struct sf_ship_state got = {0};
    assert_non_null(mkdtemp(path));
    assert_ok(sf_dir_open(path, SF_DIR_CREATE, &dir, &why));
    assert_int_equal(sf_ship_state_read(dir, SF_SHIP_STATE_NAME, &got, &why), SF_ERR_NOT_FOUND);
    assert_ok(sf_ship_state_write(dir, SF_SHIP_STATE_NAME, &st, &why));
    assert_ok(sf_ship_state_read(dir, SF_SHIP_STATE_NAME, &got, &why));
    assert_memory_equal(got.node, st.node, 16);
    assert_int_equal(got.shipped_lsn, 1200);
    assert_int_equal(got.batch_lsn, 1350);
    assert_int_equal(got.n_shards, 2);
    assert_int_equal(got.n_lost, 3);
    assert_int_equal(got.first_record, 700);
    assert_int_equal(got.received_ns, 1790000000123456789);
    sf_dir_close(dir);
    assert_ok(sf_dir_delete_tree(path, &why));
}

/* A digit that changes would call records shipped that are not, or send some twice. */
TEST(ship_state, notices_every_changed_bit)
{
    char path[] = "/tmp/sf_ship.XXXXXX";
    struct sf_dir *dir = NULL;
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf text = {0};
    struct sf_why why;
    struct sf_ship_state st = {.shipped_lsn = 1200, .batch_lsn = 1350, .n_shards = 2}, got;
    assert_non_null(mkdtemp(path));
    assert_ok(sf_dir_open(path, SF_DIR_CREATE, &dir, &why));
    assert_ok(sf_ship_state_write(dir, SF_SHIP_STATE_NAME, &st, &why));
    assert_ok(sf_dir_open_read(dir, SF_SHIP_STATE_NAME, &file, &why));
    assert_ok(sf_file_read_all(&file, 4096, &text, &why));
    sf_file_close(&file);
    for (size_t i = 0; i < text.len * 8; i++) {
        text.p[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_err(sf_ship_state_parse(sf_buf_str(&text), SF_SHIP_STATE_NAME, &got, &why),
                   SF_ERR_CORRUPT);
        text.p[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    assert_ok(sf_ship_state_parse(sf_buf_str(&text), SF_SHIP_STATE_NAME, &got, &why));
    for (size_t len = 0; len < text.len; len++)
        assert_err(sf_ship_state_parse((sf_str){(const char *)text.p, len}, SF_SHIP_STATE_NAME,
                                       &got, &why),
                   SF_ERR_CORRUPT);
    sf_buf_done(&text);
    sf_dir_close(dir);
    assert_ok(sf_dir_delete_tree(path, &why));
}

TEST(ship_state, reads_what_version_2_wrote)
{
    struct sf_buf body = {0}, text = {0};
    struct sf_ship_state st;
    struct sf_why why;
    sf_buf_print(&body, "node 00000000000000000000000000000001\nshipped 5\nbatch 7\nshards 1\n"
                        "lost 9\n");
    sf_checked_lines_write("spanflame-ship 2 ", &body, &text);
    assert_ok(sf_ship_state_parse(sf_buf_str(&text), SF_SHIP_STATE_NAME, &st, &why));
    assert_int_equal(st.shipped_lsn, 5);
    assert_int_equal(st.batch_lsn, 7);
    assert_int_equal(st.n_lost, 9);
    assert_int_equal(st.first_record, 0);
    assert_int_equal(st.received_ns, 0);
    sf_buf_done(&text);
}

TEST(ship_state, refuses_what_it_did_not_write)
{
    static const char head[] = "spanflame ship 1\nnode 00000000000000000000000000000001\n";
    static const char *const bad[] = {
        "shipped 5\nbatch 4\nshards 1\nlost 0\n",       /* a batch that ends before it begins */
        "shipped 5\nbatch 0\nshards 1\n",               /* cut off */
        "shipped -5\nbatch 0\nshards 1\nlost 0\n",      /* no number */
        "shipped 5\nbatch 0\nshards 1\nlost 0\nmore\n", /* more than we know */
    };
    struct sf_ship_state st;
    struct sf_why why;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sf_buf text = {0};
        sf_buf_print(&text, "%s%s", head, bad[i]);
        assert_int_equal(sf_ship_state_parse(sf_buf_str(&text), SF_SHIP_STATE_NAME, &st, &why),
                         SF_ERR_CORRUPT);
        sf_buf_done(&text);
    }
    assert_ok(sf_ship_state_parse(SF_STR("spanflame ship 1\nnode 00000000000000000000000000000001\n"
                                         "shipped 5\nbatch 7\nshards 1\nlost 9\n"),
                                  SF_SHIP_STATE_NAME, &st, &why));
    assert_int_equal(st.shipped_lsn, 5);
    assert_int_equal(st.first_record, 0);
    assert_int_equal(
        sf_ship_state_parse(SF_STR("spanflame ship 2\n"), SF_SHIP_STATE_NAME, &st, &why),
        SF_ERR_CORRUPT);
    assert_int_equal(sf_ship_state_parse(SF_STR(""), SF_SHIP_STATE_NAME, &st, &why),
                     SF_ERR_CORRUPT);
}
