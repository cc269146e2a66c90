/* exchange.c - one request with its answer. The loop fills it; the application answers whole or as
 * a stream. Streamed messages queue in memory up to a bound; beyond it they go to a temporary file,
 * or are refused on gRPC, where they only report progress. Compression runs on the application's
 * thread. */
#include "listen/exchange.h"

#include <string.h>

#include "base/account.h"
#include "base/heap.h"
#include "base/time_unit.h"
#include "http/h1_writer.h"
#include "listen/conn.h"
#include "listen/exchange_private.h"
#include "listen/loop.h"
#include "os/clock.h"
#include "wire/deflate.h"

enum {
    STREAM_QUEUE_LEN = 256 * 1024, /* unsent bytes at which the file is used or BUSY returned */
    GZIP_MIN_LEN = 1024,           /* bodies up to this length are not compressed */
    PACKED_LEN = 64 * 1024,        /* compressed bytes that are collected for one message */
    HEAD_FREE_LEN = 4096           /* heads up to this size are not counted */
};

const struct sf_request *sf_exchange_request(const struct sf_exchange *ex)
{
    return &ex->request;
}

struct sf_response *sf_exchange_response(struct sf_exchange *ex)
{
    return &ex->response;
}

const struct sf_exchange_body *sf_exchange_body(const struct sf_exchange *ex)
{
    return &ex->view;
}

enum sf_err sf_exchange_body_read(struct sf_exchange *ex, uint64_t off, void *p, size_t len,
                                  size_t *out_len, struct sf_why *why)
{
    return sf_body_read(&ex->body, off, p, len, out_len, why);
}

bool sf_exchange_body_take(struct sf_exchange *ex, struct sf_buf *out)
{
    if (!sf_body_take(&ex->body, out))
        return false;
    ex->view.memory = (sf_bytes){0};
    return true;
}

void sf_exchange_body_give(struct sf_exchange *ex, struct sf_buf *body)
{
    if (sf_body_give(&ex->body, body))
        ex->view.memory = sf_buf_bytes(&ex->body.memory);
}

const atomic_bool *sf_exchange_cancel(const struct sf_exchange *ex)
{
    return &ex->is_cancelled;
}

void *sf_exchange_user(struct sf_exchange *ex)
{
    return ex->user;
}

static bool may_compress(const struct sf_exchange *ex)
{
    const struct sf_response *r = &ex->response;
    if (!ex->request.wants_gzip || ex->request.is_grpc || r->is_uncompressible ||
        !sf_h1_writer_has_body(r->status))
        return false;
    for (uint32_t i = 0; i < r->n_headers; i++) {
        if (sf_str_ieq(r->headers[i].name, SF_STR("content-encoding")))
            return false;
    }
    return true;
}

/* Runs on the thread that finishes the answer, because a loop must serve other connections. */
static void compress_answer(struct sf_exchange *ex)
{
    struct sf_response *r = &ex->response;
    struct sf_buf packed = {0};
    struct sf_deflate *z;
    bool is_packed;

    if (ex->is_streamed || r->body.len <= GZIP_MIN_LEN || !may_compress(ex))
        return;
    z = sf_deflate_new();
    is_packed = z && !sf_deflate_gzip(z, 1, sf_buf_bytes(&r->body), &packed, NULL);
    sf_deflate_free(z);
    if (!is_packed || packed.len >= r->body.len) {
        sf_buf_done(&packed);
        return;
    }
    sf_buf_done(&r->body);
    r->body = packed;
    ex->is_gzip = true;
}

/* ---- streamed data in a file ---- */

static bool is_behind(const struct sf_exchange *ex)
{
    return ex->queued_len >= STREAM_QUEUE_LEN || ex->late_got < ex->late_put;
}

bool sf_exchange_has_late(struct sf_exchange *ex)
{
    bool has;
    sf_mutex_lock(&ex->mutex);
    has = ex->late_got < ex->late_put;
    sf_mutex_unlock(&ex->mutex);
    return has;
}

/* Only this thread writes, to a part of the file that is read only after a notification: no lock is
 * needed. */
static enum sf_err write_late(struct sf_exchange *ex, struct sf_buf *message, struct sf_why *why)
{
    struct sf_listen_shared *shared = ex->loop->shared;
    size_t all = atomic_fetch_add_explicit(&shared->late_len, message->len, memory_order_relaxed);
    enum sf_err err = SF_OK;
    if (!shared->budget.spool_path || all + message->len > SF_LIMIT_LATE_LEN)
        err = sf_fail(why, SF_ERR_BUSY, "the client reads too slowly");
    else if (!sf_spool_is_open(&ex->late))
        err = sf_spool_open(shared->budget.spool_path, &ex->late, why);
    if (!err)
        err = sf_spool_write(&ex->late, ex->late_put, message->p, message->len, why);
    if (err) {
        atomic_fetch_sub_explicit(&shared->late_len, message->len, memory_order_relaxed);
        return SF_ERR_BUSY; /* when the disk is full, the answer is not given up */
    }
    sf_mutex_lock(&ex->mutex);
    ex->late_put += message->len;
    sf_mutex_unlock(&ex->mutex);
    sf_buf_reset(message);
    return SF_OK;
}

