#include "app/proxy_users.h"

#include <string.h>

#include "app/peer_net.h"
#include "app/tokens.h"
#include "base/heap.h"
#include "os/text_file.h"
#include "os/thread.h"

enum { FILE_MAX_LEN = 1 << 20, WHO_MAX_LEN = 320 };

struct sf_proxy_users {
    const char *path; /* borrowed from the configuration, which outlives this */
    struct sf_peer_net *nets;
    size_t n_nets;
    struct sf_mutex mutex; /* guards text */
    struct sf_buf text;    /* the file, checked */
};

struct rule {
    sf_str who, scopes, tenants;
    bool has_tenants; /* there is a second colon */
};

/* Reads the next rule; false at the end. */
static bool next_rule(sf_str *rest, unsigned *number, struct rule *out)
{
    sf_str line;
    size_t at;
    while (sf_str_split_next(rest, '\n', &line)) {
        ++*number;
        line = sf_str_trim(line);
        if (line.len == 0 || line.p[0] == '#')
            continue;
        *out = (struct rule){0};
        (void)sf_str_split_next(&line, ':', &out->who);
        out->has_tenants = sf_str_find_char(line, ':', &at);
        (void)sf_str_split_next(&line, ':', &out->scopes);
        out->tenants = line;
        return true;
    }
    return false;
}

static enum sf_err check_rules(sf_str text, struct sf_why *why)
{
    struct rule rule;
    unsigned number = 0, scopes;
    while (next_rule(&text, &number, &rule)) {
        struct sf_why what = {{0}};
        if (rule.who.len == 0 || rule.who.len > WHO_MAX_LEN || sf_str_eq(rule.who, SF_STR("@")))
            (void)sf_fail(&what, SF_ERR_INPUT,
                          "a line is who:scopes or who:scopes:tenants; who is a user, @group or *");
        else if (!sf_tokens_parse_scopes(rule.scopes, &scopes))
            (void)sf_fail(
                &what, SF_ERR_INPUT,
                "\"%.*s\" are not scopes: write read, write, admin or control, with commas "
                "between them",
                SF_STR_ARG(sf_str_part(rule.scopes, 0, 40)));
        else if (rule.has_tenants && rule.tenants.len == 0) /* an empty list is a mistake, not "all
                                                             * tenants" */
            (void)sf_fail(&what, SF_ERR_INPUT, "the list of tenants of %.*s is empty",
                          SF_STR_ARG(sf_str_part(rule.who, 0, 40)));
        else if (rule.has_tenants)
            (void)sf_tokens_check_tenants(rule.tenants, &what);
        if (what.text[0])
            return sf_fail(why, SF_ERR_INPUT, "%u: %s", number, what.text);
    }
    return SF_OK;
}

static enum sf_err proxy_users_read_rules(const char *path, struct sf_buf *out, struct sf_why *why)
{
    enum sf_err err = sf_text_file_read(path, FILE_MAX_LEN, out, why);
    if (err)
        return err;
    err = check_rules(sf_buf_str(out), why);
    if (err && why)
        sf_why_prefix(why, "%s", path);
    return err;
}

enum sf_err sf_proxy_users_open(const struct sf_config *c, struct sf_proxy_users **out,
                                struct sf_why *why)
{
    struct sf_proxy_users *u = sf_heap_new(sizeof(*u));
    enum sf_err err = SF_OK;
    if (!u)
        return sf_fail(why, SF_ERR_NOMEM, "no memory for users");
    sf_mutex_init(&u->mutex, SF_LOCK_APP_USERS);
    u->path = c->auth.users_file;
    u->n_nets = c->auth.proxy_peers.n;
    u->nets = sf_heap_new_n(u->n_nets + 1, sizeof(*u->nets));
    if (!u->nets)
        err = sf_fail(why, SF_ERR_NOMEM, "no memory for users");
    for (size_t i = 0; i < u->n_nets && !err; i++)
        err = sf_peer_net_parse(c->auth.proxy_peers.items[i], &u->nets[i], why);
    if (!err)
        err = proxy_users_read_rules(u->path, &u->text, why);
    if (err) {
        sf_proxy_users_close(u);
        return err;
    }
    *out = u;
    return SF_OK;
}

void sf_proxy_users_close(struct sf_proxy_users *u)
{
    if (u) {
        sf_mutex_done(&u->mutex);
        sf_heap_free(u->nets);
        sf_buf_done(&u->text);
        sf_heap_free(u);
    }
}

enum sf_err sf_proxy_users_reload(struct sf_proxy_users *u, struct sf_why *why)
{
    struct sf_buf text = {0}, old;
    enum sf_err err = proxy_users_read_rules(u->path, &text, why);
    if (err) {
        sf_buf_done(&text);
        return err;
    }
    sf_mutex_lock(&u->mutex);
    old = u->text;
    u->text = text;
    sf_mutex_unlock(&u->mutex);
    sf_buf_done(&old);
    return SF_OK;
}

bool sf_proxy_users_is_proxy(void *arg, const char *peer)
{
    const struct sf_proxy_users *u = arg;
    for (size_t i = 0; i < u->n_nets; i++) {
        if (sf_peer_net_has(&u->nets[i], peer))
            return true;
    }
    return false;
}

static bool proxy_users_fits(sf_str who, sf_str user, sf_str groups)
{
    sf_str group;
    if (sf_str_eq(who, SF_STR("*")) || sf_str_eq(who, user))
        return true;
    if (who.p[0] != '@')
        return false;
    while (sf_str_split_next(&groups, ',', &group)) {
        if (sf_str_eq(sf_str_trim(group), sf_str_from_at(who, 1)))
            return true;
    }
    return false;
}

bool sf_proxy_users_grant(void *arg, sf_str user, sf_str groups, struct sf_grant *out)
{
    struct sf_proxy_users *u = arg;
    struct rule rule;
    unsigned number = 0;
    bool is_found = false;
    /* A user name must not look like a rule for a group or for all. */
    if (user.len == 0 || user.len > WHO_MAX_LEN || user.p[0] == '@' || user.p[0] == '*')
        return false;
    sf_mutex_lock(&u->mutex);
    sf_str rest = sf_buf_str(&u->text);
    while (!is_found && next_rule(&rest, &number, &rule))
        is_found = proxy_users_fits(rule.who, user, groups);
    if (is_found) {
        is_found = sf_tokens_parse_scopes(rule.scopes, &out->scopes);
        sf_buf_add_str(&out->tenants, rule.tenants);
        is_found = is_found && sf_buf_ok(&out->tenants);
    }
    sf_mutex_unlock(&u->mutex);
    if (!is_found)
        out->scopes = 0;
    return is_found;
}
