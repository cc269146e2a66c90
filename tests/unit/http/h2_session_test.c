/* Both ends in memory: a client session of nghttp2 on one side, ours on the other. */
#include "http/h2_session.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>

#include "base/heap.h"
#include "http/grpc.h"
#include "test.h"

struct end {
    struct sf_h2_session *server;
    nghttp2_session *client;
    struct sf_head head[4];
    struct sf_h2_stream *streams[4];
    unsigned n_begun, n_ended, n_closed;
    size_t body_len; /* received by us */
    bool is_greedy;  /* consume as it comes */
    int status, grpc_status;
    struct sf_buf answer; /* received by the client */
    int64_t window_updates;
    uint32_t goaway;
    sf_bytes body; /* for the client to send */
    size_t body_at;
    int64_t now_ns;
};

static struct sf_head *on_begin(void *arg, struct sf_h2_stream *s)
{
    struct end *e = arg;
    if (e->n_begun == 4)
        return NULL;
    s->user = (void *)(uintptr_t)(e->n_begun + 1);
    e->streams[e->n_begun] = s;
    return &e->head[e->n_begun++];
}
static void on_head(void *arg, struct sf_h2_stream *s)
{
    (void)arg;
    (void)s;
}
static void on_body(void *arg, struct sf_h2_stream *s, sf_bytes piece)
{
    struct end *e = arg;
    e->body_len += piece.len;
    if (e->is_greedy)
        sf_h2_stream_consume(s, piece.len, true);
}
static void on_end(void *arg, struct sf_h2_stream *s)
{
    struct end *e = arg;
    (void)s;
    e->n_ended++;
}
static void on_sent(void *arg, struct sf_h2_stream *s, size_t len)
{
    (void)arg;
    (void)s;
    (void)len;
}
static void on_close(void *arg, struct sf_h2_stream *s, bool is_clean)
{
    struct end *e = arg;
    (void)is_clean;
    e->n_closed++;
    e->streams[(uintptr_t)s->user - 1] = NULL;
}

static int client_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
                         size_t name_len, const uint8_t *val, size_t val_len, uint8_t flags,
                         void *arg)
{
    struct end *e = arg;
    sf_str n = {(const char *)name, name_len};

    (void)ng;
    (void)frame;
    (void)flags;
    (void)val_len;
    if (sf_str_eq(n, SF_STR(":status")))
        e->status = atoi((const char *)val);
    if (sf_str_eq(n, SF_STR("grpc-status")))
        e->grpc_status = atoi((const char *)val);
    return 0;
}
static int client_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t len,
                       void *arg)
{
    struct end *e = arg;
    (void)ng;
    (void)flags;
    (void)id;
    sf_buf_add(&e->answer, p, len);
    return 0;
}
static int client_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    struct end *e = arg;
    (void)ng;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        e->goaway = frame->goaway.error_code;
    if (frame->hd.type == NGHTTP2_WINDOW_UPDATE)
        e->window_updates++;
    return 0;
}
static ssize_t client_body(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t len,
                           uint32_t *flags, nghttp2_data_source *source, void *arg)
{
    struct end *e = arg;
    size_t n = e->body.len - e->body_at;

    (void)ng;
    (void)id;
    (void)source;
    if (n > len)
        n = len;
    if (n)
        memcpy(buf, e->body.p + e->body_at, n);
    e->body_at += n;
    if (e->body_at == e->body.len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static struct end blank(void)
{
    return (struct end){.goaway = UINT32_MAX, .grpc_status = -1, .is_greedy = true};
}

static void init(struct end *e)
{
    nghttp2_session_callbacks *cb;
    struct sf_h2_config config = {
        .hooks = {on_begin, on_head, on_body, on_end, on_sent, on_close, e},
        .header_len = 32 * 1024};

    assert_ok(sf_h2_session_new(&config, &e->server, NULL));
    assert_int_equal(nghttp2_session_callbacks_new(&cb), 0);
    nghttp2_session_callbacks_set_on_header_callback(cb, client_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, client_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, client_frame);
    assert_int_equal(nghttp2_session_client_new(&e->client, cb, e), 0);
    nghttp2_session_callbacks_del(cb);
    assert_int_equal(nghttp2_submit_settings(e->client, 0, NULL, 0), 0);
}

static void done(struct end *e)
{
    sf_h2_session_free(e->server);
    nghttp2_session_del(e->client);
    for (int i = 0; i < 4; i++)
        sf_head_done(&e->head[i]);
    sf_buf_done(&e->answer);
}

/* Carries bytes back and forth until neither side has any; `step` bytes at a time to the server. */
static enum sf_err carry(struct end *e, size_t step)
{
    enum sf_err err = SF_OK;
    bool has_moved = true;

    while (has_moved && !err) {
        struct sf_buf back = {0};
        const uint8_t *p;
        ssize_t n;

        has_moved = false;
        while (!err && (n = nghttp2_session_mem_send(e->client, &p)) > 0) {
            has_moved = true;
            for (size_t at = 0; at < (size_t)n && !err; at += step) {
                size_t left = (size_t)n - at;
                err = sf_h2_session_recv(e->server, (sf_bytes){p + at, left < step ? left : step},
                                         e->now_ns, NULL);
            }
        }
        (void)sf_h2_session_send(e->server, &back, SIZE_MAX);
        if (back.len) {
            has_moved = true;
            assert_true(nghttp2_session_mem_recv(e->client, back.p, back.len) >= 0);
        }
        sf_buf_done(&back);
    }
    return err;
}

static nghttp2_nv field(const char *name, const char *val)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)val, strlen(name),
                        strlen(val), NGHTTP2_NV_FLAG_NONE};
}

