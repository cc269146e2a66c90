#include <arpa/inet.h>
#include <string.h>

#include "app/config_value.h"
#include "os/host.h"

static bool is_host_name(sf_str host)
{
    if (host.len == 0 || host.len > 253)
        return false;
    for (size_t i = 0; i < host.len; i++) {
        char c = host.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '.' || c == '_'))
            return false;
    }
    return true;
}

enum sf_err sf_config_address_parse(struct sf_config *c, sf_str text, struct sf_config_origin at,
                                    struct sf_listen_address *out, struct sf_why *why)
{
    sf_str host = text, port_text = SF_STR_NONE;
    struct in6_addr six;
    const char *host_copy;
    uint64_t port;
    size_t end;
    bool is_six = false;
    enum sf_err err;

    if (text.len && text.p[0] == '[') {
        is_six = sf_str_find_char(text, ']', &end) && end + 1 < text.len && text.p[end + 1] == ':';
        if (!is_six)
            return sf_config_value_fail(c, at, why, "\"%.*s\" is not an address: write [IPv6]:PORT",
                                        SF_STR_ARG(text));
        host = sf_str_part(text, 1, end - 1);
        port_text = sf_str_from_at(text, end + 2);
    } else {
        if (!sf_str_find_char(text, ':', &end))
            return sf_config_value_fail(
                c, at, why, "\"%.*s\" is not an address: write HOST:PORT, such as 127.0.0.1:4317",
                SF_STR_ARG(text));
        host = sf_str_part(text, 0, end);
        port_text = sf_str_from_at(text, end + 1);
        if (sf_str_find_char(port_text, ':', &end))
            return sf_config_value_fail(c, at, why,
                                        "\"%.*s\": put an IPv6 address in brackets: [::1]:4317",
                                        SF_STR_ARG(text));
    }
    if (!sf_str_to_u64(port_text, &port) || port > 65535)
        return sf_config_value_fail(c, at, why, "\"%.*s\": a port is a number up to 65535",
                                    SF_STR_ARG(text));
    err = sf_config_value_copy(c, host, at, &host_copy, why);
    if (err)
        return err;
    if (is_six ? inet_pton(AF_INET6, host_copy, &six) != 1 : !is_host_name(host))
        return sf_config_value_fail(c, at, why,
                                    "\"%.*s\" is not an address: \"%.*s\" is not a host",
                                    SF_STR_ARG(text), SF_STR_ARG(host));
    *out = (struct sf_listen_address){.host = host_copy, .port = (uint16_t)port};
    return SF_OK;
}

enum sf_err sf_config_address_check_public(const struct sf_config *c, struct sf_why *why)
{
    if (c->auth.token_file || c->auth.user_header || c->auth.allow_public_without_auth)
        return SF_OK;
    for (size_t i = 0; i < c->n_addresses; i++) {
        const struct sf_listen_address *a = &c->addresses[i];
        bool is_six = strchr(a->host, ':') != NULL;
        if (!sf_host_is_public(a->host) || (a->tls && a->tls->client_ca_file))
            continue;
        return sf_fail(
            why, SF_ERR_DENIED,
            "%s%s%s:%u can be reached from other machines and requires no token. Add the line  "
            "auth: {token_file: /etc/spanflame/tokens}  (spanflame token new makes one) "
            "or the flag  --allow-public-without-auth",
            is_six ? "[" : "", a->host, is_six ? "]" : "", a->port);
    }
    return SF_OK;
}
