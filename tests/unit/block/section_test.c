#include "test.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/num.h"
#include "block/format/chunk.h"
#include "block/format/section.h"
#include "os/thread.h"

TEST(section, header_comes_back_and_another_format_is_unsupported)
{
    struct sf_span_block_info info = {.block_id = 1,
                                      .level = 2,
                                      .tenant = 3,
                                      .store_uuid = {4, 5},
                                      .ts_min_ns = -6,
                                      .ts_max_ns = 7,
                                      .n_rows = 8,
                                      .n_traces = 9,
                                      .lsn_lo = 10,
                                      .lsn_hi = 11,
                                      .created_ns = 12,
                                      .flush_no = 13,
                                      .n_siblings = 14,
                                      .sibling = 15},
                              back;
    uint8_t raw[SF_BLOCK_HEADER_LEN];
    struct sf_why why;

    sf_section_block_header_encode(SF_BLOCK_OF_SPANS, &info, raw);
    assert_ok(sf_section_block_header_decode(SF_BLOCK_OF_SPANS, raw, false, &back, &why));
    assert_int_equal(back.ts_min_ns, -6);
    assert_int_equal(back.sibling, 15);
    assert_int_equal(back.flush_no, 13);
    assert_int_equal(back.tenant, 3);
    assert_memory_equal(back.store_uuid, info.store_uuid, 16);
    raw[4] = 5;
    assert_err(sf_section_block_header_decode(SF_BLOCK_OF_SPANS, raw, false, &back, &why),
               SF_ERR_CORRUPT);
    sf_store_u64le(raw + 120, sf_hash(raw, 120));
    assert_err(sf_section_block_header_decode(SF_BLOCK_OF_SPANS, raw, false, &back, &why),
               SF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "format 5"));
}

TEST(section, pages_notice_a_flipped_bit_and_a_swapped_page)
{
    uint8_t data[SF_PAGE_DATA_LEN * 2 + 100];
    struct sf_buf b = {0};
    uint64_t len;

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7);
    sf_section_pages_encode(&b, (sf_bytes){data, sizeof(data)});
    assert_int_equal(b.len, 2 * SF_PAGE_LEN + 108);
    assert_true(sf_section_pages_data_len(b.len, &len));
    assert_int_equal(len, sizeof(data));
    assert_true(sf_section_page_is_intact(b.p, SF_PAGE_LEN, 0));
    assert_false(sf_section_page_is_intact(b.p, SF_PAGE_LEN, 1));
    assert_true(sf_section_page_is_intact(b.p + 2 * SF_PAGE_LEN, 108, 2));
    b.p[17] ^= 4;
    assert_false(sf_section_page_is_intact(b.p, SF_PAGE_LEN, 0));
    assert_false(sf_section_pages_data_len(SF_PAGE_LEN + 8, &len));
    sf_buf_done(&b);
}

TEST(section, chunks_are_packed_only_when_that_is_shorter)
{
    struct sf_chunk_packer *p = sf_chunk_packer_new();
    struct sf_buf out = {0};
    struct sf_arena a;
    uint8_t zeros[5000] = {0}, noise[5000], back[5000];

    assert_non_null(p);
    assert_true(sf_arena_init(&a, 4 << 20));
    for (uint64_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)sf_hash(&i, 8);
    assert_int_equal(sf_chunk_pack(p, &out, (sf_bytes){zeros, sizeof(zeros)}), SF_CODEC_ZSTD);
    assert_ok(sf_chunk_unpack(SF_CODEC_ZSTD, sf_buf_bytes(&out), back, sizeof(back), a));
    assert_memory_equal(back, zeros, sizeof(zeros));
    assert_err(sf_chunk_unpack(SF_CODEC_ZSTD, sf_buf_bytes(&out), back, sizeof(back) - 1, a),
               SF_ERR_CORRUPT);
    sf_buf_reset(&out);
    assert_int_equal(sf_chunk_pack(p, &out, (sf_bytes){noise, sizeof(noise)}), SF_CODEC_NONE);
    assert_int_equal(out.len, sizeof(noise));
    assert_err(sf_chunk_unpack(SF_CODEC_ZSTD, sf_buf_bytes(&out), back, sizeof(back), a),
               SF_ERR_CORRUPT);
    assert_err(sf_chunk_unpack(7, sf_buf_bytes(&out), back, sizeof(back), a), SF_ERR_CORRUPT);
    assert_false(sf_chunk_is_plausible(SF_CODEC_ZSTD, 10, (uint64_t)1 << 40));
    sf_buf_done(&out);
    sf_chunk_packer_free(p);
    sf_arena_done(&a);
}

struct unpack_job {
    struct sf_thread thread;
    sf_bytes packed;
    const uint8_t *raw;
    size_t len;
    unsigned n_wrong;
};

static void unpack_often(void *arg)
{
    struct unpack_job *job = arg;
    uint8_t *back = malloc(job->len);
    struct sf_arena a;
    if (!back || !sf_arena_init(&a, 4 << 20))
        abort();
    for (unsigned i = 0; i < 50; i++) {
        sf_bytes cut = {job->packed.p, job->packed.len - i % 2}; /* every other one is damaged */
        enum sf_err err = sf_chunk_unpack(SF_CODEC_ZSTD, cut, back, job->len, a);
        job->n_wrong += i % 2 ? err != SF_ERR_CORRUPT
                              : err || memcmp(back, job->raw, job->len) != 0;
    }
    sf_arena_done(&a);
    free(back);
}

TEST(section, more_threads_unpack_than_contexts_are_kept)
{
    enum { N_THREADS = 12, LEN = 40000 };
    struct sf_chunk_packer *p = sf_chunk_packer_new();
    struct unpack_job jobs[N_THREADS] = {0};
    uint8_t *raw = malloc(LEN);
    struct sf_buf out = {0};
    assert_non_null(p);
    assert_non_null(raw);
    for (size_t i = 0; i < LEN; i++)
        raw[i] = (uint8_t)(i / 7 % 50);
    assert_int_equal(sf_chunk_pack(p, &out, (sf_bytes){raw, LEN}), SF_CODEC_ZSTD);
    for (unsigned i = 0; i < N_THREADS; i++) {
        jobs[i] = (struct unpack_job){.packed = sf_buf_bytes(&out), .raw = raw, .len = LEN};
        assert_ok(sf_thread_start(&jobs[i].thread, "unpack", 0, unpack_often, &jobs[i], NULL));
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        sf_thread_join(&jobs[i].thread);
        assert_int_equal(jobs[i].n_wrong, 0);
    }
    sf_buf_done(&out);
    sf_chunk_packer_free(p);
    free(raw);
}
