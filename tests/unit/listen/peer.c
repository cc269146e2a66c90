#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/num.h"
#include "os/clock.h"
#include "os/file.h"
#include "test.h"

/* --- the application --- */

static void answer_echo(struct sf_exchange *ex)
{
    const struct sf_exchange_body *body = sf_exchange_body(ex);
    struct sf_response *r = sf_exchange_response(ex);
    uint8_t *to = sf_buf_take(&r->body, (size_t)body->len);
    size_t n = 0;

    r->status = 200;
    r->content_type = "application/octet-stream";
    if (to && (sf_exchange_body_read(ex, 0, to, (size_t)body->len, &n, NULL) || n != body->len))
        r->status = 500;
    sf_exchange_finish(ex);
}

struct job {
    struct peer_server *server;
    struct sf_exchange *ex;
};

static void job_over(struct peer_server *s)
{
    sf_mutex_lock(&s->mutex);
    s->n_threads--;
    sf_condvar_wake_all(&s->changed);
    sf_mutex_unlock(&s->mutex);
}

static void run_later(void *arg)
{
    struct job job = *(struct job *)arg;

    sf_heap_free(arg);
    sf_clock_sleep_ms(5);
    answer_echo(job.ex);
    job_over(job.server);
}

static void run_stream(void *arg)
{
    struct job job = *(struct job *)arg;
    struct sf_response *r = sf_exchange_response(job.ex);
    struct sf_buf piece = {0};
    uint64_t n = 0;

    sf_heap_free(arg);
    (void)sf_str_to_u64(sf_exchange_request(job.ex)->query, &n);
    r->status = 200;
    if (sf_str_eq(sf_exchange_request(job.ex)->path, SF_STR("/packed")))
        sf_exchange_stream_gzip(job.ex);
    for (uint64_t i = 0; i < n; i++) {
        enum sf_err err;
        sf_buf_reset(&piece);
        sf_buf_print(&piece, "piece %06llu of a long answer", (unsigned long long)i);
        while ((err = sf_exchange_stream(job.ex, &piece, NULL)) == SF_ERR_BUSY)
            (void)sf_exchange_stream_wait(job.ex, sf_clock_mono_ns() + 10000000);
        if (err == SF_ERR_CANCELLED) {
            atomic_fetch_add(&job.server->n_cancelled, 1);
            break;
        }
    }
    sf_buf_done(&piece);
    sf_exchange_finish(job.ex);
    job_over(job.server);
}

static void start_job(struct peer_server *s, struct sf_exchange *ex, void (*run)(void *arg))
{
    struct job *job = sf_heap_new(sizeof(*job));
    struct sf_thread thread;

    *job = (struct job){s, ex};
    sf_mutex_lock(&s->mutex);
    s->n_threads++;
    sf_mutex_unlock(&s->mutex);
    if (sf_thread_start(&thread, "job", 0, run, job, NULL))
        abort();
    pthread_detach(thread.handle);
}

static bool on_headers(void *arg, struct sf_exchange *ex)
{
    struct sf_response *r = sf_exchange_response(ex);

    (void)arg;
    if (!sf_str_eq(sf_exchange_request(ex)->path, SF_STR("/refuse")))
        return true;
    r->status = 403;
    r->grpc_status = SF_GRPC_PERMISSION_DENIED;
    sf_buf_add_str(&r->body, SF_STR("no"));
    return false;
}

