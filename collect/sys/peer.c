#include "collect/sys/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time_unit.h"
#include "collect/sys/clock.h"

enum { MAX_ADDRESSES = 8 };

bool sf_peer_is_ours(const struct sf_peer *p)
{
    struct stat st;
    return p->fd >= 0 && !fstat(p->fd, &st) && S_ISSOCK(st.st_mode) && st.st_dev == p->dev &&
           st.st_ino == p->ino;
}

void sf_peer_leave(struct sf_peer *p)
{
    p->tls = NULL; /* not freed: another thread of the parent may have been using it */
    sf_peer_close(p);
}

void sf_peer_close(struct sf_peer *p)
{
    sf_peer_tls_close(p->tls);
    if (sf_peer_is_ours(p))
        close(p->fd);
    *p = SF_PEER_NONE;
}

static enum sf_err lost(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_IO, "the program closed the exporter's descriptor");
}

static enum sf_err peer_wait_for(const struct sf_peer *p, short events, int64_t deadline_ns,
                                 const char *doing, struct sf_why *why)
{
    for (;;) {
        int64_t left_ms = (deadline_ns - sf_clock_mono_ns()) / SF_NS_PER_MS;
        struct pollfd pf = {.fd = p->fd, .events = events};
        int n;
        if (left_ms <= 0)
            return sf_fail(why, SF_ERR_DEADLINE, "%s took too long", doing);
        n = poll(&pf, 1, left_ms > 1000 ? 1000 : (int)left_ms); /* then check again whether the
                                                                 * descriptor is ours */
        if (n > 0)
            return SF_OK;
        if (n < 0 && errno != EINTR)
            return sf_fail(why, SF_ERR_IO, "%s: %s", doing, strerror(errno));
        if (!sf_peer_is_ours(p))
            return lost(why);
    }
}

static enum sf_err try_address(struct sf_peer *p, const struct sockaddr *to, socklen_t len,
                               int64_t deadline_ns, struct sf_why *why)
{
    struct stat st;
    int one = 1, fault = 0;
    socklen_t fault_len = sizeof(fault);
    enum sf_err err;
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return sf_fail(why, SF_ERR_IO, "socket: %s", strerror(errno));
    if (fstat(fd, &st)) {
        close(fd);
        return sf_fail(why, SF_ERR_IO, "fstat: %s", strerror(errno));
    }
    *p = (struct sf_peer){fd, st.st_dev, st.st_ino, NULL};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (!connect(fd, to, len))
        return SF_OK;
    err = errno == EINPROGRESS ? peer_wait_for(p, POLLOUT, deadline_ns, "connecting", why)
                               : sf_fail(why, SF_ERR_IO, "connect: %s", strerror(errno));
    if (!err && (getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &fault_len) || fault))
        err = sf_fail(why, SF_ERR_IO, "connect: %s", strerror(fault ? fault : errno));
    if (err)
        sf_peer_close(p);
    return err;
}

/* Connects to numeric addresses and localhost without the resolver, which allocates with the
 * program's malloc, loads modules and reads files; it is used for other names only. */
static bool try_numeric(struct sf_peer *p, const char *host, uint16_t port, int64_t deadline_ns,
                        enum sf_err *out, struct sf_why *why)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    bool is_local = !strcmp(host, "localhost");

    if (is_local || inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
        if (is_local)
            v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        *out = try_address(p, (struct sockaddr *)&v4, sizeof(v4), deadline_ns, why);
        if (!*out || !is_local)
            return true;
        v6.sin6_addr = in6addr_loopback;
        if (!try_address(p, (struct sockaddr *)&v6, sizeof(v6), deadline_ns, NULL))
            *out = SF_OK;
        return true; /* report the first error */
    }
    if (inet_pton(AF_INET6, host, &v6.sin6_addr) != 1)
        return false;
    *out = try_address(p, (struct sockaddr *)&v6, sizeof(v6), deadline_ns, why);
    return true;
}

enum sf_err sf_peer_open(struct sf_peer *p, const char *host, uint16_t port, int64_t deadline_ns,
                         struct sf_why *why)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *list = NULL, *a;
    enum sf_err err;
    char service[8];
    int n = 0, fault;

    *p = SF_PEER_NONE;
    if (try_numeric(p, host, port, deadline_ns, &err, why))
        return err;
    snprintf(service, sizeof(service), "%u", port);
    fault = getaddrinfo(host, service, &hints, &list);
    if (fault)
        return sf_fail(why, SF_ERR_IO, "%s: %s", host, gai_strerror(fault));
    err = sf_fail(why, SF_ERR_IO, "%s has no address", host);
    for (a = list; a && n < MAX_ADDRESSES; a = a->ai_next, n++) {
        err = try_address(p, a->ai_addr, a->ai_addrlen, deadline_ns, why);
        if (!err)
            break;
    }
    freeaddrinfo(list);
    return err;
}

