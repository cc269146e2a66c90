#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "listen/listener.h"
#include "listen/tls.h"
#include "os/clock.h"
#include "peer.h"
#include "test.h"

/* Certificates made for the test: a CA, a server's and a client's signed by it, a stranger's. */
static char folder[] = "/tmp/sf-tls-XXXXXX";
static char ca_file[64], cert_file[64], key_file[64], client_file[64], client_key[64];
static char other_file[64], other_key[64], bad_file[64];

__attribute__((destructor)) static void remove_files(void)
{
    static const char *const names[] = {"ca.pem",     "ca.key",     "server.pem",
                                        "server.key", "client.pem", "client.key",
                                        "other.pem",  "other.key",  "bad.pem"};
    char path[96];

    for (size_t i = 0; ca_file[0] && i < sizeof(names) / sizeof(*names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    if (ca_file[0])
        (void)rmdir(folder);
}

static EVP_PKEY *make_key(const char *file)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    FILE *f = fopen(file, "w");

    assert_non_null(key);
    assert_non_null(f);
    assert_int_equal(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL), 1);
    (void)fclose(f);
    return key;
}

static X509 *make_cert(const char *file, const char *name, EVP_PKEY *key, X509 *issuer,
                       EVP_PKEY *issuer_key, long serial)
{
    X509 *x = X509_new();
    X509_NAME *subject = X509_get_subject_name(x);
    X509_EXTENSION *ext;
    X509V3_CTX ctx;
    FILE *f = fopen(file, "w");

    assert_non_null(f);
    (void)X509_set_version(x, 2);
    (void)ASN1_INTEGER_set(X509_get_serialNumber(x), serial);
    (void)X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    (void)X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    (void)X509_set_pubkey(x, key);
    (void)X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1,
                                     -1, 0);
    (void)X509_set_issuer_name(x, issuer ? X509_get_subject_name(issuer) : subject);
    X509V3_set_ctx(&ctx, issuer ? issuer : x, x, NULL, NULL, 0);
    ext = X509V3_EXT_conf_nid(NULL, &ctx, NID_basic_constraints, issuer ? "CA:FALSE" : "CA:TRUE");
    (void)X509_add_ext(x, ext, -1);
    X509_EXTENSION_free(ext);
    assert_true(X509_sign(x, issuer_key ? issuer_key : key, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_X509(f, x), 1);
    (void)fclose(f);
    return x;
}

static void make_files(void)
{
    EVP_PKEY *ca_key, *key, *ckey, *okey;
    X509 *ca, *cert, *client, *other;
    char ca_key_file[64];
    FILE *f;

    if (ca_file[0])
        return;
    assert_non_null(mkdtemp(folder));
#define NAME(var, name) (void)snprintf(var, sizeof(var), "%s/" name, folder)
    NAME(ca_file, "ca.pem");
    NAME(ca_key_file, "ca.key");
    NAME(cert_file, "server.pem");
    NAME(key_file, "server.key");
    NAME(client_file, "client.pem");
    NAME(client_key, "client.key");
    NAME(other_file, "other.pem");
    NAME(other_key, "other.key");
    NAME(bad_file, "bad.pem");
    ca_key = make_key(ca_key_file);
    ca = make_cert(ca_file, "test CA", ca_key, NULL, NULL, 1);
    key = make_key(key_file);
    cert = make_cert(cert_file, "localhost", key, ca, ca_key, 2);
    ckey = make_key(client_key);
    client = make_cert(client_file, "client", ckey, ca, ca_key, 3);
    okey = make_key(other_key);
    other = make_cert(other_file, "stranger", okey, NULL, NULL, 4);
    f = fopen(bad_file, "w");
    assert_non_null(f);
    (void)fputs("not a certificate\n", f);
    (void)fclose(f);
    X509_free(ca);
    X509_free(cert);
    X509_free(client);
    X509_free(other);
    EVP_PKEY_free(ca_key);
    EVP_PKEY_free(key);
    EVP_PKEY_free(ckey);
    EVP_PKEY_free(okey);
}

struct client {
    int fd;
    SSL_CTX *ctx;
    SSL *ssl;
};

