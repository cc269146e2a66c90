#include "http/h1_parser.h"

#include "base/heap.h"
#include "test.h"

/* Everything a parser said about its input, written down, so that runs can be compared. */
struct run {
    struct sf_buf log;  /* events */
    struct sf_buf body; /* of all requests */
    int status;
    unsigned n_requests;
    bool keeps_alive, expects_continue, is_chunked;
    uint64_t content_len;
};

static void note_head(struct run *run, const struct sf_h1_parser *p)
{
    const struct sf_request *r = &p->request;

    sf_buf_print(&run->log, "%.*s %.*s ? %.*s @ %.*s\n", SF_STR_ARG(r->method_name),
                 SF_STR_ARG(r->path), SF_STR_ARG(r->query), SF_STR_ARG(r->authority));
    for (uint32_t i = 0; i < r->n_headers; i++)
        sf_buf_print(&run->log, "%.*s=%.*s\n", SF_STR_ARG(r->headers[i].name),
                     SF_STR_ARG(r->headers[i].val));
    run->keeps_alive = p->keeps_alive;
    run->expects_continue = p->expects_continue;
    run->is_chunked = p->is_chunked;
    run->content_len = p->content_len;
}

/* Feeds `text` in pieces of `step` bytes, each in a heap block of exactly its size. */
static void feed(struct run *run, sf_str text, size_t step)
{
    struct sf_h1_parser p;
    struct sf_head head = {0};
    bool is_started = false;

    sf_h1_parser_init(&p);
    *run = (struct run){0};
    for (size_t at = 0; at < text.len && run->status == 0; at += step) {
        sf_str part = sf_str_part(text, at, step);
        uint8_t *copy = sf_heap_new(part.len);
        sf_bytes in = {copy, part.len};
        enum sf_h1_event ev = SF_H1_MORE;

        memcpy(copy, part.p, part.len);
        do {
            if (!is_started && !in.len)
                break;
            if (!is_started)
                sf_h1_parser_start(&p, &head);
            is_started = true;
            ev = sf_h1_parser_next(&p, &in);
            if (ev == SF_H1_HEAD)
                note_head(run, &p);
            if (ev == SF_H1_BODY)
                sf_buf_add(&run->body, p.piece.p, p.piece.len);
            if (ev == SF_H1_END) {
                sf_buf_print(&run->log, "end\n");
                run->n_requests++;
                is_started = false;
            }
            if (ev == SF_H1_BAD) {
                run->status = p.status;
                assert_non_null(head.reason);
                assert_int_equal(sf_h1_parser_next(&p, &in), SF_H1_BAD);
            }
        } while (ev != SF_H1_MORE && ev != SF_H1_BAD);
        sf_heap_free(copy);
    }
    sf_h1_parser_done(&p);
    sf_head_done(&head);
}

static void done(struct run *run)
{
    sf_buf_done(&run->log);
    sf_buf_done(&run->body);
}

/* The same whole, byte by byte and in odd pieces. */
static void feed_all_ways(struct run *run, sf_str text)
{
    static const size_t steps[] = {1, 2, 3, 7, 13, 64};

    feed(run, text, text.len);
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        struct run other;
        feed(&other, text, steps[i]);
        assert_int_equal(other.status, run->status);
        assert_int_equal(other.n_requests, run->n_requests);
        assert_true(sf_str_eq(sf_buf_str(&other.log), sf_buf_str(&run->log)));
        assert_true(sf_str_eq(sf_buf_str(&other.body), sf_buf_str(&run->body)));
        done(&other);
    }
}

static void refuses(const char *text, int status)
{
    struct run run;

    feed_all_ways(&run, sf_str_from(text));
    if (run.status != status)
        fail_msg("status %d, not %d for:\n%s", run.status, status, text);
    done(&run);
}

static void accepts(const char *text)
{
    struct run run;

    feed_all_ways(&run, sf_str_from(text));
    if (run.status || run.n_requests != 1)
        fail_msg("status %d, %u requests for:\n%s", run.status, run.n_requests, text);
    done(&run);
}

TEST(h1_parser, reads_a_request_with_a_sized_body)
{
    struct run run;

    feed_all_ways(&run, SF_STR("POST /v1/traces?a=b%20c HTTP/1.1\r\nHost: here:4318\r\n"
                               "Content-Type:  application/json ; charset=utf-8\t\r\n"
                               "X-Empty:\r\nContent-Length: 5\r\n\r\nhello"));
    assert_int_equal(run.status, 0);
    assert_str(sf_buf_str(&run.log), "POST /v1/traces ? a=b%20c @ here:4318\nhost=here:4318\n"
                                     "content-type=application/json ; charset=utf-8\n"
                                     "x-empty=\ncontent-length=5\nend\n");
    assert_str(sf_buf_str(&run.body), "hello");
    assert_true(run.keeps_alive);
    done(&run);
}

