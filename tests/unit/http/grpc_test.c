#include "http/grpc.h"

#include "base/heap.h"
#include "base/text.h"
#include "test.h"

static void read_in_steps(sf_bytes in, size_t step, struct sf_grpc_reader *r, struct sf_buf *body)
{
    *r = (struct sf_grpc_reader){0};
    sf_buf_reset(body);
    for (size_t at = 0; at < in.len; at += step) {
        sf_bytes piece = {in.p + at, in.len - at < step ? in.len - at : step};
        enum sf_grpc_event ev;
        while ((ev = sf_grpc_reader_next(r, &piece)) != SF_GRPC_MORE) {
            if (ev == SF_GRPC_BAD)
                return;
            if (ev == SF_GRPC_PIECE)
                sf_buf_add(body, r->piece.p, r->piece.len);
        }
        assert_int_equal(piece.len, 0);
    }
}

TEST(grpc, reads_messages_cut_anywhere)
{
    static const uint8_t raw[] = {0, 0, 0, 0, 3, 'a', 'b', 'c', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 'd'};
    struct sf_buf body = {0};

    for (size_t step = 1; step <= sizeof(raw); step++) {
        struct sf_grpc_reader r;
        read_in_steps((sf_bytes){raw, sizeof(raw)}, step, &r, &body);
        assert_str(sf_buf_str(&body), "abcd");
        assert_int_equal(r.n_messages, 3);
        assert_true(sf_grpc_reader_is_whole(&r));
    }
    sf_buf_done(&body);
}

TEST(grpc, knows_a_message_cut_short)
{
    static const uint8_t raw[] = {0, 0, 0, 0, 3, 'a', 'b', 'c'};
    struct sf_buf body = {0};
    struct sf_grpc_reader r;

    for (size_t len = 1; len < sizeof(raw); len++) {
        read_in_steps((sf_bytes){raw, len}, 1, &r, &body);
        assert_false(sf_grpc_reader_is_whole(&r));
        assert_int_equal(r.n_messages, 0);
    }
    read_in_steps(SF_BYTES_NONE, 1, &r, &body);
    assert_true(sf_grpc_reader_is_whole(&r));
    sf_buf_done(&body);
}

TEST(grpc, refuses_an_unknown_flag_for_good)
{
    static const uint8_t raw[] = {2, 0, 0, 0, 0};
    struct sf_grpc_reader r = {0};
    sf_bytes in = {raw, 1};

    assert_int_equal(sf_grpc_reader_next(&r, &in), SF_GRPC_BAD);
    in = (sf_bytes){raw + 1, 4};
    assert_int_equal(sf_grpc_reader_next(&r, &in), SF_GRPC_BAD);
    assert_false(sf_grpc_reader_is_whole(&r));
}

TEST(grpc, writes_what_it_reads)
{
    uint8_t raw[SF_GRPC_PREFIX_LEN];
    struct sf_grpc_reader r = {0};
    sf_bytes in = {raw, sizeof(raw)};

    sf_grpc_write_prefix(raw, 0x01020304, true);
    assert_memory_equal(raw, "\x01\x01\x02\x03\x04", 5);
    assert_int_equal(sf_grpc_reader_next(&r, &in), SF_GRPC_BEGIN);
    assert_int_equal(r.len, 0x01020304);
    assert_true(r.is_compressed);
}

TEST(grpc, knows_its_content_types)
{
    assert_true(sf_grpc_is_type(SF_STR("application/grpc")));
    assert_true(sf_grpc_is_type(SF_STR("application/grpc+proto")));
    assert_true(sf_grpc_is_type(SF_STR("Application/GRPC;x")));
    assert_false(sf_grpc_is_type(SF_STR("application/grpc-web")));
    assert_false(sf_grpc_is_type(SF_STR("application/json")));
    assert_false(sf_grpc_is_type(SF_STR_NONE));
}