/* False: the handshake failed. */
static bool client_connect(struct client *c, uint16_t port, const char *alpn, const char *cert,
                           const char *key, int max_version)
{
    unsigned char list[32];
    bool is_ok;

    c->fd = peer_connect(port);
    c->ctx = SSL_CTX_new(TLS_client_method());
    assert_int_equal(SSL_CTX_load_verify_file(c->ctx, ca_file), 1);
    SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
    (void)SSL_CTX_set_min_proto_version(c->ctx, 0);
    if (max_version)
        (void)SSL_CTX_set_max_proto_version(c->ctx, max_version);
    if (cert) {
        assert_int_equal(SSL_CTX_use_certificate_chain_file(c->ctx, cert), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(c->ctx, key, SSL_FILETYPE_PEM), 1);
    }
    c->ssl = SSL_new(c->ctx);
    if (alpn) {
        list[0] = (unsigned char)strlen(alpn);
        memcpy(list + 1, alpn, list[0]);
        (void)SSL_set_alpn_protos(c->ssl, list, list[0] + 1u);
    }
    (void)SSL_set_fd(c->ssl, c->fd);
    is_ok = SSL_connect(c->ssl) == 1;
    return is_ok;
}

static void client_done(struct client *c)
{
    SSL_free(c->ssl);
    SSL_CTX_free(c->ctx);
    (void)close(c->fd);
}

/* One request; the status, 0 when the connection broke. */
static int client_ask(struct client *c, const char *path, size_t body_len, size_t *out_len)
{
    static char buf[1 << 16];
    struct sf_buf in = {0}, text = {0};
    size_t at, want = SIZE_MAX;
    int n, status = 0;

    sf_buf_print(&text, "POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", path,
                 body_len);
    memset(sf_buf_take(&text, body_len), 'x', body_len);
    if (SSL_write(c->ssl, text.p, (int)text.len) > 0) {
        while (in.len < want && (n = SSL_read(c->ssl, buf, sizeof(buf))) > 0) {
            sf_buf_add(&in, buf, (size_t)n);
            if (want == SIZE_MAX && sf_str_find(sf_buf_str(&in), SF_STR("\r\n\r\n"), &at)) {
                const char *len = strstr((const char *)in.p, "content-length: ");
                want = at + 4 + (len ? strtoul(len + 16, NULL, 10) : 0);
                status = atoi((const char *)in.p + 9);
                *out_len = want - at - 4;
            }
        }
    }
    if (in.len < want)
        status = 0;
    sf_buf_done(&in);
    sf_buf_done(&text);
    return status;
}

TEST(tls, serves_http_1_1_and_http_2_by_alpn)
{
    struct sf_listen_tls tls;
    struct peer_server s;
    struct client c;
    const unsigned char *name;
    unsigned name_len;
    size_t len = 0;

    make_files();
    tls = (struct sf_listen_tls){cert_file, key_file, NULL};
    peer_start(&s, NULL, &tls);
    assert_true(client_connect(&c, s.port, "http/1.1", NULL, NULL, 0));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(client_ask(&c, "/echo", 100000, &len), 200);
        assert_int_equal(len, 100000);
    }
    assert_int_equal(client_ask(&c, "/big?3000000", 0, &len), 200);
    assert_int_equal(len, 3000000);
    client_done(&c);
    assert_true(client_connect(&c, s.port, NULL, NULL, NULL, TLS1_2_VERSION));
    assert_int_equal(client_ask(&c, "/later", 5, &len), 200);
    client_done(&c);
    assert_true(client_connect(&c, s.port, "h2", NULL, NULL, 0));
    SSL_get0_alpn_selected(c.ssl, &name, &name_len);
    assert_int_equal(name_len, 2);
    assert_int_equal(SSL_write(c.ssl, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33),
                     33);
    {
        uint8_t head[9];
        assert_int_equal(SSL_read(c.ssl, head, 9), 9);
        assert_int_equal(head[3], 4); /* SETTINGS */
    }
    client_done(&c);
    peer_stop(&s);
}

TEST(tls, refuses_old_versions_and_unknown_protocols)
{
    struct sf_listen_tls tls;
    struct peer_server s;
    struct client c;

    make_files();
    tls = (struct sf_listen_tls){cert_file, key_file, NULL};
    peer_start(&s, NULL, &tls);
    assert_false(client_connect(&c, s.port, NULL, NULL, NULL, TLS1_1_VERSION));
    client_done(&c);
    assert_false(client_connect(&c, s.port, "gopher", NULL, NULL, 0));
    client_done(&c);
    peer_wait_stats(&s, st, st.n_tls_failures >= 2);
    sf_mutex_lock(&s.mutex);
    assert_non_null(strstr(s.fault, "TLS failed: "));
    assert_null(strstr(s.fault, "unknown error"));
    sf_mutex_unlock(&s.mutex);
    peer_stop(&s);
}