TEST(h1_parser, says_what_of_a_sized_body_is_still_to_come)
{
    static const uint8_t text[] = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nabc";
    struct sf_h1_parser p;
    struct sf_head head = {0};
    sf_bytes in = {text, sizeof(text) - 1};

    sf_h1_parser_init(&p);
    sf_h1_parser_start(&p, &head);
    assert_int_equal(sf_h1_parser_body_left(&p), 0);
    assert_int_equal(sf_h1_parser_next(&p, &in), SF_H1_HEAD);
    assert_int_equal(sf_h1_parser_next(&p, &in), SF_H1_BODY);
    assert_int_equal(sf_h1_parser_body_left(&p), 2);
    in = (sf_bytes){text, 2};
    assert_int_equal(sf_h1_parser_next(&p, &in), SF_H1_BODY);
    assert_int_equal(sf_h1_parser_body_left(&p), 0);
    assert_int_equal(sf_h1_parser_next(&p, &in), SF_H1_END);
    sf_h1_parser_done(&p);
    sf_head_done(&head);
}

TEST(h1_parser, reads_chunks_extensions_and_trailers)
{
    struct run run;

    feed_all_ways(&run, SF_STR("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
                               "5\r\nhello\r\n6;name=\"val\"\r\n world\r\n00\r\n"
                               "Trailer: yes\r\nOther: too\r\n\r\n"));
    assert_int_equal(run.status, 0);
    assert_int_equal(run.n_requests, 1);
    assert_str(sf_buf_str(&run.body), "hello world");
    assert_true(run.is_chunked);
    done(&run);
}

