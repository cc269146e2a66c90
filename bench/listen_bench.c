/* listen_bench.c - what does a request cost on its way from the socket to the application and back?
 *
 * The same bytes go through the listener (HTTP/1.1 one at a time on a kept connection; HTTP/2 in
 * batches of 32 streams) and through a thread that only reads and writes them on a socket pair. CPU
 * is the process's without the client's thread. Prints `name value unit` for the fastest of the
 * runs and the spread over all of them in percent; the ratio is ours over the bare one. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "listen/listener.h"
#include "os/clock.h"
#include "os/thread.h"

enum { N_RUNS = 5, RUN_MS = 300, BATCH = 32, ANSWER_LEN = 16 };

struct cost { /* per request, over the runs */
    double best_us, worst_us, best_rate;
};

static void die(const char *what)
{
    fprintf(stderr, "listen_bench: %s\n", what);
    exit(1);
}

static int64_t thread_cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void note(struct cost *c, int64_t cpu_ns, int64_t took_ns, uint64_t n)
{
    double us = (double)cpu_ns / 1e3 / (double)n;
    double rate = (double)n * 1e9 / (double)took_ns;

    if (c->best_us == 0 || us < c->best_us)
        c->best_us = us;
    if (us > c->worst_us)
        c->worst_us = us;
    if (rate > c->best_rate)
        c->best_rate = rate;
}

static void print_cost(const char *name, size_t body_len, const struct cost *c)
{
    printf("%s_%zu %.2f us_cpu_per_request (spread %.0f %%), %.0f per_s\n", name, body_len,
           c->best_us, (c->worst_us - c->best_us) * 100 / c->best_us, c->best_rate);
}

static void send_all(int fd, const void *p, size_t len)
{
    const char *at = p;

    while (len) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n <= 0)
            die("send failed");
        at += n;
        len -= (size_t)n;
    }
}

static void read_all(int fd, void *p, size_t len)
{
    char *at = p;

    while (len) {
        ssize_t n = read(fd, at, len);
        if (n <= 0)
            die("read failed");
        at += n;
        len -= (size_t)n;
    }
}

/* --- the bare loop --- */

struct bare {
    int fd;
    size_t in_len, out_len;
};

static void run_bare(void *arg)
{
    struct bare *b = arg;
    static char buf[65536];
    size_t got = 0;
    ssize_t n;

    while ((n = read(b->fd, buf, sizeof(buf))) > 0) {
        got += (size_t)n;
        while (got >= b->in_len) {
            got -= b->in_len;
            send_all(b->fd, buf, b->out_len);
        }
    }
}

static void measure_bare(struct cost *c, const struct sf_buf *in, size_t out_len, uint64_t n_each)
{
    int fds[2];
    struct sf_thread thread;
    struct bare b = {.in_len = in->len, .out_len = out_len};
    static char answer[65536];
    uint64_t n = 0;
    int64_t from_ns, cpu_ns;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) || out_len > sizeof(answer))
        die("no socket pair");
    b.fd = fds[1];
    if (sf_thread_start(&thread, "bare", 0, run_bare, &b, NULL))
        die("no thread");
    from_ns = sf_clock_mono_ns();
    cpu_ns = sf_clock_cpu_ns() - thread_cpu_ns();
    while (sf_clock_mono_ns() - from_ns < RUN_MS * 1000000ll) {
        send_all(fds[0], in->p, in->len);
        read_all(fds[0], answer, out_len);
        n += n_each;
    }
    note(c, sf_clock_cpu_ns() - thread_cpu_ns() - cpu_ns, sf_clock_mono_ns() - from_ns, n);
    (void)close(fds[0]);
    sf_thread_join(&thread);
    (void)close(fds[1]);
}

/* --- the listener --- */