static void on_request(void *arg, struct sf_exchange *ex)
{
    struct peer_server *s = arg;
    const struct sf_request *q = sf_exchange_request(ex);
    struct sf_response *r = sf_exchange_response(ex);
    uint64_t n = 0;

    atomic_fetch_add(&s->n_requests, 1);
    if (sf_exchange_body(ex)->is_spooled)
        atomic_fetch_add(&s->n_spooled, 1);
    if (sf_str_eq(q->path, SF_STR("/later"))) {
        start_job(s, ex, run_later);
    } else if (sf_str_eq(q->path, SF_STR("/stream")) || sf_str_eq(q->path, SF_STR("/packed"))) {
        start_job(s, ex, run_stream);
    } else if (sf_str_eq(q->path, SF_STR("/hold"))) {
        sf_mutex_lock(&s->mutex);
        assert_true(s->n_held < 64);
        s->held[s->n_held++] = ex;
        sf_condvar_wake_all(&s->changed);
        sf_mutex_unlock(&s->mutex);
    } else if (sf_str_eq(q->path, SF_STR("/big"))) {
        r->status = 200;
        (void)sf_str_to_u64(q->query, &n);
        memset(sf_buf_take(&r->body, (size_t)n), 'b', (size_t)n);
        sf_exchange_finish(ex);
    } else if (sf_str_eq(q->path, SF_STR("/coding"))) {
        r->status = 200;
        sf_buf_print(&r->body, "%d", (int)q->coding);
        sf_exchange_finish(ex);
    } else if (sf_str_eq(q->path, SF_STR("/cert"))) {
        r->status = 200;
        sf_buf_print(&r->body, "%s\n", q->is_tls && q->has_client_cert ? "yes" : "no");
        sf_exchange_finish(ex);
    } else if (sf_str_eq(q->path, SF_STR("/busy"))) {
        r->status = 503;
        r->grpc_status = SF_GRPC_UNAVAILABLE;
        memcpy(r->grpc_message, "b\xc3\xbcsy", 6);
        r->retry_after_s = 3;
        sf_exchange_finish(ex);
    } else {
        answer_echo(ex);
    }
}

static void on_fault(void *arg, enum sf_listen_fault kind, const char *reason, const char *peer)
{
    struct peer_server *s = arg;

    (void)kind;
    (void)peer;
    atomic_fetch_add(&s->n_faults, 1);
    sf_mutex_lock(&s->mutex);
    (void)snprintf(s->fault, sizeof(s->fault), "%s", reason);
    sf_mutex_unlock(&s->mutex);
}

void peer_start_with(struct peer_server *s, struct sf_listen_config *config)
{
    struct sf_why why = {""};

    (void)signal(SIGPIPE, SIG_IGN);
    *s = (struct peer_server){0};
    sf_mutex_init(&s->mutex, SF_LOCK_APART);
    sf_condvar_init(&s->changed);
    config->hooks = (struct sf_listen_hooks){
        .on_headers = on_headers, .on_request = on_request, .on_fault = on_fault, .arg = s};
    if (sf_listener_start(config, &s->listener, &why))
        fail_msg("%s", why.text);
    s->port = sf_listener_port(s->listener, 0);
    assert_int_not_equal(s->port, 0);
}

void peer_start(struct peer_server *s, const struct sf_listen_limits *limits,
                const struct sf_listen_tls *tls)
{
    struct sf_listen_address address = {.host = "127.0.0.1", .tls = tls};
    struct sf_listen_config config = {
        .addresses = &address, .n_addresses = 1, .n_loops = 2, .spool_path = "/tmp"};

    if (limits)
        config.limits = *limits;
    peer_start_with(s, &config);
}

void peer_release(struct peer_server *s)
{
    struct sf_exchange *ex;

    do {
        sf_mutex_lock(&s->mutex);
        ex = s->n_held ? s->held[--s->n_held] : NULL;
        sf_mutex_unlock(&s->mutex);
        if (ex) {
            if (atomic_load(sf_exchange_cancel(ex)))
                atomic_fetch_add(&s->n_cancelled, 1);
            sf_exchange_response(ex)->status = 200;
            sf_buf_add_str(&sf_exchange_response(ex)->body, SF_STR("released"));
            sf_exchange_finish(ex);
        }
    } while (ex);
}

void peer_wait_held(struct peer_server *s, unsigned n)
{
    int64_t until_ns = sf_clock_mono_ns() + 5 * 1000000000ll;
    unsigned n_held;

    sf_mutex_lock(&s->mutex);
    while (s->n_held < n && sf_condvar_wait_until(&s->changed, &s->mutex, until_ns))
        ;
    n_held = s->n_held;
    sf_mutex_unlock(&s->mutex);
    assert_int_equal(n_held, n);
}

