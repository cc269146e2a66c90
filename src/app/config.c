/* config.c - loads the configuration: defaults, then the YAML file, then SPANFLAME_ variables, then
 * flags, each through the same setter with its origin noted. Checks that need several keys run at
 * the end. The result is never changed afterwards. */
#include "app/config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/alert_yaml.h"
#include "app/config_value.h"
#include "app/scrape_yaml.h"
#include "base/heap.h"
#include "os/file.h"
#include "scrape/scrape_job.h"
#include "store/clickhouse/attr_columns.h"
#include "store/clickhouse/remote_address.h"

enum { FILE_MAX_LEN = 1 << 20, ARENA_LEN = 16 << 20, MAX_WARNINGS = 64, VARIABLE_LEN = 96 };

void sf_config_free(struct sf_config *c)
{
    if (c) {
        sf_alert_rules_free(c->alerts.rules);
        sf_scrape_jobs_free(c->scrape);
        sf_arena_done(&c->arena);
        sf_heap_free(c);
    }
}

/* Splits a list written in one line; blanks around commas are ignored. */
static enum sf_err set_split(struct sf_config *c, size_t key, sf_str text,
                             struct sf_config_origin at, struct sf_why *why)
{
    sf_str items[SF_CONFIG_MAX_ITEMS], item;
    size_t n = 0;
    while (text.len && sf_str_split_next(&text, ',', &item)) {
        if (n == SF_CONFIG_MAX_ITEMS)
            return sf_config_value_fail(c, at, why, "%s may have at most %d items",
                                        sf_config_keys[key].path, SF_CONFIG_MAX_ITEMS);
        items[n++] = sf_str_trim(item);
    }
    return sf_config_value_set_list(c, key, items, n, at, why);
}

static enum sf_err set_any(struct sf_config *c, size_t key, sf_str text, struct sf_config_origin at,
                           struct sf_why *why)
{
    if (sf_config_keys[key].type == SF_CONFIG_LIST || sf_config_keys[key].type == SF_CONFIG_LISTEN)
        return set_split(c, key, text, at, why);
    return sf_config_value_set_text(c, key, text, at, why);
}

/* Defaults go through the same parser as everything else, so none can be of the wrong type. */
static enum sf_err new_with_defaults(struct sf_config **out, struct sf_why *why)
{
    struct sf_config *c = sf_heap_new(sizeof(*c));
    enum sf_err err = SF_OK;

    if (!c)
        return sf_no_memory(why, "the configuration");
    if (!sf_arena_init(&c->arena, ARENA_LEN)) {
        sf_heap_free(c);
        return sf_no_memory(why, "the configuration");
    }
    c->origins = sf_arena_new_n(&c->arena, sf_config_n_keys, sizeof(*c->origins));
    if (!c->origins)
        err = sf_no_memory(why, "the configuration");
    for (size_t i = 0; !err && i < sf_config_n_keys; i++) {
        struct sf_config_origin at = {.name = sf_config_keys[i].path};
        if (sf_config_keys[i].type != SF_CONFIG_PART)
            err = set_any(c, i, sf_str_from(sf_config_keys[i].initial), at, why);
    }
    if (err) {
        sf_config_free(c);
        return err;
    }
    /* A machine without IPv6 still gets its defaults; a configured address must exist. */
    for (size_t i = 0; i < c->n_addresses; i++) {
        struct sf_listen_address *a = (struct sf_listen_address *)(uintptr_t)&c->addresses[i];
        a->is_optional = strchr(a->host, ':') != NULL;
    }
    *out = c;
    return SF_OK;
}

/* ---- file ---- */

static enum sf_err config_read_file(struct sf_config *c, const char *path, struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf text = {0};
    enum sf_err err;

    err = sf_config_value_copy(c, sf_str_from(path), (struct sf_config_origin){0}, &c->file, why);
    if (!err)
        err = sf_file_open_path(path, &file, why);
    if (err)
        return err;
    err = sf_file_read_all(&file, FILE_MAX_LEN, &text, why);
    if (err && why)
        sf_why_prefix(why, "%s", path);
    if (!err)
        err = sf_config_yaml_read(c, sf_buf_str(&text), why);
    sf_buf_done(&text);
    sf_file_close(&file);
    return err;
}

/* ---- environment ---- */