static void on_request(void *arg, struct sf_exchange *ex)
{
    struct sf_response *r = sf_exchange_response(ex);

    (void)arg;
    r->status = 200;
    r->content_type = "application/x-protobuf";
    sf_buf_add_str(&r->body, SF_STR("0123456789abcdef"));
    sf_exchange_finish(ex);
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
        die("cannot connect");
    return fd;
}

static void make_h1(struct sf_buf *out, size_t body_len)
{
    sf_buf_reset(out);
    sf_buf_print(out,
                 "POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1:4318\r\n"
                 "User-Agent: OTel-OTLP-Exporter-Go/1.30.0\r\n"
                 "Content-Type: application/x-protobuf\r\nContent-Length: %zu\r\n\r\n",
                 body_len);
    memset(sf_buf_take(out, body_len), 'x', body_len);
}

/* All answers are of one length, because all are the same but for the date. */
static size_t h1_answer_len(int fd, const struct sf_buf *in)
{
    char buf[4096];
    size_t len = 0;

    send_all(fd, in->p, in->len);
    while (len < ANSWER_LEN ||
           memcmp(buf + len - ANSWER_LEN, "0123456789abcdef", ANSWER_LEN) != 0) {
        ssize_t n = read(fd, buf + len, sizeof(buf) - len);
        if (n <= 0)
            die("no answer");
        len += (size_t)n;
    }
    return len;
}

static void measure_h1(struct cost *c, int fd, const struct sf_buf *in, size_t out_len)
{
    char answer[4096];
    uint64_t n = 0;
    int64_t from_ns = sf_clock_mono_ns();
    int64_t cpu_ns = sf_clock_cpu_ns() - thread_cpu_ns();

    while (sf_clock_mono_ns() - from_ns < RUN_MS * 1000000ll) {
        send_all(fd, in->p, in->len);
        read_all(fd, answer, out_len);
        n++;
    }
    note(c, sf_clock_cpu_ns() - thread_cpu_ns() - cpu_ns, sf_clock_mono_ns() - from_ns, n);
}

static void put_frame(struct sf_buf *out, uint8_t type, uint8_t flags, uint32_t stream,
                      const void *p, size_t len)
{
    uint8_t head[9] = {(uint8_t)(len >> 16),
                       (uint8_t)(len >> 8),
                       (uint8_t)len,
                       type,
                       flags,
                       (uint8_t)(stream >> 24),
                       (uint8_t)(stream >> 16),
                       (uint8_t)(stream >> 8),
                       (uint8_t)stream};

    sf_buf_add(out, head, sizeof(head));
    sf_buf_add(out, p, len);
}

static void make_h2(struct sf_buf *out, uint32_t *next_stream, size_t body_len)
{
    /* POST /v1/traces at h, x-protobuf: literals, so that every batch has the same length. */
    static const char head[] = "\x83\x86\x04\x0a/v1/traces\x01\x01h\x0f\x10\x16"
                               "application/x-protobuf";
    static char body[16384];

    sf_buf_reset(out);
    for (int i = 0; i < BATCH; i++) {
        put_frame(out, 1, 4, *next_stream, head, sizeof(head) - 1);
        for (size_t at = 0; at < body_len; at += sizeof(body)) {
            size_t n = body_len - at < sizeof(body) ? body_len - at : sizeof(body);
            put_frame(out, 0, at + n == body_len, *next_stream, body, n);
        }
        *next_stream += 2;
    }
}

struct h2_reader {
    uint8_t head[9];
    size_t n_head, left;
    size_t all_len;
};

/* Reads until `n` streams have ended. */
static void read_ends(int fd, struct h2_reader *r, unsigned n)
{
    static uint8_t buf[65536];

    while (n) {
        ssize_t got = read(fd, buf, sizeof(buf));
        size_t at = 0;
        if (got <= 0)
            die("the connection ended");
        r->all_len += (size_t)got;
        while (at < (size_t)got) {
            if (r->left) {
                size_t skip = r->left < (size_t)got - at ? r->left : (size_t)got - at;
                r->left -= skip;
                at += skip;
                continue;
            }
            r->head[r->n_head++] = buf[at++];
            if (r->n_head < 9)
                continue;
            r->n_head = 0;
            r->left = (size_t)r->head[0] << 16 | (size_t)r->head[1] << 8 | r->head[2];
            if (r->head[3] <= 1 && (r->head[4] & 1))
                n--;
            if (r->head[3] == 7)
                die("GOAWAY");
        }
    }
}