static int32_t ask(struct end *e, const char *path, sf_bytes body)
{
    nghttp2_nv nv[] = {field(":method", "POST"), field(":path", path), field(":scheme", "http"),
                       field(":authority", "h"), field("x-some", "thing")};
    nghttp2_data_provider provider = {.read_callback = client_body};

    e->body = body;
    e->body_at = 0;
    return nghttp2_submit_request(e->client, NULL, nv, 5, body.p ? &provider : NULL, NULL);
}

static void answer_text(struct end *e, const char *text, bool is_grpc)
{
    struct sf_response r = {.status = 200, .content_type = "text/plain"};
    struct sf_buf body = {0};
    struct sf_h2_answer a = {.response = &r, .is_grpc = is_grpc, .has_body = true, .has_len = true};

    sf_buf_add_str(&body, sf_str_from(text));
    a.body_len = body.len;
    assert_true(sf_h2_stream_answer(e->streams[0], &a));
    assert_true(sf_h2_stream_write(e->streams[0], &body));
    assert_true(sf_h2_stream_end(e->streams[0], is_grpc ? &r : NULL));
    sf_buf_done(&body);
}

TEST(h2_session, carries_a_request_and_its_answer_in_pieces_of_any_size)
{
    static const size_t steps[] = {1, 2, 7, 1000, SIZE_MAX / 2};

    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        struct sf_request r = {0};
        struct end e = blank();
        init(&e);
        assert_int_equal(ask(&e, "/v1/traces?x=%20", sf_str_bytes(SF_STR("hello"))), 1);
        assert_ok(carry(&e, steps[i]));
        assert_int_equal(e.n_ended, 1);
        assert_int_equal(e.body_len, 5);
        assert_true(sf_head_finish(&e.head[0], &r));
        assert_str(r.path, "/v1/traces");
        assert_str(r.query, "x=%20");
        assert_str(r.authority, "h");
        assert_str(sf_request_header(&r, SF_STR("x-some")), "thing");
        answer_text(&e, "there", i % 2);
        assert_ok(carry(&e, steps[i]));
        assert_int_equal(e.status, 200);
        assert_int_equal(e.grpc_status, i % 2 ? 0 : -1);
        assert_str(sf_buf_str(&e.answer), "there");
        assert_int_equal(e.n_closed, 1);
        assert_int_equal(sf_h2_session_n_streams(e.server), 0);
        assert_int_equal(sf_h2_session_out_len(e.server), 0);
        done(&e);
    }
}

