/* peer_tls.c - loads libssl at run time and calls it through function pointers. Connections are
 * non-blocking: each call returns whether it is done, or waits for the socket to be readable or
 * writable. */
#include "collect/sys/peer_tls.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "collect/sys/lock.h"

/* Constants of OpenSSL 3 and 1.1, whose headers are not needed for the build: they are part of its
 * binary interface. */
enum {
    CTRL_SET_HOST_NAME = 55,
    VERIFY_PEER = 1,
    FILETYPE_PEM = 1,
    ERROR_WANT_READ = 2,
    ERROR_WANT_WRITE = 3,
    ERROR_ZERO_RETURN = 6
};
#define INIT_NO_ATEXIT ((uint64_t)0x80000)

static struct {
    struct sf_lock lock; /* guards the loading and is held during it; used by the library's threads
                          * only */
    bool is_tried;
    atomic_bool is_over; /* OpenSSL was cleaned up at the end of the program */
    void (*before_end)(void);
    void *library;
    int (*init)(uint64_t, const void *);
    int (*at_exit)(void (*)(void));
    void *(*method)(void);
    void *(*ctx_new)(void *);
    void (*ctx_free)(void *);
    void (*ctx_set_verify)(void *, int, void *);
    int (*ctx_default_paths)(void *);
    int (*ctx_authorities)(void *, const char *, const char *);
    int (*ctx_certificate)(void *, const char *);
    int (*ctx_key)(void *, const char *, int);
    void *(*open)(void *);
    void (*close)(void *);
    int (*set_fd)(void *, int);
    long (*ctrl)(void *, int, long, void *);
    int (*set_host)(void *, const char *);
    void *(*param)(void *);
    int (*param_set_address)(void *, const char *);
    int (*set_alpn)(void *, const unsigned char *, unsigned);
    int (*connect)(void *);
    int (*read)(void *, void *, int);
    int (*write)(void *, const void *, int);
    int (*error)(const void *, int);
    long (*verified)(const void *);
    const char *(*verify_text)(long);
    unsigned long (*last_error)(void);
    void (*clear_errors)(void);
    void (*error_text)(unsigned long, char *, size_t);
} o;

struct sf_peer_tls {
    void *ctx, *ssl;
};

static bool peer_tls_find(void *at, const char *name)
{
    void *found = dlsym(o.library, name);
    memcpy(at, &found, sizeof(found)); /* copied, because it is the address of a function */
    return found != NULL;
}

static bool find_all(void)
{
    const struct {
        void *at;
        const char *name;
    } names[] = {{&o.init, "OPENSSL_init_ssl"},
                 {&o.at_exit, "OPENSSL_atexit"},
                 {&o.method, "TLS_client_method"},
                 {&o.ctx_new, "SSL_CTX_new"},
                 {&o.ctx_free, "SSL_CTX_free"},
                 {&o.ctx_set_verify, "SSL_CTX_set_verify"},
                 {&o.ctx_default_paths, "SSL_CTX_set_default_verify_paths"},
                 {&o.ctx_authorities, "SSL_CTX_load_verify_locations"},
                 {&o.ctx_certificate, "SSL_CTX_use_certificate_chain_file"},
                 {&o.ctx_key, "SSL_CTX_use_PrivateKey_file"},
                 {&o.open, "SSL_new"},
                 {&o.close, "SSL_free"},
                 {&o.set_fd, "SSL_set_fd"},
                 {&o.ctrl, "SSL_ctrl"},
                 {&o.set_host, "SSL_set1_host"},
                 {&o.param, "SSL_get0_param"},
                 {&o.param_set_address, "X509_VERIFY_PARAM_set1_ip_asc"},
                 {&o.set_alpn, "SSL_set_alpn_protos"},
                 {&o.connect, "SSL_connect"},
                 {&o.read, "SSL_read"},
                 {&o.write, "SSL_write"},
                 {&o.error, "SSL_get_error"},
                 {&o.verified, "SSL_get_verify_result"},
                 {&o.verify_text, "X509_verify_cert_error_string"},
                 {&o.last_error, "ERR_peek_last_error"},
                 {&o.clear_errors, "ERR_clear_error"},
                 {&o.error_text, "ERR_error_string_n"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!peer_tls_find(names[i].at, names[i].name))
            return false;
    }
    return true;
}

