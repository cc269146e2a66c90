/* shop.h - what the services of the demo share: HTTP on loopback that carries the trace along, CPU
 * time that is spent to the microsecond, and a switch for every planted problem.
 *
 * Written for reading, not for production: one thread per request from a small pool, one request
 * per connection. */
#pragma once
#include <spanflame.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function that keeps its name and its frame. */
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

/* Puts a sentence into an answer. */
void shop_say(char answer[SHOP_ANSWER_CAP], const char *sentence);

/* Fills `answer` (terminated) and returns the HTTP status. */
typedef int (*shop_handler)(const struct shop_request *request, char answer[SHOP_ANSWER_CAP]);

struct shop_route {
    const char *method, *path;
    shop_handler handle;
};

/* Serves on 127.0.0.1:$SHOP_PORT until SIGTERM. Every request gets a server span, a child of the
 * caller's when the request brings a traceparent. Returns the program's exit status. */
int shop_serve(const char *service, const struct shop_route *routes, size_t n_routes);

/* Asks another service (its port is in $SHOP_<NAME>_PORT) under a client span. The HTTP status, or
 * -1. */
int shop_call(const char *service, const char *method, const char *path, long order,
              char answer[SHOP_ANSWER_CAP]);

/* Is this problem planted just now? The file $SHOP_SWITCHES says it, as `spanflame demo` writes it;
 * without one all are, but for those that $SHOP_OFF names ("regex,lock" or "all"). */
bool shop_has(const char *problem);

/* ---- time ---- */

uint64_t shop_now_us(void);
uint64_t shop_cpu_us(void); /* that this thread has used */
void shop_sleep_us(uint64_t us);

/* CPU time of this thread to be spent:
 *     for (uint64_t end = cpu_budget_us(2000); cpu_is_left(end);)
 *         some_real_work();
 * So a planted problem costs what its table says, on any machine. */
uint64_t cpu_budget_us(uint64_t us);
bool cpu_is_left(uint64_t end);
