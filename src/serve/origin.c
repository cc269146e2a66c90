#include "serve/origin.h"

#include <string.h>

#include "serve/cors.h"

/* ---- the Host header ---- */

static bool has_only(sf_str s, const char *allowed)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && (c == '\0' || !strchr(allowed, c)))
            return false;
    }
    return s.len > 0;
}

/* Nothing, or a colon and digits. */
static bool is_port(sf_str s)
{
    if (s.len == 0)
        return true;
    for (size_t i = 1; i < s.len; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    }
    return s.p[0] == ':';
}

/* "[::1]:4318" is "[::1]", "web:80" is "web"; none: what follows the name is no port. */
static sf_str without_port(sf_str authority)
{
    bool is_bracketed = authority.len && authority.p[0] == '[';
    size_t at;
    if (!sf_str_find_char(authority, is_bracketed ? ']' : ':', &at))
        return is_bracketed ? SF_STR_NONE : authority;
    at += is_bracketed;
    return is_port(sf_str_from_at(authority, at)) ? sf_str_part(authority, 0, at) : SF_STR_NONE;
}

/* No top-level domain consists of digits, so no domain name looks like an IPv4 address. */
static bool is_ipv4(sf_str host)
{
    unsigned n = 0;
    sf_str part;
    while (sf_str_split_next(&host, '.', &part)) {
        uint64_t number;
        if (!sf_str_to_u64(part, &number) || number > 255)
            return false;
        n++;
    }
    return n == 4;
}

/* "[::1]", "[::ffff:1.2.3.4]", "[fe80::1%25eth0]" */
static bool origin_is_ipv6(sf_str host)
{
    sf_str address = host.len > 2 && host.p[0] == '[' ? sf_str_part(host, 1, host.len - 2)
                                                      : SF_STR_NONE;
    size_t at;
    if (sf_str_find_char(address, '%', &at)) {
        if (!has_only(sf_str_from_at(address, at + 1), "-_.%"))
            return false;
        address.len = at;
    }
    for (size_t i = 0; i < address.len; i++) {
        if (address.p[i] == '\0' || !strchr("0123456789abcdefABCDEF:.", address.p[i]))
            return false;
    }
    return sf_str_find_char(address, ':', &at);
}

static bool is_listed(const struct sf_service *s, sf_str host)
{
    sf_str rest = s->own_names, name;
    while (sf_str_split_next(&rest, ' ', &name)) {
        if (name.len && sf_str_ieq(name, host))
            return true;
    }
    for (size_t i = 0; i < s->n_hosts; i++) {
        sf_str listed = sf_str_from(s->hosts[i]);
        if (sf_str_eq(listed, SF_STR("*")) || sf_str_ieq(listed, host))
            return true;
        if (sf_str_starts(listed, SF_STR("*.")) && host.len >= listed.len &&
            sf_str_ieq(sf_str_from_at(listed, 1), sf_str_from_at(host, host.len - listed.len + 1)))
            return true;
    }
    return false;
}

bool sf_origin_is_our_host(const struct sf_service *s, const struct sf_request *r)
{
    sf_str host = without_port(r->authority);
    size_t at;
    if (r->authority.len == 0) /* HTTP/1.0; no browser does that */
        return true;
    if (is_ipv4(host) || origin_is_ipv6(host))
        return true;
    /* A dot at the end makes a name absolute: a single label is then a top-level domain, which
     * somebody owns. */
    bool is_absolute = host.len > 1 && host.p[host.len - 1] == '.';
    if (is_absolute)
        host.len--;
    if (sf_str_ieq(host, SF_STR("localhost")) ||
        (host.len > 10 && sf_str_ieq(sf_str_from_at(host, host.len - 10), SF_STR(".localhost"))))
        return has_only(host, "-_.");
    if (!is_absolute && !sf_str_find_char(host, '.', &at) && has_only(host, "-_"))
        return true;
    return is_listed(s, host);
}

/* ---- the page's origin ---- */

/* The origin "https://web:80" belongs to the authority "web:80". The scheme is not compared: a
 * proxy in front of the server may use another. */
static bool is_own_origin(const struct sf_request *r, sf_str origin)
{
    size_t at;
    return sf_str_find(origin, SF_STR("://"), &at) &&
           sf_str_ieq(sf_str_from_at(origin, at + 3), r->authority);
}

/* No browser sends a header twice; which of two counts is not guessed. */
static bool origin_is_repeated(const struct sf_request *r, sf_str name)
{
    unsigned n = 0;
    for (size_t i = 0; i < r->n_headers; i++)
        n += sf_str_ieq(r->headers[i].name, name);
    return n > 1;
}

bool sf_origin_is_foreign(const struct sf_service *s, const struct sf_request *r)
{
    sf_str site = sf_request_header(r, SF_STR("sec-fetch-site"));
    sf_str origin = sf_request_header(r, SF_STR("origin"));
    if (origin_is_repeated(r, SF_STR("sec-fetch-site")) || origin_is_repeated(r, SF_STR("origin")))
        return true;
    if (sf_str_eq(site, SF_STR("same-origin")) || sf_str_eq(site, SF_STR("none")))
        return false; /* our own page, or an address typed by the user; scripts cannot set this
                       * header */
    if (origin.len && sf_cors_has(s, origin))
        return false;
    return site.len > 0 || (origin.len > 0 && !is_own_origin(r, origin));
}