/* In a program that uses OpenSSL, an exit handler cleans it up before our last spans would be sent:
 * so they are sent now. */
static void peer_tls_on_end(void)
{
    if (o.before_end)
        o.before_end();
    atomic_store(&o.is_over, true);
}

void sf_peer_tls_before_end(void (*call)(void))
{
    o.before_end = call;
}

void sf_peer_tls_after_fork(void)
{
    sf_lock_reset(&o.lock);
}

/* A separate linker namespace would be cleaner, but glibc has only a few, and each gets its own
 * libc. */
static bool peer_tls_load(void)
{
    static const char *const names[] = {"libssl.so.3", "libssl.so.1.1"};
    bool ok;
    sf_lock_take(&o.lock);
    for (size_t i = 0; !o.is_tried && !o.library && i < sizeof(names) / sizeof(names[0]); i++) {
        o.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (o.library && (!find_all() || o.init(INIT_NO_ATEXIT, NULL) != 1)) {
            dlclose(o.library);
            o.library = NULL;
        }
        if (o.library)
            o.at_exit(peer_tls_on_end);
    }
    o.is_tried = true;
    ok = o.library != NULL;
    sf_lock_give(&o.lock);
    return ok;
}

static enum sf_err peer_tls_fail(enum sf_err err, const char *doing, struct sf_why *why)
{
    char text[160] = "no reason given";
    unsigned long code = o.last_error();
    if (code)
        o.error_text(code, text, sizeof(text));
    return sf_fail(why, err, "tls: %s: %s", doing, text);
}

static enum sf_err make_ctx(struct sf_peer_tls *t, const struct sf_tls_files *files,
                            struct sf_why *why)
{
    t->ctx = o.ctx_new(o.method());
    if (!t->ctx)
        return peer_tls_fail(SF_ERR_NOMEM, "beginning", why);
    o.ctx_set_verify(t->ctx, VERIFY_PEER, NULL);
    if (files->authorities[0] ? o.ctx_authorities(t->ctx, files->authorities, NULL) != 1
                              : o.ctx_default_paths(t->ctx) != 1)
        return peer_tls_fail(SF_ERR_INPUT,
                             files->authorities[0] ? files->authorities : "authorities", why);
    if (files->certificate[0] && o.ctx_certificate(t->ctx, files->certificate) != 1)
        return peer_tls_fail(SF_ERR_INPUT, files->certificate, why);
    if (files->certificate[0] && o.ctx_key(t->ctx, files->key, FILETYPE_PEM) != 1)
        return peer_tls_fail(SF_ERR_INPUT, files->key, why);
    return SF_OK;
}