TEST(grpc, parses_timeouts)
{
    int64_t ns = -1;

    assert_true(sf_grpc_timeout_parse(SF_STR("100m"), &ns));
    assert_int_equal(ns, 100000000);
    assert_true(sf_grpc_timeout_parse(SF_STR("5S"), &ns));
    assert_int_equal(ns, 5000000000ll);
    assert_true(sf_grpc_timeout_parse(SF_STR("7n"), &ns));
    assert_int_equal(ns, 7);
    assert_true(sf_grpc_timeout_parse(SF_STR("7u"), &ns));
    assert_int_equal(ns, 7000);
    assert_true(sf_grpc_timeout_parse(SF_STR("2M"), &ns));
    assert_int_equal(ns, 120000000000ll);
    assert_true(sf_grpc_timeout_parse(SF_STR("99999999H"), &ns));
    assert_true(ns == INT64_MAX);
    assert_false(sf_grpc_timeout_parse(SF_STR("999999999H"), &ns));
    assert_false(sf_grpc_timeout_parse(SF_STR("5"), &ns));
    assert_false(sf_grpc_timeout_parse(SF_STR("S"), &ns));
    assert_false(sf_grpc_timeout_parse(SF_STR("5s"), &ns));
    assert_false(sf_grpc_timeout_parse(SF_STR("-5S"), &ns));
    assert_false(sf_grpc_timeout_parse(SF_STR_NONE, &ns));
}

TEST(grpc, knows_its_codings)
{
    enum sf_coding c;

    assert_true(sf_grpc_coding(SF_STR("gzip"), &c));
    assert_int_equal(c, SF_CODING_GZIP);
    assert_true(sf_grpc_coding(SF_STR("zstd"), &c));
    assert_int_equal(c, SF_CODING_ZSTD);
    assert_true(sf_grpc_coding(SF_STR("identity"), &c));
    assert_int_equal(c, SF_CODING_NONE);
    assert_false(sf_grpc_coding(SF_STR("snappy"), &c));
    assert_false(sf_grpc_coding(SF_STR_NONE, &c));
}

TEST(grpc, encodes_messages_for_a_header)
{
    struct sf_buf out = {0};

    sf_grpc_message_encode(&out, SF_STR("50% of \xc3\xa9\n~"));
    assert_str(sf_buf_str(&out), "50%25 of %C3%A9%0A~");
    sf_buf_done(&out);
}

TEST(grpc, encodes_status_details_as_the_reference_shows)
{
    static const char want[] = "\x08\x0e\x12\x04"
                               "busy\x1a\x30\x0a\x28type.googleapis.com/google.rpc.RetryInfo"
                               "\x12\x04\x0a\x02\x08\x05";
    struct sf_buf out = {0};

    sf_grpc_details_encode(&out, 14, SF_STR("busy"), 5);
    assert_int_equal(out.len, sizeof(want) - 1);
    assert_memory_equal(out.p, want, out.len);
    sf_buf_done(&out);
}

TEST(grpc, makes_trailers)
{
    struct sf_response r = {.grpc_status = SF_GRPC_UNAVAILABLE, .retry_after_s = 5};
    struct sf_header t[SF_GRPC_TRAILERS_MAX];
    struct sf_buf text = {0}, details = {0};

    memcpy(r.grpc_message, "busy", 5);
    assert_int_equal(sf_grpc_trailers(&r, &text, t), 3);
    assert_str(t[0].name, "grpc-status");
    assert_str(t[0].val, "14");
    assert_str(t[1].val, "busy");
    assert_str(t[2].name, "grpc-status-details-bin");
    assert_true(sf_base64_decode(&details, t[2].val));
    assert_int_equal(details.p[1], 14);

    /* Too long a message has no RetryInfo: trying again would not make it shorter. */
    r = (struct sf_response){.grpc_status = SF_GRPC_RESOURCE_EXHAUSTED};
    sf_buf_reset(&text);
    assert_int_equal(sf_grpc_trailers(&r, &text, t), 1);
    assert_str(t[0].val, "8");

    sf_buf_reset(&text);
    sf_buf_done(&text);
    sf_heap_fail_after(1);
    assert_int_equal(sf_grpc_trailers(&r, &text, t), 0);
    sf_heap_fail_after(0);
    sf_buf_done(&text);
    sf_buf_done(&details);
}