TEST(h1_parser, reads_pipelined_requests_one_by_one)
{
    struct run run;

    feed_all_ways(&run, SF_STR("GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
                               "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx\r\n"
                               "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "1\r\ny\r\n0\r\n\r\nGET /d HTTP/1.0\r\n\r\n"));
    assert_int_equal(run.status, 0);
    assert_int_equal(run.n_requests, 4);
    assert_str(sf_buf_str(&run.body), "xy");
    assert_false(run.keeps_alive);
    done(&run);
}

TEST(h1_parser, decodes_paths_and_targets)
{
    struct run run;

    feed(&run, SF_STR("GET /a%2Fb%20c/%C3%A9?x=%zz HTTP/1.1\r\nHost: h\r\n\r\n"), 1000);
    assert_str(sf_buf_str(&run.log), "GET /a/b c/\xc3\xa9 ? x=%zz @ h\nhost=h\nend\n");
    done(&run);
    feed(&run, SF_STR("GET http://there:80/p?q HTTP/1.1\r\nHost: h\r\n\r\n"), 1000);
    assert_str(sf_buf_str(&run.log), "GET /p ? q @ there:80\nhost=h\nend\n");
    done(&run);
    feed(&run, SF_STR("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"), 1000);
    assert_str(sf_buf_str(&run.log), "OPTIONS / ?  @ h\nhost=h\nend\n");
    done(&run);
}

TEST(h1_parser, knows_who_wants_to_stay)
{
    static const struct {
        const char *text;
        bool keeps_alive;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: h\r\nConnection: foo, CLOSE\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: h\r\nConnection: foo\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
        {"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false},
        {"GET / HTTP/1.2\r\nHost: h\r\n\r\n", true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct run run;
        feed_all_ways(&run, sf_str_from(cases[i].text));
        assert_int_equal(run.status, 0);
        assert_int_equal(run.keeps_alive, cases[i].keeps_alive);
        done(&run);
    }
}

TEST(h1_parser, sees_expectations)
{
    struct run run;

    feed_all_ways(&run, SF_STR("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n"
                               "Expect: 100-Continue\r\n\r\nx"));
    assert_true(run.expects_continue);
    done(&run);
    refuses("POST / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n", 417);
}

TEST(h1_parser, knows_codings_and_what_answers_may_be)
{
    static const struct {
        const char *header;
        enum sf_coding coding;
        bool wants_gzip;
    } cases[] = {
        {"Content-Encoding: GZIP", SF_CODING_GZIP, false},
        {"Content-Encoding: x-gzip", SF_CODING_GZIP, false},
        {"Content-Encoding: zstd", SF_CODING_ZSTD, false},
        {"Content-Encoding: deflate", SF_CODING_DEFLATE, false},
        {"Content-Encoding: identity", SF_CODING_NONE, false},
        {"Content-Encoding: br", SF_CODING_OTHER, false},
        {"Accept-Encoding: gzip", SF_CODING_NONE, true},
        {"Accept-Encoding: br, gzip;q=0.5", SF_CODING_NONE, true},
        {"Accept-Encoding: gzip;q=0", SF_CODING_NONE, false},
        {"Accept-Encoding: *", SF_CODING_NONE, true},
        {"Accept-Encoding: *;q=0.0", SF_CODING_NONE, false},
        {"Accept-Encoding: *, gzip;q=0", SF_CODING_NONE, false},
        {"Accept-Encoding: br", SF_CODING_NONE, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sf_h1_parser p;
        struct sf_head head = {0};
        struct sf_buf text = {0};
        sf_bytes in;

        sf_buf_print(&text, "GET / HTTP/1.1\r\nHost: h\r\n%s\r\n\r\n", cases[i].header);
        in = sf_buf_bytes(&text);
        sf_h1_parser_init(&p);
        sf_h1_parser_start(&p, &head);
        assert_int_equal(sf_h1_parser_next(&p, &in), SF_H1_HEAD);
        assert_int_equal(p.request.coding, cases[i].coding);
        assert_int_equal(p.request.wants_gzip, cases[i].wants_gzip);
        sf_h1_parser_done(&p);
        sf_head_done(&head);
        sf_buf_done(&text);
    }
}

TEST(h1_parser, refuses_what_two_readers_could_frame_differently)
{
    refuses("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            400);
    refuses("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", 400);
    refuses("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5, 5\r\n\r\n", 400);
    refuses("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +5\r\n\r\n", 400);
    refuses("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -5\r\n\r\n", 400);
    refuses("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x5\r\n\r\n", 400);
    refuses("POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n", 400);
    refuses("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", 400);
    refuses("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9223372036854775808\r\n\r\n", 400);
    refuses("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501);
    refuses("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
            "Transfer-Encoding: chunked\r\n\r\n",
            501);
    refuses("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\n", 501);
    refuses("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n folded\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\nHost: h\n\n", 400);
    refuses("GET / HTTP/1.1\r\nHost: h\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\nHost: h\r\n: v\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\nHost: h\r\nnocolon\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\nHost: h\r\nna me: v\r\n\r\n", 400);
}

TEST(h1_parser, refuses_chunks_that_do_not_add_up)
{
#define CHUNKED "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    refuses(CHUNKED "\r\n", 400);
    refuses(CHUNKED "g\r\n", 400);
    refuses(CHUNKED "-1\r\n", 400);
    refuses(CHUNKED " 1\r\nx\r\n", 400);
    refuses(CHUNKED "1 \r\nx\r\n", 400);
    refuses(CHUNKED "1\nx\r\n", 400);
    refuses(CHUNKED "1\r\nxy\r\n", 400);
    refuses(CHUNKED "1\r\nx\n", 400);
    refuses(CHUNKED "fffffffffffffffff\r\n", 400);
    refuses(CHUNKED "1;a=\x01\r\nx\r\n", 400);
    refuses(CHUNKED "0\r\nbad trailer\r\n\r\n", 400);
    refuses(CHUNKED "0\r\n fold: x\r\n\r\n", 400);
    accepts(CHUNKED "0\r\n\r\n");
    accepts(CHUNKED "000000000000001\r\nx\r\n0;last\r\n\r\n");
}

TEST(h1_parser, refuses_request_lines_it_cannot_be_sure_of)
{
    refuses("GET /\r\nHost: h\r\n\r\n", 400);
    refuses("GET\r\nHost: h\r\n\r\n", 400);
    refuses("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400);
    refuses("GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400);
    refuses("GET / a HTTP/1.1\r\nHost: h\r\n\r\n", 400);
    refuses(" GET / HTTP/1.1\r\nHost: h\r\n\r\n", 400);
    refuses("G(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400);
    refuses("GET / http/1.1\r\nHost: h\r\n\r\n", 400);
    refuses("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505);
    refuses("GET / HTTP/0.9\r\nHost: h\r\n\r\n", 505);
    refuses("GET / HTTP/1.x\r\nHost: h\r\n\r\n", 505);
    refuses("GET x HTTP/1.1\r\nHost: h\r\n\r\n", 400);
    refuses("GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400);
    refuses("CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", 400);
    refuses("GET http://h HTTP/1.1\r\nHost: h\r\n\r\n", 400);
    refuses("GET /#f HTTP/1.1\r\nHost: h\r\n\r\n", 400);
    refuses("GET /%4 HTTP/1.1\r\nHost: h\r\n\r\n", 400);
    refuses("GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400);
    refuses("GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n", 400);
    refuses("GET /%0a HTTP/1.1\r\nHost: h\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400);
    refuses("GET / HTTP/1.1\r\nHost: h\r\nA: b\x01\r\n\r\n", 400);
    refuses("\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n", 400);
    refuses("\x16\x03\x01\x02\n", 400);
    accepts("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n");
}

TEST(h1_parser, holds_a_request_to_its_limits)
{
    struct sf_buf text = {0};
    struct run run;

    sf_buf_add_str(&text, SF_STR("GET /"));
    for (int i = 0; i < SF_LIMIT_TARGET_LEN; i++)
        sf_buf_add_u8(&text, 'a');
    sf_buf_add_str(&text, SF_STR(" HTTP/1.1\r\nHost: h\r\n\r\n"));
    feed(&run, sf_buf_str(&text), 4096);
    assert_int_equal(run.status, 414);
    done(&run);

    sf_buf_reset(&text);
    sf_buf_add_str(&text, SF_STR("GET / HTTP/1.1\r\nHost: h\r\n"));
    for (int i = 0; i < SF_LIMIT_HEADERS; i++)
        sf_buf_add_str(&text, SF_STR("a: b\r\n"));
    sf_buf_add_str(&text, SF_STR("\r\n"));
    feed(&run, sf_buf_str(&text), 4096);
    assert_int_equal(run.status, 431);
    done(&run);

    sf_buf_reset(&text);
    sf_buf_add_str(&text, SF_STR("GET / HTTP/1.1\r\nHost: h\r\n"));
    for (int i = 0; i < 20; i++) {
        sf_buf_add_str(&text, SF_STR("a: "));
        for (int k = 0; k < 4000; k++)
            sf_buf_add_u8(&text, 'v');
        sf_buf_add_str(&text, SF_STR("\r\n"));
    }
    feed(&run, sf_buf_str(&text), 4096);
    assert_int_equal(run.status, 431);
    done(&run);

    /* A line that never ends. */
    sf_buf_reset(&text);
    sf_buf_add_str(&text, SF_STR("GET / HTTP/1.1\r\nHost: h\r\na: "));
    for (int k = 0; k < 70000; k++)
        sf_buf_add_u8(&text, 'v');
    feed(&run, sf_buf_str(&text), 4096);
    assert_int_equal(run.status, 431);
    done(&run);
    sf_buf_done(&text);
}

TEST(h1_parser, holds_chunk_extensions_to_a_limit)
{
    struct sf_buf text = {0};
    struct run run;

    sf_buf_add_str(&text, SF_STR(CHUNKED));
    for (int i = 0; i < 2000; i++)
        sf_buf_add_str(&text, SF_STR("1;ext=0123456789\r\nx\r\n"));
    feed(&run, sf_buf_str(&text), 4096);
    assert_int_equal(run.status, 400);
    done(&run);
    sf_buf_done(&text);
}

TEST(h1_parser, survives_running_out_of_memory)
{
    static const sf_str text = {CHUNKED "5\r\nhello\r\n0\r\nA: b\r\n\r\n",
                                sizeof(CHUNKED "5\r\nhello\r\n0\r\nA: b\r\n\r\n") - 1};
    struct sf_h1_parser p;
    struct sf_head head;

    for (uint64_t n = 1; n < 8; n++) {
        head = (struct sf_head){0};
        sf_h1_parser_init(&p);
        sf_h1_parser_start(&p, &head);
        sf_heap_fail_after(n);
        for (size_t i = 0; i < text.len; i++) {
            sf_bytes in = {(const uint8_t *)text.p + i, 1};
            enum sf_h1_event ev;
            while ((ev = sf_h1_parser_next(&p, &in)) != SF_H1_MORE && ev != SF_H1_BAD &&
                   ev != SF_H1_END)
                ;
            if (ev == SF_H1_BAD) {
                assert_int_equal(p.status, 503);
                break;
            }
        }
        sf_heap_fail_after(0);
        sf_h1_parser_done(&p);
        sf_head_done(&head);
    }
}
