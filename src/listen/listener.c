/* There is one listening socket per address, and every loop polls its own duplicate of it.
 * SO_REUSEPORT is not used: with it the kernel would assign connections to a busy loop while
 * another is idle, and a second server of the same user would silently share the port instead of
 * failing. */
#include "listen/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/heap.h"
#include "listen/loop.h"
#include "listen/tls.h"

struct place { /* one address */
    struct sf_tls_context *tls;
    int fd_plus_1;
    uint16_t port; /* 0: skipped */
};

struct sf_listener {
    struct sf_listen_shared shared;
    struct place *places;
    size_t n_places;
    unsigned n_started;
};

static void fill_limits(struct sf_listen_limits *l)
{
    if (!l->connections)
        l->connections = SF_LIMIT_CONNECTIONS;
    if (!l->streams)
        l->streams = SF_LIMIT_STREAMS;
    if (!l->header_len)
        l->header_len = SF_LIMIT_HEADER_LEN;
    if (!l->body_len)
        l->body_len = SF_LIMIT_BODY_LEN;
    if (!l->bodies_len)
        l->bodies_len = SF_LIMIT_BODIES_LEN;
    if (!l->answers_len)
        l->answers_len = SF_LIMIT_ANSWERS_LEN;
    if (!l->requests)
        l->requests = l->bodies_len / SF_LIMIT_STREAM_LEN;
    if (!l->header_timeout_ms)
        l->header_timeout_ms = SF_LIMIT_HEADER_TIMEOUT_MS;
    if (!l->body_timeout_ms)
        l->body_timeout_ms = SF_LIMIT_BODY_TIMEOUT_MS;
    if (!l->idle_timeout_ms)
        l->idle_timeout_ms = SF_LIMIT_IDLE_TIMEOUT_MS;
    if (!l->total_timeout_ms)
        l->total_timeout_ms = SF_LIMIT_TOTAL_TIMEOUT_MS;
}

/* --- binding --- */

static int bind_one(const struct addrinfo *info)
{
    int one = 1;
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (info->ai_family == AF_INET6) /* so that 0.0.0.0 and :: can have the same port */
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    /* listen() too: two sockets may be bound to a port, but only one can listen. */
    if (bind(fd, info->ai_addr, info->ai_addrlen) || listen(fd, 1024)) {
        int code = errno;
        (void)close(fd);
        errno = code;
        return -1;
    }
    return fd;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage addr;
    struct sockaddr_in v4;
    socklen_t len = sizeof(addr);

    if (getsockname(fd, (struct sockaddr *)&addr, &len))
        return 0;
    memcpy(&v4, &addr, sizeof(v4)); /* the port has the same position in both families */
    return ntohs(v4.sin_port);
}

static bool is_missing_family(int code)
{
    return code == EAFNOSUPPORT || code == EADDRNOTAVAIL || code == EPROTONOSUPPORT;
}

static enum sf_err bind_place(const struct sf_listen_address *a, struct place *place,
                              struct sf_why *why)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char name[300], port[8];
    int rc, code = 0, fd = -1;

    (void)snprintf(name, sizeof(name), strchr(a->host, ':') ? "[%s]:%u" : "%s:%u", a->host,
                   a->port);
    (void)snprintf(port, sizeof(port), "%u", a->port);
    rc = getaddrinfo(a->host, port, &hints, &found);
    if (rc) {
        if (a->is_optional && (rc == EAI_ADDRFAMILY || rc == EAI_NONAME))
            return SF_OK;
        return sf_fail(why, SF_ERR_INPUT, "listen: %s: %s", name, gai_strerror(rc));
    }
    for (struct addrinfo *i = found; i && fd < 0; i = i->ai_next) {
        fd = bind_one(i);
        if (fd < 0)
            code = errno;
    }
    freeaddrinfo(found);
    if (fd >= 0) {
        place->fd_plus_1 = fd + 1;
        place->port = port_of(fd);
        return SF_OK;
    }
    if (a->is_optional && is_missing_family(code))
        return SF_OK;
    if (code == EADDRINUSE)
        return sf_fail(why, SF_ERR_BUSY, "listen: %s is already in use by another program", name);
    return sf_fail(why, code == EACCES ? SF_ERR_DENIED : SF_ERR_IO, "listen: %s: %s", name,
                   strerror(code));
}

static enum sf_err bind_all(struct sf_listener *l, const struct sf_listen_config *config,
                            struct sf_why *why)
{
    for (size_t i = 0; i < config->n_addresses; i++) {
        const struct sf_listen_address *a = &config->addresses[i];
        enum sf_err err = SF_OK;

        if (a->tls)
            err = sf_tls_context_new(a->tls, &l->places[i].tls, why);
        if (!err)
            err = bind_place(a, &l->places[i], why);
        if (err)
            return err;
    }
    return SF_OK;
}

/* --- starting --- */

