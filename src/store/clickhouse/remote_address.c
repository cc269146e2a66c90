#include "store/clickhouse/remote_address.h"

#include <stdio.h>
#include <string.h>

#include "os/fetch.h"

static bool remote_address_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The name is used in SQL without quotes. */
static bool is_database(sf_str name)
{
    if (!name.len || name.len >= SF_REMOTE_DATABASE_CAP || (name.p[0] >= '0' && name.p[0] <= '9'))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (!remote_address_is_word(name.p[i]))
            return false;
    }
    return true;
}

/* Those of ClickHouse itself have these names; nobody can make tables in them. */
static bool is_of_server(sf_str name)
{
    return sf_str_eq(name, SF_STR("system")) || sf_str_eq(name, SF_STR("information_schema")) ||
           sf_str_eq(name, SF_STR("INFORMATION_SCHEMA"));
}

/* The port follows the last colon; in [::1]:8123 there are other colons before it. */
static bool has_port(sf_str host)
{
    size_t at = host.len;
    uint64_t port;
    while (at > 0 && host.p[at - 1] != ':')
        at--;
    return at > 1 && sf_str_to_u64(sf_str_from_at(host, at), &port) && port > 0 && port < 65536;
}

static enum sf_err add_shard(struct sf_remote_address *a, const char *scheme, sf_str host,
                             struct sf_why *why)
{
    size_t at;
    char *to;
    if (sf_str_find_char(host, '@', &at))
        return sf_fail(why, SF_ERR_INPUT,
                       "store.remote.url must not hold a user or password: set store.remote.user "
                       "and store.remote.password_file");
    if (!has_port(host))
        return sf_fail(why, SF_ERR_INPUT, "store.remote.url: '%.*s' is not HOST:PORT",
                       SF_STR_ARG(sf_str_part(host, 0, 80)));
    if (a->n_shards == SF_REMOTE_SHARDS)
        return sf_fail(why, SF_ERR_INPUT, "store.remote.url names more than %d shards",
                       SF_REMOTE_SHARDS);
    to = a->shards[a->n_shards];
    if ((size_t)snprintf(to, SF_REMOTE_HOST_CAP, "%s%.*s", scheme, SF_STR_ARG(host)) >=
        SF_REMOTE_HOST_CAP)
        return sf_fail(why, SF_ERR_INPUT, "store.remote.url: a host of more than %d characters",
                       SF_REMOTE_HOST_CAP - 10);
    for (uint32_t i = 0; i < a->n_shards; i++) {
        if (strcmp(a->shards[i], to) == 0)
            return sf_fail(why, SF_ERR_INPUT, "store.remote.url names %.100s twice", to);
    }
    a->n_shards++;
    return sf_fetch_check_url(sf_str_from(to), why);
}

enum sf_err sf_remote_address_parse(sf_str url, struct sf_remote_address *out, struct sf_why *why)
{
    struct sf_remote_address a = {0};
    const char *scheme = NULL;
    sf_str rest, hosts, host;
    size_t at;
    enum sf_err err = SF_OK;
    if (sf_str_starts(url, SF_STR("clickhouse://"))) {
        scheme = "http://";
        rest = sf_str_from_at(url, 13);
    } else if (sf_str_starts(url, SF_STR("http://"))) {
        scheme = "http://";
        rest = sf_str_from_at(url, 7);
    } else if (sf_str_starts(url, SF_STR("https://"))) {
        scheme = "https://";
        rest = sf_str_from_at(url, 8);
    }
    if (!scheme || !sf_str_find_char(rest, '/', &at))
        return sf_fail(why, SF_ERR_INPUT,
                       "store.remote.url must be clickhouse://HOST:PORT,.../DATABASE, http:// or "
                       "https:// with the same form");
    hosts = sf_str_part(rest, 0, at);
    if (!is_database(sf_str_from_at(rest, at + 1)))
        return sf_fail(
            why, SF_ERR_INPUT,
            "store.remote.url must end in the name of a database: letters, digits and _, "
            "at most %d",
            SF_REMOTE_DATABASE_CAP - 1);
    if (is_of_server(sf_str_from_at(rest, at + 1)))
        return sf_fail(why, SF_ERR_INPUT,
                       "store.remote.url: '%.*s' is ClickHouse's own database: name another one",
                       SF_STR_ARG(sf_str_from_at(rest, at + 1)));
    while (!err && sf_str_split_next(&hosts, ',', &host))
        err = add_shard(&a, scheme, host, why);
    if (err)
        return err;
    snprintf(a.database, sizeof(a.database), "%.*s", SF_STR_ARG(sf_str_from_at(rest, at + 1)));
    *out = a;
    return SF_OK;
}
