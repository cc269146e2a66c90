#include "listen/tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"

struct sf_tls_context {
    SSL_CTX *ctx;
};

struct sf_tls {
    SSL *ssl;
    BIO *in, *out; /* owned by ssl */
    char reason[100];
};

/* The first error in OpenSSL's queue as text; empties the queue. */
static const char *openssl_reason(char *text, size_t len)
{
    unsigned long code = ERR_get_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;

    if (code && !reason && ERR_SYSTEM_ERROR(code))
        reason = strerror(ERR_GET_REASON(code));
    (void)snprintf(text, len, "%s", reason ? reason : "unknown error");
    ERR_clear_error();
    return text;
}

static int tls_choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                               const unsigned char *in, unsigned in_len, void *arg)
{
    static const unsigned char ours[] = "\x02h2\x08http/1.1";
    unsigned char *chosen;

    (void)ssl;
    (void)arg;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static enum sf_err bad_file(struct sf_why *why, const char *what, const char *file)
{
    char text[160];
    return sf_fail(why, SF_ERR_INPUT, "tls: %s %s: %s", what, file,
                   openssl_reason(text, sizeof(text)));
}

static enum sf_err load_files(SSL_CTX *ctx, const struct sf_listen_tls *files, struct sf_why *why)
{
    static const unsigned char session_context[] = "spanflame";
    STACK_OF(X509_NAME) * names;

    if (!files->cert_file || !files->key_file)
        return sf_fail(why, SF_ERR_INPUT, "tls: a certificate file and a key file are needed");
    if (SSL_CTX_use_certificate_chain_file(ctx, files->cert_file) != 1)
        return bad_file(why, "cannot load certificate", files->cert_file);
    if (SSL_CTX_use_PrivateKey_file(ctx, files->key_file, SSL_FILETYPE_PEM) != 1)
        return bad_file(why, "cannot load key", files->key_file);
    if (SSL_CTX_check_private_key(ctx) != 1)
        return bad_file(why, "the certificate does not belong to key", files->key_file);
    if (!files->client_ca_file)
        return SF_OK;
    if (SSL_CTX_load_verify_file(ctx, files->client_ca_file) != 1)
        return bad_file(why, "cannot load client CA", files->client_ca_file);
    names = SSL_load_client_CA_file(files->client_ca_file);
    if (!names)
        return bad_file(why, "cannot load client CA", files->client_ca_file);
    SSL_CTX_set_client_CA_list(ctx, names); /* takes ownership */
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    /* Without it, resumed sessions of clients with certificates would be refused. */
    (void)SSL_CTX_set_session_id_context(ctx, session_context, sizeof(session_context) - 1);
    return SF_OK;
}

enum sf_err sf_tls_context_new(const struct sf_listen_tls *files, struct sf_tls_context **out,
                               struct sf_why *why)
{
    struct sf_tls_context *c = sf_heap_new(sizeof(*c));
    enum sf_err err = SF_OK;

    ERR_clear_error();
    if (c)
        c->ctx = SSL_CTX_new(TLS_server_method());
    if (!c || !c->ctx) {
        err = sf_fail(why, SF_ERR_NOMEM, "tls: no memory for a context");
        goto done;
    }
    (void)SSL_CTX_set_min_proto_version(c->ctx, TLS1_2_VERSION);
    (void)SSL_CTX_set_options(c->ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                          SSL_OP_CIPHER_SERVER_PREFERENCE);
    /* For TLS 1.2 only forward-secret ciphers with authenticated encryption: neither RSA key
     * exchange nor CBC. */
    if (SSL_CTX_set_cipher_list(c->ctx, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
        err = sf_fail(why, SF_ERR_UNSUPPORTED, "tls: this OpenSSL has no usable ciphers");
        goto done;
    }
    (void)SSL_CTX_set_mode(c->ctx, SSL_MODE_RELEASE_BUFFERS); /* releases buffers of idle
                                                               * connections */
    SSL_CTX_set_alpn_select_cb(c->ctx, tls_choose_protocol, NULL);
    err = load_files(c->ctx, files, why);
    if (err)
        goto done;
    *out = c;
    c = NULL;
done:
    sf_tls_context_free(c);
    return err;
}

void sf_tls_context_free(struct sf_tls_context *c)
{
    if (!c)
        return;
    SSL_CTX_free(c->ctx);
    sf_heap_free(c);
}

struct sf_tls *sf_tls_new(struct sf_tls_context *c)
{
    struct sf_tls *t = sf_heap_new(sizeof(*t));

    if (!t)
        return NULL;
    t->ssl = SSL_new(c->ctx);
    t->in = BIO_new(BIO_s_mem());
    t->out = BIO_new(BIO_s_mem());
    if (!t->ssl || !t->in || !t->out) {
        BIO_free(t->in);
        BIO_free(t->out);
        SSL_free(t->ssl);
        sf_heap_free(t);
        ERR_clear_error();
        return NULL;
    }
    BIO_set_mem_eof_return(t->in, -1); /* an empty buffer means "more later", not the end */
    BIO_set_mem_eof_return(t->out, -1);
    SSL_set_bio(t->ssl, t->in, t->out);
    SSL_set_accept_state(t->ssl);
    return t;
}

void sf_tls_free(struct sf_tls *t)
{
    if (!t)
        return;
    SSL_free(t->ssl);
    sf_heap_free(t);
}

enum sf_err sf_tls_feed(struct sf_tls *t, sf_bytes in)
{
    if (in.len > INT_MAX || BIO_write(t->in, in.p, (int)in.len) != (int)in.len)
        return SF_ERR_NOMEM;
    return SF_OK;
}

enum sf_err sf_tls_read(struct sf_tls *t, void *p, size_t len, size_t *out_len)
{
    int rc;

    *out_len = 0;
    ERR_clear_error();
    rc = SSL_read_ex(t->ssl, p, len, out_len);
    if (rc == 1)
        return SF_OK;
    switch (SSL_get_error(t->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return SF_OK;
    case SSL_ERROR_ZERO_RETURN: return SF_ERR_CANCELLED;
    default: (void)openssl_reason(t->reason, sizeof(t->reason)); return SF_ERR_INPUT;
    }
}

const char *sf_tls_reason(const struct sf_tls *t)
{
    return t->reason;
}

enum sf_err sf_tls_write(struct sf_tls *t, sf_bytes plain)
{
    size_t written;

    ERR_clear_error();
    /* The other side is a memory buffer, which accepts everything. */
    if (SSL_write_ex(t->ssl, plain.p, plain.len, &written) == 1 && written == plain.len)
        return SF_OK;
    ERR_clear_error();
    return SF_ERR_IO;
}

void sf_tls_goodbye(struct sf_tls *t)
{
    ERR_clear_error();
    if (SSL_is_init_finished(t->ssl))
        (void)SSL_shutdown(t->ssl);
    ERR_clear_error();
}

void sf_tls_drain(struct sf_tls *t, struct sf_buf *out)
{
    size_t pending = BIO_ctrl_pending(t->out);
    uint8_t *p;

    while (pending > 0 && pending <= INT_MAX) {
        p = sf_buf_take(out, pending);
        if (!p || BIO_read(t->out, p, (int)pending) != (int)pending)
            return;
        pending = BIO_ctrl_pending(t->out);
    }
}

bool sf_tls_is_ready(const struct sf_tls *t)
{
    return SSL_is_init_finished(t->ssl) != 0;
}

bool sf_tls_is_h2(const struct sf_tls *t)
{
    const unsigned char *name;
    unsigned len;

    SSL_get0_alpn_selected(t->ssl, &name, &len);
    return len == 2 && memcmp(name, "h2", 2) == 0;
}

bool sf_tls_has_client_cert(const struct sf_tls *t)
{
    return SSL_get0_peer_certificate(t->ssl) != NULL && SSL_get_verify_result(t->ssl) == X509_V_OK;
}
