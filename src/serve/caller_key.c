#include "serve/caller_key.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/key.h"
#include "serve/call.h"

/* "[2001:db8::1]:4711" and "127.0.0.1:4711" without the port. */
static sf_str caller_key_host_of(sf_str peer)
{
    size_t len = peer.len, at;
    if (peer.len && peer.p[0] == '[' && sf_str_find_char(peer, ']', &at))
        return sf_str_part(peer, 1, at - 1);
    while (len && peer.p[len - 1] != ':')
        len--;
    return len ? sf_str_part(peer, 0, len - 1) : peer;
}

static uint64_t address_key(sf_str host)
{
    enum { NETWORK_LEN = 8 };
    char text[64];
    struct in6_addr six;
    if (host.len >= sizeof(text))
        return sf_key_str(host);
    memcpy(text, host.p, host.len);
    text[host.len] = 0;
    return inet_pton(AF_INET6, text, &six) == 1 && !IN6_IS_ADDR_V4MAPPED(&six)
               ? sf_key(&six, NETWORK_LEN)
               : sf_key_str(host);
}

struct sf_lane_client sf_caller_key(const struct sf_call *call)
{
    const struct sf_service *s = call->service;
    bool has_name = (s->auth.token || s->auth.user) && call->caller[0];
    return (struct sf_lane_client){
        .tenant = sf_key_str(call->tenant),
        .client = has_name ? sf_key_mix(sf_key_str(sf_str_from(call->caller)), 1)
                           : address_key(caller_key_host_of(sf_str_from(call->request->peer)))};
}
