#include "listen/listener.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "peer.h"
#include "test.h"
#include "wire/inflate.h"

TEST(conn_h1, answers_on_one_connection_again_and_again)
{
    struct peer_server s;
    struct sf_buf left = {0};
    int fd;

    peer_start(&s, NULL, NULL);
    fd = peer_connect(s.port);
    for (int i = 0; i < 20; i++) {
        peer_send(fd, SF_STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"));
        peer_expect(fd, &left, 200, "abc");
        peer_send(fd, SF_STR("POST /later HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                             "2\r\nde\r\n1\r\nf\r\n0\r\n\r\n"));
        peer_expect(fd, &left, 200, "def");
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

TEST(conn_h1, answers_pipelined_requests_in_order)
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
        peer_expect(fd, &left, 200, want);
    }
    (void)close(fd);
    sf_buf_done(&left);
    sf_buf_done(&text);
    peer_stop(&s);
}

TEST(conn_h1, closes_when_asked_and_for_http_1_0)
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

TEST(conn_h1, says_continue_only_after_the_headers_were_accepted)
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
    peer_expect(fd, &left, 200, "ok");
    peer_send(fd, SF_STR("POST /refuse HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n"
                         "Expect: 100-continue\r\n\r\n"));
    peer_expect(fd, &left, 403, "no");
    assert_true(peer_is_closed(fd, 5000));
    (void)close(fd);
    peer_answer_done(&a);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(conn_h1, drops_a_short_refused_body_and_lives_on)
{
    struct peer_server s;
    struct sf_buf left = {0}, big = {0};
    int fd;

    peer_start(&s, NULL, NULL);
    fd = peer_connect(s.port);
    peer_send(fd, SF_STR("POST /refuse HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n"));
    peer_expect(fd, &left, 403, "no");
    peer_send(fd, SF_STR("bodyGET /echo HTTP/1.1\r\nHost: h\r\n\r\n"));
    peer_expect(fd, &left, 200, "");
    peer_send(fd, SF_STR("POST /refuse HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"));
    peer_expect(fd, &left, 403, "no");
    /* A long one ends the connection, but not before the answer can be read. */
    sf_buf_add_str(&big, SF_STR("POST /refuse HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n"
                                "\r\n"));
    memset(sf_buf_take(&big, 1000000), 'x', 1000000);
    peer_send(fd, sf_buf_str(&big));
    peer_expect(fd, &left, 403, "no");
    assert_true(peer_is_closed(fd, 5000));
    assert_int_equal(atomic_load(&s.n_requests), 1);
    (void)close(fd);
    sf_buf_done(&left);
    sf_buf_done(&big);
    peer_stop(&s);
}

TEST(conn_h1, answers_head_without_a_body)
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
    peer_expect(fd, &left, 200, "");
    (void)close(fd);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(conn_h1, compresses_answers_when_asked)
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

TEST(conn_h1, answers_garbage_with_a_status_and_the_end)
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
        peer_expect(fd, &left, cases[i].status, NULL);
        assert_true(peer_is_closed(fd, 5000));
        (void)close(fd);
    }
    assert_int_equal(peer_stats(&s).n_bad_framing, 5);
    assert_int_equal(atomic_load(&s.n_faults), 5);
    sf_buf_done(&left);
    peer_stop(&s);
}

/* A client that still sends when the refusal is on its way must be able to read it: bytes that
 * nobody reads make the kernel answer with a reset, which throws the answer away. */
static bool survives_sending_on(uint16_t port)
{
    static char rest[64 << 10];
    struct pollfd p = {.fd = peer_connect(port), .events = 0};
    struct sf_buf left = {0};
    bool is_reset;
    peer_send(p.fd, SF_STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nabc"));
    peer_expect(p.fd, &left, 413, NULL);
    is_reset = !peer_is_closed(p.fd, 2000); /* its side ends */
    for (int i = 0; i < 4 && !is_reset; i++) {
        is_reset = !peer_try_send(p.fd, rest, sizeof(rest)) ||
                   (poll(&p, 1, 20) > 0 && p.revents & POLLERR);
    }
    (void)close(p.fd);
    sf_buf_done(&left);
    return !is_reset;
}

TEST(conn_h1, reads_on_after_a_refusal_so_that_it_arrives)
{
    struct sf_listen_limits limits = {.body_len = 1000};
    struct peer_server s;
    bool is_well = false;
    peer_start(&s, &limits, NULL);
    /* It reads on for a second; a machine that was busy for longer gets further tries. */
    for (int i = 0; i < 3 && !is_well; i++)
        is_well = survives_sending_on(s.port);
    assert_true(is_well);
    peer_stop(&s);
}

TEST(conn_h1, refuses_bodies_over_the_limit)
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
    peer_expect(fd, &left, 413, NULL);
    (void)close(fd);
    fd = peer_connect(s.port);
    sf_buf_add_str(&text, SF_STR("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
                                 "\r\n"));
    for (int i = 0; i < 11; i++)
        sf_buf_print(&text, "64\r\n%0100d\r\n", i);
    peer_send(fd, sf_buf_str(&text));
    peer_expect(fd, &left, 413, NULL);
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
