/* fetch.h - HTTP requests of the server itself: debuginfod, receivers of alerts, scraped targets,
 * ClickHouse.
 *
 * Only http and https. Time and length are bounded. A redirect is followed only where the request
 * allows it, and to the same scheme, host and port only: an address that the operator did not
 * write is never called. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { SF_FETCH_URL_CAP = 4200 };

struct sf_fetch_tls {
    const char *ca_file;              /* NULL: the machine's */
    const char *cert_file, *key_file; /* of the client; NULL: none */
    bool is_unchecked;                /* any certificate will do */
};

/* The message of a response with a status other than 2xx. */
struct sf_fetch_refusal {
    long status;    /* 0: there was no answer */
    char text[400]; /* the beginning of its body, terminated */
};

/* A connection that stays open for the next request to the same server. One request at a time. */
struct sf_fetch_line;
struct sf_fetch_line *sf_fetch_line_new(void);    /* NULL: no memory */
void sf_fetch_line_free(struct sf_fetch_line *l); /* NULL is fine */

struct sf_fetch { /* one request; what it points to outlives it */
    const char *url;
    const char *content_type;   /* of a POST; NULL: a GET */
    sf_bytes body;              /* of a POST */
    const char *bearer;         /* token; NULL: none */
    const char *const *headers; /* further ones, "Name: value" each; no message ever names them */
    size_t n_headers;
    struct sf_fetch_refusal *refusal; /* may be NULL */
    struct sf_fetch_line *line;       /* of sf_fetch_run; NULL: a connection of its own */
    struct sf_fetch_tls tls;
    int64_t connect_ns, whole_ns; /* at most; 0: no limit of its own */
    unsigned max_moves;           /* redirects that are followed */
    /* Gets the pieces of an answer with a status of 2xx; an error ends the request. NULL: the
     * answer is not kept, and at most 16 MiB of it are read. */
    enum sf_err (*take)(void *arg, const void *p, size_t len, struct sf_why *why);
    void *arg;                 /* of `take` and of sf_fetch_done */
    const atomic_bool *cancel; /* true: give up at once; may be NULL */
};

/* Waits for the whole answer. NOT_FOUND: 404 or 410; IO: another status than 2xx, a redirect that
 * is not followed, the network; DEADLINE; CANCELLED; INPUT: no address; or the result of `take`. */
enum sf_err sf_fetch_run(const struct sf_fetch *f, struct sf_why *why);
/* Is it http:// or https:// with a host, without blanks and control characters? INPUT. */
enum sf_err sf_fetch_check_url(sf_str url, struct sf_why *why);

/* ---- several at once, on one thread ---- */

struct sf_fetches;
typedef void sf_fetch_done(void *arg, enum sf_err err, const struct sf_why *why);

struct sf_fetches *sf_fetches_new(void); /* NULL: no memory */
/* Copies `f`; `done` is called from sf_fetches_step(), once. NOMEM, INPUT. */
enum sf_err sf_fetches_start(struct sf_fetches *s, const struct sf_fetch *f, sf_fetch_done *done,
                             struct sf_why *why);
/* Waits for progress, at most `wait_ns`, and makes it. */
void sf_fetches_step(struct sf_fetches *s, int64_t wait_ns);
size_t sf_fetches_n(const struct sf_fetches *s); /* under way */
void sf_fetches_free(
    struct sf_fetches *s); /* ends what is under way, without a word; NULL is fine */