static void measure_h2(struct cost *c, uint16_t port, size_t body_len, size_t *out_len)
{
    int fd = connect_to(port);
    struct h2_reader r = {.n_head = 0};
    struct sf_buf in = {0};
    uint32_t stream = 1;
    uint64_t n = 0;
    int64_t from_ns, cpu_ns;

    /* Our windows as large as they can be, so that no batch waits for them. */
    send_all(fd,
             "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\6\4\0\0\0\0\0\0\4\x7f\xff\xff\xff"
             "\0\0\4\x08\0\0\0\0\0\x7f\0\0\0",
             24 + 15 + 13);
    for (int i = 0; i < 2; i++) { /* the second tells the usual length of answers */
        r.all_len = 0;
        make_h2(&in, &stream, body_len);
        send_all(fd, in.p, in.len);
        read_ends(fd, &r, BATCH);
    }
    *out_len = r.all_len;
    from_ns = sf_clock_mono_ns();
    cpu_ns = sf_clock_cpu_ns() - thread_cpu_ns();
    while (sf_clock_mono_ns() - from_ns < RUN_MS * 1000000ll) {
        make_h2(&in, &stream, body_len);
        send_all(fd, in.p, in.len);
        read_ends(fd, &r, BATCH);
        n += BATCH;
    }
    note(c, sf_clock_cpu_ns() - thread_cpu_ns() - cpu_ns, sf_clock_mono_ns() - from_ns, n);
    sf_buf_done(&in);
    (void)close(fd);
}

int main(void)
{
    static const size_t sizes[] = {100, 4000, 60000};
    struct sf_listen_address address = {.host = "127.0.0.1"};
    struct sf_listen_config config = {.addresses = &address,
                                      .n_addresses = 1,
                                      .n_loops = 1,
                                      .spool_path = "/tmp",
                                      .hooks = {.on_request = on_request}};
    struct sf_listener *l = NULL;
    struct sf_why why = {""};

    if (sf_listener_start(&config, &l, &why))
        die(why.text);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct cost h1 = {0}, h1_bare = {0}, h2 = {0}, h2_bare = {0};
        struct sf_buf in = {0}, batch = {0};
        int fd = connect_to(sf_listener_port(l, 0));
        uint32_t stream = 1;
        size_t out_len = 0, h1_len;

        make_h1(&in, sizes[i]);
        make_h2(&batch, &stream, sizes[i]);
        h1_len = h1_answer_len(fd, &in);
        for (int run = 0; run < N_RUNS; run++) {
            measure_h1(&h1, fd, &in, h1_len);
            measure_bare(&h1_bare, &in, h1_len, 1);
            measure_h2(&h2, sf_listener_port(l, 0), sizes[i], &out_len);
            measure_bare(&h2_bare, &batch, out_len < 65536 ? out_len : 65536, BATCH);
        }
        print_cost("h1", sizes[i], &h1);
        print_cost("h1_bare", sizes[i], &h1_bare);
        printf("h1_ratio_%zu %.2f x\n", sizes[i], h1.best_us / h1_bare.best_us);
        print_cost("h2", sizes[i], &h2);
        print_cost("h2_bare", sizes[i], &h2_bare);
        printf("h2_ratio_%zu %.2f x\n", sizes[i], h2.best_us / h2_bare.best_us);
        (void)close(fd);
        sf_buf_done(&in);
        sf_buf_done(&batch);
    }
    sf_listener_drain(l, 1000);
    sf_listener_free(l);
    return 0;
}