static bool is_address(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* The name in the certificate must be the configured one. */
static bool peer_tls_expect(struct sf_peer_tls *t, const char *host)
{
    char name[256];
    if (is_address(host))
        return o.param_set_address(o.param(t->ssl), host) == 1;
    snprintf(name, sizeof(name), "%s", host);
    return o.ctrl(t->ssl, CTRL_SET_HOST_NAME, 0, name) == 1 && o.set_host(t->ssl, name) == 1;
}

static enum sf_err make_ssl(struct sf_peer_tls *t, int fd, const char *host, const char *protocol,
                            struct sf_why *why)
{
    unsigned char alpn[16];
    size_t len = strlen(protocol);
    t->ssl = o.open(t->ctx);
    if (!t->ssl || len >= sizeof(alpn))
        return peer_tls_fail(SF_ERR_NOMEM, "beginning", why);
    alpn[0] = (unsigned char)len;
    memcpy(alpn + 1, protocol, len);
    if (!peer_tls_expect(t, host) || o.set_alpn(t->ssl, alpn, (unsigned)len + 1) ||
        o.set_fd(t->ssl, fd) != 1)
        return peer_tls_fail(SF_ERR_INPUT, host, why);
    return SF_OK;
}

enum sf_err sf_peer_tls_open(struct sf_peer_tls **out, int fd, const char *host,
                             const char *protocol, const struct sf_tls_files *files,
                             struct sf_why *why)
{
    struct sf_peer_tls *t;
    enum sf_err err;
    if (atomic_load(&o.is_over) || !peer_tls_load())
        return sf_fail(why, SF_ERR_UNSUPPORTED, "tls: https needs libssl.so.3 or libssl.so.1.1");
    t = sf_heap_new(sizeof(*t));
    if (!t)
        return sf_fail(why, SF_ERR_NOMEM, "tls: no memory");
    o.clear_errors();
    err = make_ctx(t, files, why);
    if (!err)
        err = make_ssl(t, fd, host, protocol, why);
    if (err)
        sf_peer_tls_close(t);
    else
        *out = t;
    return err;
}

void sf_peer_tls_close(struct sf_peer_tls *t)
{
    if (!t || atomic_load(&o.is_over))
        return;
    if (t->ssl)
        o.close(t->ssl);
    if (t->ctx)
        o.ctx_free(t->ctx);
    sf_heap_free(t);
}

static enum sf_tls_step over(struct sf_why *why)
{
    sf_fail(why, SF_ERR_IO, "tls: the program has ended");
    return SF_TLS_FAILED;
}

/* The meaning of a call's result `got`. */
static enum sf_tls_step peer_tls_step(struct sf_peer_tls *t, int got, const char *doing,
                                      struct sf_why *why)
{
    switch (got > 0 ? 0 : o.error(t->ssl, got)) {
    case 0: return SF_TLS_DONE;
    case ERROR_WANT_READ: return SF_TLS_WANTS_READ;
    case ERROR_WANT_WRITE: return SF_TLS_WANTS_WRITE;
    case ERROR_ZERO_RETURN: return SF_TLS_ENDED;
    default: break;
    }
    if (o.verified(t->ssl))
        sf_fail(why, SF_ERR_IO, "tls: the server's certificate: %s",
                o.verify_text(o.verified(t->ssl)));
    else
        peer_tls_fail(SF_ERR_IO, doing, why);
    return SF_TLS_FAILED;
}

enum sf_tls_step sf_peer_tls_shake_hands(struct sf_peer_tls *t, struct sf_why *why)
{
    if (atomic_load(&o.is_over))
        return over(why);
    o.clear_errors();
    return peer_tls_step(t, o.connect(t->ssl), "shaking hands", why);
}

enum sf_tls_step sf_peer_tls_write(struct sf_peer_tls *t, sf_bytes bytes, size_t *out_len,
                                   struct sf_why *why)
{
    int n;
    if (atomic_load(&o.is_over))
        return over(why);
    o.clear_errors();
    n = o.write(t->ssl, bytes.p, bytes.len > INT_MAX ? INT_MAX : (int)bytes.len);
    *out_len = n > 0 ? (size_t)n : 0;
    return peer_tls_step(t, n, "sending", why);
}

enum sf_tls_step sf_peer_tls_read(struct sf_peer_tls *t, void *to, size_t cap, size_t *out_len,
                                  struct sf_why *why)
{
    int n;
    if (atomic_load(&o.is_over))
        return over(why);
    o.clear_errors();
    n = o.read(t->ssl, to, cap > INT_MAX ? INT_MAX : (int)cap);
    *out_len = n > 0 ? (size_t)n : 0;
    return peer_tls_step(t, n, "reading", why);
}