static void variable_of(const struct sf_config_key *key, char *to, size_t cap)
{
    int len = snprintf(to, cap, "SPANFLAME_%s", key->path);
    for (int i = 10; i < len && (size_t)i < cap; i++) {
        if (to[i] == '.')
            to[i] = '_';
        else if (to[i] >= 'a' && to[i] <= 'z')
            to[i] = (char)(to[i] - 32);
    }
}

/* At most MAX_WARNINGS; further ones are left out. The sentence lives in the arena. */
static enum sf_err config_warn(struct sf_config *c, sf_str sentence, struct sf_why *why)
{
    const char **items = (const char **)(uintptr_t)c->warnings.items;
    if (c->warnings.n == MAX_WARNINGS)
        return SF_OK;
    if (!items)
        items = sf_arena_new_n(&c->arena, MAX_WARNINGS, sizeof(*items));
    if (!items)
        return sf_no_memory(why, "the configuration");
    items[c->warnings.n] = sentence.p;
    c->warnings = (struct sf_config_list){items, c->warnings.n + 1};
    return SF_OK;
}

/* An unknown variable with our prefix is only a warning, and only when it resembles a known one: an
 * orchestrator sets SPANFLAME_SERVICE_HOST and similar for a service named spanflame. */
static enum sf_err warn_variable(struct sf_config *c, sf_str name, struct sf_why *why)
{
    char known[VARIABLE_LEN];
    for (size_t i = 0; i < sf_config_n_keys; i++) {
        sf_str sentence;
        variable_of(&sf_config_keys[i], known, sizeof(known));
        if (sf_config_keys[i].type == SF_CONFIG_PART ||
            sf_str_distance(name, sf_str_from(known)) > 2)
            continue;
        if (!sf_arena_print(&c->arena, &sentence,
                            "the environment has %.*s, which is not a setting; did you mean %s?",
                            SF_STR_ARG(name), known))
            return sf_no_memory(why, "the configuration");
        return config_warn(c, sentence, why);
    }
    return SF_OK;
}

static enum sf_err read_variable(struct sf_config *c, sf_str name, sf_str value, struct sf_why *why)
{
    char known[VARIABLE_LEN];
    for (size_t i = 0; i < sf_config_n_keys; i++) {
        struct sf_config_origin at = {.from = SF_FROM_ENVIRONMENT};
        enum sf_err err;
        if (sf_config_keys[i].type == SF_CONFIG_PART)
            continue;
        variable_of(&sf_config_keys[i], known, sizeof(known));
        if (!sf_str_eq(name, sf_str_from(known)))
            continue;
        err = sf_config_value_copy(c, name, at, &at.name, why);
        return err ? err : set_any(c, i, value, at, why);
    }
    return warn_variable(c, name, why);
}

static enum sf_err read_environment(struct sf_config *c, const char *const *env, struct sf_why *why)
{
    for (; env && *env; env++) {
        sf_str value = sf_str_from(*env), name;
        enum sf_err err;
        if (!sf_str_starts(value, SF_STR("SPANFLAME_")) || !sf_str_split_next(&value, '=', &name))
            continue;
        if (sf_str_eq(name, SF_STR("SPANFLAME_CONFIG")))
            continue;
        err = read_variable(c, name, value, why);
        if (err)
            return err;
    }
    return SF_OK;
}

/* ---- flags ---- */

/* Combines repeated flags of one list: --listen a --listen b. */
static enum sf_err set_repeated(struct sf_config *c, size_t key, const struct sf_config_inputs *in,
                                size_t first, struct sf_config_origin at, struct sf_why *why)
{
    sf_str items[SF_CONFIG_MAX_ITEMS];
    size_t n = 0;
    for (size_t i = first; i < in->n_flags && n < SF_CONFIG_MAX_ITEMS; i++) {
        if (strcmp(in->flags[i].path, in->flags[first].path) == 0)
            items[n++] = sf_str_from(in->flags[i].value);
    }
    return sf_config_value_set_list(c, key, items, n, at, why);
}

static enum sf_err read_flag(struct sf_config *c, const struct sf_config_inputs *in, size_t index,
                             struct sf_why *why)
{
    const struct sf_config_setting *flag = &in->flags[index];
    struct sf_config_origin at = {.from = SF_FROM_FLAG};
    int key = sf_config_value_find_key(sf_str_from(flag->path));
    enum sf_err err = sf_config_value_copy(c, sf_str_from(flag->flag), at, &at.name, why);