static enum sf_err open_acceptors(struct sf_listener *l, struct sf_loop *loop, struct sf_why *why)
{
    for (size_t i = 0; i < l->n_places; i++) {
        struct place *place = &l->places[i];
        enum sf_err err;
        int fd;

        if (!place->fd_plus_1)
            continue;
        fd = fcntl(place->fd_plus_1 - 1, F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            return sf_fail(why, SF_ERR_IO, "listen: %s", strerror(errno));
        err = sf_loop_add_acceptor(loop, fd, place->tls, why);
        if (err)
            return err;
    }
    return SF_OK;
}

static void close_places(struct sf_listener *l)
{
    for (size_t i = 0; i < l->n_places; i++) {
        if (l->places[i].fd_plus_1)
            (void)close(l->places[i].fd_plus_1 - 1);
        l->places[i].fd_plus_1 = 0;
    }
}

enum sf_err sf_listener_start(const struct sf_listen_config *config, struct sf_listener **out,
                              struct sf_why *why)
{
    struct sf_listener *l = sf_heap_new(sizeof(*l));
    unsigned n_loops = config->n_loops ? config->n_loops : 1;
    enum sf_err err = SF_OK;

    if (l) {
        l->shared.hooks = config->hooks;
        l->shared.limits = config->limits;
        fill_limits(&l->shared.limits);
        l->shared.budget.max = l->shared.limits.bodies_len;
        l->shared.budget.spool_path = config->spool_path;
        l->places = sf_heap_new_n(config->n_addresses, sizeof(*l->places));
        l->shared.loops = sf_heap_new_n(n_loops, sizeof(*l->shared.loops));
    }
    if (!l || !l->places || !l->shared.loops) {
        err = sf_fail(why, SF_ERR_NOMEM, "listen: no memory for a listener");
        goto done;
    }
    l->n_places = config->n_addresses;
    err = bind_all(l, config, why);
    while (!err && l->shared.n_loops < n_loops) {
        struct sf_loop *loop = &l->shared.loops[l->shared.n_loops++];
        err = sf_loop_init(loop, &l->shared, l->n_places, why);
        if (!err)
            err = open_acceptors(l, loop, why);
    }
    close_places(l); /* the loops have their duplicates */
    while (!err && l->n_started < n_loops) {
        err = sf_loop_start(&l->shared.loops[l->n_started], l->n_started, why);
        if (!err)
            l->n_started++;
    }
    if (err)
        goto done;
    *out = l;
    l = NULL;
done:
    sf_listener_free(l);
    return err;
}

uint16_t sf_listener_port(const struct sf_listener *l, size_t address)
{
    return address < l->n_places ? l->places[address].port : 0;
}

void sf_listener_stats(struct sf_listener *l, struct sf_listen_stats *out)
{
    const struct sf_listen_counts *n = &l->shared.counts;

    *out = (struct sf_listen_stats){
        .n_connections = atomic_load_explicit(&n->n_connections, memory_order_relaxed),
        .n_accepted = atomic_load_explicit(&n->n_accepted, memory_order_relaxed),
        .n_refused = atomic_load_explicit(&n->n_refused, memory_order_relaxed),
        .n_requests_h1 = atomic_load_explicit(&n->n_requests_h1, memory_order_relaxed),
        .n_requests_h2 = atomic_load_explicit(&n->n_requests_h2, memory_order_relaxed),
        .n_requests_grpc = atomic_load_explicit(&n->n_requests_grpc, memory_order_relaxed),
        .n_timeouts = atomic_load_explicit(&n->n_timeouts, memory_order_relaxed),
        .n_floods = atomic_load_explicit(&n->n_floods, memory_order_relaxed),
        .n_bad_framing = atomic_load_explicit(&n->n_bad_framing, memory_order_relaxed),
        .n_tls_failures = atomic_load_explicit(&n->n_tls_failures, memory_order_relaxed),
        .bodies_len = atomic_load_explicit(&l->shared.budget.held, memory_order_relaxed),
        .n_spooled = atomic_load_explicit(&l->shared.budget.n_spooled, memory_order_relaxed),
    };
}

void sf_listener_drain(struct sf_listener *l, unsigned drain_ms)
{
    for (unsigned i = 0; i < l->n_started; i++)
        sf_loop_drain(&l->shared.loops[i], drain_ms);
    for (unsigned i = 0; i < l->n_started; i++)
        sf_loop_join(&l->shared.loops[i]);
    l->n_started = 0;
}

void sf_listener_free(struct sf_listener *l)
{
    if (!l)
        return;
    sf_listener_drain(l, 0);
    close_places(l);
    for (unsigned i = 0; i < l->shared.n_loops; i++)
        sf_loop_done(&l->shared.loops[i]);
    for (size_t i = 0; i < l->n_places; i++)
        sf_tls_context_free(l->places[i].tls);
    sf_heap_free(l->shared.loops);
    sf_heap_free(l->places);
    sf_heap_free(l);
}