void peer_stop(struct peer_server *s)
{
    peer_release(s);
    sf_listener_drain(s->listener, 0);
    sf_mutex_lock(&s->mutex);
    while (s->n_threads)
        sf_condvar_wait(&s->changed, &s->mutex);
    sf_mutex_unlock(&s->mutex);
    sf_listener_free(s->listener);
    sf_mutex_done(&s->mutex);
    sf_condvar_done(&s->changed);
}

struct sf_listen_stats peer_stats(struct peer_server *s)
{
    struct sf_listen_stats stats;
    sf_listener_stats(s->listener, &stats);
    return stats;
}

/* --- sockets --- */

int peer_connect(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct timeval limit = {.tv_sec = 20};
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
        fail_msg("connect: %s", strerror(errno));
    return fd;
}

bool peer_try_send(int fd, const void *p, size_t len)
{
    const char *at = p;

    while (len) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

void peer_send(int fd, sf_str bytes)
{
    if (!peer_try_send(fd, bytes.p, bytes.len))
        fail_msg("send: %s", strerror(errno));
}

static bool read_more(int fd, struct sf_buf *left)
{
    uint8_t *to = sf_buf_take(left, 65536);
    ssize_t n = recv(fd, to, 65536, 0);

    left->len -= 65536;
    if (n > 0)
        left->len += (size_t)n;
    return n > 0;
}

static void drop_front(struct sf_buf *b, size_t n)
{
    memmove(b->p, b->p + n, b->len - n);
    b->len -= n;
}

static bool read_len(int fd, struct sf_buf *left, struct sf_buf *out, size_t n)
{
    while (left->len < n) {
        if (!read_more(fd, left))
            return false;
    }
    sf_buf_add(out, left->p, n);
    drop_front(left, n);
    return true;
}

static bool read_until(int fd, struct sf_buf *left, sf_str mark, struct sf_buf *out)
{
    size_t at;

    while (!left->len || !sf_str_find(sf_buf_str(left), mark, &at)) {
        if (!read_more(fd, left))
            return false;
    }
    return read_len(fd, left, out, at + mark.len);
}

static bool read_chunks(int fd, struct sf_buf *left, struct sf_buf *body)
{
    struct sf_buf line = {0};
    unsigned long n = 1;

    while (n) {
        sf_buf_reset(&line);
        if (!read_until(fd, left, SF_STR("\r\n"), &line))
            break;
        sf_buf_add_u8(&line, 0);
        n = strtoul((const char *)line.p, NULL, 16);
        if (!read_len(fd, left, body, n))
            break;
        sf_buf_reset(&line);
        (void)read_until(fd, left, SF_STR("\r\n"), &line);
    }
    sf_buf_done(&line);
    return n == 0;
}

static bool has_line(const struct sf_buf *head, const char *line)
{
    size_t at;
    return sf_str_find(sf_buf_str(head), sf_str_from(line), &at);
}

void peer_read_answer(int fd, struct sf_buf *left, struct peer_answer *out, bool is_head)
{
    size_t at;
    uint64_t len = 0;

    peer_answer_done(out);
    if (!read_until(fd, left, SF_STR("\r\n\r\n"), &out->head))
        return;
    out->status = atoi((const char *)out->head.p + 9);
    out->closes = has_line(&out->head, "connection: close\r\n");
    if (is_head || out->status == 204 || out->status == 304 || out->status == 100)
        return;
    if (has_line(&out->head, "transfer-encoding: chunked\r\n")) {
        assert_true(read_chunks(fd, left, &out->body));
    } else if (sf_str_find(sf_buf_str(&out->head), SF_STR("content-length: "), &at)) {
        len = strtoull((const char *)out->head.p + at + 16, NULL, 10);
        assert_true(read_len(fd, left, &out->body, len));
    } else {
        while (read_more(fd, left))
            ;
        (void)read_len(fd, left, &out->body, left->len);
    }
}

void peer_answer_done(struct peer_answer *a)
{
    sf_buf_done(&a->head);
    sf_buf_done(&a->body);
    *a = (struct peer_answer){0};
}

bool peer_is_closed(int fd, unsigned timeout_ms)
{
    int64_t until_ns = sf_clock_mono_ns() + (int64_t)timeout_ms * 1000000;
    char drop[4096];

    for (;;) {
        int64_t left_ns = until_ns - sf_clock_mono_ns();
        struct pollfd p = {fd, POLLIN, 0};
        ssize_t n;
        if (left_ns <= 0 || poll(&p, 1, (int)(left_ns / 1000000) + 1) <= 0)
            return false;
        n = recv(fd, drop, sizeof(drop), 0);
        if (n <= 0)
            return true;
    }
}

int peer_ask(uint16_t port, const char *method, const char *path, sf_str body)
{
    int fd = peer_connect(port);
    struct sf_buf left = {0}, text = {0};
    struct peer_answer a = {0};
    int status;

    sf_buf_print(&text, "%s %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", method, path,
                 body.len);
    sf_buf_add_str(&text, body);
    peer_send(fd, sf_buf_str(&text));
    peer_read_answer(fd, &left, &a, false);
    status = a.status;
    peer_answer_done(&a);
    sf_buf_done(&left);
    sf_buf_done(&text);
    (void)close(fd);
    return status;
}

/* --- HTTP/2 --- */

enum { H2_STREAMS_MAX = 512 };

struct peer_h2 {
    int fd;
    nghttp2_session *ng;
    struct peer_h2_answer answers[H2_STREAMS_MAX];
    sf_bytes bodies[H2_STREAMS_MAX];
    size_t body_at[H2_STREAMS_MAX];
    uint32_t goaway;
    bool is_gone;
};

static struct peer_h2_answer *answer_of(struct peer_h2 *h, int32_t id)
{
    return id > 0 && (id - 1) / 2 < H2_STREAMS_MAX ? &h->answers[(id - 1) / 2] : NULL;
}

static ssize_t h2_send(nghttp2_session *ng, const uint8_t *p, size_t len, int flags, void *arg)
{
    struct peer_h2 *h = arg;
    (void)ng;
    (void)flags;
    return peer_try_send(h->fd, p, len) ? (ssize_t)len : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static void copy_val(char *to, size_t cap, const uint8_t *val, size_t len)
{
    (void)snprintf(to, cap, "%.*s", (int)len, (const char *)val);
}

static int h2_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *val, size_t val_len, uint8_t flags, void *arg)
{
    struct peer_h2_answer *a = answer_of(arg, frame->hd.stream_id);
    sf_str n = {(const char *)name, name_len};
    int status;

    (void)ng;
    (void)flags;
    if (!a)
        return 0;
    if (sf_str_eq(n, SF_STR(":status"))) {
        status = atoi((const char *)val);
        if (status == 100)
            a->n_continue++;
        else
            a->status = status;
    }
    if (sf_str_eq(n, SF_STR("grpc-status")))
        a->grpc_status = atoi((const char *)val);
    if (sf_str_eq(n, SF_STR("grpc-message")))
        copy_val(a->grpc_message, sizeof(a->grpc_message), val, val_len);
    if (sf_str_eq(n, SF_STR("grpc-accept-encoding")))
        copy_val(a->accept_encoding, sizeof(a->accept_encoding), val, val_len);
    if (sf_str_eq(n, SF_STR("retry-after")))
        copy_val(a->retry_after, sizeof(a->retry_after), val, val_len);
    if (sf_str_eq(n, SF_STR("grpc-status-details-bin")))
        a->has_details = true;
    return 0;
}

static int h2_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t len,
                   void *arg)
{
    struct peer_h2_answer *a = answer_of(arg, id);
    (void)ng;
    (void)flags;
    if (a)
        sf_buf_add(&a->body, p, len);
    return 0;
}

