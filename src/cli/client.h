/* client.h - the HTTP client of the commands: one call with a time limit, and errors that say what
 * to do. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "cli/args.h"
#include "os/file.h"

struct sf_client {          /* filled by the flags below, or by the caller; zero means the
                             * default */
    const char *server;     /* --server, else SPANFLAME_SERVER, else http://127.0.0.1:4040 */
    const char *token_file; /* --token-file, else SPANFLAME_TOKEN (the token itself) */
    const char *tenant;     /* --tenant: X-Scope-OrgID */
    const char *ca_file;    /* --ca-file: trust this certificate authority */
    int64_t timeout_ns;     /* --timeout */
    bool is_foreign;        /* another site, such as a pprof URL: gets neither token nor tenant */
    /* Called while a body is sent; may be NULL. */
    void (*progress)(void *arg, uint64_t sent_len, uint64_t all_len);
    void *progress_arg;
};

/* The flags every command that talks to a server has; put them into its table. */
#define SF_CLIENT_FLAGS(client)                                                                  \
    {"server", SF_FLAG_STR, &(client).server, "URL",                                             \
     "the server (default http://127.0.0.1:4040)"},                                              \
        {"token-file", SF_FLAG_STR, &(client).token_file, "FILE", "file with the bearer token"}, \
        {"tenant", SF_FLAG_STR, &(client).tenant, "NAME", "the tenant to query"},                \
        {"ca-file", SF_FLAG_STR, &(client).ca_file, "FILE",                                      \
         "PEM file of CA certificates to trust"},                                                \
    {                                                                                            \
        "timeout", SF_FLAG_DURATION, &(client).timeout_ns, "TIME",                               \
            "time limit of a request (default 30s)"                                              \
    }

struct sf_client_answer {
    long status;
    struct sf_buf body; /* owned by the caller */
    char note[240];     /* the server's note about what a limit cut from the answer; else empty */
    uint64_t n_samples; /* samples in a profile; 0: unknown */
    uint64_t n_few;     /* number of samples when too few for times and shares; 0: unknown */
    bool is_estimate;   /* of a profile: a part is shared with other spans */
};

/* The server's URL. */
const char *sf_client_server(const struct sf_client *c);
/* GETs `path`; a status other than 2xx is an error with the message of the server. 404 is
 * NOT_FOUND, 401 and 403 DENIED, 4xx INPUT, 5xx IO. */
enum sf_err sf_client_get(const struct sf_client *c, const char *path, const char *accept,
                          struct sf_buf *out, struct sf_why *why);
/* Like get, and returns the note too. `out` is untouched on failure. */
enum sf_err sf_client_ask(const struct sf_client *c, const char *path, const char *accept,
                          struct sf_client_answer *out, struct sf_why *why);
enum sf_err sf_client_post(const struct sf_client *c, const char *path, const char *content_type,
                           sf_bytes body, struct sf_buf *out, struct sf_why *why);
/* Sends the content of a file, of `len` bytes, without holding it in memory. */
enum sf_err sf_client_put(const struct sf_client *c, const char *path, const struct sf_file *file,
                          uint64_t len, struct sf_buf *out, struct sf_why *why);
enum sf_err sf_client_delete(const struct sf_client *c, const char *path, struct sf_buf *out,
                             struct sf_why *why);
/* Calls a method of Pyroscope's API with JSON. `path` is the method's. */
enum sf_err sf_client_connect(const struct sf_client *c, const char *path, sf_str json,
                              struct sf_buf *out, struct sf_why *why);
void sf_client_encode(struct sf_buf *out,
                      sf_str text); /* percent-encodes a path part or parameter */