    if (err)
        return err;
    if (key == SF_CONFIG_NO_KEY) {
        char near[160];
        sf_config_value_suggest(sf_str_from(flag->path), near, sizeof(near));
        return sf_config_value_fail(c, at, why, "there is no key %s%s", flag->path, near);
    }
    if (sf_config_keys[key].type != SF_CONFIG_LIST && sf_config_keys[key].type != SF_CONFIG_LISTEN)
        return sf_config_value_set_text(c, (size_t)key, sf_str_from(flag->value), at, why);
    for (size_t i = 0; i < index; i++) {
        if (strcmp(in->flags[i].path, flag->path) == 0)
            return SF_OK; /* the first of the repeated flags has set all of them */
    }
    return set_repeated(c, (size_t)key, in, index, at, why);
}

/* ---- checks that need several keys ---- */

static struct sf_config_origin origin_at(const struct sf_config *c, const char *path)
{
    return c->origins[sf_config_value_find_key(sf_str_from(path))];
}

static bool is_header_name(sf_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char ch = name.p[i];
        if (!((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
              ch == '-' || ch == '_'))
            return false;
    }
    return name.len > 0 && name.len <= 64;
}

static enum sf_err check_whole(struct sf_config *c, struct sf_why *why)
{
    if (!c->data_dir)
        return sf_config_value_fail(c, origin_at(c, "data"), why,
                                    "data expects the name of a directory");
    if (c->auth.header && !is_header_name(sf_str_from(c->auth.header)))
        return sf_config_value_fail(c, origin_at(c, "auth.header"), why,
                                    "auth.header: \"%s\" is not the name of a header",
                                    c->auth.header);
    const char *const proxy_headers[] = {c->auth.user_header, c->auth.groups_header};
    for (size_t i = 0; i < 2; i++) {
        if (proxy_headers[i] && !is_header_name(sf_str_from(proxy_headers[i])))
            return sf_config_value_fail(c, origin_at(c, "auth.proxy.user_header"), why,
                                        "auth.proxy: \"%s\" is not the name of a header",
                                        proxy_headers[i]);
    }
    if (c->auth.user_header && (c->auth.proxy_peers.n == 0 || !c->auth.users_file))
        return sf_config_value_fail(
            c, origin_at(c, "auth.proxy.user_header"), why,
            "auth.proxy.user_header needs auth.proxy.peers (the addresses of the proxy) and "
            "auth.proxy.users_file (users and their scopes)");
    if (!c->auth.user_header &&
        (c->auth.groups_header || c->auth.proxy_peers.n || c->auth.users_file))
        return sf_config_value_fail(c, origin_at(c, "auth.proxy.user_header"), why,
                                    "auth.proxy needs user_header: the header that names the user");
    if (c->redact.is_enabled && c->redact.replace == SF_REDACT_HASH && !c->redact.hash_key_file)
        return sf_config_value_fail(
            c, origin_at(c, "redact.replace"), why,
            "redact.replace: hash needs a key; add  hash_key_file: FILE  (make "
            "one with: head -c 32 /dev/urandom > FILE)");
    if (c->profiling.adaptive_base_rate > c->profiling.adaptive_max_rate)
        return sf_config_value_fail(c, origin_at(c, "profiling.adaptive.base_rate"), why,
                                    "profiling.adaptive.base_rate is above max_rate");
    if (c->retention.profiles_ns && c->retention.full_resolution_ns > c->retention.profiles_ns)
        return sf_config_value_fail(c, origin_at(c, "retention.full_resolution"), why,
                                    "retention.full_resolution is longer than retention.profiles: "
                                    "such data would already be deleted");
    return SF_OK;
}

/* What only a node of a fleet uses is refused elsewhere. A key that only repeats its default, as in
 * the example file without comment signs, changes nothing. */
static enum sf_err check_no_remote(const struct sf_config *c, struct sf_why *why)
{
    struct sf_config *defaults = NULL;
    enum sf_err err = new_with_defaults(&defaults, why);

    for (size_t i = 0; !err && i < sf_config_n_keys; i++) {
        const char *path = sf_config_keys[i].path;
        struct sf_buf value = {0}, initial = {0};
        if (!sf_str_starts(sf_str_from(path), SF_STR("store.remote.")))
            continue;
        sf_config_render_value(c, i, &value);
        sf_config_render_value(defaults, i, &initial);
        if (!sf_buf_ok(&value) || !sf_buf_ok(&initial))
            err = sf_no_memory(why, "the configuration");
        else if (!sf_str_eq(sf_buf_str(&value), sf_buf_str(&initial)))
            err = sf_config_value_fail(c, c->origins[i], why, "%s needs store.remote.url", path);
        sf_buf_done(&value);
        sf_buf_done(&initial);
    }
    sf_config_free(defaults);
    return err;
}