/* Only the loop reads. Until the counters are updated, further data goes to the file after this
 * part. */
static void read_late(struct sf_exchange *ex, size_t len, struct sf_buf *out)
{
    size_t n = 0;
    uint8_t *to = sf_buf_take(out, len);
    ex->is_lost = !to || sf_spool_read(&ex->late, ex->late_got, to, len, &n, NULL) || n < len;
    if (ex->is_lost)
        sf_buf_reset(out);
    sf_mutex_lock(&ex->mutex);
    ex->late_got = ex->is_lost ? ex->late_put : ex->late_got + len;
    ex->queued_len += ex->is_lost ? 0 : len;
    sf_mutex_unlock(&ex->mutex);
}

static void drop_late(struct sf_exchange *ex)
{
    atomic_fetch_sub_explicit(&ex->loop->shared->late_len, (size_t)ex->late_put,
                              memory_order_relaxed);
    sf_spool_close(&ex->late);
    ex->late_put = ex->late_got = 0;
}

/* ---- streaming ---- */

static enum sf_err queue_message(struct sf_exchange *ex, struct sf_buf *message, struct sf_why *why)
{
    struct sf_buf *q = &ex->queue;
    size_t prefix_len = ex->request.is_grpc ? SF_GRPC_PREFIX_LEN : 0;
    uint8_t *to;

    if (ex->is_parted)
        return sf_fail(why, SF_ERR_CANCELLED, "the client went away");
    if (is_behind(ex))
        return sf_fail(why, SF_ERR_BUSY, "the client reads too slowly");
    if (message->len > UINT32_MAX || !sf_buf_reserve(q, message->len + prefix_len)) {
        sf_buf_reset(q);
        return sf_no_memory(why, "a message");
    }
    if (prefix_len) {
        to = sf_buf_take(q, prefix_len);
        sf_grpc_write_prefix(to, (uint32_t)message->len, false);
    }
    sf_buf_add(q, message->p, message->len);
    ex->queued_len += message->len + prefix_len;
    sf_buf_reset(message);
    return SF_OK;
}

/* gRPC messages report progress of a query: a client that does not read them may miss some. */
static enum sf_err put_message(struct sf_exchange *ex, struct sf_buf *message, struct sf_why *why)
{
    enum sf_err err;

    sf_mutex_lock(&ex->mutex);
    err = queue_message(ex, message, why);
    sf_mutex_unlock(&ex->mutex);
    return err == SF_ERR_BUSY && !ex->request.is_grpc ? write_late(ex, message, why) : err;
}

static enum sf_err exchange_put_packed(struct sf_exchange *ex, struct sf_buf *message,
                                       struct sf_why *why)
{
    struct sf_buf *packed = &ex->packed;
    enum sf_err err = packed->len ? put_message(ex, packed, why) : SF_OK;
    if (err)
        return err;
    err = sf_deflate_stream_add(ex->gzip, sf_buf_bytes(message), false, packed, why);
    if (err)
        return err;
    sf_buf_reset(message); /* the compressor has taken it */
    err = packed->len >= PACKED_LEN ? put_message(ex, packed, why) : SF_OK;
    return err == SF_ERR_BUSY ? SF_OK : err; /* it is sent with the next one */
}

enum sf_err sf_exchange_stream(struct sf_exchange *ex, struct sf_buf *message, struct sf_why *why)
{
    struct sf_account *paused = sf_account_pause(); /* not charged to the query: the loop frees what
                                                     * is queued */
    enum sf_err err;

    ex->is_streamed = true;
    err = ex->gzip ? exchange_put_packed(ex, message, why) : put_message(ex, message, why);
    sf_account_resume(paused);
    if (!err)
        sf_loop_give(ex->loop, ex, false);
    return err;
}

void sf_exchange_stream_gzip(struct sf_exchange *ex)
{
    struct sf_account *paused;
    if (ex->is_streamed || ex->gzip || ex->request.method == SF_METHOD_HEAD || !may_compress(ex))
        return;
    paused = sf_account_pause();
    ex->gzip = sf_deflate_stream_new(1);
    ex->is_gzip = ex->gzip != NULL;
    sf_account_resume(paused);
}

