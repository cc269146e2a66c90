/* spanflame.h - tracing for C and C++ programs.
 *
 *     sf_start("checkout");
 *     sf_span s = sf_span_start("GET /cart");
 *     sf_span_set_str(s, "http.route", "/cart");
 *     sf_span_end(s);
 *
 * A span is a number, not memory: 0 is not a span, and a number whose span has ended is harmless
 * everywhere. Every call may be made from any thread, keeps errno, never waits for the server and
 * never aborts: data that cannot be kept is dropped and counted. Only one thread at a time may use
 * a span; another thread may continue with its number. Texts are copied; NULL texts and keys are
 * ignored. Called inside a signal handler that interrupted another call of this library, a call
 * does nothing and counts itself.
 *
 * Settings come from the environment variables every OpenTelemetry SDK reads
 * (docs/c-library.md). */
#ifndef SPANFLAME_H
#define SPANFLAME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPANFLAME_VERSION "1.0"

#if defined(__GNUC__)
#define SF_API __attribute__((visibility("default")))
#else
#define SF_API
#endif

/* --- the library --- */

/* Overrides the environment variable `name` for this library, as if it had been set to `val` (NULL:
 * as if unset). To be called before sf_start. Returns 0, or -1 when it is too late or there are too
 * many. */
SF_API int sf_set(const char *name, const char *val);
/* Reads the settings and starts the library; `service` NULL means OTEL_SERVICE_NAME. Threads are
 * started only when there is data to collect or to send. Returns 0, or -1: sf_problem says why.
 * Starting twice is fine. */
SF_API int sf_start(const char *service);
/* Sends queued data, waiting at most that long. Returns 0 when all was sent or refused
 * permanently. */
SF_API int sf_flush(unsigned timeout_ms);
/* Flushes and stops; called automatically when the program exits (at most 3 s then). */
SF_API void sf_stop(void);
/* The last problem as text; "" if there was none. Copies at most `cap` bytes including the
 * terminator, returns the whole length. */
SF_API size_t sf_problem(char *out, size_t cap);

typedef struct sf_counters {
    uint64_t size; /* set to sizeof(sf_counters), so that programs built with an older header keep
                    * working */
    uint64_t spans_started;
    uint64_t spans_unsampled;
    uint64_t spans_queued;  /* ended, sampled and put into the outbox */
    uint64_t spans_sent;    /* acknowledged by the server */
    uint64_t spans_dropped; /* the outbox was full, or the library had stopped */
    uint64_t spans_refused; /* refused by the server, permanently */
    uint64_t spans_lost;    /* given up after the last retry or at exit */
    uint64_t spans_nested;  /* calls from a signal handler inside another call */
    uint64_t attrs_dropped; /* attributes, events and links over a limit */
    uint64_t requests_sent; /* all tries */
    uint64_t requests_failed;
    uint64_t bytes_sent;   /* bodies as sent */
    uint64_t outbox_bytes; /* waiting now */
    uint64_t memory_bytes; /* memory used by the library now */
    uint64_t samples_taken;
    uint64_t samples_dropped;  /* a ring was full */
    uint64_t profiles_sent;    /* acknowledged; one per kind, value and window */
    uint64_t profiles_dropped; /* the outbox was full, or no memory */
    uint64_t profiles_refused; /* refused by the server, permanently */
    uint64_t profiles_lost;    /* given up after the last retry or at exit */
    uint64_t profiling_paused; /* number of times: the host was overloaded, profiling had exceeded
                                * its budget, or the server requested it */
    uint64_t profiling_paused_ms;
    uint64_t cpu_rate_hz;      /* current CPU samples per second; 0: none */
    uint64_t profiling_cpu_ns; /* CPU time used by profiling, as measured */
    uint64_t heap_samples;     /* the part of samples_taken that allocations are */
    uint64_t heap_mean_bytes;  /* current mean of the bytes between two of them; 0: none */
    uint64_t wait_samples;     /* the part that waits for locks and in blocking calls are */
    uint64_t wait_mean_ns;     /* current mean of the waited time between two of them; 0: none */
} sf_counters;
SF_API void sf_counters_read(sf_counters *out);