static enum sf_err check_remote(const struct sf_config *c, struct sf_why *why)
{
    struct sf_remote_address address;
    struct sf_why inner = {0};

    if (!c->store.remote.url)
        return check_no_remote(c, why);
    for (const char *p = c->store.remote.user; p && *p; p++) {
        if ((unsigned char)*p < ' ') /* it is sent as a header */
            return sf_config_value_fail(c, origin_at(c, "store.remote.user"), why,
                                        "store.remote.user: a control character");
    }
    if (sf_attr_columns_check(c->store.remote.attributes.items, c->store.remote.attributes.n,
                              &inner))
        return sf_config_value_fail(c, origin_at(c, "store.remote.attributes"), why,
                                    "store.remote.attributes: %s", inner.text);
    if (c->store.remote.password_file && !c->store.remote.user)
        return sf_config_value_fail(c, origin_at(c, "store.remote.password_file"), why,
                                    "store.remote.password_file needs store.remote.user");
    if (sf_remote_address_parse(sf_str_from(c->store.remote.url), &address, &inner))
        return sf_config_value_fail(c, origin_at(c, "store.remote.url"), why, "%s", inner.text);
    return SF_OK;
}

static enum sf_err check_links(const struct sf_config *c, struct sf_why *why)
{
    const char *key;
    struct sf_why inner = {0};
    enum sf_err err = sf_config_links_check(c, &key, &inner);
    return err ? sf_config_value_fail(c, origin_at(c, key), why, "%s", inner.text) : SF_OK;
}

/* Whether only collectors use a key: of the profiling block, the server uses the conditions by
 * which it keeps samples. */
static bool is_for_collectors(const char *path)
{
    static const char *const used[] = {"profiling.conditional.slow_request_threshold",
                                       "profiling.conditional.cpu_threshold_percent",
                                       "profiling.conditional.profile_errors",
                                       "profiling.conditional.baseline",
                                       "profiling.conditional.flagged",
                                       "profiling.conditional.rules"};
    bool is = sf_str_starts(sf_str_from(path), SF_STR("profiling."));
    for (size_t i = 0; is && i < sizeof(used) / sizeof(used[0]); i++)
        is = strcmp(path, used[i]) != 0;
    return is;
}

/* One file may be for the server and for collectors on its host; somebody who sets such a key for
 * the server alone would wait for its effect. */
static enum sf_err warn_of_collectors(struct sf_config *c, struct sf_why *why)
{
    const char *first = NULL;
    char others[64] = "";
    sf_str sentence;
    size_t n = 0;
    for (size_t i = 0; i < sf_config_n_keys; i++) {
        if (c->origins[i].from == SF_FROM_DEFAULT || !is_for_collectors(sf_config_keys[i].path))
            continue;
        first = first ? first : sf_config_keys[i].path;
        n++;
    }
    if (!n)
        return SF_OK;
    if (n > 1)
        snprintf(others, sizeof(others), " and %zu other key%s of profiling", n - 1,
                 n > 2 ? "s" : "");
    if (!sf_arena_print(&c->arena, &sentence,
                        "%s%s: used by collectors only, and not sent to them by this server; they "
                        "read this file if their SPANFLAME_CONFIG names it, and `spanflame "
                        "control` changes the profiling of running programs",
                        first, others))
        return sf_no_memory(why, "the configuration");
    return config_warn(c, sentence, why);
}

enum sf_err sf_config_load(const struct sf_config_inputs *in, struct sf_config **out,
                           struct sf_why *why)
{
    struct sf_config *c = NULL;
    enum sf_err err = new_with_defaults(&c, why);

    if (err)
        return err;
    if (in->file)
        err = config_read_file(c, in->file, why);
    if (!err)
        err = read_environment(c, in->env, why);
    for (size_t i = 0; !err && i < in->n_flags; i++)
        err = read_flag(c, in, i, why);
    if (!err)
        err = check_whole(c, why);
    if (!err)
        err = check_links(c, why);
    if (!err)
        err = check_remote(c, why);
    if (!err)
        err = sf_config_keep_rules(c, origin_at(c, "profiling.conditional.rules"), why);
    if (!err)
        err = warn_of_collectors(c, why);
    if (!err)
        err = sf_alert_yaml_finish(c, true, why);
    if (!err)
        err = sf_scrape_yaml_finish(c->scrape, c->has_tenancy, why);
    if (!err) {
        *out = c;
        c = NULL;
    }
    sf_config_free(c);
    return err;
}

