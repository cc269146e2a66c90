#include "app/peer_net.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static bool read_address(sf_str text, uint8_t out[16])
{
    char name[64];
    struct in_addr v4;
    if (text.len == 0 || text.len >= sizeof(name))
        return false;
    memcpy(name, text.p, text.len);
    name[text.len] = '\0';
    if (inet_pton(AF_INET, name, &v4) == 1) {
        memset(out, 0, 10);
        memset(out + 10, 0xff, 2);
        memcpy(out + 12, &v4, 4);
        return true;
    }
    return inet_pton(AF_INET6, name, out) == 1;
}

enum sf_err sf_peer_net_parse(const char *text, struct sf_peer_net *out, struct sf_why *why)
{
    sf_str rest = sf_str_from(text), address = rest;
    struct sf_peer_net net = {.n_bits = 128};
    size_t at;
    bool has_bits = sf_str_find_char(rest, '/', &at);
    uint64_t bits = 0;
    if (has_bits)
        address = sf_str_part(rest, 0, at);
    bool is_v4 = !sf_str_find_char(address, ':', &at);
    if (!read_address(address, net.address) ||
        (has_bits && (!sf_str_to_u64(sf_str_from_at(rest, address.len + 1), &bits) ||
                      bits > (is_v4 ? 32u : 128u))))
        return sf_fail(why, SF_ERR_INPUT,
                       "\"%.80s\" is neither an address nor a network such as 10.0.0.0/8", text);
    if (has_bits)
        net.n_bits = (unsigned)bits + (is_v4 ? 96 : 0);
    *out = net;
    return SF_OK;
}

bool sf_peer_net_has(const struct sf_peer_net *net, const char *peer)
{
    sf_str text = sf_str_from(peer);
    uint8_t address[16];
    size_t at, len = text.len;
    if (text.len && text.p[0] == '[') {
        if (!sf_str_find_char(text, ']', &at))
            return false;
        text = sf_str_part(text, 1, at - 1);
    } else {
        while (len && text.p[len - 1] != ':')
            len--;
        text = sf_str_part(text, 0, len ? len - 1 : 0);
    }
    if (sf_str_find_char(text, '%', &at)) /* ignore the interface of a link-local address */
        text = sf_str_part(text, 0, at);
    if (!read_address(text, address))
        return false;
    for (unsigned i = 0; i < net->n_bits; i++) {
        unsigned mask = 0x80u >> (i % 8);
        if ((address[i / 8] & mask) != (net->address[i / 8] & mask))
            return false;
    }
    return true;
}