/* Writes the end of a compressed stream even if the peer reads slowly: it is short. */
static void end_packed(struct sf_exchange *ex)
{
    struct sf_buf none = {0};
    if (ex->response.is_broken)
        return;
    if (sf_deflate_stream_add(ex->gzip, sf_buf_bytes(&none), true, &ex->packed, NULL)) {
        ex->response.is_broken = true;
        return;
    }
    if (put_message(ex, &ex->packed, NULL) != SF_ERR_BUSY)
        return;
    sf_mutex_lock(&ex->mutex);
    if (ex->late_got < ex->late_put) /* it must come after the data in the file */
        ex->response.is_broken = true;
    sf_buf_add(&ex->queue, ex->packed.p, ex->packed.len);
    ex->queued_len += ex->packed.len;
    sf_mutex_unlock(&ex->mutex);
}

void sf_exchange_finish(struct sf_exchange *ex)
{
    if (ex->gzip)
        end_packed(ex);
    else
        compress_answer(ex);
    sf_loop_give(ex->loop, ex, true);
}

bool sf_exchange_has_streamed(const struct sf_exchange *ex)
{
    return atomic_load(&ex->is_streamed);
}

enum sf_err sf_exchange_stream_wait(struct sf_exchange *ex, int64_t deadline_ns)
{
    enum sf_err err = SF_OK;

    sf_mutex_lock(&ex->mutex);
    while (!ex->is_parted && ex->queued_len >= STREAM_QUEUE_LEN && !err) {
        if (!sf_condvar_wait_until(&ex->room, &ex->mutex, deadline_ns))
            err = SF_ERR_DEADLINE;
    }
    if (ex->is_parted)
        err = SF_ERR_CANCELLED;
    sf_mutex_unlock(&ex->mutex);
    return err;
}

void sf_exchange_sent(struct sf_exchange *ex, size_t len)
{
    sf_mutex_lock(&ex->mutex);
    ex->queued_len -= len < ex->queued_len ? len : ex->queued_len;
    sf_condvar_wake_all(&ex->room);
    sf_mutex_unlock(&ex->mutex);
}

void sf_exchange_take_stream(struct sf_exchange *ex, struct sf_buf *out)
{
    enum { LATE_LEN = 128 << 10 };
    uint64_t late_len;

    sf_mutex_lock(&ex->mutex);
    *out = ex->queue;
    ex->queue = (struct sf_buf){0};
    late_len = !out->len && ex->queued_len < STREAM_QUEUE_LEN ? ex->late_put - ex->late_got : 0;
    sf_mutex_unlock(&ex->mutex);
    if (late_len)
        read_late(ex, late_len < LATE_LEN ? (size_t)late_len : (size_t)LATE_LEN, out);
}

/* --- the loop's side --- */

static struct sf_exchange *make_exchange(struct sf_loop *loop)
{
    struct sf_exchange *ex = loop->spare;

    if (ex) {
        loop->spare = ex->next;
        loop->n_spare--;
        return ex;
    }
    ex = sf_heap_new(sizeof(*ex));
    if (ex) {
        sf_mutex_init(&ex->mutex, SF_LOCK_LISTEN_EXCHANGE);
        sf_condvar_init(&ex->room);
    }
    return ex;
}

static void destroy_exchange(struct sf_exchange *ex)
{
    sf_head_done(&ex->head);
    sf_response_done(&ex->response);
    sf_mutex_done(&ex->mutex);
    sf_condvar_done(&ex->room);
    sf_heap_free(ex);
}

struct sf_exchange *sf_exchange_new(struct sf_loop *loop, struct sf_conn *conn)
{
    struct sf_exchange *ex = make_exchange(loop);

    if (!ex)
        return NULL;
    ex->next = NULL;
    ex->loop = loop;
    ex->conn = conn;
    ex->head.len_max = loop->shared->limits.header_len;
    ex->body.budget = &loop->shared->budget;
    ex->body.len_max = loop->shared->limits.body_len;
    ex->begin_ns = ex->progress_ns = loop->now_ns;
    loop->n_exchanges++;
    return ex;
}

/* Resets it for reuse: everything is zeroed except for memory that is kept. */
static void reset_exchange(struct sf_exchange *ex)
{
    struct sf_head head = ex->head;
    struct sf_response response = ex->response;
    size_t from = offsetof(struct sf_exchange, user), to = offsetof(struct sf_exchange, mutex);

    sf_head_reset(&head);
    sf_response_reset(&response);
    memset((uint8_t *)ex + from, 0, to - from);
    ex->head = head;
    ex->response = response;
    ex->queued_len = 0;
    ex->is_parted = ex->is_listed = ex->is_finished = false;
    atomic_store(&ex->is_streamed, false);
}