TEST(h2_session, opens_windows_only_when_bytes_are_consumed)
{
    struct sf_buf big = {0};
    struct end e = blank();

    memset(sf_buf_take(&big, 2 << 20), 'x', 2 << 20);
    init(&e);
    e.is_greedy = false;
    (void)ask(&e, "/", sf_buf_bytes(&big));
    assert_ok(carry(&e, 65536));
    assert_int_equal(e.body_len, 256 * 1024); /* the stream's window, and not a byte more */
    sf_h2_stream_consume(e.streams[0], 256 * 1024, false);
    assert_ok(carry(&e, 65536));
    assert_int_equal(e.body_len, 256 * 1024); /* the connection's alone does not help */
    sf_h2_stream_consume_stream(e.streams[0], 256 * 1024);
    assert_ok(carry(&e, 65536));
    assert_int_equal(e.body_len, 512 * 1024);
    done(&e);
    sf_buf_done(&big);
}

TEST(h2_session, lets_a_short_refused_body_run_out_and_resets_a_long_one)
{
    struct sf_buf big = {0};
    struct sf_response r = {.status = 403};
    struct end e = blank();

    memset(sf_buf_take(&big, 2 << 20), 'x', 2 << 20);
    init(&e);
    e.is_greedy = false;
    (void)ask(&e, "/", (sf_bytes){big.p, 300 * 1024});
    assert_ok(carry(&e, 65536));
    sf_h2_stream_ignore_body(e.streams[0]);
    assert_true(sf_h2_stream_answer(e.streams[0], &(struct sf_h2_answer){.response = &r}));
    sf_h2_stream_consume(e.streams[0], e.body_len, true);
    assert_ok(carry(&e, 65536));
    assert_int_equal(e.status, 403);
    assert_int_equal(e.n_ended, 0); /* nobody asked */
    assert_int_equal(e.n_closed, 1);
    assert_int_equal(e.body_at, 300 * 1024);
    done(&e);

    e = blank();
    init(&e);
    e.is_greedy = false;
    (void)ask(&e, "/", sf_buf_bytes(&big));
    assert_ok(carry(&e, 65536));
    sf_h2_stream_ignore_body(e.streams[0]);
    assert_true(sf_h2_stream_answer(e.streams[0], &(struct sf_h2_answer){.response = &r}));
    sf_h2_stream_consume(e.streams[0], e.body_len, true);
    assert_ok(carry(&e, 65536));
    assert_int_equal(e.n_closed, 1);
    assert_true(e.body_at < big.len);
    done(&e);
    sf_buf_done(&big);
}

TEST(h2_session, answers_431_to_heads_over_the_limit)
{
    struct sf_buf val = {0};
    struct end e = blank();

    init(&e);
    memset(sf_buf_take(&val, 16000), 'v', 16000);
    sf_buf_add_u8(&val, 0);
    {
        nghttp2_nv nv[] = {field(":method", "GET"),         field(":path", "/"),
                           field(":scheme", "http"),        field(":authority", "h"),
                           field("a", (const char *)val.p), field("b", (const char *)val.p),
                           field("c", (const char *)val.p)};
        assert_true(nghttp2_submit_request(e.client, NULL, nv, 7, NULL, NULL) > 0);
    }
    assert_ok(carry(&e, 65536));
    assert_int_equal(e.head[0].status, 431);
    assert_true(sf_head_cap(&e.head[0]) < 128 * 1024);
    done(&e);
    sf_buf_done(&val);
}

