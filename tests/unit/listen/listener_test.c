#include "listen/listener.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/heap.h"
#include "os/clock.h"
#include "peer.h"
#include "test.h"

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
    peer_expect(idle, &left, 200, "");
    late = peer_connect(s.port);
    peer_send(late, SF_STR("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"));
    /* A byte now and then is progress, but not for ever. */
    drip = peer_connect(s.port);
    peer_send(drip, SF_STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 90\r\n\r\n"));
    for (int i = 0; i < 15; i++) {
        (void)peer_try_send(drip, "x", 1);
        sf_clock_sleep_ms(100);
    }
    peer_expect(drip, &left, 408, NULL);
    sf_buf_reset(&left);
    assert_true(peer_is_closed(silent, 5000));
    peer_expect(slow_head, &left, 408, NULL);
    sf_buf_reset(&left);
    peer_expect(slow_body, &left, 408, NULL);
    sf_buf_reset(&left);
    assert_true(peer_is_closed(idle, 5000));
    peer_expect(late, &left, 504, NULL);
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
    peer_expect(c, &left, 503, NULL);
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
    peer_expect(idle, &left, 200, "");
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