TEST(tls, tells_who_speaks_in_the_clear_to_use_https)
{
    static const sf_str openings[] = {{"GET /echo HTTP/1.1\r\nHost: h\r\n\r\n", 31},
                                      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24},
                                      {"P", 1}};
    struct sf_listen_tls tls;
    struct peer_server s;
    struct client c;
    size_t len;

    make_files();
    tls = (struct sf_listen_tls){cert_file, key_file, NULL};
    peer_start(&s, NULL, &tls);
    for (size_t i = 0; i < 3; i++) {
        struct peer_answer answer = {0};
        struct sf_buf left = {0};
        int fd = peer_connect(s.port);
        peer_send(fd, openings[i]);
        peer_read_answer(fd, &left, &answer, false);
        assert_int_equal(answer.status, 400);
        assert_str(sf_buf_str(&answer.body), "this port speaks TLS: use https://\n");
        assert_true(answer.closes && peer_is_closed(fd, 5000));
        peer_answer_done(&answer);
        sf_buf_done(&left);
        (void)close(fd);
    }
    assert_int_equal(s.n_requests, 0);
    peer_wait_stats(&s, st, st.n_tls_failures == 3);
    assert_true(client_connect(&c, s.port, NULL, NULL, NULL, 0));
    assert_int_equal(client_ask(&c, "/echo", 0, &len), 200);
    client_done(&c);
    peer_stop(&s);
}

TEST(tls, wants_a_certificate_of_ours_when_told_so)
{
    struct sf_listen_tls tls;
    struct peer_server s;
    struct client c;
    size_t len = 0;

    make_files();
    tls = (struct sf_listen_tls){cert_file, key_file, ca_file};
    peer_start(&s, NULL, &tls);
    assert_true(client_connect(&c, s.port, NULL, client_file, client_key, 0));
    assert_int_equal(client_ask(&c, "/cert", 0, &len), 200);
    assert_int_equal(len, 4); /* "yes\n" */
    client_done(&c);
    /* In TLS 1.3 the client's side is done before the server says no: ask to find out. */
    if (client_connect(&c, s.port, NULL, NULL, NULL, 0))
        assert_int_equal(client_ask(&c, "/echo", 0, &len), 0);
    client_done(&c);
    if (client_connect(&c, s.port, NULL, other_file, other_key, 0))
        assert_int_equal(client_ask(&c, "/echo", 0, &len), 0);
    client_done(&c);
    assert_int_equal(atomic_load(&s.n_requests), 1);
    peer_stop(&s);
}

TEST(tls, ends_handshakes_that_never_finish)
{
    struct sf_listen_limits limits = {.header_timeout_ms = 200};
    struct sf_listen_tls tls;
    struct peer_server s;
    int fd;

    make_files();
    tls = (struct sf_listen_tls){cert_file, key_file, NULL};
    peer_start(&s, &limits, &tls);
    fd = peer_connect(s.port);
    peer_send(fd, SF_STR("\x16\x03\x01\x02"));
    assert_true(peer_is_closed(fd, 5000));
    assert_int_equal(peer_stats(&s).n_timeouts, 1);
    (void)close(fd);
    peer_stop(&s);
}

static void fails_naming(struct sf_listen_tls tls, const char *file)
{
    struct sf_tls_context *c = NULL;
    struct sf_why why = {""};

    assert_err(sf_tls_context_new(&tls, &c, &why), SF_ERR_INPUT);
    assert_null(c);
    if (!strstr(why.text, file))
        fail_msg("\"%s\" does not name %s", why.text, file);
}

TEST(tls, names_the_file_that_is_wrong)
{
    make_files();
    fails_naming((struct sf_listen_tls){bad_file, key_file, NULL}, bad_file);
    fails_naming((struct sf_listen_tls){cert_file, bad_file, NULL}, bad_file);
    fails_naming((struct sf_listen_tls){cert_file, key_file, bad_file}, bad_file);
    fails_naming((struct sf_listen_tls){"/no/cert", key_file, NULL}, "/no/cert");
    fails_naming((struct sf_listen_tls){cert_file, "/no/key", NULL}, "/no/key");
    fails_naming((struct sf_listen_tls){cert_file, key_file, "/no/ca"}, "/no/ca");
    fails_naming((struct sf_listen_tls){cert_file, other_key, NULL}, other_key);
    fails_naming((struct sf_listen_tls){NULL, NULL, NULL}, "certificate");
}