TEST(h2_session, forgives_what_is_spread_over_time)
{
    struct end e = blank();

    init(&e);
    for (int i = 0; i < 3 * SF_LIMIT_H2_CONTROL; i++) {
        assert_int_equal(nghttp2_submit_ping(e.client, 0, NULL), 0);
        if (i % 100 == 0) {
            assert_ok(carry(&e, 65536));
            e.now_ns += 2 * 1000000000ll; /* fifty a second */
        }
    }
    assert_ok(carry(&e, 65536));
    for (int i = 0; i < 2 * SF_LIMIT_H2_CONTROL; i++)
        assert_int_equal(nghttp2_submit_ping(e.client, 0, NULL), 0);
    assert_int_equal(carry(&e, 65536), SF_ERR_LIMIT);
    assert_int_equal(e.goaway, NGHTTP2_ENHANCE_YOUR_CALM);
    done(&e);
}

TEST(h2_session, refuses_what_is_not_http_2)
{
    struct end e = blank();

    init(&e);
    assert_err(sf_h2_session_recv(e.server, sf_str_bytes(SF_STR("GET / HTTP/1.1\r\nHost: h\r\n")),
                                  0, NULL),
               SF_ERR_INPUT);
    assert_err(sf_h2_session_recv(e.server, sf_str_bytes(SF_STR("more")), 0, NULL), SF_ERR_INPUT);
    done(&e);
}

#define NONE UINT32_MAX

/* RFC 9113, 5.1.1: a stream whose number was left out is closed and cannot be begun. */
TEST(h2_session, refuses_numbers_that_go_down)
{
    /* ":method: GET", ":scheme: http", ":path: /" from the static table; ends the stream */
    uint8_t request[] = {0, 0, 3, NGHTTP2_HEADERS, 5, 0, 0, 0, 5, 0x82, 0x86, 0x84};
    static const struct {
        uint8_t first, then;
        uint32_t goaway;
    } cases[] = {{5, 3, NGHTTP2_PROTOCOL_ERROR}, {5, 1, NGHTTP2_PROTOCOL_ERROR}, {5, 7, NONE}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct end e = blank();
        init(&e);
        assert_ok(carry(&e, 65536)); /* the preface */
        request[8] = cases[i].first;
        assert_ok(sf_h2_session_recv(e.server, (sf_bytes){request, sizeof(request)}, 0, NULL));
        request[8] = cases[i].then;
        (void)sf_h2_session_recv(e.server, (sf_bytes){request, sizeof(request)}, 0, NULL);
        (void)carry(&e, 65536);
        assert_int_equal(e.goaway, cases[i].goaway);
        assert_int_equal(e.n_begun, cases[i].goaway == NONE ? 2 : 1);
        done(&e);
    }
}

/* No number was left out: it may be trailers for a stream that was closed long ago. */
TEST(h2_session, passes_over_trailers_of_a_stream_it_has_forgotten)
{
    uint8_t request[] = {0, 0, 3, NGHTTP2_HEADERS, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84};
    uint8_t reset[] = {0, 0, 4, NGHTTP2_RST_STREAM, 0, 0, 0, 0, 1, 0, 0, 0, 8};
    struct end e = blank();
    init(&e);
    assert_ok(carry(&e, 65536));
    for (int i = 0; i < 200; i++) {
        int id = 2 * i + 1;
        request[7] = reset[7] = (uint8_t)(id >> 8);
        request[8] = reset[8] = (uint8_t)id;
        e.now_ns += 1000000000;
        assert_ok(
            sf_h2_session_recv(e.server, (sf_bytes){request, sizeof(request)}, e.now_ns, NULL));
        assert_ok(sf_h2_session_recv(e.server, (sf_bytes){reset, sizeof(reset)}, e.now_ns, NULL));
    }
    request[7] = 0;
    request[8] = 1;
    assert_ok(sf_h2_session_recv(e.server, (sf_bytes){request, sizeof(request)}, e.now_ns, NULL));
    (void)carry(&e, 65536);
    assert_int_equal(e.goaway, NONE);
    assert_int_equal(sf_h2_session_n_streams(e.server), 0);
    done(&e);
}