/* --- spans --- */

typedef uint64_t sf_span;

typedef enum sf_kind {
    SF_KIND_INTERNAL = 1,
    SF_KIND_SERVER = 2,
    SF_KIND_CLIENT = 3,
    SF_KIND_PRODUCER = 4,
    SF_KIND_CONSUMER = 5
} sf_kind;

typedef enum sf_status { SF_STATUS_UNSET = 0, SF_STATUS_OK = 1, SF_STATUS_ERROR = 2 } sf_status;

enum { SF_TRACESTATE_CAP = 513, SF_TRACEPARENT_CAP = 56 };

/* The identity of a span, which can be sent to other processes. */
typedef struct sf_context {
    uint8_t trace_id[16]; /* all zero: no context */
    uint8_t span_id[8];
    uint8_t flags; /* bit 0: sampled */
    uint8_t is_remote;
    char tracestate[SF_TRACESTATE_CAP]; /* terminated; may be empty */
} sf_context;

enum {
    SF_SPAN_DETACHED = 1, /* does not become the active span of this thread */
    SF_SPAN_ROOT = 2      /* starts a new trace, regardless of the active span */
};

/* Whether samples carry the span ids of a request (profiling.conditional.share). */
typedef enum sf_span_profile {
    SF_SPAN_PROFILE_AUTO = 0, /* as configured, by trace id and outcome */
    SF_SPAN_PROFILE_ALWAYS = 1,
    SF_SPAN_PROFILE_NEVER = 2 /* samples are counted without span ids */
} sf_span_profile;

typedef struct sf_span_options {
    size_t size;  /* sizeof(sf_span_options) */
    sf_kind kind; /* 0: internal */
    unsigned flags;
    sf_span parent;           /* 0: the active span */
    const sf_context *remote; /* NULL, or the context of a parent in another process */
    uint64_t start_unix_ns;   /* 0: now */
    sf_span_profile profile;  /* for the first span of a request in this process; its children
                               * inherit it */
} sf_span_options;
/* Whether a request asks to be profiled: ALWAYS when its header baggage contains "profile=1", or
 * when the text is "1" or "true" (the value of a separate header); else AUTO. NULL is fine. */
SF_API sf_span_profile sf_profile_asked(const char *header);

/* Starts a child of the active span; it is the active span of this thread until it ends. */
SF_API sf_span sf_span_start(const char *name);
SF_API sf_span sf_span_start_with(const char *name, const sf_span_options *options);
/* Ends a span and queues it for sending. If it is active in this thread, the span it was
 * started under becomes active again. Any thread may end a span. */
SF_API void sf_span_end(sf_span s);
SF_API void sf_span_end_at(sf_span s, uint64_t end_unix_ns);
SF_API int sf_span_is_recording(sf_span s); /* 0: attributes would be ignored */

SF_API void sf_span_set_name(sf_span s, const char *name);
SF_API void sf_span_set_str(sf_span s, const char *key, const char *val);
SF_API void sf_span_set_strn(sf_span s, const char *key, const char *val, size_t len);
SF_API void sf_span_set_int(sf_span s, const char *key, int64_t val);
SF_API void sf_span_set_double(sf_span s, const char *key, double val);
SF_API void sf_span_set_bool(sf_span s, const char *key, int val);
/* OK is final; a message is kept for ERROR only; it may be NULL. */
SF_API void sf_span_set_status(sf_span s, sf_status status, const char *message);

