#include "listen/listener.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/heap.h"
#include "os/clock.h"
#include "peer.h"
#include "test.h"
#include "wire/inflate.h"

static void expect(int fd, struct sf_buf *left, int status, const char *body)
{
    struct peer_answer a = {0};

    peer_read_answer(fd, left, &a, false);
    assert_int_equal(a.status, status);
    if (body)
        assert_true(sf_str_eq(sf_buf_str(&a.body), sf_str_from(body)));
    peer_answer_done(&a);
}

TEST(listener, answers_on_one_connection_again_and_again)
{
    struct peer_server s;
    struct sf_buf left = {0};
    int fd;

    peer_start(&s, NULL, NULL);
    fd = peer_connect(s.port);
    for (int i = 0; i < 20; i++) {
        peer_send(fd, SF_STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"));
        expect(fd, &left, 200, "abc");
        peer_send(fd, SF_STR("POST /later HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                             "2\r\nde\r\n1\r\nf\r\n0\r\n\r\n"));
        expect(fd, &left, 200, "def");
    }
    assert_int_equal(peer_stats(&s).n_accepted, 1);
    assert_int_equal(peer_stats(&s).n_requests_h1, 40);
    assert_int_equal(peer_stats(&s).n_connections, 1);
    (void)close(fd);
    peer_wait_stats(&s, st, st.n_connections == 0);
    assert_int_equal(peer_stats(&s).bodies_len, 0);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(listener, answers_pipelined_requests_in_order)
{
    struct peer_server s;
    struct sf_buf left = {0}, text = {0};
    char want[16];
    int fd;

    peer_start(&s, NULL, NULL);
    fd = peer_connect(s.port);
    for (int i = 0; i < 50; i++)
        sf_buf_print(&text, "POST /%s HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n%02d",
                     i % 2 ? "later" : "echo", i);
    peer_send(fd, sf_buf_str(&text));
    for (int i = 0; i < 50; i++) {
        (void)snprintf(want, sizeof(want), "%02d", i);
        expect(fd, &left, 200, want);
    }
    (void)close(fd);
    sf_buf_done(&left);
    sf_buf_done(&text);
    peer_stop(&s);
}

TEST(listener, closes_when_asked_and_for_http_1_0)
{
    struct peer_server s;
    struct sf_buf left = {0};
    struct peer_answer a = {0};
    int fd;

    peer_start(&s, NULL, NULL);
    fd = peer_connect(s.port);
    peer_send(fd, SF_STR("GET /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    peer_read_answer(fd, &left, &a, false);
    assert_int_equal(a.status, 200);
    assert_true(a.closes);
    assert_true(peer_is_closed(fd, 5000));
    (void)close(fd);
    fd = peer_connect(s.port);
    peer_send(fd, SF_STR("GET /stream?3 HTTP/1.0\r\n\r\n"));
    peer_read_answer(fd, &left, &a, false);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.body.len, 3 * strlen("piece 000000 of a long answer"));
    peer_answer_done(&a);
    (void)close(fd);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(listener, says_continue_only_after_the_headers_were_accepted)
{
    struct peer_server s;
    struct sf_buf left = {0};
    struct peer_answer a = {0};
    int fd;

    peer_start(&s, NULL, NULL);
    fd = peer_connect(s.port);
    peer_send(fd, SF_STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n"
                         "Expect: 100-continue\r\n\r\n"));
    peer_read_answer(fd, &left, &a, false);
    assert_int_equal(a.status, 100);
    peer_send(fd, SF_STR("ok"));
    expect(fd, &left, 200, "ok");
    peer_send(fd, SF_STR("POST /refuse HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n"
                         "Expect: 100-continue\r\n\r\n"));
    expect(fd, &left, 403, "no");
    assert_true(peer_is_closed(fd, 5000));
    (void)close(fd);
    peer_answer_done(&a);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(listener, drops_a_short_refused_body_and_lives_on)
{
    struct peer_server s;
    struct sf_buf left = {0}, big = {0};
    int fd;

    peer_start(&s, NULL, NULL);
    fd = peer_connect(s.port);
    peer_send(fd, SF_STR("POST /refuse HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n"));
    expect(fd, &left, 403, "no");
    peer_send(fd, SF_STR("bodyGET /echo HTTP/1.1\r\nHost: h\r\n\r\n"));
    expect(fd, &left, 200, "");
    peer_send(fd, SF_STR("POST /refuse HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"));
    expect(fd, &left, 403, "no");
    /* A long one ends the connection, but not before the answer can be read. */
    sf_buf_add_str(&big, SF_STR("POST /refuse HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n"
                                "\r\n"));
    memset(sf_buf_take(&big, 1000000), 'x', 1000000);
    peer_send(fd, sf_buf_str(&big));
    expect(fd, &left, 403, "no");
    assert_true(peer_is_closed(fd, 5000));
    assert_int_equal(atomic_load(&s.n_requests), 1);
    (void)close(fd);
    sf_buf_done(&left);
    sf_buf_done(&big);
    peer_stop(&s);
}

TEST(listener, answers_head_without_a_body)
{
    struct peer_server s;
    struct sf_buf left = {0};
    struct peer_answer a = {0};
    size_t at;
    int fd;

    peer_start(&s, NULL, NULL);
    fd = peer_connect(s.port);
    peer_send(fd, SF_STR("HEAD /big?100 HTTP/1.1\r\nHost: h\r\n\r\n"
                         "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n"));
    peer_read_answer(fd, &left, &a, true);
    assert_true(sf_str_find(sf_buf_str(&a.head), SF_STR("content-length: 100\r\n"), &at));
    peer_answer_done(&a);
    expect(fd, &left, 200, "");
    (void)close(fd);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(listener, compresses_answers_when_asked)
{
    struct peer_server s;
    struct sf_buf left = {0}, plain = {0};
    struct peer_answer a = {0};
    struct sf_inflate *z = sf_inflate_new();
    size_t at;
    int fd;

    peer_start(&s, NULL, NULL);
    fd = peer_connect(s.port);
    peer_send(fd, SF_STR("GET /big?50000 HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n"));
    peer_read_answer(fd, &left, &a, false);
    assert_true(sf_str_find(sf_buf_str(&a.head), SF_STR("content-encoding: gzip\r\n"), &at));
    assert_true(a.body.len < 5000);
    assert_ok(sf_inflate_bytes(z, SF_INFLATE_GZIP, sf_buf_bytes(&a.body), 1 << 20, &plain, NULL));
    assert_int_equal(plain.len, 50000);
    /* Short ones stay as they are. */
    peer_send(fd, SF_STR("GET /big?100 HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n"));
    peer_read_answer(fd, &left, &a, false);
    assert_false(sf_str_find(sf_buf_str(&a.head), SF_STR("gzip"), &at));
    assert_int_equal(a.body.len, 100);
    peer_answer_done(&a);
    (void)close(fd);
    sf_inflate_free(z);
    sf_buf_done(&left);
    sf_buf_done(&plain);
    peer_stop(&s);
}

TEST(listener, answers_garbage_with_a_status_and_the_end)
{
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"garbage\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", 400},
        {"GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         400},
        {"\x16\x03\x01\x02", 400},
    };
    struct peer_server s;
    struct sf_buf left = {0};

    peer_start(&s, NULL, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int fd = peer_connect(s.port);
        sf_buf_reset(&left);
        peer_send(fd, sf_str_from(cases[i].text));
        expect(fd, &left, cases[i].status, NULL);
        assert_true(peer_is_closed(fd, 5000));
        (void)close(fd);
    }
    assert_int_equal(peer_stats(&s).n_bad_framing, 5);
    assert_int_equal(atomic_load(&s.n_faults), 5);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(listener, refuses_bodies_over_the_limit)
{
    struct sf_listen_limits limits = {.body_len = 1000};
    struct peer_server s;
    struct sf_buf left = {0}, text = {0};
    struct peer_h2 *h;
    struct peer_h2_answer *a;
    int fd;

    peer_start(&s, &limits, NULL);
    fd = peer_connect(s.port);
    peer_send(fd, SF_STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n"));
    expect(fd, &left, 413, NULL);
    (void)close(fd);
    fd = peer_connect(s.port);
    sf_buf_add_str(&text, SF_STR("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
                                 "\r\n"));
    for (int i = 0; i < 11; i++)
        sf_buf_print(&text, "64\r\n%0100d\r\n", i);
    peer_send(fd, sf_buf_str(&text));
    expect(fd, &left, 413, NULL);
    (void)close(fd);

    h = peer_h2_new(peer_connect(s.port));
    a = peer_h2_wait(h, peer_h2_submit(h, "POST", "/echo", NULL, NULL, NULL, sf_buf_bytes(&text)));
    assert_non_null(a);
    assert_int_equal(a->status, 413);
    sf_buf_reset(&text);
    peer_grpc_frame(&text, 0, SF_STR("x"));
    text.p[3] = 0x10; /* says 4097 */
    a = peer_h2_wait(
        h, peer_h2_submit(h, "POST", "/echo", "application/grpc", NULL, NULL, sf_buf_bytes(&text)));
    assert_non_null(a);
    assert_int_equal(a->grpc_status, SF_GRPC_RESOURCE_EXHAUSTED);
    assert_false(a->has_details);
    peer_h2_free(h);
    sf_buf_done(&left);
    sf_buf_done(&text);
    peer_stop(&s);
}

TEST(listener, speaks_http_2_with_prior_knowledge)
{
    struct peer_server s;
    struct peer_h2 *h;
    struct peer_h2_answer *a;
    int32_t ids[100];
    sf_bytes body = sf_str_bytes(SF_STR("hello"));

    peer_start(&s, NULL, NULL);
    h = peer_h2_new(peer_connect(s.port));
    for (int i = 0; i < 100; i++)
        ids[i] = peer_h2_submit(h, "POST", i % 2 ? "/later" : "/echo", NULL, NULL, NULL, body);
    for (int i = 0; i < 100; i++) {
        a = peer_h2_wait(h, ids[i]);
        assert_non_null(a);
        assert_int_equal(a->status, 200);
        assert_str(sf_buf_str(&a->body), "hello");
    }
    a = peer_h2_wait(h, peer_h2_submit(h, "GET", "/big?3000000", NULL, NULL, NULL, SF_BYTES_NONE));
    assert_non_null(a);
    assert_int_equal(a->body.len, 3000000);
    a = peer_h2_wait(h, peer_h2_submit(h, "HEAD", "/big?3000", NULL, NULL, NULL, SF_BYTES_NONE));
    assert_non_null(a);
    assert_int_equal(a->status, 200);
    assert_int_equal(a->body.len, 0);
    a = peer_h2_wait(h, peer_h2_submit(h, "POST", "/echo", NULL, "expect", "100-continue", body));
    assert_non_null(a);
    assert_int_equal(a->n_continue, 1);
    assert_int_equal(a->status, 200);
    a = peer_h2_wait(h, peer_h2_submit(h, "POST", "/busy", NULL, NULL, NULL, body));
    assert_non_null(a);
    assert_int_equal(a->status, 503);
    assert_string_equal(a->retry_after, "3");
    a = peer_h2_wait(h, peer_h2_submit(h, "GET", "/bad%zz", NULL, NULL, NULL, SF_BYTES_NONE));
    assert_non_null(a);
    assert_int_equal(a->status, 400);
    assert_int_equal(peer_stats(&s).n_requests_h2, 104);
    peer_h2_free(h);
    peer_stop(&s);
}

TEST(listener, speaks_grpc)
{
    struct peer_server s;
    struct peer_h2 *h;
    struct peer_h2_answer *a;
    struct sf_buf one = {0}, two = {0}, packed = {0}, flag = {0};

    peer_grpc_frame(&one, 0, SF_STR("message"));
    peer_grpc_frame(&two, 0, SF_STR("a"));
    peer_grpc_frame(&two, 0, SF_STR("b"));
    peer_grpc_frame(&packed, 1, SF_STR("zip"));
    peer_grpc_frame(&flag, 7, SF_STR("x"));
    peer_start(&s, NULL, NULL);
    h = peer_h2_new(peer_connect(s.port));
#define GRPC(path, name, val, body)                                                          \
    a = peer_h2_wait(h, peer_h2_submit(h, "POST", path, "application/grpc+proto", name, val, \
                                       sf_buf_bytes(body)));                                 \
    assert_non_null(a);                                                                      \
    assert_int_equal(a->status, 200)

    GRPC("/echo", NULL, NULL, &one);
    assert_int_equal(a->grpc_status, SF_GRPC_OK);
    assert_int_equal(a->body.len, one.len);
    assert_memory_equal(a->body.p, one.p, one.len);
    GRPC("/later", "grpc-timeout", "5S", &one);
    assert_int_equal(a->grpc_status, SF_GRPC_OK);
    GRPC("/echo", NULL, NULL, &two);
    assert_int_equal(a->grpc_status, SF_GRPC_INVALID_ARGUMENT);
    GRPC("/echo", NULL, NULL, &packed);
    assert_int_equal(a->grpc_status, SF_GRPC_INTERNAL);
    GRPC("/echo", "grpc-encoding", "snappy", &packed);
    assert_int_equal(a->grpc_status, SF_GRPC_UNIMPLEMENTED);
    assert_string_equal(a->accept_encoding, "identity,gzip,zstd,deflate");
    GRPC("/coding", "grpc-encoding", "gzip", &packed);
    assert_int_equal(a->body.p[5], '0' + SF_CODING_GZIP);
    GRPC("/coding", "grpc-encoding", "gzip", &one);
    assert_int_equal(a->body.p[5], '0' + SF_CODING_NONE);
    GRPC("/echo", NULL, NULL, &flag);
    assert_int_equal(a->grpc_status, SF_GRPC_INTERNAL);
    one.len--;
    GRPC("/echo", NULL, NULL, &one);
    assert_int_equal(a->grpc_status, SF_GRPC_INVALID_ARGUMENT);
    one.len++;
    GRPC("/refuse", NULL, NULL, &one);
    assert_int_equal(a->grpc_status, SF_GRPC_PERMISSION_DENIED);
    GRPC("/busy", NULL, NULL, &one);
    assert_int_equal(a->grpc_status, SF_GRPC_UNAVAILABLE);
    assert_string_equal(a->grpc_message, "b%C3%BCsy");
    assert_true(a->has_details);
    GRPC("/hold", "grpc-timeout", "150m", &one);
    assert_int_equal(a->grpc_status, SF_GRPC_DEADLINE_EXCEEDED);
    GRPC("/stream?1000", NULL, NULL, &one);
    assert_int_equal(a->grpc_status, SF_GRPC_OK);
    assert_int_equal(a->body.len, 1000 * (5 + strlen("piece 000000 of a long answer")));
    assert_memory_equal(a->body.p, "\0\0\0\0\x1dpiece 000000", 17);
    assert_int_equal(peer_stats(&s).n_requests_grpc, 13);
    peer_release(&s);
    assert_int_equal(atomic_load(&s.n_cancelled), 1);
    peer_h2_free(h);
    sf_buf_done(&one);
    sf_buf_done(&two);
    sf_buf_done(&packed);
    sf_buf_done(&flag);
    peer_stop(&s);
}

TEST(listener, streams_long_answers_no_faster_than_they_are_read)
{
    struct peer_server s;
    struct sf_buf left = {0};
    struct peer_answer a = {0};
    int fd;

    peer_start(&s, NULL, NULL);
    fd = peer_connect(s.port);
    peer_send(fd, SF_STR("GET /stream?60000 HTTP/1.1\r\nHost: h\r\n\r\n"));
    sf_clock_sleep_ms(100); /* nobody reads: the other side has to wait */
    peer_read_answer(fd, &left, &a, false);
    assert_int_equal(a.body.len, 60000 * strlen("piece 000000 of a long answer"));
    peer_send(fd, SF_STR("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n"));
    expect(fd, &left, 200, "");
    peer_answer_done(&a);
    (void)close(fd);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(listener, tells_a_streaming_application_that_its_client_left)
{
    struct peer_server s;
    int fd;

    peer_start(&s, NULL, NULL);
    fd = peer_connect(s.port);
    peer_send(fd, SF_STR("GET /stream?10000000 HTTP/1.1\r\nHost: h\r\n\r\n"));
    sf_clock_sleep_ms(50);
    (void)close(fd);
    for (int i = 0; i < 500 && !atomic_load(&s.n_cancelled); i++)
        sf_clock_sleep_ms(10);
    assert_int_equal(atomic_load(&s.n_cancelled), 1);
    peer_stop(&s);
}

TEST(listener, cancels_requests_whose_client_left)
{
    struct peer_server s;
    struct peer_h2 *h;
    int fd;

    peer_start(&s, NULL, NULL);
    fd = peer_connect(s.port);
    peer_send(fd, SF_STR("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"));
    peer_wait_held(&s, 1);
    (void)close(fd);
    h = peer_h2_new(peer_connect(s.port));
    (void)peer_h2_submit(h, "GET", "/hold", NULL, NULL, NULL, SF_BYTES_NONE);
    (void)peer_h2_run(h, 50);
    peer_wait_held(&s, 2);
    peer_h2_cancel(h, 1);
    for (int i = 0; i < 500; i++) {
        if (atomic_load(sf_exchange_cancel(s.held[0])) &&
            atomic_load(sf_exchange_cancel(s.held[1])))
            break;
        sf_clock_sleep_ms(10);
    }
    peer_release(&s);
    assert_int_equal(atomic_load(&s.n_cancelled), 2);
    peer_h2_free(h);
    peer_stop(&s);
}

TEST(listener, spools_long_bodies_and_gives_them_back_whole)
{
    struct peer_server s;
    struct sf_buf left = {0}, text = {0}, grpc = {0};
    struct peer_answer a = {0};
    struct peer_h2 *h;
    struct peer_h2_answer *b;
    size_t head_len;
    int fd;

    peer_start(&s, NULL, NULL);
    sf_buf_add_str(&text, SF_STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n"
                                 "\r\n"));
    head_len = text.len;
    for (int i = 0; i < 3000000; i++)
        sf_buf_add_u8(&text, (uint8_t)(i * 7 % 251));
    fd = peer_connect(s.port);
    peer_send(fd, sf_buf_str(&text));
    peer_read_answer(fd, &left, &a, false);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.body.len, 3000000);
    assert_memory_equal(a.body.p, text.p + head_len, 3000000);
    (void)close(fd);

    peer_grpc_frame(&grpc, 0, sf_str_from_at(sf_buf_str(&text), head_len));
    h = peer_h2_new(peer_connect(s.port));
    b = peer_h2_wait(
        h, peer_h2_submit(h, "POST", "/echo", "application/grpc", NULL, NULL, sf_buf_bytes(&grpc)));
    assert_non_null(b);
    assert_int_equal(b->grpc_status, 0);
    assert_int_equal(b->body.len, grpc.len);
    assert_memory_equal(b->body.p, grpc.p, grpc.len);
    peer_h2_free(h);
    assert_int_equal(atomic_load(&s.n_spooled), 2);
    assert_int_equal(peer_stats(&s).n_spooled, 2);
    peer_wait_stats(&s, st, st.bodies_len == 0);
    peer_answer_done(&a);
    sf_buf_done(&left);
    sf_buf_done(&text);
    sf_buf_done(&grpc);
    peer_stop(&s);
}

TEST(listener, answers_503_when_it_cannot_spool)
{
    struct sf_listen_address address = {.host = "127.0.0.1"};
    struct sf_listen_config config = {
        .addresses = &address, .n_addresses = 1, .n_loops = 1, .spool_path = "/nowhere/at/all"};
    struct peer_server s;
    struct sf_buf left = {0}, text = {0};
    struct peer_answer a = {0};
    size_t at;
    int fd;

    peer_start_with(&s, &config);
    sf_buf_add_str(&text, SF_STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1200000\r\n"
                                 "\r\n"));
    memset(sf_buf_take(&text, 1200000), 'x', 1200000);
    fd = peer_connect(s.port);
    peer_send(fd, sf_buf_str(&text));
    peer_read_answer(fd, &left, &a, false);
    assert_int_equal(a.status, 503);
    assert_true(sf_str_find(sf_buf_str(&a.head), SF_STR("retry-after: 5\r\n"), &at));
    (void)close(fd);
    assert_int_equal(peer_ask(s.port, "POST", "/echo", SF_STR("small")), 200);
    peer_answer_done(&a);
    sf_buf_done(&left);
    sf_buf_done(&text);
    peer_stop(&s);
}

TEST(listener, stops_reading_while_bodies_fill_their_memory_and_goes_on_after)
{
    struct sf_listen_limits limits = {.bodies_len = 1 << 20};
    struct peer_server s;
    struct sf_buf text = {0}, left = {0};
    int fds[12];

    sf_buf_add_str(&text, SF_STR("POST /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n"
                                 "\r\n"));
    memset(sf_buf_take(&text, 500000), 'x', 500000);
    peer_start(&s, &limits, NULL);
    for (int i = 0; i < 2; i++) {
        fds[i] = peer_connect(s.port);
        peer_send(fds[i], sf_buf_str(&text));
    }
    peer_wait_held(&s, 2);
    assert_true(peer_stats(&s).bodies_len >= 1 << 20);
    /* Over the budget now: those who come later wait, and are not refused. */
    for (int i = 2; i < 12; i++) {
        fds[i] = peer_connect(s.port);
        peer_send(fds[i], SF_STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nok"));
    }
    for (int i = 2; i < 12; i++)
        assert_false(peer_is_closed(fds[i], 10));
    assert_int_equal(atomic_load(&s.n_requests), 2);
    peer_release(&s);
    for (int i = 0; i < 12; i++) {
        sf_buf_reset(&left);
        expect(fds[i], &left, 200, i < 2 ? "released" : "ok");
        (void)close(fds[i]);
    }
    peer_wait_stats(&s, st, st.bodies_len == 0);
    sf_buf_done(&text);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(listener, never_lets_half_sent_bodies_wait_for_each_other)
{
    struct sf_listen_limits limits = {.bodies_len = 1 << 20};
    struct peer_server s;
    struct sf_buf half = {0}, left = {0};
    struct peer_answer a = {0};
    struct peer_h2 *h[3];
    struct sf_buf big = {0};
    int fds[8];

    memset(sf_buf_take(&half, 300000), 'h', 300000);
    memset(sf_buf_take(&big, 900000), 'b', 900000);
    peer_start(&s, &limits, NULL);
    /* Together the first halves are over the budget, and nobody has finished. */
    for (int i = 0; i < 8; i++) {
        fds[i] = peer_connect(s.port);
        peer_send(fds[i], SF_STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 600000\r\n"
                                 "\r\n"));
    }
    for (int i = 0; i < 8; i++)
        peer_send(fds[i], sf_buf_str(&half));
    for (int i = 0; i < 3; i++) {
        h[i] = peer_h2_new(peer_connect(s.port));
        for (int k = 0; k < 4; k++)
            (void)peer_h2_submit(h[i], "POST", "/echo", NULL, NULL, NULL, sf_buf_bytes(&big));
    }
    for (int i = 0; i < 8; i++)
        peer_send(fds[i], sf_buf_str(&half));
    for (int i = 0; i < 8; i++) {
        sf_buf_reset(&left);
        peer_read_answer(fds[i], &left, &a, false);
        assert_int_equal(a.status, 200);
        assert_int_equal(a.body.len, 600000);
        (void)close(fds[i]);
    }
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) {
            struct peer_h2_answer *b = peer_h2_wait(h[i], 1 + 2 * k);
            assert_non_null(b);
            assert_int_equal(b->status, 200);
            assert_int_equal(b->body.len, big.len);
        }
        peer_h2_free(h[i]);
    }
    peer_wait_stats(&s, st, st.bodies_len == 0 && st.n_connections == 0);
    peer_answer_done(&a);
    sf_buf_done(&half);
    sf_buf_done(&big);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(listener, ends_what_is_too_slow)
{
    struct sf_listen_limits limits = {.header_timeout_ms = 300,
                                      .body_timeout_ms = 300,
                                      .idle_timeout_ms = 300,
                                      .total_timeout_ms = 900};
    struct peer_server s;
    struct sf_buf left = {0};
    int silent, slow_head, slow_body, idle, drip, late;

    peer_start(&s, &limits, NULL);
    silent = peer_connect(s.port);
    slow_head = peer_connect(s.port);
    peer_send(slow_head, SF_STR("GET /echo HTTP/1.1\r\nHo"));
    slow_body = peer_connect(s.port);
    peer_send(slow_body, SF_STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx"));
    idle = peer_connect(s.port);
    peer_send(idle, SF_STR("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n"));
    expect(idle, &left, 200, "");
    late = peer_connect(s.port);
    peer_send(late, SF_STR("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"));
    /* A byte now and then is progress, but not for ever. */
    drip = peer_connect(s.port);
    peer_send(drip, SF_STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 90\r\n\r\n"));
    for (int i = 0; i < 15; i++) {
        (void)peer_try_send(drip, "x", 1);
        sf_clock_sleep_ms(100);
    }
    expect(drip, &left, 408, NULL);
    sf_buf_reset(&left);
    assert_true(peer_is_closed(silent, 5000));
    expect(slow_head, &left, 408, NULL);
    sf_buf_reset(&left);
    expect(slow_body, &left, 408, NULL);
    sf_buf_reset(&left);
    assert_true(peer_is_closed(idle, 5000));
    expect(late, &left, 504, NULL);
    assert_int_equal(peer_stats(&s).n_timeouts, 5);
    (void)close(silent);
    (void)close(slow_head);
    (void)close(slow_body);
    (void)close(idle);
    (void)close(drip);
    (void)close(late);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(listener, ends_who_does_not_read_his_answers)
{
    struct sf_listen_limits limits = {.body_timeout_ms = 300};
    struct peer_server s;
    int fd;

    peer_start(&s, &limits, NULL);
    fd = peer_connect(s.port);
    peer_send(fd, SF_STR("GET /big?30000000 HTTP/1.1\r\nHost: h\r\n\r\n"));
    peer_wait_stats(&s, st, st.n_timeouts == 1 && st.n_connections == 0);
    (void)close(fd);
    peer_stop(&s);
}

TEST(listener, turns_away_connections_over_the_limit)
{
    struct sf_listen_limits limits = {.connections = 2};
    struct peer_server s;
    struct sf_buf left = {0};
    int a, b, c;

    peer_start(&s, &limits, NULL);
    a = peer_connect(s.port);
    b = peer_connect(s.port);
    peer_wait_stats(&s, st, st.n_connections == 2);
    c = peer_connect(s.port);
    peer_send(c, SF_STR("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n"));
    expect(c, &left, 503, NULL);
    (void)close(c);
    assert_int_equal(peer_stats(&s).n_refused, 1);
    (void)close(b);
    peer_wait_stats(&s, st, st.n_connections == 1);
    assert_int_equal(peer_ask(s.port, "GET", "/echo", SF_STR_NONE), 200);
    (void)close(a);
    sf_buf_done(&left);
    peer_stop(&s);
}

struct drainer {
    struct peer_server *server;
    atomic_bool is_over;
};

static void run_drain(void *arg)
{
    struct drainer *d = arg;
    sf_listener_drain(d->server->listener, 20000);
    atomic_store(&d->is_over, true);
}

TEST(listener, drains_by_finishing_what_has_begun)
{
    struct peer_server s;
    struct drainer d = {.server = &s};
    struct sf_thread thread;
    struct sf_buf left = {0};
    struct peer_answer a = {0};
    struct peer_h2 *h;
    struct peer_h2_answer *b;
    int busy, idle, half_open;

    peer_start(&s, NULL, NULL);
    idle = peer_connect(s.port);
    peer_send(idle, SF_STR("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n"));
    expect(idle, &left, 200, "");
    half_open = peer_connect(s.port);
    busy = peer_connect(s.port);
    peer_send(busy, SF_STR("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"));
    h = peer_h2_new(peer_connect(s.port));
    (void)peer_h2_submit(h, "GET", "/hold", NULL, NULL, NULL, SF_BYTES_NONE);
    (void)peer_h2_run(h, 50);
    peer_wait_held(&s, 2);
    assert_ok(sf_thread_start(&thread, "drain", 0, run_drain, &d, NULL));
    assert_true(peer_is_closed(idle, 5000));
    assert_true(peer_is_closed(half_open, 5000));
    (void)peer_h2_run(h, 300);
    assert_int_equal(peer_h2_goaway(h), 0); /* NO_ERROR */
    assert_false(atomic_load(&d.is_over));
    peer_release(&s);
    peer_read_answer(busy, &left, &a, false);
    assert_int_equal(a.status, 200);
    assert_true(a.closes);
    b = peer_h2_wait(h, 1);
    assert_non_null(b);
    assert_int_equal(b->status, 200);
    (void)close(busy);
    (void)close(idle);
    (void)close(half_open);
    peer_h2_free(h);
    sf_thread_join(&thread);
    assert_true(atomic_load(&d.is_over));
    peer_answer_done(&a);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(listener, names_the_address_that_is_taken)
{
    struct peer_server s;
    struct sf_listen_address address = {.host = "127.0.0.1"};
    struct sf_listen_config config = {.addresses = &address, .n_addresses = 1};
    struct sf_listener *l = NULL;
    struct sf_why why = {""};
    char want[64];

    peer_start(&s, NULL, NULL);
    address.port = s.port;
    assert_err(sf_listener_start(&config, &l, &why), SF_ERR_BUSY);
    (void)snprintf(want, sizeof(want), "127.0.0.1:%u is already in use", s.port);
    assert_non_null(strstr(why.text, want));
    assert_null(l);
    address.host = "no.such.host.invalid";
    assert_err(sf_listener_start(&config, &l, &why), SF_ERR_INPUT);
    peer_stop(&s);
}

TEST(listener, listens_on_several_addresses_and_skips_optional_ones)
{
    /* 192.0.2.1 is for documentation: no machine has it. */
    struct sf_listen_address addresses[] = {
        {.host = "127.0.0.1"}, {.host = "192.0.2.1", .is_optional = true}, {.host = "127.0.0.2"}};
    struct sf_listen_config config = {
        .addresses = addresses, .n_addresses = 3, .n_loops = 3, .spool_path = "/tmp"};
    struct peer_server s;

    peer_start_with(&s, &config);
    assert_int_equal(sf_listener_port(s.listener, 1), 0);
    assert_int_not_equal(sf_listener_port(s.listener, 2), 0);
    assert_int_equal(sf_listener_port(s.listener, 3), 0);
    assert_int_equal(peer_ask(s.port, "GET", "/echo", SF_STR_NONE), 200);
    peer_stop(&s);
}

/* Sends the bytes and reads whatever comes until the end or a moment of silence. */
static void poke(uint16_t port, const char *p, size_t len)
{
    struct timeval moment = {.tv_usec = 30000};
    char drop[4096];
    int fd = peer_connect(port);

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof(moment));
    (void)peer_try_send(fd, p, len);
    while (recv(fd, drop, sizeof(drop), 0) > 0)
        ;
    (void)close(fd);
}

TEST(listener, serves_on_after_running_out_of_memory_at_any_point)
{
    static const char h1[] = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
                             "POST /refuse HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx";
    static const char h2[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
                             "\0\0\x0c\1\4\0\0\0\1\x83\x86\x04\x05/echo\x01\x01h"
                             "\0\0\2\0\1\0\0\0\1xy";
    struct peer_server s;

    peer_start(&s, NULL, NULL);
    for (uint64_t n = 1; n < 40; n++) {
        sf_heap_fail_after(n);
        poke(s.port, n % 2 ? h1 : h2, (n % 2 ? sizeof(h1) : sizeof(h2)) - 1);
        sf_heap_fail_after(0);
        assert_int_equal(peer_ask(s.port, "POST", "/echo", SF_STR("alive")), 200);
    }
    peer_wait_stats(&s, st, st.n_connections == 0 && st.bodies_len == 0);
    peer_stop(&s);
}

TEST(listener, fails_to_start_cleanly_when_memory_runs_out)
{
    struct sf_listen_address address = {.host = "127.0.0.1"};
    struct sf_listen_config config = {.addresses = &address, .n_addresses = 1, .n_loops = 2};
    struct sf_listener *l = NULL;

    for (uint64_t n = 1; n < 20; n++) {
        enum sf_err err;
        sf_heap_fail_after(n);
        err = sf_listener_start(&config, &l, NULL);
        sf_heap_fail_after(0);
        if (!err)
            break;
        assert_int_equal(err, SF_ERR_NOMEM);
        assert_null(l);
    }
    assert_non_null(l);
    sf_listener_drain(l, 0);
    sf_listener_free(l);
    sf_listener_free(NULL);
}
