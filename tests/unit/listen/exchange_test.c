#include "listen/listener.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/clock.h"
#include "peer.h"
#include "test.h"
#include "wire/inflate.h"

TEST(exchange, streams_long_answers_no_faster_than_they_are_read)
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
    peer_expect(fd, &left, 200, "");
    peer_answer_done(&a);
    (void)close(fd);
    sf_buf_done(&left);
    peer_stop(&s);
}

/* The application's thread has ended, and nobody has read its answer. */
static void wait_for_jobs(struct peer_server *s)
{
    unsigned n = 1;
    for (int i = 0; i < 3000 && n; i++) {
        sf_clock_sleep_ms(10);
        sf_mutex_lock(&s->mutex);
        n = (unsigned)s->n_threads;
        sf_mutex_unlock(&s->mutex);
    }
    assert_int_equal(n, 0);
}

enum { N_PIECES = 400000 };

static void check_pieces(sf_str body)
{
    char want[64];
    size_t len = strlen("piece 000000 of a long answer");
    assert_int_equal(body.len, N_PIECES * len);
    for (size_t i = 0; i < N_PIECES; i += 997) {
        (void)snprintf(want, sizeof(want), "piece %06zu of a long answer", i);
        assert_memory_equal(body.p + i * len, want, len);
    }
}

TEST(exchange, holds_no_thread_for_a_client_that_does_not_read)
{
    struct peer_server s;
    struct sf_buf left = {0};
    struct peer_answer a = {0};
    struct peer_h2 *h;
    struct peer_h2_answer *b;
    int32_t stream;
    int fd;

    peer_start(&s, NULL, NULL);
    fd = peer_connect(s.port);
    peer_send(fd, SF_STR("GET /stream?400000 HTTP/1.1\r\nHost: h\r\n\r\n"));
    wait_for_jobs(&s);
    peer_read_answer(fd, &left, &a, false);
    check_pieces(sf_buf_str(&a.body));
    peer_send(fd, SF_STR("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n"));
    peer_expect(fd, &left, 200, "");
    (void)close(fd);
    h = peer_h2_new(peer_connect(s.port));
    stream = peer_h2_submit(h, "GET", "/stream?400000", NULL, NULL, NULL, SF_BYTES_NONE);
    (void)peer_h2_run(h, 50);
    wait_for_jobs(&s);
    b = peer_h2_wait(h, stream);
    assert_non_null(b);
    check_pieces(sf_buf_str(&b->body));
    peer_h2_free(h);
    peer_answer_done(&a);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(exchange, compresses_what_it_streams)
{
    struct peer_server s;
    struct sf_buf left = {0}, plain = {0};
    struct peer_answer a = {0};
    struct sf_inflate *z = sf_inflate_new();
    size_t at;
    int fd;

    peer_start(&s, NULL, NULL);
    fd = peer_connect(s.port);
    peer_send(fd,
              SF_STR("GET /packed?400000 HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n"));
    peer_read_answer(fd, &left, &a, false);
    assert_true(sf_str_find(sf_buf_str(&a.head), SF_STR("content-encoding: gzip\r\n"), &at));
    assert_true(a.body.len < 3000000);
    assert_ok(sf_inflate_bytes(z, SF_INFLATE_GZIP, sf_buf_bytes(&a.body), 1 << 25, &plain, NULL));
    check_pieces(sf_buf_str(&plain));
    peer_send(fd, SF_STR("GET /packed?400000 HTTP/1.1\r\nHost: h\r\n\r\n")); /* did not ask */
    peer_read_answer(fd, &left, &a, false);
    assert_false(sf_str_find(sf_buf_str(&a.head), SF_STR("content-encoding"), &at));
    check_pieces(sf_buf_str(&a.body));
    (void)close(fd);
    sf_inflate_free(z);
    sf_buf_done(&plain);
    peer_answer_done(&a);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(exchange, tells_a_streaming_application_that_its_client_left)
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

TEST(exchange, cancels_requests_whose_client_left)
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

TEST(exchange, spools_long_bodies_and_gives_them_back_whole)
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

TEST(exchange, answers_503_when_it_cannot_spool)
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

TEST(exchange, stops_reading_while_bodies_fill_their_memory_and_goes_on_after)
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
        peer_expect(fds[i], &left, 200, i < 2 ? "released" : "ok");
        (void)close(fds[i]);
    }
    peer_wait_stats(&s, st, st.bodies_len == 0);
    sf_buf_done(&text);
    sf_buf_done(&left);
    peer_stop(&s);
}

TEST(exchange, never_lets_half_sent_bodies_wait_for_each_other)
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
