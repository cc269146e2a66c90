/* fetch.h - HTTP requests of the server itself: debuginfod, receivers of alerts, scraped targets,
 * ClickHouse.
 *
 * Only http and https. Time and length are limited. A redirect is followed only if the request
 * allows it, and only to the same scheme, host and port: other hosts than the configured ones are
 * never contacted. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { SF_FETCH_URL_CAP = 4200 };

struct sf_fetch_tls {
    const char *ca_file;              /* NULL: the system's */
    const char *cert_file, *key_file; /* client certificate; NULL: none */
    bool is_unchecked;                /* do not verify the server's certificate */
};

/* The message of a response with a status other than 2xx. */
struct sf_fetch_refusal {
    long status;    /* 0: no answer */
    char text[400]; /* the beginning of its body, terminated */
};

/* A connection that is kept for the next request to the same server. One request at a time. */
struct sf_fetch_line;
struct sf_fetch_line *sf_fetch_line_new(void);    /* NULL: no memory */
void sf_fetch_line_free(struct sf_fetch_line *l); /* NULL is fine */

struct sf_fetch { /* one request; everything it points to must outlive it */
    const char *url;
    const char *content_type;   /* for a POST; NULL: a GET */
    sf_bytes body;              /* body of a POST */
    bool is_once;               /* never send the body twice. Otherwise libcurl repeats a request
                                 * when a kept connection is closed without an answer, which the
                                 * caller does not notice. Without redirects only */
    const char *bearer;         /* token; NULL: none */
    const char *const *headers; /* additional headers, "Name: value" each; never shown in
                                 * messages */
    size_t n_headers;
    struct sf_fetch_refusal *refusal; /* may be NULL */
    struct sf_fetch_line *line;       /* for sf_fetch_run; NULL: a new connection */
    struct sf_fetch_tls tls;
    int64_t connect_ns, whole_ns; /* maximum; 0: no limit of its own */
    unsigned max_moves;           /* maximum number of redirects to follow */
    /* Called with the pieces of an answer with a 2xx status; an error ends the request. NULL: the
     * answer is discarded, and at most 16 MiB of it are read. */
    enum sf_err (*take)(void *arg, const void *p, size_t len, struct sf_why *why);
    void *arg;                 /* for `take` and sf_fetch_done */
    const atomic_bool *cancel; /* true: stop at once; may be NULL */
};

/* Waits for the whole answer. NOT_FOUND: 404 or 410; IO: another status than 2xx, a redirect that
 * is not followed, a network error; DEADLINE; CANCELLED; INPUT: not a URL; or the result of
 * `take`. */
enum sf_err sf_fetch_run(const struct sf_fetch *f, struct sf_why *why);
/* Checks that it is http:// or https:// with a host, without blanks and control characters.
 * INPUT. */
enum sf_err sf_fetch_check_url(sf_str url, struct sf_why *why);

/* ---- several requests at once, on one thread ---- */

struct sf_fetches;
typedef void sf_fetch_done(void *arg, enum sf_err err, const struct sf_why *why);

struct sf_fetches *sf_fetches_new(void); /* NULL: no memory */
/* Copies `f`; `done` is called once, by sf_fetches_step(). NOMEM, INPUT. */
enum sf_err sf_fetches_start(struct sf_fetches *s, const struct sf_fetch *f, sf_fetch_done *done,
                             struct sf_why *why);
/* Waits for progress, at most `wait_ns`, and processes it. */
void sf_fetches_step(struct sf_fetches *s, int64_t wait_ns);
size_t sf_fetches_n(const struct sf_fetches *s); /* number of running requests */
void sf_fetches_free(
    struct sf_fetches *s); /* ends running requests without calling `done`; NULL is fine */
