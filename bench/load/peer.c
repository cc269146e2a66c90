#include "peer.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/heap.h"
#include "wire/pb.h"

static enum sf_err connect_to(struct peer *p, struct sf_why *why)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    struct timeval patience = {.tv_sec = 30};
    char port[8];
    int on = 1;
    snprintf(port, sizeof(port), "%u", p->config.port);
    if (getaddrinfo(p->config.host, port, &hints, &list) != 0)
        return sf_fail(why, SF_ERR_INPUT, "host %s is not known", p->config.host);
    p->fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (p->fd < 0 || connect(p->fd, list->ai_addr, list->ai_addrlen) != 0) {
        freeaddrinfo(list);
        return sf_fail(why, SF_ERR_IO, "connect to %s:%u: %s", p->config.host, p->config.port,
                       strerror(errno));
    }
    freeaddrinfo(list);
    setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return SF_OK;
}

enum sf_err peer_open(const struct peer_config *config, struct peer **out, struct sf_why *why)
{
    enum sf_err err;
    struct peer *p = sf_heap_new(sizeof(*p));
    if (!p)
        return sf_fail(why, SF_ERR_NOMEM, "no memory");
    p->config = *config;
    p->fd = -1;
    p->ops = config->is_grpc ? &peer_grpc : &peer_http;
    err = connect_to(p, why);
    if (!err)
        err = p->ops->begin(p, why);
    if (err) {
        peer_close(p);
        return err;
    }
    *out = p;
    return SF_OK;
}

void peer_close(struct peer *p)
{
    if (!p)
        return;
    p->ops->end(p);
    if (p->fd >= 0)
        close(p->fd);
    sf_buf_done(&p->in);
    sf_buf_done(&p->out);
    sf_heap_free(p);
}

enum sf_err peer_send(struct peer *p, sf_bytes body, struct peer_answer *out, struct sf_why *why)
{
    enum sf_err err;
    *out = (struct peer_answer){0};
    err = p->ops->send(p, body, out, why);
    if (err || !out->is_last)
        return err;
    close(p->fd);
    return connect_to(p, why);
}

enum sf_err peer_write(struct peer *p, const void *data, size_t len, struct sf_why *why)
{
    const char *at = data;
    while (len) {
        ssize_t put = send(p->fd, at, len, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return sf_fail(why, SF_ERR_IO, "send: %s", strerror(errno));
        at += put;
        len -= (size_t)put;
    }
    return SF_OK;
}

enum sf_err peer_read(struct peer *p, struct sf_why *why)
{
    ssize_t got;
    if (!sf_buf_reserve(&p->in, 16384))
        return sf_fail(why, SF_ERR_NOMEM, "no memory");
    do
        got = recv(p->fd, p->in.p + p->in.len, 16384, 0);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return sf_fail(why, SF_ERR_IO, "receive: %s",
                       got ? strerror(errno) : "the server closed the connection");
    p->in.len += (size_t)got;
    return SF_OK;
}

void peer_read_partial(sf_bytes message, struct peer_answer *out)
{
    struct sf_pb pb = sf_pb_init(message);
    while (sf_pb_next(&pb)) {
        struct sf_pb part;
        if (pb.field != 1) {
            sf_pb_skip(&pb);
            continue;
        }
        part = sf_pb_init(sf_pb_bytes(&pb));
        while (sf_pb_next(&part)) {
            if (part.field == 1)
                out->n_rejected = sf_pb_u64(&part);
            else if (part.field == 2)
                snprintf(out->message, sizeof(out->message), "%.*s", SF_STR_ARG(sf_pb_str(&part)));
            else
                sf_pb_skip(&part);
        }
    }
}
