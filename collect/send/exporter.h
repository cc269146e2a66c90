/* exporter.h - a background thread: takes spans or profiles from the outbox, makes requests, sends
 * them, tries again.
 *
 * Started with the first record, so a program that never ends a span never gets a thread, and a
 * forked child gets one when it needs one. Sends when half a megabyte waits, when the delay is
 * over, or on a flush. What the OTLP rules call retryable (429, 502, 503, 504, no answer) is tried
 * again with growing pauses, or at the time given by the server; other failures are dropped and
 * counted. */
#pragma once
#include <stdatomic.h>

#include "base/buf.h"
#include "collect/send/endpoint.h"
#include "collect/send/grpc_post.h"
#include "collect/send/http_post.h"
#include "collect/send/outbox.h"
#include "collect/sys/lock.h"

struct sf_exporter_settings { /* borrowed for as long as the exporter lives */
    struct sf_endpoint to;
    sf_str headers; /* lines, each ended by CRLF */
    bool is_gzip;
    bool is_grpc;
    bool is_off; /* records are taken and thrown away, and counted as sent */
    int64_t timeout_ns, delay_ns;
};

struct sf_exporter_counts {
    atomic_uint_fast64_t sent, refused, lost; /* records */
    atomic_uint_fast64_t requests, requests_failed, bytes;
};

struct sf_exporter {
    bool is_whole;    /* the outbox holds whole requests; they go out at once */
    const char *noun; /* "spans": in what is stated */
    const struct sf_exporter_settings *settings;
    struct sf_outbox outbox;
    struct sf_exporter_counts counts;
    struct sf_http_post http; /* the thread's; a forked child closes its copies */
    struct sf_grpc_post grpc;
    /* The message around the records: what goes before them (resource and scope, field by field)
     * is written by the owner, in the exporter's thread, into an empty buffer. */
    void (*write_resource)(struct sf_buf *out);
    void (*write_scope)(struct sf_buf *out);
    void (*say)(const char *problem); /* for the program's ears; any thread */
    struct sf_lock start_lock;        /* guards is_running; held while the thread starts */
    atomic_bool is_running;
    struct sf_notifier work, done;    /* to the thread; from it, after each batch */
    atomic_uint flushes, flushed;     /* requested, reached */
    atomic_int_fast64_t flush_end_ns; /* monotonic: the latest moment a flush waits for */
    atomic_bool is_ending;            /* one try per batch, no pauses */
};

/* A record for the exporter; starts the thread when there is none. False: dropped. */
bool sf_exporter_add(struct sf_exporter *e, sf_bytes record);
/* For an exporter of whole requests; `n_records` is what a partial success counts. */
bool sf_exporter_add_whole(struct sf_exporter *e, sf_bytes request, uint32_t n_records);
/* Everything added before is sent or given up when it returns true; false after the time. */
bool sf_exporter_flush(struct sf_exporter *e, int64_t timeout_ns, bool is_ending);
void sf_exporter_before_fork(struct sf_exporter *e);
void sf_exporter_after_fork(struct sf_exporter *e, bool is_child);