void sf_exchange_release_body(struct sf_exchange *ex)
{
    struct sf_body_budget *budget = ex->body.budget;
    bool is_over = sf_body_budget_is_over(budget);

    sf_body_done(&ex->body);
    sf_body_budget_give(budget, ex->head_charge);
    ex->head_charge = 0;
    ex->view = (struct sf_exchange_body){0};
    if (is_over)
        sf_loop_budget_freed(ex->loop);
}

void sf_exchange_free(struct sf_exchange *ex)
{
    struct sf_loop *loop = ex->loop;

    sf_exchange_release_body(ex);
    sf_buf_done(&ex->queue);
    drop_late(ex);
    sf_deflate_stream_free(ex->gzip);
    ex->gzip = NULL;
    sf_buf_done(&ex->packed);
    if (ex->is_counted)
        atomic_fetch_sub_explicit(&loop->shared->n_streams, 1, memory_order_relaxed);
    ex->is_counted = false;
    loop->n_exchanges--;
    if (loop->n_spare < SF_LOOP_SPARE_EXCHANGES && sf_head_cap(&ex->head) <= 4 * HEAD_FREE_LEN &&
        ex->response.body.cap <= HEAD_FREE_LEN) {
        reset_exchange(ex);
        ex->next = loop->spare;
        loop->spare = ex;
        loop->n_spare++;
    } else {
        destroy_exchange(ex);
    }
}

void sf_exchange_part(struct sf_exchange *ex)
{
    ex->conn = NULL;
    ex->stream = NULL;
    if (!ex->is_with_app) {
        sf_exchange_free(ex);
        return;
    }
    atomic_store(&ex->is_cancelled, true);
    sf_mutex_lock(&ex->mutex);
    ex->is_parted = true;
    sf_condvar_wake_all(&ex->room);
    sf_mutex_unlock(&ex->mutex);
}

void sf_exchange_refuse(const struct sf_listen_hooks *hooks, const struct sf_exchange *ex,
                        int status, const char *reason, unsigned retry_after_s,
                        struct sf_response *out)
{
    out->status = status;
    out->retry_after_s = retry_after_s;
    out->content_type = "text/plain; charset=utf-8";
    if (ex && ex->request.is_grpc)
        return;
    sf_buf_print(&out->body, "%s\n", reason);
    if (ex && ex->is_head_over && ex->request.path.len && hooks->on_refuse)
        hooks->on_refuse(hooks->arg, &ex->request, out, reason);
}

void sf_exchange_charge_head(struct sf_exchange *ex, size_t line_len)
{
    size_t cap = sf_head_cap(&ex->head) + line_len;
    size_t charge = cap > HEAD_FREE_LEN ? cap - HEAD_FREE_LEN : 0;

    if (charge > ex->head_charge) {
        sf_body_budget_take(ex->body.budget, charge - ex->head_charge);
        ex->head_charge = charge;
    }
}

static void set_body_max(struct sf_exchange *ex)
{
    const struct sf_listen_hooks *hooks = &ex->loop->shared->hooks;
    uint64_t max = hooks->max_body ? hooks->max_body(hooks->arg, &ex->request) : 0;
    if (max)
        ex->body.len_max = max;
}

void sf_exchange_stamp(struct sf_exchange *ex)
{
    struct sf_request *r = &ex->request;
    int64_t timeout_ns = (int64_t)ex->loop->shared->limits.total_timeout_ms * SF_NS_PER_MS;
    int64_t asked_ns;

    sf_exchange_charge_head(ex, 0);
    ex->is_head_over = true;
    ex->progress_ns = ex->loop->now_ns;
    r->recv_ns = sf_clock_wall_ns();
    r->is_tls = ex->conn->tls != NULL;
    r->has_client_cert = ex->conn->tls && sf_tls_has_client_cert(ex->conn->tls);
    r->port = ex->conn->port;
    memcpy(r->peer, ex->conn->peer, sizeof(r->peer));
    if (r->is_grpc &&
        sf_grpc_timeout_parse(sf_request_header(r, SF_STR("grpc-timeout")), &asked_ns) &&
        asked_ns < timeout_ns)
        timeout_ns = asked_ns;
    r->deadline_ns = ex->begin_ns + timeout_ns;
    set_body_max(ex);
}

void sf_exchange_give_to_app(struct sf_exchange *ex)
{
    const struct sf_listen_hooks *hooks = &ex->loop->shared->hooks;

    ex->is_whole = true;
    ex->is_with_app = true;
    ex->view = (struct sf_exchange_body){
        .len = ex->body.len,
        .memory = sf_buf_bytes(&ex->body.memory),
        .is_spooled = sf_body_is_spooled(&ex->body),
    };
    hooks->on_request(hooks->arg, ex);
}
