#include "collect/send/endpoint.h"

#include <string.h>

/* Text for a request line or a Host header must not contain a line end. */
static bool endpoint_is_plain(sf_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] <= ' ' || s.p[i] == 0x7f)
            return false;
    }
    return true;
}

static bool split_port(sf_str authority, sf_str *host, sf_str *port)
{
    size_t at;
    *port = SF_STR_NONE;
    if (authority.len && authority.p[0] == '[') {
        sf_str rest;
        if (!sf_str_find_char(authority, ']', &at))
            return false;
        *host = sf_str_part(authority, 1, at - 1);
        rest = sf_str_from_at(authority, at + 1);
        if (rest.len && rest.p[0] != ':')
            return false;
        *port = sf_str_from_at(rest, 1);
        return true;
    }
    *host = authority;
    if (sf_str_find_char(authority, ':', &at)) {
        *host = sf_str_part(authority, 0, at);
        *port = sf_str_from_at(authority, at + 1);
    }
    return true;
}

static enum sf_err endpoint_set_path(sf_str path, sf_str append, struct sf_endpoint *e,
                                     struct sf_why *why)
{
    if (append.len && sf_str_ends(path, SF_STR("/")))
        path.len--;
    if (!path.len && !append.len)
        path = SF_STR("/");
    if (path.len + append.len >= sizeof(e->path))
        return sf_fail(why, SF_ERR_INPUT, "endpoint: the path is longer than %zu bytes",
                       sizeof(e->path) - 1);
    if (path.len)
        memcpy(e->path, path.p, path.len);
    if (append.len)
        memcpy(e->path + path.len, append.p, append.len);
    e->path[path.len + append.len] = 0;
    return SF_OK;
}

enum sf_err sf_endpoint_parse(sf_str url, uint16_t port, sf_str append, struct sf_endpoint *out,
                              struct sf_why *why)
{
    struct sf_endpoint e = {0};
    sf_str rest = sf_str_trim(url), authority, host, port_text;
    size_t at;
    uint64_t number = 0;
    enum sf_err err;

    if (sf_str_find(rest, SF_STR("://"), &at)) {
        sf_str scheme = sf_str_part(rest, 0, at);
        e.is_tls = sf_str_ieq(scheme, SF_STR("https"));
        if (!e.is_tls && !sf_str_ieq(scheme, SF_STR("http")))
            return sf_fail(why, SF_ERR_INPUT, "endpoint: scheme '%.*s' is neither http nor https",
                           SF_STR_ARG(scheme));
        rest = sf_str_from_at(rest, at + 3);
    }
    if (!endpoint_is_plain(rest))
        return sf_fail(why, SF_ERR_INPUT, "endpoint: spaces or control characters in '%.*s'",
                       SF_STR_ARG(rest));
    if (sf_str_find_char(rest, '#', &at))
        rest.len = at;
    authority = rest;
    if (sf_str_find_char(rest, '/', &at))
        authority.len = at;
    if (sf_str_find_char(authority, '@', &at))
        return sf_fail(why, SF_ERR_INPUT,
                       "endpoint: a password in the URL; use OTEL_EXPORTER_OTLP_HEADERS");
    if (!split_port(authority, &host, &port_text) || !host.len || host.len >= sizeof(e.host))
        return sf_fail(why, SF_ERR_INPUT, "endpoint: no host in '%.*s'", SF_STR_ARG(url));
    memcpy(e.host, host.p, host.len);
    e.is_v6 = memchr(e.host, ':', host.len) != NULL;
    e.port = port ? port : (e.is_tls ? 443 : 80);
    if (port_text.len) {
        if (!sf_str_to_u64(port_text, &number) || !number || number > UINT16_MAX)
            return sf_fail(why, SF_ERR_INPUT, "endpoint: '%.*s' is not a port",
                           SF_STR_ARG(port_text));
        e.port = (uint16_t)number;
    }
    err = endpoint_set_path(sf_str_from_at(rest, authority.len), append, &e, why);
    if (!err)
        *out = e;
    return err;
}

enum sf_err sf_endpoint_connect(const struct sf_endpoint *to, const char *protocol,
                                struct sf_peer *peer, int64_t deadline_ns, struct sf_why *why)
{
    enum sf_err err = sf_peer_open(peer, to->host, to->port, deadline_ns, why);
    if (!err && to->is_tls)
        err = sf_peer_secure(peer, to->host, protocol, &to->files, deadline_ns, why);
    return err;
}
