#include "random_block.h"
#include "support/golden_block.h"

static void keep(const char *folder, const char *name, struct sf_buf bytes)
{
    const char *source = getenv("SPANFLAME_SOURCE");
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/tests/%s/%s", source ? source : ".", folder, name);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.p, 1, bytes.len, f), bytes.len);
    fclose(f);
    sf_buf_done(&bytes);
}

/* Run with SPANFLAME_GOLDEN=1 when a new format number needs its file; never over an old one. */
static void make_golden_files(void)
{
    keep("golden", "span_block_4.sfs", golden_block(true));
    keep("corpus/span_block", "golden-block.sfs", golden_block(true));
    keep("corpus/span_block", "plain-block.sfs", golden_block(false));
}

static void reads_as_written(uint16_t format)
{
    struct sf_buf golden = {0}, fresh = golden_block(true);
    struct sf_span_block_reader *r, *now;
    struct sf_arena a = make_arena();
    struct sf_span_rows rows, want;
    struct sf_why why;
    const char *source = getenv("SPANFLAME_SOURCE");
    char path[512];
    size_t n;
    uint64_t n_faults = 1;
    FILE *f;

    snprintf(path, sizeof(path), "%s/tests/golden/span_block_%u.sfs", source ? source : ".",
             format);
    f = fopen(path, "rb");
    assert_non_null(f);
    assert_non_null(sf_buf_take(&golden, 65536));
    n = fread(golden.p, 1, 65536, f);
    fclose(f);
    golden.len = n;
    assert_ok(sf_span_block_reader_open_memory(&golden, SF_TABLES_ALL, &r, &why));
    assert_ok(sf_span_block_reader_open_memory(&fresh, SF_TABLES_ALL, &now, &why));
    assert_int_equal(sf_span_block_reader_info(r)->format, format);
    assert_int_equal(sf_span_block_reader_info(r)->block_id, 0x1122334455667788);
    assert_int_equal(sf_span_block_reader_info(r)->n_rows, 20);
    assert_int_equal(sf_span_block_reader_info(r)->n_traces, 4);
    assert_int_equal(sf_span_block_reader_info(r)->flush_no, 5);
    assert_int_equal(sf_span_block_reader_dup_hashes(r, &n)[1], 12);
    assert_int_equal(sf_span_block_reader_sources(r, &n)[0], 21);
    assert_ok(sf_granule_view_read(r, 0, SF_COL_ALL, NULL, 0, &a, &rows, &why));
    assert_ok(sf_granule_view_read(now, 0, SF_COL_ALL, NULL, 0, &a, &want, &why));
    for (uint32_t i = 0; i < 20; i++) {
        struct sf_span s = sf_span_rows_get(&rows, i), t = sf_span_rows_get(&want, i);
        assert_null(span_difference(&s, &t, SF_COL_ALL));
    }
    assert_str(rows.status_msg.dict[rows.status_msg.code[7]], "broken");
    assert_str(rows.spans[1].attrs.list[6].val.str, "again");
    assert_str(rows.resources[0].service, "shop");
    assert_ok(sf_span_block_verify(r, a, no_finding, NULL, &n_faults, &why));
    assert_int_equal(n_faults, 0);
    sf_span_block_reader_close(r);
    sf_span_block_reader_close(now);
    sf_arena_done(&a);
}

TEST(span_block_format, of_every_format_reads_as_it_was_written)
{
    if (getenv("SPANFLAME_GOLDEN"))
        make_golden_files();
    for (uint16_t format = 1; format <= (uint16_t)SF_SPAN_BLOCK_FORMAT; format++)
        reads_as_written(format);
}

TEST(span_block_format, of_another_format_is_not_guessed_at)
{
    struct sf_buf bytes = golden_block(true);
    struct sf_span_block_reader *r;
    struct sf_why why;

    sf_store_u16le(bytes.p + 4, 5);
    sf_store_u64le(bytes.p + 120, sf_hash(bytes.p, 120));
    assert_err(sf_span_block_reader_open_memory(&bytes, SF_TABLES_ALL, &r, &why),
               SF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "format 5"));
    sf_buf_done(&bytes);
}