enum sf_err sf_config_parse(sf_str yaml, const char *name, struct sf_config **out,
                            struct sf_why *why)
{
    struct sf_config *c = NULL;
    enum sf_err err = new_with_defaults(&c, why);

    if (err)
        return err;
    if (yaml.len > FILE_MAX_LEN)
        err = sf_fail(why, SF_ERR_LIMIT, "%s: longer than %d bytes", name, FILE_MAX_LEN);
    if (!err)
        err = sf_config_value_copy(c, sf_str_from(name), (struct sf_config_origin){0}, &c->file,
                                   why);
    if (!err)
        err = sf_config_yaml_read(c, yaml, why);
    if (!err)
        err = check_whole(c, why);
    if (!err)
        err = check_links(c, why);
    if (!err)
        err = check_remote(c, why);
    if (!err)
        err = sf_config_keep_rules(c, origin_at(c, "profiling.conditional.rules"), why);
    if (!err)
        err = sf_alert_yaml_finish(c, false, why);
    if (!err)
        err = sf_scrape_yaml_finish(c->scrape, c->has_tenancy, why);
    if (!err) {
        *out = c;
        c = NULL;
    }
    sf_config_free(c);
    return err;
}

/* ---- the flags of commands ---- */

void sf_config_flags_init(struct sf_config_flags *f)
{
    struct sf_flag table[SF_CONFIG_N_FLAGS] = {
        {"config", SF_FLAG_STR, &f->config, "FILE", "YAML file with settings"},
        {"data", SF_FLAG_STR, &f->data, "DIR", "data directory"},
        {"listen", SF_FLAG_LIST, &f->listen, "HOST:PORT",
         "address to listen on instead of the defaults; may be repeated"},
        {"memory", SF_FLAG_STR, &f->memory, "SIZE", "memory limit of the server, such as 256MiB"},
        {"allow-public-without-auth", SF_FLAG_BOOL, &f->allow_public_without_auth, NULL,
         "accept requests on public addresses without authentication"},
        {"set", SF_FLAG_LIST, &f->set, "KEY=VALUE",
         "any setting by its path, such as retention.spans=3d; may be repeated"},
    };
    *f = (struct sf_config_flags){0};
    memcpy(f->table, table, sizeof(table));
}

static const char *file_from_environment(void)
{
    for (char **e = environ; e && *e; e++) {
        if (strncmp(*e, "SPANFLAME_CONFIG=", 17) == 0 && (*e)[17])
            return *e + 17;
    }
    return NULL;
}

enum sf_err sf_config_flags_load(const struct sf_config_flags *f, struct sf_config **out,
                                 struct sf_why *why)
{
    struct sf_config_setting settings[2 * 64 + 3];
    char paths[64][96];
    struct sf_config_inputs in = {.file = f->config ? f->config : file_from_environment(),
                                  .env = (const char *const *)environ,
                                  .flags = settings};

    for (size_t i = 0; i < f->set.n; i++) {
        const char *equals = strchr(f->set.items[i], '=');
        if (!equals)
            return sf_fail(why, SF_ERR_INPUT, "--set expects KEY=VALUE, not \"%s\"",
                           f->set.items[i]);
        snprintf(paths[i], sizeof(paths[i]), "%.*s", (int)(equals - f->set.items[i]),
                 f->set.items[i]);
        settings[in.n_flags++] = (struct sf_config_setting){"--set", paths[i], equals + 1};
    }
    if (f->data)
        settings[in.n_flags++] = (struct sf_config_setting){"--data", "data", f->data};
    if (f->memory)
        settings[in.n_flags++] = (struct sf_config_setting){"--memory", "memory", f->memory};
    if (f->allow_public_without_auth)
        settings[in.n_flags++] = (struct sf_config_setting){
            "--allow-public-without-auth", "auth.allow_public_without_auth", "true"};
    for (size_t i = 0; i < f->listen.n; i++)
        settings[in.n_flags++] = (struct sf_config_setting){"--listen", "listen",
                                                            f->listen.items[i]};
    return sf_config_load(&in, out, why);
}
