/* shop.h - shared code of the demo's services: HTTP on loopback with trace context, loops that use
 * a given CPU time, and a switch for every planted problem.
 *
 * Written for reading, not for production: one thread per request from a small pool, one request
 * per connection. */
#pragma once
#include <spanflame.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keeps a function's name and frame: it is neither inlined nor cloned. */
#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

struct shop_request {
    long order;   /* the number in "/path?order=N" */
    sf_span span; /* of this request; already active on this thread */
};

enum { SHOP_ANSWER_CAP = 16384 };

/* Writes a sentence into an answer. */
void shop_say(char answer[SHOP_ANSWER_CAP], const char *sentence);

/* Fills `answer` (terminated) and returns the HTTP status. */
typedef int (*shop_handler)(const struct shop_request *request, char answer[SHOP_ANSWER_CAP]);

struct shop_route {
    const char *method, *path;
    shop_handler handle;
};

/* Serves on 127.0.0.1:$SHOP_PORT until SIGTERM. Every request gets a server span, a child of the
 * caller's span when the request has a traceparent. Returns the program's exit status. */
int shop_serve(const char *service, const struct shop_route *routes, size_t n_routes);

/* Calls another service (its port is in $SHOP_<NAME>_PORT) in a client span. Returns the HTTP
 * status, or -1. */
int shop_call(const char *service, const char *method, const char *path, long order,
              char answer[SHOP_ANSWER_CAP]);

/* Whether this problem is planted now, according to the file $SHOP_SWITCHES, which `spanflame demo`
 * writes; without the file all are, except for those in $SHOP_OFF ("regex,lock" or "all"). */
bool shop_has(const char *problem);

/* ---- time ---- */

uint64_t shop_now_us(void);
uint64_t shop_cpu_us(void); /* CPU time used by this thread */
void shop_sleep_us(uint64_t us);

/* For loops that use a given CPU time of this thread:
 *     for (uint64_t end = cpu_budget_us(2000); cpu_is_left(end);)
 *         some_real_work();
 * So a planted problem has the same documented cost on any machine. */
uint64_t cpu_budget_us(uint64_t us);
bool cpu_is_left(uint64_t end);