/* RFC 9113, 5.1: a frame on a stream that is closed is an error of the connection or the stream. */
TEST(h2_session, refuses_frames_on_streams_that_are_closed)
{
    static const uint8_t data[] = {0, 0, 1, NGHTTP2_DATA, 0, 0, 0, 0, 1, 'x'};
    struct end e = blank();

    init(&e);
    (void)ask(&e, "/", sf_str_bytes(SF_STR("x")));
    assert_ok(carry(&e, 65536));
    answer_text(&e, "there", false);
    assert_ok(carry(&e, 65536));
    assert_int_equal(sf_h2_session_n_streams(e.server), 0);
    (void)sf_h2_session_recv(e.server, (sf_bytes){data, sizeof(data)}, 0, NULL);
    (void)carry(&e, 65536);
    assert_int_equal(e.goaway, NGHTTP2_STREAM_CLOSED);
    done(&e);
}

TEST(h2_session, goes_in_peace)
{
    struct end e = blank();

    init(&e);
    (void)ask(&e, "/", sf_str_bytes(SF_STR("x")));
    assert_ok(carry(&e, 65536));
    sf_h2_session_drain(e.server, false);
    assert_ok(carry(&e, 65536));
    assert_int_equal(e.goaway, NGHTTP2_NO_ERROR);
    sf_h2_session_drain(e.server, true);
    assert_ok(carry(&e, 65536));
    assert_false(sf_h2_session_is_over(e.server)); /* a request is still there */
    answer_text(&e, "bye", false);
    assert_ok(carry(&e, 65536));
    assert_true(sf_h2_session_is_over(e.server));
    assert_str(sf_buf_str(&e.answer), "bye");
    assert_false(sf_h2_session_is_broken(e.server));
    done(&e);
}

TEST(h2_session, closes_its_streams_when_it_is_freed)
{
    struct end e = blank();

    init(&e);
    (void)ask(&e, "/a", SF_BYTES_NONE);
    (void)ask(&e, "/b", SF_BYTES_NONE);
    assert_ok(carry(&e, 65536));
    assert_int_equal(sf_h2_session_n_streams(e.server), 2);
    sf_h2_session_free(e.server);
    e.server = NULL;
    assert_int_equal(e.n_closed, 2);
    done(&e);
}

TEST(h2_session, survives_running_out_of_memory)
{
    unsigned n_ok = 0;

    for (uint64_t n = 1; n < 200 && n_ok < 3; n++) {
        struct sf_h2_config config = {
            .hooks = {on_begin, on_head, on_body, on_end, on_sent, on_close, NULL}};
        struct end e = {.is_greedy = true};
        /* Preface, SETTINGS, POST / with a body of two bytes. */
        static const char wire[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
                                   "\0\0\6\1\4\0\0\0\1\x83\x86\x84\x01\x01h"
                                   "\0\0\2\0\1\0\0\0\1xy";
        struct sf_buf out = {0};
        enum sf_err err;

        config.hooks.arg = &e;
        sf_heap_fail_after(n);
        err = sf_h2_session_new(&config, &e.server, NULL);
        if (!err)
            err = sf_h2_session_recv(e.server, (sf_bytes){(const uint8_t *)wire, sizeof(wire) - 1},
                                     0, NULL);
        if (!err && e.streams[0]) {
            struct sf_response r = {.status = 200, .retry_after_s = 1, .grpc_status = 14};
            if (!sf_h2_stream_answer(e.streams[0],
                                     &(struct sf_h2_answer){.response = &r, .is_grpc = true}))
                err = SF_ERR_NOMEM;
        }
        if (!err)
            err = sf_h2_session_send(e.server, &out, SIZE_MAX);
        sf_heap_fail_after(0);
        if (!err)
            n_ok++;
        sf_h2_session_free(e.server);
        assert_int_equal(e.n_begun, e.n_closed);
        for (int i = 0; i < 4; i++)
            sf_head_done(&e.head[i]);
        sf_buf_done(&out);
    }
    assert_true(n_ok > 0);
}
