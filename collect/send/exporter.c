/* exporter.c - the exporter thread. Callers add records to the outbox under its lock; the thread
 * takes what is there, builds one OTLP request, compresses it and sends it until it is accepted,
 * refused permanently or out of attempts. The thread starts with the first record and is restarted
 * in a forked child. */
#include "collect/send/exporter.h"

#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "collect/send/gzip.h"
#include "collect/send/retry.h"
#include "collect/sys/clock.h"
#include "collect/sys/guest_thread.h"
#include "wire/pb_write.h"

enum {
    BATCH_LEN = 1 << 20,  /* maximum length of the records of one request */
    WAKE_LEN = 512 * 1024 /* queued bytes that are sent without waiting for the delay */
};

/* Used by the thread only. */
struct worker {
    struct sf_exporter *e;
    struct sf_buf resource, scope, body, packed;
    sf_bytes plain; /* the request: `body`, or a whole piece */
    struct sf_retry retry;
};

static void exporter_count(atomic_uint_fast64_t *c, uint64_t n)
{
    atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

/* ExportTraceServiceRequest{1: ResourceSpans{1: Resource, 2: ScopeSpans{1: scope, 2: span ...}}};
 * the records already carry field 2. Sizes are known, so nothing is moved. */
static bool exporter_write_body(struct worker *w, const struct sf_outbox_piece *list)
{
    struct sf_buf *b = &w->body;
    size_t records_len = 0, scope_spans_len, resource_spans_len;

    w->plain = (sf_bytes){list->bytes, list->len};
    if (w->e->is_whole)
        return true;
    for (const struct sf_outbox_piece *p = list; p; p = p->next)
        records_len += p->len;
    scope_spans_len = w->scope.len + records_len;
    resource_spans_len = w->resource.len + 1 + sf_pb_write_varint_len(scope_spans_len) +
                         scope_spans_len;
    sf_buf_reset(b);
    sf_buf_reserve(b, resource_spans_len + 32);
    sf_pb_write_head(b, 1, resource_spans_len);
    sf_buf_add(b, w->resource.p, w->resource.len);
    sf_pb_write_head(b, 2, scope_spans_len);
    sf_buf_add(b, w->scope.p, w->scope.len);
    for (const struct sf_outbox_piece *p = list; p; p = p->next)
        sf_buf_add(b, p->bytes, p->len);
    w->plain = sf_buf_bytes(b);
    return sf_buf_ok(b);
}

/* Reads Export{Trace,Profiles}ServiceResponse{1: partial_success{1: rejected, 2:
 * error_message}}. */
static uint64_t rejected(struct worker *w, const struct sf_answer *a)
{
    struct sf_pb pb = sf_pb_init((sf_bytes){a->body, a->body_len});
    uint64_t n = 0;
    while (sf_pb_next(&pb)) {
        if (pb.tag == SF_PB_TAG(1, SF_PB_LEN)) {
            struct sf_pb part = sf_pb_msg(&pb);
            while (sf_pb_next(&part)) {
                if (part.tag == SF_PB_TAG(1, SF_PB_VARINT))
                    n = sf_pb_u64(&part);
                else
                    sf_pb_skip(&part);
            }
        } else {
            sf_pb_skip(&pb);
        }
    }
    if (n && sf_pb_ok(&pb)) {
        char said[80];
        snprintf(said, sizeof(said), "the server refused some %s of a batch", w->e->noun);
        w->e->say(said);
    }
    return sf_pb_ok(&pb) ? n : 0;
}

/* One attempt. True: accepted or refused permanently; false: retry. */
static bool try_once(struct worker *w, uint64_t n_records, int64_t deadline_ns)
{
    struct sf_exporter *e = w->e;
    struct sf_answer *a = sf_heap_new(sizeof(*a));
    sf_bytes body = w->plain;
    struct sf_why why = {0};
    bool is_gzip = w->packed.len > 0, is_settled = false;
    uint64_t n_refused;
    enum sf_err err;

    if (!a)
        return false;
    if (is_gzip)
        body = sf_buf_bytes(&w->packed);
    exporter_count(&e->counts.requests, 1);
    err = e->settings->is_grpc ? sf_grpc_post_send(&e->grpc, body, is_gzip, deadline_ns, a, &why)
                               : sf_http_post_send(&e->http, body, is_gzip, deadline_ns, a, &why);
    w->retry.after_s = 0;
    if (!err && a->status >= 200 && a->status < 300) {
        n_refused = rejected(w, a);
        n_refused = n_refused > n_records ? n_records : n_refused;
        exporter_count(&e->counts.refused, n_refused);
        exporter_count(&e->counts.sent, n_records - n_refused);
        exporter_count(&e->counts.bytes, body.len);
        is_settled = true;
    } else {
        exporter_count(&e->counts.requests_failed, 1);
        if (!err) {
            sf_fail(&why, SF_ERR_IO, "the server answered %d: %.*s", a->status,
                    (int)(a->body_len > 120 ? 120 : a->body_len), (const char *)a->body);
            w->retry.after_s = a->retry_after_s;
            is_settled = !sf_retry_is_status(a->status);
            if (is_settled)
                exporter_count(&e->counts.refused, n_records);
        }
        e->say(why.text);
    }
    sf_heap_free(a);
    return is_settled;
}

static bool is_flush_late(struct sf_exporter *e)
{
    return atomic_load(&e->is_ending) && sf_clock_mono_ns() >= atomic_load(&e->flush_end_ns);
}

/* Sends until accepted, refused, out of attempts, or the program ends. */
static void exporter_send_batch(struct worker *w, const struct sf_outbox_piece *list,
                                uint64_t n_records)
{
    struct sf_exporter *e = w->e;
    sf_retry_begin(&w->retry, sf_clock_mono_ns());
    for (;;) {
        unsigned heard = sf_notifier_seen(&e->work);
        int64_t deadline_ns = sf_clock_mono_ns() + e->settings->timeout_ns, pause_ns;
        if (atomic_load(&e->is_ending) && atomic_load(&e->flush_end_ns) < deadline_ns)
            deadline_ns = atomic_load(&e->flush_end_ns);
        if (!exporter_write_body(w, list)) {
            e->say("no memory for a request");
            break;
        }
        sf_buf_reset(&w->packed);
        if (e->settings->is_gzip && sf_gzip(w->plain, &w->packed))
            sf_buf_reset(&w->packed);
        if (try_once(w, n_records, deadline_ns))
            return;
        if (!sf_retry_next(&w->retry, sf_clock_mono_ns(), &pause_ns) ||
            atomic_load(&e->is_ending) || is_flush_late(e))
            break;
        /* A flush does not shorten the pause that the server requested; the end of the program
         * does. */
        for (int64_t until = sf_clock_mono_ns() + pause_ns;
             sf_clock_mono_ns() < until && !atomic_load(&e->is_ending);) {
            sf_notifier_wait(&e->work, heard, until - sf_clock_mono_ns());
            heard = sf_notifier_seen(&e->work);
        }
    }
    exporter_count(&e->counts.lost, n_records);
}

static void exporter_drain(struct worker *w)
{
    struct sf_exporter *e = w->e;
    struct sf_outbox_piece *list;
    while ((list = sf_outbox_take(&e->outbox, e->is_whole ? 1 : BATCH_LEN)) != NULL) {
        uint64_t n = 0;
        for (const struct sf_outbox_piece *p = list; p; p = p->next)
            n += p->n_records;
        if (e->settings->is_off)
            exporter_count(&e->counts.sent, n);
        else if (is_flush_late(e))
            exporter_count(&e->counts.lost, n);
        else
            exporter_send_batch(w, list, n);
        sf_outbox_give_back(&e->outbox, list);
        sf_notifier_notify(&e->done);
    }
}

static void keep_small(struct sf_buf *b)
{
    if (b->cap > WAKE_LEN)
        sf_buf_done(b);
}

static size_t wake_len(const struct sf_exporter *e)
{
    return e->is_whole ? 1 : WAKE_LEN;
}

static void exporter_run(void *arg)
{
    struct worker w = {.e = arg};
    struct sf_exporter *e = arg;
    int64_t next_ns = sf_clock_mono_ns() + e->settings->delay_ns;

    sf_http_post_init(&e->http, &e->settings->to, e->settings->headers);
    sf_grpc_post_init(&e->grpc, &e->settings->to, e->settings->headers);
    if (!e->is_whole) {
        e->write_resource(&w.resource);
        e->write_scope(&w.scope);
    }
    for (;;) {
        unsigned heard = sf_notifier_seen(&e->work);
        unsigned flushes = atomic_load(&e->flushes);
        int64_t now_ns = sf_clock_mono_ns();
        if (flushes != atomic_load(&e->flushed) || now_ns >= next_ns ||
            sf_outbox_held(&e->outbox) >= wake_len(e)) {
            exporter_drain(&w);
            keep_small(&w.body);
            keep_small(&w.packed);
            atomic_store(&e->flushed, flushes);
            sf_notifier_notify(&e->done);
            next_ns = sf_clock_mono_ns() + e->settings->delay_ns;
        } else {
            sf_notifier_wait(&e->work, heard, next_ns - now_ns);
        }
    }
}

static bool ensure_thread(struct sf_exporter *e)
{
    bool ok = true;
    if (atomic_load_explicit(&e->is_running, memory_order_relaxed))
        return true;
    sf_lock_take(&e->start_lock);
    if (!atomic_load(&e->is_running)) {
        /* An exporter of whole requests sends profiles; the thread that sends spans is not a cost
         * of profiling. */
        struct sf_guest g = {e->is_whole ? "spanflame-send" : "spanflame", e->is_whole,
                             exporter_run, e};
        ok = sf_guest_thread_start(g);
        atomic_store(&e->is_running, ok);
    }
    sf_lock_give(&e->start_lock);
    if (!ok)
        e->say("no thread could be started for the exporter");
    return ok;
}

bool sf_exporter_add(struct sf_exporter *e, sf_bytes record)
{
    size_t before = sf_outbox_held(&e->outbox);
    if (!sf_outbox_add(&e->outbox, record))
        return false;
    ensure_thread(e); /* if no thread can be started now, the next record tries again */
    if (before < WAKE_LEN && sf_outbox_held(&e->outbox) >= WAKE_LEN)
        sf_notifier_notify(&e->work);
    return true;
}

bool sf_exporter_add_whole(struct sf_exporter *e, sf_bytes request, uint32_t n_records)
{
    if (!sf_outbox_add_whole(&e->outbox, request, n_records))
        return false;
    ensure_thread(e);
    sf_notifier_notify(&e->work);
    return true;
}

bool sf_exporter_flush(struct sf_exporter *e, int64_t timeout_ns, bool is_ending)
{
    int64_t end_ns = sf_clock_mono_ns() + timeout_ns;
    unsigned mine;

    if (sf_outbox_held(&e->outbox) == 0)
        return true;
    if (!ensure_thread(e))
        return false;
    atomic_store(&e->flush_end_ns, end_ns);
    atomic_store(&e->is_ending, is_ending);
    mine = atomic_fetch_add(&e->flushes, 1) + 1;
    sf_notifier_notify(&e->work);
    for (;;) {
        unsigned heard = sf_notifier_seen(&e->done);
        int64_t left_ns = end_ns - sf_clock_mono_ns();
        if ((int)(atomic_load(&e->flushed) - mine) >= 0)
            return true;
        if (left_ns <= 0)
            return false;
        sf_notifier_wait(&e->done, heard, left_ns);
    }
}

void sf_exporter_before_fork(struct sf_exporter *e)
{
    sf_lock_take(&e->start_lock);
    sf_lock_take(&e->outbox.lock);
}

void sf_exporter_after_fork(struct sf_exporter *e, bool is_child)
{
    if (!is_child) {
        sf_lock_give(&e->outbox.lock);
        sf_lock_give(&e->start_lock);
        return;
    }
    /* The child has neither the thread nor its connection; the parent sends the queue. The thread's
     * buffers are leaked, because it may have been changing them. */
    sf_outbox_forget(&e->outbox);
    sf_peer_leave(&e->http.peer);
    sf_peer_leave(&e->grpc.peer);
    sf_peer_tls_after_fork();
    sf_lock_reset(&e->start_lock);
    atomic_store(&e->is_running, false);
    atomic_store(&e->is_ending, false);
    atomic_store(&e->flushed, atomic_load(&e->flushes));
    memset(&e->counts, 0, sizeof(e->counts));
}