/* Waits until a TLS step can be retried. */
static enum sf_err wait_for_tls(const struct sf_peer *p, enum sf_tls_step step, int64_t deadline_ns,
                                const char *doing, struct sf_why *why)
{
    enum sf_err err;
    if (step == SF_TLS_FAILED)
        return SF_ERR_IO;
    if (step == SF_TLS_ENDED)
        return sf_fail(why, SF_ERR_IO, "%s: the server ended the connection", doing);
    err = peer_wait_for(p, step == SF_TLS_WANTS_READ ? POLLIN : POLLOUT, deadline_ns, doing, why);
    return err || sf_peer_is_ours(p) ? err : lost(why);
}

enum sf_err sf_peer_secure(struct sf_peer *p, const char *host, const char *protocol,
                           const struct sf_tls_files *files, int64_t deadline_ns,
                           struct sf_why *why)
{
    enum sf_tls_step step;
    enum sf_err err = sf_peer_tls_open(&p->tls, p->fd, host, protocol, files, why);
    while (!err && (step = sf_peer_tls_shake_hands(p->tls, why)) != SF_TLS_DONE)
        err = wait_for_tls(p, step, deadline_ns, "shaking hands", why);
    if (err)
        sf_peer_close(p);
    return err;
}

static enum sf_err write_tls(struct sf_peer *p, sf_bytes bytes, int64_t deadline_ns,
                             struct sf_why *why)
{
    while (bytes.len) {
        size_t n;
        enum sf_tls_step step;
        enum sf_err err = SF_OK;
        if (!sf_peer_is_ours(p))
            return lost(why);
        step = sf_peer_tls_write(p->tls, bytes, &n, why);
        bytes = (sf_bytes){bytes.p + n, bytes.len - n};
        if (step != SF_TLS_DONE)
            err = wait_for_tls(p, step, deadline_ns, "sending", why);
        if (err)
            return err;
    }
    return SF_OK;
}

static enum sf_err read_tls(struct sf_peer *p, void *to, size_t cap, int64_t deadline_ns,
                            size_t *out_len, struct sf_why *why)
{
    enum sf_tls_step step;
    enum sf_err err = sf_peer_is_ours(p) ? SF_OK : lost(why);
    while (!err && (step = sf_peer_tls_read(p->tls, to, cap, out_len, why)) != SF_TLS_DONE) {
        if (step == SF_TLS_ENDED)
            return SF_OK;
        err = wait_for_tls(p, step, deadline_ns, "waiting for the answer", why);
    }
    return err;
}

enum sf_err sf_peer_write(struct sf_peer *p, sf_bytes bytes, int64_t deadline_ns,
                          struct sf_why *why)
{
    if (p->tls)
        return write_tls(p, bytes, deadline_ns, why);
    while (bytes.len) {
        enum sf_err err;
        ssize_t n;
        if (!sf_peer_is_ours(p))
            return lost(why);
        n = send(p->fd, bytes.p, bytes.len, MSG_NOSIGNAL);
        if (n >= 0) {
            bytes = (sf_bytes){bytes.p + n, bytes.len - (size_t)n};
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return sf_fail(why, SF_ERR_IO, "send: %s", strerror(errno));
        err = peer_wait_for(p, POLLOUT, deadline_ns, "sending", why);
        if (err)
            return err;
    }
    return SF_OK;
}

enum sf_err sf_peer_read(struct sf_peer *p, void *to, size_t cap, int64_t deadline_ns,
                         size_t *out_len, struct sf_why *why)
{
    if (p->tls)
        return read_tls(p, to, cap, deadline_ns, out_len, why);
    for (;;) {
        enum sf_err err = peer_wait_for(p, POLLIN, deadline_ns, "waiting for the answer", why);
        ssize_t n;
        if (err)
            return err;
        if (!sf_peer_is_ours(p))
            return lost(why);
        n = recv(p->fd, to, cap, 0);
        if (n >= 0) {
            *out_len = (size_t)n;
            return SF_OK;
        }
        if (errno != EAGAIN && errno != EINTR)
            return sf_fail(why, SF_ERR_IO, "recv: %s", strerror(errno));
    }
}

bool sf_peer_is_stale(const struct sf_peer *p)
{
    struct pollfd pf = {.fd = p->fd, .events = POLLIN};
    return !sf_peer_is_ours(p) || poll(&pf, 1, 0) != 0;
}