typedef enum sf_attr_type { SF_ATTR_STR, SF_ATTR_INT, SF_ATTR_DOUBLE, SF_ATTR_BOOL } sf_attr_type;
typedef struct sf_attr {
    const char *key;
    sf_attr_type type;
    union {
        const char *str;
        int64_t i;
        double d;
        int b;
    } val;
} sf_attr;
SF_API void sf_span_event(sf_span s, const char *name);
SF_API void sf_span_event_with(sf_span s, const char *name, const sf_attr *attrs, size_t n_attrs);
SF_API void sf_span_link(sf_span s, const sf_context *to, const sf_attr *attrs, size_t n_attrs);

/* --- the active span of this thread --- */

SF_API sf_span sf_current(void); /* 0: none */
/* Makes `s` the active span of this thread and returns the previous one; restore that when the
 * callback or job is done:
 *     sf_span before = sf_activate(s);  ...  sf_activate(before);
 * Nothing is started or ended. */
SF_API sf_span sf_activate(sf_span s);

/* --- across processes (W3C trace context) --- */

/* The context of `s` (0: the active span). Returns 0, or -1 when there is no such span. */
SF_API int sf_span_context(sf_span s, sf_context *out);
/* Reads the two headers; `tracestate` may be NULL. Returns 0, or -1 when traceparent is invalid. An
 * invalid tracestate is ignored. */
SF_API int sf_context_parse(const char *traceparent, const char *tracestate, sf_context *out);
/* Writes "00-<trace>-<span>-<flags>", terminated. Returns 0, or -1 when there is no context. */
SF_API int sf_traceparent(const sf_context *context, char out[SF_TRACEPARENT_CAP]);

/* --- for programs that trace with something else --- */

/* Sets the ids of the span that this thread works on, for profilers in and outside the process. It
 * takes a few stores, so it is cheap enough for every span. Spans started in this thread afterwards
 * become its children, and when they have ended it is active again. */
SF_API void sf_context_set(const uint8_t trace_id[16], const uint8_t span_id[8]);
SF_API void sf_context_clear(void);

/* --- profiles --- */

typedef enum sf_profile_set {
    SF_PROFILE_CPU = 1,
    SF_PROFILE_WALL = 2,   /* stacks of all threads, running or waiting */
    SF_PROFILE_HEAP = 4,   /* allocated and in use, bytes and objects */
    SF_PROFILE_MUTEX = 8,  /* waits for locks */
    SF_PROFILE_BLOCK = 16, /* all other waits, with the kind of wait */
    SF_PROFILE_THREADS = 32,
    SF_PROFILE_ALL = 63
} sf_profile_set;

/* Turns profilers on or off while the program runs; every sample carries its span, its thread and
 * its time and goes to the server. sf_start turns on the profilers listed in SPANFLAME_PROFILES
 * ("wall,mutex"; default: CPU and heap; "none": none). Returns 0, or -1: sf_problem has the reason,
 * and no further profiler is on. */
SF_API int sf_profiling_start(unsigned profiles);
SF_API void sf_profiling_stop(unsigned profiles);
SF_API unsigned sf_profiling(void); /* the profilers that are on */

/* Samples the code that runs, by the CPU time of each thread, until stop; then writes a pprof file
 * in which every sample has its span and thread. `rate_hz`: at most 1000; 0 means 100. Neither a
 * server nor sf_start is needed. Returns 0, or -1: sf_problem says why. */
SF_API int sf_cpu_profile_start(const char *path, unsigned rate_hz);
SF_API int sf_cpu_profile_stop(void);

/* Samples allocated and live memory by stack: one sample per `mean_bytes` allocated, on average (0:
 * 512 KiB), each with its span, thread and stack. Write writes a pprof file to `path`, any number
 * of times while it runs: objects and bytes allocated since the start, and in use now. Calls of
 * malloc must go through the library: link the shared library, or both archives in a program that
 * is not static itself. Returns 0, or -1: sf_problem says why. */
SF_API int sf_heap_profile_start(size_t mean_bytes);
SF_API int sf_heap_profile_write(const char *path);
SF_API int sf_heap_profile_stop(void);

#ifdef __cplusplus
}
#endif
#endif
