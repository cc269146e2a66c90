#include "listen/spool.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { LEN = 200000 };

static uint8_t plain[LEN];

static struct sf_spool filled(void)
{
    struct sf_spool s = {0};
    size_t off = 0, step = 1;
    for (size_t i = 0; i < LEN; i++)
        plain[i] = (uint8_t)("password=Hunter2;"[i % 17]);
    assert_ok(sf_spool_open("/tmp", &s, NULL));
    assert_true(sf_spool_is_open(&s));
    while (off < LEN) { /* pieces that end anywhere in the cipher's blocks */
        size_t n = step < LEN - off ? step : LEN - off;
        assert_ok(sf_spool_write(&s, off, plain + off, n, NULL));
        off += n;
        step = step * 3 + 1;
    }
    return s;
}

TEST(spool, gives_back_what_was_written_from_any_place)
{
    static uint8_t out[LEN];
    struct sf_spool s = filled();
    size_t n = 0;
    assert_ok(sf_spool_read(&s, 0, out, LEN, &n, NULL));
    assert_int_equal(n, LEN);
    assert_memory_equal(out, plain, LEN);
    for (size_t off = 1; off < LEN; off = off * 2 + 5) {
        assert_ok(sf_spool_read(&s, off, out, 1000, &n, NULL));
        assert_int_equal(n, LEN - off < 1000 ? LEN - off : 1000);
        assert_memory_equal(out, plain + off, n);
    }
    assert_ok(sf_spool_read(&s, LEN, out, 10, &n, NULL));
    assert_int_equal(n, 0);
    sf_spool_close(&s);
    assert_false(sf_spool_is_open(&s));
    sf_spool_close(&s);
}

TEST(spool, has_nothing_readable_in_its_file)
{
    static uint8_t raw[LEN];
    struct sf_spool s = filled(), other = filled();
    size_t n = 0, n_same = 0;
    static uint8_t raw_other[LEN];
    assert_ok(sf_file_read_some(&s.file, 0, raw, LEN, &n, NULL));
    assert_int_equal(n, LEN);
    assert_null(memmem(raw, LEN, "Hunter", 6));
    assert_null(memmem(raw, LEN, "pass", 4));
    assert_ok(sf_file_read_some(&other.file, 0, raw_other, LEN, &n, NULL));
    for (size_t i = 0; i < LEN; i++)
        n_same += raw[i] == raw_other[i];
    assert_true(n_same < LEN / 128); /* another key: alike by chance only */
    sf_spool_close(&s);
    sf_spool_close(&other);
}

TEST(spool, says_when_there_is_no_folder)
{
    struct sf_spool s = {0};
    assert_err(sf_spool_open("/nowhere", &s, NULL), SF_ERR_IO);
    sf_spool_close(&s);
}