static int h2_close(nghttp2_session *ng, int32_t id, uint32_t code, void *arg)
{
    struct peer_h2_answer *a = answer_of(arg, id);
    (void)ng;
    if (a) {
        a->is_over = true;
        a->code = code;
    }
    return 0;
}

static int h2_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    struct peer_h2 *h = arg;
    struct peer_h2_answer *a = answer_of(h, frame->hd.stream_id);
    (void)ng;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        h->goaway = frame->goaway.error_code;
    if (frame->hd.type == NGHTTP2_RST_STREAM && a)
        a->is_reset = true;
    return 0;
}

static ssize_t h2_read_body(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t len,
                            uint32_t *flags, nghttp2_data_source *source, void *arg)
{
    struct peer_h2 *h = arg;
    size_t i = (size_t)(id - 1) / 2;
    size_t n = h->bodies[i].len - h->body_at[i];

    (void)ng;
    (void)source;
    if (n > len)
        n = len;
    if (n)
        memcpy(buf, h->bodies[i].p + h->body_at[i], n);
    h->body_at[i] += n;
    if (h->body_at[i] == h->bodies[i].len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

struct peer_h2 *peer_h2_new(int fd)
{
    struct peer_h2 *h = sf_heap_new(sizeof(*h));
    nghttp2_session_callbacks *cb;

    h->fd = fd;
    h->goaway = UINT32_MAX;
    assert_int_equal(nghttp2_session_callbacks_new(&cb), 0);
    nghttp2_session_callbacks_set_send_callback(cb, h2_send);
    nghttp2_session_callbacks_set_on_header_callback(cb, h2_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, h2_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, h2_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, h2_frame);
    assert_int_equal(nghttp2_session_client_new(&h->ng, cb, h), 0);
    nghttp2_session_callbacks_del(cb);
    assert_int_equal(nghttp2_submit_settings(h->ng, 0, NULL, 0), 0);
    for (size_t i = 0; i < H2_STREAMS_MAX; i++)
        h->answers[i].grpc_status = -1;
    return h;
}

void peer_h2_free(struct peer_h2 *h)
{
    nghttp2_session_del(h->ng);
    for (size_t i = 0; i < H2_STREAMS_MAX; i++)
        sf_buf_done(&h->answers[i].body);
    (void)close(h->fd);
    sf_heap_free(h);
}

static nghttp2_nv field(const char *name, const char *val)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)val, strlen(name),
                        strlen(val), NGHTTP2_NV_FLAG_NONE};
}

