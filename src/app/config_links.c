/* config_links.c - page.source_link and page.logs_link: checks the templates of external links.
 *
 * The page inserts stored data, which any sender may have chosen: so scheme and host must be
 * constant, and placeholders may only follow them. */
#include <string.h>

#include "app/config_value.h"
#include "base/limits.h"

static bool config_links_is_known(sf_str name, const char *const *known, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (sf_str_eq(name, sf_str_from(known[i])))
            return true;
    return false;
}

/* Offset of the path; 0: not an http or https URL with a host. */
static size_t config_links_path_of(sf_str link)
{
    size_t at = sf_str_starts(link, SF_STR("https://"))  ? strlen("https://")
                : sf_str_starts(link, SF_STR("http://")) ? strlen("http://")
                                                         : 0;
    size_t host = at;
    while (at > 0 && at < link.len && link.p[at] != '/' && link.p[at] != '?' && link.p[at] != '#')
        at++;
    return at > host ? at : 0;
}

static enum sf_err config_links_check(sf_str link, const char *key, const char *const *known,
                                      size_t n, struct sf_why *why)
{
    size_t path = config_links_path_of(link);
    if (link.len == 0)
        return SF_OK;
    if (link.len > SF_LIMIT_LINK_LEN)
        return sf_fail(why, SF_ERR_INPUT, "%s is longer than %d bytes", key, SF_LIMIT_LINK_LEN);
    if (path == 0)
        return sf_fail(why, SF_ERR_INPUT,
                       "%s expects an address that begins with http:// or https://", key);
    for (size_t i = 0; i < link.len; i++) {
        if ((unsigned char)link.p[i] <= ' ' || link.p[i] == 0x7f || link.p[i] == '"' ||
            link.p[i] == '<' || link.p[i] == '>' || link.p[i] == '\\')
            return sf_fail(
                why, SF_ERR_INPUT,
                "%s has a blank, a quote, a backslash or a control character at byte %zu", key,
                i + 1);
        if (link.p[i] != '{')
            continue;
        size_t end = i;
        while (end < link.len && link.p[end] != '}')
            end++;
        sf_str name = sf_str_part(link, i + 1, end - i - 1);
        if (i < path)
            return sf_fail(why, SF_ERR_INPUT, "%s: the host must not contain {%.*s}", key,
                           SF_STR_ARG(sf_str_part(name, 0, 40)));
        if (end == link.len || !config_links_is_known(name, known, n))
            return sf_fail(why, SF_ERR_INPUT,
                           "%s: unknown placeholder {%.*s}; docs/page.md lists them", key,
                           SF_STR_ARG(sf_str_part(name, 0, 40)));
    }
    return SF_OK;
}

enum sf_err sf_config_links_check(const struct sf_config *c, const char **out_key,
                                  struct sf_why *why)
{
    static const char *const of_source[] = {"file", "line", "function", "service"};
    static const char *const of_logs[] = {"traceId", "spanId", "service", "start", "end"};
    *out_key = "page.source_link";
    enum sf_err err = config_links_check(sf_str_from(c->page.source_link), *out_key, of_source, 4,
                                         why);
    if (err)
        return err;
    *out_key = "page.source_folder";
    sf_str folder = sf_str_from(c->page.source_folder);
    if (folder.len > 0 && folder.p[0] != '/')
        return sf_fail(why, SF_ERR_INPUT,
                       "page.source_folder must be an absolute path such as /usr/src/shop");
    *out_key = "page.logs_link";
    return config_links_check(sf_str_from(c->page.logs_link), *out_key, of_logs, 5, why);
}
