/* Each attack runs while a well-behaved client asks and is answered; its 99th percentile is printed
 * beside the idle one, and memory is held to a bound. No timing is asserted. */
#include <arpa/inet.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/num.h"
#include "listen/listener.h"
#include "os/clock.h"
#include "peer.h"
#include "test.h"

enum { CALM = 11, /* ENHANCE_YOUR_CALM */ SAMPLES_MAX = 20000, RSS_BOUND = 128 << 20 };

struct witness { /* the well-behaved client */
    uint16_t port;
    struct sf_thread thread;
    atomic_bool is_over;
    unsigned n_asked, n_answered;
    int64_t *took_ns;
};

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double p99_ms(struct witness *w)
{
    if (!w->n_answered)
        return 0;
    qsort(w->took_ns, w->n_answered, sizeof(*w->took_ns), compare_ns);
    return (double)w->took_ns[w->n_answered - 1 - w->n_answered / 100] / 1e6;
}

static void run_witness(void *arg)
{
    struct witness *w = arg;
    int fd = peer_connect(w->port);
    struct sf_buf left = {0};
    struct peer_answer a = {0};
    struct peer_h2 *h = peer_h2_new(peer_connect(w->port));
    struct sf_buf message = {0};

    peer_grpc_frame(&message, 0, SF_STR("grpc"));
    /* At least once, however short the attack was. */
    while (!w->n_asked || (!atomic_load(&w->is_over) && w->n_asked < SAMPLES_MAX)) {
        int64_t from_ns = sf_clock_mono_ns();
        bool is_answered;
        w->n_asked++;
        if (w->n_asked % 2 || w->n_asked > 800) {
            is_answered = peer_try_send(
                fd, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi", 53);
            if (is_answered)
                peer_read_answer(fd, &left, &a, false);
            is_answered = is_answered && a.status == 200;
        } else {
            struct peer_h2_answer *b = peer_h2_wait(
                h, peer_h2_submit(h, "POST", "/echo", "application/grpc", NULL, NULL,
                                  sf_buf_bytes(&message)));
            is_answered = b && b->grpc_status == 0;
        }
        if (is_answered)
            w->took_ns[w->n_answered++] = sf_clock_mono_ns() - from_ns;
        sf_clock_sleep_ms(1);
    }
    peer_answer_done(&a);
    sf_buf_done(&left);
    sf_buf_done(&message);
    peer_h2_free(h);
    (void)close(fd);
}

static void witness_start(struct witness *w, uint16_t port)
{
    *w = (struct witness){.port = port};
    w->took_ns = sf_heap_new_n(SAMPLES_MAX, sizeof(*w->took_ns));
    assert_ok(sf_thread_start(&w->thread, "witness", 0, run_witness, w, NULL));
}

static double witness_stop(struct witness *w)
{
    double p99;

    atomic_store(&w->is_over, true);
    sf_thread_join(&w->thread);
    assert_true(w->n_asked > 0);
    assert_int_equal(w->n_answered, w->n_asked); /* every one */
    p99 = p99_ms(w);
    sf_heap_free(w->took_ns);
    return p99;
}

/* Runs `attack` several times over while the witness asks. */
static void under_attack(const char *name, const struct sf_listen_limits *limits,
                         void (*attack)(struct peer_server *s), unsigned n_rounds)
{
    struct peer_server s;
    struct witness w;
    double idle, attacked;
    size_t rss_len;

    peer_start(&s, limits, NULL);
    witness_start(&w, s.port);
    sf_clock_sleep_ms(200);
    idle = witness_stop(&w);
    witness_start(&w, s.port);
    for (unsigned i = 0; i < n_rounds; i++)
        attack(&s);
    rss_len = peer_rss_len();
    attacked = witness_stop(&w);
    print_message("# %s: p99 idle %.2f ms, attacked %.2f ms, resident %zu MiB\n", name, idle,
                  attacked, rss_len >> 20);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
    /* Sanitizers and valgrind have memory of their own. */
    if (!getenv("UNDER_VALGRIND"))
        assert_true(rss_len < RSS_BOUND);
#endif
    peer_wait_stats(&s, st, st.bodies_len == 0 && st.n_connections == 0);
    peer_stop(&s);
}

/* A request's head in HPACK: POST /echo, indexed where there is an index. */
static size_t hpack_post(uint8_t *out)
{
    static const uint8_t head[] = {0x83, 0x86, 0x04, 5, '/', 'e', 'c', 'h', 'o', 0x01, 1, 'h'};
    memcpy(out, head, sizeof(head));
    return sizeof(head);
}

static void expect_calm(struct peer_server *s, int fd, uint64_t n_before)
{
    assert_int_equal(peer_raw_goaway(fd, 10000), CALM);
    assert_true(peer_is_closed(fd, 10000));
    (void)close(fd);
    assert_true(peer_stats(s).n_floods > n_before);
}

static void rapid_reset(struct peer_server *s)
{
    uint64_t n_before = peer_stats(s).n_floods;
    int fd = peer_raw_h2(s->port);
    uint8_t head[32], code[4] = {0, 0, 0, 8};
    size_t len = hpack_post(head);

    for (uint32_t i = 0; i < 20000; i++) {
        if (!peer_raw_frame(fd, 1, 4, 1 + 2 * i, head, len) ||
            !peer_raw_frame(fd, 3, 0, 1 + 2 * i, code, 4))
            break;
    }
    expect_calm(s, fd, n_before);
}

/* The peer makes us do the resetting: a header that HTTP/2 forbids is an error of the stream. */
static void made_you_reset(struct peer_server *s)
{
    uint64_t n_before = peer_stats(s).n_floods;
    int fd = peer_raw_h2(s->port);
    uint8_t head[64];
    size_t len = hpack_post(head);

    memcpy(head + len,
           "\x00\x0a"
           "connection\x01x",
           14);
    for (uint32_t i = 0; i < 20000; i++) {
        if (!peer_raw_frame(fd, 1, 4, 1 + 2 * i, head, len + 14))
            break;
    }
    expect_calm(s, fd, n_before);
}

static void flood_frames(struct peer_server *s, uint8_t type, const void *p, size_t len)
{
    uint64_t n_before = peer_stats(s).n_floods;
    int fd = peer_raw_h2(s->port);

    for (int i = 0; i < 20000; i++) {
        if (!peer_raw_frame(fd, type, 0, 0, p, len))
            break;
    }
    expect_calm(s, fd, n_before);
}

static void settings_flood(struct peer_server *s)
{
    static const uint8_t one[6] = {0, 3, 0, 0, 0, 100};
    flood_frames(s, 4, one, sizeof(one));
}

static void ping_flood(struct peer_server *s)
{
    flood_frames(s, 6, "12345678", 8);
}

static void priority_flood(struct peer_server *s)
{
    uint64_t n_before = peer_stats(s).n_floods;
    int fd = peer_raw_h2(s->port);

    for (int i = 0; i < 20000; i++) {
        if (!peer_raw_frame(fd, 2, 0, 7, "\0\0\0\0\x10", 5))
            break;
    }
    expect_calm(s, fd, n_before);
}

static void empty_data_flood(struct peer_server *s)
{
    uint64_t n_before = peer_stats(s).n_floods;
    int fd = peer_raw_h2(s->port);
    uint8_t head[32];

    (void)peer_raw_frame(fd, 1, 4, 1, head, hpack_post(head));
    for (int i = 0; i < 20000; i++) {
        if (!peer_raw_frame(fd, 0, 0, 1, NULL, 0))
            break;
    }
    expect_calm(s, fd, n_before);
}

static void continuation_flood(struct peer_server *s)
{
    uint64_t n_before = peer_stats(s).n_floods;
    int fd = peer_raw_h2(s->port);
    uint8_t head[32];

    (void)peer_raw_frame(fd, 1, 0, 1, head, hpack_post(head));
    for (int i = 0; i < 20000; i++) {
        /* a: b, over and over, never the end */
        if (!peer_raw_frame(fd, 9, 0, 1,
                            "\x00\x01"
                            "a\x01"
                            "b",
                            5))
            break;
    }
    expect_calm(s, fd, n_before);
}

/* One byte on the wire becomes four thousand: a large entry of the table, named again and again. */
static void hpack_bomb(struct peer_server *s)
{
    uint64_t n_before = peer_stats(s).n_floods;
    int fd = peer_raw_h2(s->port);
    uint8_t *block = sf_heap_new(16384);
    size_t n = hpack_post(block);

    memcpy(block + n, "\x40\x01x\x7f", 4); /* x, with indexing, value of 3900 bytes */
    n += 4;
    block[n++] = (uint8_t)(((3900 - 127) & 0x7f) | 0x80);
    block[n++] = (3900 - 127) >> 7;
    memset(block + n, 'v', 3900);
    n += 3900;
    memset(block + n, 0xbe, 16384 - n); /* index 62: the newest entry */
    (void)peer_raw_frame(fd, 1, 4, 1, block, 16384);
    expect_calm(s, fd, n_before);
    sf_heap_free(block);
}

static void header_flood(struct peer_server *s)
{
    int fds[50];
    struct sf_buf text = {0}, left = {0};
    struct peer_answer a = {0};

    sf_buf_add_str(&text, SF_STR("GET / HTTP/1.1\r\nHost: h\r\n"));
    for (int i = 0; i < 2000; i++)
        sf_buf_print(&text, "x-header-%d: %0500d\r\n", i, i);
    for (int i = 0; i < 50; i++) {
        fds[i] = peer_connect(s->port);
        (void)peer_try_send(fds[i], text.p, text.len);
        sf_buf_reset(&left);
        peer_read_answer(fds[i], &left, &a, false);
        assert_int_equal(a.status, 431);
        (void)close(fds[i]);
    }
    peer_answer_done(&a);
    sf_buf_done(&text);
    sf_buf_done(&left);
}

/* Window games: answers that can never leave, because the window is nothing or one byte at a
 * time. */
static void window_games(struct peer_server *s)
{
    static const uint8_t nothing[6] = {0, 4, 0, 0, 0, 0};
    static const uint8_t big[] = {0x82, 0x86, 0x04, 11,  '/', 'b', 'i',  'g', '?',
                                  '2',  '0',  '0',  '0', '0', '0', 0x01, 1,   'h'};
    uint64_t n_timeouts = peer_stats(s).n_timeouts;
    int fds[20];

    for (int i = 0; i < 20; i++) {
        fds[i] = peer_raw_h2(s->port);
        (void)peer_raw_frame(fds[i], 4, 0, 0, nothing, sizeof(nothing));
        for (uint32_t k = 0; k < 50; k++)
            (void)peer_raw_frame(fds[i], 1, 5, 1 + 2 * k, big, sizeof(big));
    }
    peer_wait_stats(s, st, st.n_timeouts >= n_timeouts + 20);
    for (int i = 0; i < 20; i++)
        (void)close(fds[i]);
}

static void window_drip(struct peer_server *s)
{
    static const uint8_t nothing[6] = {0, 4, 0, 0, 0, 0}, one[4] = {0, 0, 0, 1};
    static const uint8_t big[] = {0x82, 0x86, 0x04, 11,  '/', 'b', 'i',  'g', '?',
                                  '2',  '0',  '0',  '0', '0', '0', 0x01, 1,   'h'};
    uint64_t n_before = peer_stats(s).n_floods;
    int fd = peer_raw_h2(s->port);

    (void)peer_raw_frame(fd, 4, 0, 0, nothing, sizeof(nothing));
    (void)peer_raw_frame(fd, 1, 5, 1, big, sizeof(big));
    for (int i = 0; i < 20000; i++) {
        if (!peer_raw_frame(fd, 8, 0, 1, one, 4))
            break;
    }
    expect_calm(s, fd, n_before);
}

static void half_open(struct peer_server *s)
{
    int fds[200];

    for (int i = 0; i < 200; i++) {
        fds[i] = peer_connect(s->port);
        if (i % 3 == 0)
            (void)peer_try_send(fds[i], "POST /echo HTTP/1.1\r\nHo", 23);
        if (i % 3 == 1)
            (void)peer_try_send(fds[i], "PRI * HTTP/2", 12);
    }
    for (int i = 0; i < 200; i++) {
        assert_true(peer_is_closed(fds[i], 10000));
        (void)close(fds[i]);
    }
}

static unsigned refused_in(sf_bytes got)
{
    static const uint8_t reset[] = {0, 0, 4, 3, 0};
    unsigned n = 0;

    for (size_t at = 0; at + 13 <= got.len;) {
        size_t len = (size_t)got.p[at] << 16 | (size_t)got.p[at + 1] << 8 | got.p[at + 2];
        n += memcmp(got.p + at, reset, sizeof(reset)) == 0 && got.p[at + 12] == 7;
        at += 9 + len;
    }
    return n;
}

/* Streams that the server refuses unread (REFUSED_STREAM) are so many. */
static void expect_refused(int fd, unsigned want)
{
    struct sf_buf got = {0};
    struct pollfd p = {fd, POLLIN, 0};
    uint8_t piece[4096];

    while (poll(&p, 1, refused_in(sf_buf_bytes(&got)) < want ? 20000 : 50) > 0) {
        ssize_t len = read(fd, piece, sizeof(piece));
        if (len <= 0)
            break;
        sf_buf_add(&got, piece, (size_t)len);
    }
    assert_int_equal(refused_in(sf_buf_bytes(&got)), want);
    sf_buf_done(&got);
}

/* Requests whose body never comes: 25,600 of them took 100 MiB. */
TEST(flood, of_requests_that_never_end_is_refused_beyond_one_a_connection)
{
    struct sf_listen_limits limits = {.requests = 60};
    struct peer_server s;
    int fds[4];
    static const unsigned want[4] = {0, 20, 39, 39}; /* the first of each is taken */
    uint8_t head[32];

    peer_start(&s, &limits, NULL);
    for (int i = 0; i < 4; i++) {
        fds[i] = peer_raw_h2(s.port);
        for (uint32_t k = 0; k < 40; k++)
            assert_true(peer_raw_frame(fds[i], 1, 4, 1 + 2 * k, head, hpack_post(head)));
        expect_refused(fds[i], want[i]);
    }
    (void)close(fds[0]);
    peer_wait_stats(&s, st, st.n_connections == 3);
    for (uint32_t k = 40; k < 100; k++) /* what they held is there for others */
        assert_true(peer_raw_frame(fds[3], 1, 4, 1 + 2 * k, head, hpack_post(head)));
    expect_refused(fds[3], 22);
    for (int i = 1; i < 4; i++)
        (void)close(fds[i]);
    peer_wait_stats(&s, st, st.n_connections == 0);
    peer_stop(&s);
}

TEST(flood, of_resets_ends_the_connection_and_nothing_else)
{
    under_attack("rapid reset", NULL, rapid_reset, 2);
    under_attack("made you reset", NULL, made_you_reset, 2);
}

TEST(flood, of_control_frames_ends_the_connection_and_nothing_else)
{
    under_attack("settings flood", NULL, settings_flood, 2);
    under_attack("ping flood", NULL, ping_flood, 2);
    under_attack("priority flood", NULL, priority_flood, 2);
    under_attack("empty data", NULL, empty_data_flood, 2);
}

TEST(flood, of_headers_ends_the_connection_and_nothing_else)
{
    under_attack("header flood", NULL, header_flood, 2);
    under_attack("continuation flood", NULL, continuation_flood, 2);
    under_attack("hpack bomb", NULL, hpack_bomb, 2);
}

TEST(flood, of_windows_ends_the_connection_and_nothing_else)
{
    struct sf_listen_limits limits = {.body_timeout_ms = 300};

    under_attack("window games", &limits, window_games, 1);
    under_attack("window drip", NULL, window_drip, 2);
}

TEST(flood, of_half_open_connections_is_cleared_away)
{
    struct sf_listen_limits limits = {.header_timeout_ms = 300};

    under_attack("half open", &limits, half_open, 2);
}

TEST(flood, does_not_mean_a_client_that_pings_for_its_life)
{
    struct peer_server s;
    int fd;
    uint8_t head[32];

    peer_start(&s, NULL, NULL);
    fd = peer_raw_h2(s.port);
    /* A hundred a second for a while: far more than any keepalive. */
    for (int i = 0; i < 50; i++) {
        assert_true(peer_raw_frame(fd, 6, 0, 0, "12345678", 8));
        sf_clock_sleep_ms(5);
    }
    assert_true(peer_raw_frame(fd, 1, 5, 1, head, hpack_post(head)));
    peer_wait_stats(&s, st, st.n_requests_h2 == 1);
    assert_int_equal(peer_stats(&s).n_floods, 0);
    (void)close(fd);
    peer_stop(&s);
}
