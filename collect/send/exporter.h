/* exporter.h - a background thread that takes spans or profiles from the outbox, builds requests,
 * sends them and retries.
 *
 * Started with the first record, so a program that never ends a span never gets a thread, and a
 * forked child gets one when it needs one. Sends when half a megabyte is queued, when the delay is
 * over, or on a flush. Failures that OTLP defines as retryable (429, 502, 503, 504, no answer) are
 * retried with growing pauses, or at the time given by the server; after other failures the data is
 * dropped and counted. */
#pragma once
#include <stdatomic.h>

#include "base/buf.h"
#include "collect/send/endpoint.h"
#include "collect/send/grpc_post.h"
#include "collect/send/http_post.h"
#include "collect/send/outbox.h"
#include "collect/sys/lock.h"

struct sf_exporter_settings { /* must outlive the exporter */
    struct sf_endpoint to;
    sf_str headers; /* lines, each ended by CRLF */
    bool is_gzip;
    bool is_grpc;
    bool is_off; /* records are discarded and counted as sent */
    int64_t timeout_ns, delay_ns;
};

struct sf_exporter_counts {
    atomic_uint_fast64_t sent, refused, lost; /* numbers of records */
    atomic_uint_fast64_t requests, requests_failed, bytes;
};

struct sf_exporter {
    bool is_whole;    /* the outbox contains complete requests, which are sent at once */
    const char *noun; /* "spans": for messages */
    const struct sf_exporter_settings *settings;
    struct sf_outbox outbox;
    struct sf_exporter_counts counts;
    struct sf_http_post http; /* used by the thread; a forked child closes its copies */
    struct sf_grpc_post grpc;
    /* Write the parts of the request before the records (resource and scope), in the exporter's
     * thread, into an empty buffer. */
    void (*write_resource)(struct sf_buf *out);
    void (*write_scope)(struct sf_buf *out);
    void (*say)(const char *problem); /* reports a problem to the program; called in any thread */
    struct sf_lock start_lock;        /* guards is_running; held while the thread starts */
    atomic_bool is_running;
    struct sf_notifier work, done;    /* notify the thread; notified by it after each batch */
    atomic_uint flushes, flushed;     /* number of flushes requested, and completed */
    atomic_int_fast64_t flush_end_ns; /* monotonic: deadline of the last flush requested */
    atomic_bool is_ending;            /* one attempt per batch, no pauses */
};

/* Queues a record; starts the thread when there is none. False: dropped. */
bool sf_exporter_add(struct sf_exporter *e, sf_bytes record);
/* For an exporter of complete requests; `n_records` is the count for a partial success. */
bool sf_exporter_add_whole(struct sf_exporter *e, sf_bytes request, uint32_t n_records);
/* True: everything added before was sent or given up; false: the time is over, or no thread
 * could be started. */
bool sf_exporter_flush(struct sf_exporter *e, int64_t timeout_ns, bool is_ending);
void sf_exporter_before_fork(struct sf_exporter *e);
void sf_exporter_after_fork(struct sf_exporter *e, bool is_child);