int32_t peer_h2_submit(struct peer_h2 *h, const char *method, const char *path, const char *type,
                       const char *extra_name, const char *extra_val, sf_bytes body)
{
    nghttp2_nv nv[8] = {field(":method", method), field(":path", path), field(":scheme", "http"),
                        field(":authority", "h")};
    nghttp2_data_provider provider = {.read_callback = h2_read_body};
    size_t n = 4;
    int32_t id;

    if (type)
        nv[n++] = field("content-type", type);
    if (extra_name)
        nv[n++] = field(extra_name, extra_val);
    id = nghttp2_submit_request(h->ng, NULL, nv, n, body.p ? &provider : NULL, NULL);
    assert_true(id > 0 && (id - 1) / 2 < H2_STREAMS_MAX);
    h->bodies[(id - 1) / 2] = body;
    return id;
}

/* One round: sends what there is, reads if something comes within `ms`. */
static bool h2_turn(struct peer_h2 *h, int ms)
{
    static _Thread_local uint8_t buf[65536];
    struct pollfd p = {h->fd, POLLIN, 0};
    ssize_t n;

    if (h->is_gone || nghttp2_session_send(h->ng)) {
        /* The socket may hold the reason why it cannot be written to. */
        while ((n = recv(h->fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
            (void)nghttp2_session_mem_recv(h->ng, buf, (size_t)n);
        h->is_gone = true;
        return false;
    }
    if (poll(&p, 1, ms) <= 0)
        return true;
    n = recv(h->fd, buf, sizeof(buf), MSG_DONTWAIT);
    if (n <= 0 && errno != EAGAIN)
        h->is_gone = true;
    if (n > 0 && nghttp2_session_mem_recv(h->ng, buf, (size_t)n) < 0)
        h->is_gone = true;
    if (n == 0)
        h->is_gone = true;
    return !h->is_gone;
}

bool peer_h2_run(struct peer_h2 *h, unsigned ms)
{
    int64_t until_ns = sf_clock_mono_ns() + (int64_t)ms * 1000000;

    while (sf_clock_mono_ns() < until_ns) {
        if (!h2_turn(h, 10))
            return false;
    }
    return true;
}

struct peer_h2_answer *peer_h2_wait(struct peer_h2 *h, int32_t stream)
{
    struct peer_h2_answer *a = answer_of(h, stream);
    int64_t until_ns = sf_clock_mono_ns() + 20 * 1000000000ll;

    while (!a->is_over && sf_clock_mono_ns() < until_ns) {
        if (!h2_turn(h, 20))
            break;
    }
    (void)nghttp2_session_send(h->ng); /* acknowledgements and window updates */
    return a->is_over ? a : NULL;
}

uint32_t peer_h2_goaway(const struct peer_h2 *h)
{
    return h->goaway;
}

void peer_h2_cancel(struct peer_h2 *h, int32_t stream)
{
    (void)nghttp2_submit_rst_stream(h->ng, 0, stream, NGHTTP2_CANCEL);
    (void)nghttp2_session_send(h->ng);
}

void peer_grpc_frame(struct sf_buf *out, uint8_t flag, sf_str message)
{
    uint8_t len[4];

    sf_store_u32be(len, (uint32_t)message.len);
    sf_buf_add_u8(out, flag);
    sf_buf_add(out, len, 4);
    sf_buf_add_str(out, message);
}

/* --- by hand --- */

bool peer_raw_frame(int fd, uint8_t type, uint8_t flags, uint32_t stream, const void *p, size_t len)
{
    uint8_t head[9] = {(uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len, type, flags};

    sf_store_u32be(head + 5, stream);
    return peer_try_send(fd, head, 9) && peer_try_send(fd, p, len);
}

int peer_raw_h2(uint16_t port)
{
    int fd = peer_connect(port);

    peer_send(fd, SF_STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    assert_true(peer_raw_frame(fd, 4, 0, 0, NULL, 0));
    return fd;
}

uint32_t peer_raw_goaway(int fd, unsigned timeout_ms)
{
    int64_t until_ns = sf_clock_mono_ns() + (int64_t)timeout_ms * 1000000;
    struct sf_buf in = {0};
    uint32_t code = UINT32_MAX;
    size_t at = 0;

    while (sf_clock_mono_ns() < until_ns && code == UINT32_MAX) {
        size_t len;
        if (in.len - at < 9) {
            if (!read_more(fd, &in))
                break;
            continue;
        }
        len = (size_t)in.p[at] << 16 | (size_t)in.p[at + 1] << 8 | in.p[at + 2];
        if (in.len - at < 9 + len) {
            if (!read_more(fd, &in))
                break;
            continue;
        }
        if (in.p[at + 3] == 7 && len >= 8)
            code = sf_load_u32be(in.p + at + 9 + 4);
        at += 9 + len;
    }
    sf_buf_done(&in);
    return code;
}

size_t peer_rss_len(void)
{
    char text[128] = "";
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f && fgets(text, sizeof(text), f) && strchr(text, ' '))
        pages = strtoul(strchr(text, ' '), NULL, 10);
    if (f)
        (void)fclose(f);
    return pages * 4096;
}

void peer_expect(int fd, struct sf_buf *left, int status, const char *body)
{
    struct peer_answer a = {0};

    peer_read_answer(fd, left, &a, false);
    assert_int_equal(a.status, status);
    if (body)
        assert_true(sf_str_eq(sf_buf_str(&a.body), sf_str_from(body)));
    peer_answer_done(&a);
}
