/* scrape_job.c - a set of scrape jobs as configured. Fields arrive one by one as path and value;
 * each is parsed into the job, and sf_scrape_job_check() then verifies the whole: URLs, paths,
 * relabelling rules, a unique name. */
#include "scrape/scrape_job.h"

#include "base/heap.h"
#include "base/setting.h"
#include "base/text.h"
#include "base/time_unit.h"

enum { SET_LEN = 16 << 20 };

/* ---- the set ---- */

struct sf_scrape_jobs *sf_scrape_jobs_new(void)
{
    struct sf_scrape_jobs *j = sf_heap_new(sizeof(*j));
    if (!j)
        return NULL;
    atomic_store(&j->n_users, 1);
    if (sf_arena_init(&j->arena, SET_LEN))
        j->list = sf_arena_new_n(&j->arena, SF_LIMIT_SCRAPE_JOBS, sizeof(*j->list));
    if (!j->list) {
        sf_scrape_jobs_free(j);
        return NULL;
    }
    return j;
}

struct sf_scrape_jobs *sf_scrape_jobs_share(struct sf_scrape_jobs *j)
{
    if (j)
        atomic_fetch_add(&j->n_users, 1);
    return j;
}

void sf_scrape_jobs_free(struct sf_scrape_jobs *j)
{
    if (!j || atomic_fetch_sub(&j->n_users, 1) != 1)
        return;
    for (size_t i = 0; i < j->n; i++) {
        for (size_t k = 0; k < j->list[i].n_relabel; k++)
            sf_relabel_done(&j->list[i].relabel[k]);
    }
    sf_arena_done(&j->arena);
    sf_heap_free(j);
}

enum sf_err sf_scrape_jobs_add(struct sf_scrape_jobs *j, struct sf_scrape_job **out,
                               struct sf_why *why)
{
    struct sf_scrape_job *job;
    if (j->n == SF_LIMIT_SCRAPE_JOBS)
        return sf_fail(why, SF_ERR_LIMIT, "more than %d scrapes", SF_LIMIT_SCRAPE_JOBS);
    *out = job = &j->list[j->n++];
    job->scheme = SF_STR("http");
    job->path_prefix = SF_STR("/debug/pprof");
    job->interval_ns = 15 * SF_NS_PER_S;
    job->seconds_ns = 10 * SF_NS_PER_S;
    job->timeout_ns = 10 * SF_NS_PER_S;
    job->refresh_ns = 60 * SF_NS_PER_S;
    job->max_len = 16u << 20;
    job->n_at_once = 16;
    return SF_OK;
}

/* ---- fields ---- */

static enum sf_err add_word(struct sf_scrape_jobs *j, struct sf_scrape_words *w, size_t max,
                            const char *what, sf_str val, struct sf_why *why)
{
    if (!val.len)
        return sf_fail(why, SF_ERR_INPUT, "%s has an empty text in its list", what);
    if (!w->list)
        w->list = sf_arena_new_n(&j->arena, max, sizeof(*w->list));
    if (!w->list)
        return sf_no_room(why, "scrapes");
    if (w->n == max)
        return sf_fail(why, SF_ERR_LIMIT, "%s has more than %zu items", what, max);
    w->list[w->n++] = val;
    return SF_OK;
}

static enum sf_err scrape_job_set_time(sf_str val, const char *name, int64_t least_ns,
                                       int64_t most_ns, int64_t *out, struct sf_why *why)
{
    if (sf_setting_duration_parse(val, SF_DURATION_BLANKS, out, NULL)) {
        uint64_t s; /* "seconds: 10" */
        if (!sf_str_to_u64(val, &s) || s > (uint64_t)(most_ns / SF_NS_PER_S))
            return sf_fail(why, SF_ERR_INPUT, "%s expects a time such as 15s, not \"%.*s\"", name,
                           SF_STR_ARG(sf_str_part(val, 0, 40)));
        *out = (int64_t)s * SF_NS_PER_S;
    }
    return *out >= least_ns && *out <= most_ns
               ? SF_OK
               : sf_fail(why, SF_ERR_INPUT, "%s is at least %lld s and at most %lld s", name,
                         (long long)(least_ns / SF_NS_PER_S), (long long)(most_ns / SF_NS_PER_S));
}

static enum sf_err set_relabel(struct sf_scrape_jobs *j, struct sf_scrape_job *job, sf_str path,
                               sf_str val, struct sf_why *why)
{
    sf_str index = SF_STR_NONE, key = SF_STR_NONE;
    uint64_t at = 0;
    if (!sf_str_split_next(&path, '.', &index) || !sf_str_to_u64(index, &at) ||
        !sf_str_split_next(&path, '.', &key))
        return sf_fail(why, SF_ERR_INPUT, "relabel is a list of maps");
    if (at >= SF_SCRAPE_RELABELS)
        return sf_fail(why, SF_ERR_LIMIT, "relabel has more than %d rules", SF_SCRAPE_RELABELS);
    if (!job->relabel)
        job->relabel = sf_arena_new_n(&j->arena, SF_SCRAPE_RELABELS, sizeof(*job->relabel));
    if (!job->relabel)
        return sf_no_room(why, "scrapes");
    job->n_relabel = at + 1 > job->n_relabel ? at + 1 : job->n_relabel;
    return sf_relabel_set(&job->relabel[at], key, val, why);
}

static enum sf_err scrape_job_set_tls(struct sf_scrape_job *job, sf_str key, sf_str val,
                                      struct sf_why *why)
{
    if (sf_str_eq(key, SF_STR("ca")))
        job->ca_file = val;
    else if (sf_str_eq(key, SF_STR("cert")))
        job->cert_file = val;
    else if (sf_str_eq(key, SF_STR("key")))
        job->key_file = val;
    else if (sf_str_eq(key, SF_STR("skip_verify")))
        return sf_setting_flag_parse(val, &job->is_unchecked)
                   ? SF_OK
                   : sf_fail(why, SF_ERR_INPUT, "tls.skip_verify is true or false");
    else
        return sf_fail(why, SF_ERR_INPUT, "tls has no %.*s: ca, cert, key, skip_verify",
                       SF_STR_ARG(sf_str_part(key, 0, 40)));
    return SF_OK;
}

static enum sf_err set_size(sf_str val, uint64_t *out, struct sf_why *why)
{
    return sf_setting_size_parse(val, out, NULL) || *out < 1024 || *out > SF_LIMIT_SCRAPE_BODY_LEN
               ? sf_fail(why, SF_ERR_INPUT, "max_body expects a size from 1KB to 32MiB")
               : SF_OK;
}

static enum sf_err set_label(struct sf_scrape_job *job, sf_str key, sf_str val, struct sf_why *why)
{
    if (!key.len || sf_str_starts(key, SF_STR("__")))
        return sf_fail(why, SF_ERR_INPUT, "labels: \"%.*s\" is not a valid label name",
                       SF_STR_ARG(sf_str_part(key, 0, 60)));
    return sf_relabel_label_put(&job->labels, key, val, why);
}

static enum sf_err scrape_job_unknown(sf_str path, struct sf_why *why)
{
    static const char *const known[] = {"url",
                                        "targets",
                                        "file_sd",
                                        "http_sd",
                                        "job",
                                        "service",
                                        "tenant",
                                        "scheme",
                                        "path_prefix",
                                        "profiles",
                                        "interval",
                                        "seconds",
                                        "timeout",
                                        "refresh",
                                        "labels",
                                        "relabel",
                                        "bearer_token_file",
                                        "tls",
                                        "max_body",
                                        "concurrency"};
    sf_str head = path, rest = path;
    const char *near;
    (void)sf_str_split_next(&rest, '.', &head);
    near = sf_text_nearest(head, known, sizeof(known) / sizeof(known[0]));
    return sf_fail(why, SF_ERR_INPUT, "a scrape has no %.*s%s%s%s",
                   SF_STR_ARG(sf_str_part(head, 0, 60)), near ? "; did you mean " : "",
                   near ? near : "", near ? "?" : "");
}

/* Matches "NAME.REST" or "NAME" itself: a list may be given as one value. */
static bool scrape_job_is_item(sf_str path, sf_str name, sf_str *out_rest)
{
    if (!sf_str_starts(path, name))
        return false;
    *out_rest = sf_str_from_at(path, name.len);
    if (out_rest->len && out_rest->p[0] == '.') {
        *out_rest = sf_str_from_at(*out_rest, 1);
        return true;
    }
    return out_rest->len == 0;
}

static enum sf_err scrape_job_set_list(struct sf_scrape_jobs *j, struct sf_scrape_job *job,
                                       sf_str path, sf_str val, bool *out_is, struct sf_why *why)
{
    sf_str rest;
    *out_is = true;
    if (scrape_job_is_item(path, SF_STR("targets"), &rest))
        return add_word(j, &job->targets, SF_LIMIT_SCRAPE_STATIC, "targets", val, why);
    if (scrape_job_is_item(path, SF_STR("file_sd"), &rest))
        return add_word(j, &job->file_sd, SF_SCRAPE_SOURCES, "file_sd", val, why);
    if (scrape_job_is_item(path, SF_STR("http_sd"), &rest))
        return add_word(j, &job->http_sd, SF_SCRAPE_SOURCES, "http_sd", val, why);
    if (scrape_job_is_item(path, SF_STR("profiles"), &rest))
        return add_word(j, &job->paths, SF_SCRAPE_PATHS, "profiles", val, why);
    *out_is = false;
    return SF_OK;
}

enum sf_err sf_scrape_job_set(struct sf_scrape_jobs *j, struct sf_scrape_job *job, sf_str path,
                              sf_str val, struct sf_why *why)
{
    sf_str text, rest;
    bool is_list;
    enum sf_err err;
    if (val.len > SF_LIMIT_SCRAPE_TEXT_LEN || path.len > SF_LIMIT_SCRAPE_TEXT_LEN)
        return sf_fail(why, SF_ERR_LIMIT, "a text of more than %d bytes", SF_LIMIT_SCRAPE_TEXT_LEN);
    if (!sf_arena_copy(&j->arena, path, &path) ||
        !sf_arena_print(&j->arena, &text, "%.*s", SF_STR_ARG(val)))
        return sf_no_room(why, "scrapes");
    val = text; /* terminated */
    err = scrape_job_set_list(j, job, path, val, &is_list, why);
    if (err || is_list)
        return err;
    if (scrape_job_is_item(path, SF_STR("labels"), &rest))
        return set_label(job, rest, val, why);
    if (scrape_job_is_item(path, SF_STR("relabel"), &rest))
        return set_relabel(j, job, rest, val, why);
    if (scrape_job_is_item(path, SF_STR("tls"), &rest))
        return scrape_job_set_tls(job, rest, val, why);
    if (sf_str_eq(path, SF_STR("url")))
        job->url = val;
    else if (sf_str_eq(path, SF_STR("job")))
        job->name = val;
    else if (sf_str_eq(path, SF_STR("service")))
        job->service = val;
    else if (sf_str_eq(path, SF_STR("tenant")))
        job->tenant = val;
    else if (sf_str_eq(path, SF_STR("scheme")))
        job->scheme = val;
    else if (sf_str_eq(path, SF_STR("path_prefix")))
        job->path_prefix = val;
    else if (sf_str_eq(path, SF_STR("interval")))
        return scrape_job_set_time(val, "interval", SF_NS_PER_S, SF_NS_PER_DAY, &job->interval_ns,
                                   why);
    else if (sf_str_eq(path, SF_STR("seconds"))) {
        job->has_seconds = true;
        return scrape_job_set_time(val, "seconds", SF_NS_PER_S, SF_NS_PER_HOUR, &job->seconds_ns,
                                   why);
    } else if (sf_str_eq(path, SF_STR("timeout")))
        return scrape_job_set_time(val, "timeout", SF_NS_PER_S, SF_NS_PER_HOUR, &job->timeout_ns,
                                   why);
    else if (sf_str_eq(path, SF_STR("refresh")))
        return scrape_job_set_time(val, "refresh", SF_NS_PER_S, SF_NS_PER_DAY, &job->refresh_ns,
                                   why);
    else if (sf_str_eq(path, SF_STR("bearer_token_file")))
        job->token_file = val;
    else if (sf_str_eq(path, SF_STR("max_body")))
        return set_size(val, &job->max_len, why);
    else if (sf_str_eq(path, SF_STR("concurrency")))
        return sf_str_to_u64(val, &job->n_at_once) && job->n_at_once > 0 &&
                       job->n_at_once <= SF_LIMIT_SCRAPE_AT_ONCE
                   ? SF_OK
                   : sf_fail(why, SF_ERR_INPUT, "concurrency is a number from 1 to %d",
                             SF_LIMIT_SCRAPE_AT_ONCE);
    else
        return scrape_job_unknown(path, why);
    return SF_OK;
}

/* ---- the whole job ---- */

static enum sf_err scrape_job_check_url(sf_str url, const char *what, struct sf_why *why)
{
    size_t at;
    enum sf_err err = sf_fetch_check_url(url, why);
    sf_str host;
    if (err) {
        sf_why_prefix(why, "%s", what);
        return err;
    }
    host = sf_str_from_at(url, sf_str_starts(url, SF_STR("https://")) ? 8 : 7);
    if (sf_str_find_char(host, '/', &at))
        host = sf_str_part(host, 0, at);
    if (sf_str_find_char(host, '@', &at)) /* credentials in a URL would be visible to all users */
        return sf_fail(why, SF_ERR_INPUT,
                       "%s: no names and passwords in addresses; "
                       "bearer_token_file keeps a secret out of sight",
                       what);
    return SF_OK;
}

static enum sf_err check_addresses(struct sf_scrape_job *job, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    int n_kinds = (job->url.len > 0) + (job->targets.n > 0) + (job->file_sd.n > 0) +
                  (job->http_sd.n > 0);
    if (n_kinds == 0)
        return sf_fail(why, SF_ERR_INPUT,
                       "a scrape needs one of url, targets, file_sd and http_sd");
    if (job->url.len && n_kinds > 1)
        return sf_fail(why, SF_ERR_INPUT, "a scrape with url has no targets, file_sd or http_sd");
    if (job->url.len)
        err = scrape_job_check_url(job->url, "url", why);
    for (size_t i = 0; !err && i < job->http_sd.n; i++)
        err = scrape_job_check_url(job->http_sd.list[i], "http_sd", why);
    return err;
}

static enum sf_err check_paths(struct sf_scrape_jobs *j, struct sf_scrape_job *job,
                               struct sf_why *why)
{
    static const char *const usual[] = {"profile", "heap", "allocs", "goroutine", "mutex", "block"};
    bool is_usual = !job->url.len && !job->paths.n;
    enum sf_err err = SF_OK;
    if (!sf_str_eq(job->scheme, SF_STR("http")) && !sf_str_eq(job->scheme, SF_STR("https")))
        return sf_fail(why, SF_ERR_INPUT, "scheme is http or https");
    if (job->path_prefix.len && job->path_prefix.p[0] != '/')
        return sf_fail(why, SF_ERR_INPUT, "path_prefix begins with a slash");
    if (job->url.len && job->paths.n)
        return sf_fail(why, SF_ERR_INPUT, "a scrape with url has no profiles: the url names one");
    for (size_t i = 0; !err && is_usual && i < 6; i++)
        err = add_word(j, &job->paths, SF_SCRAPE_PATHS, "profiles", sf_str_from(usual[i]), why);
    for (size_t i = 0; !err && i < job->paths.n; i++) {
        for (size_t k = 0; k < job->paths.list[i].len; k++) {
            unsigned char c = (unsigned char)job->paths.list[i].p[k];
            if (c <= ' ' || c >= 127)
                return sf_fail(why, SF_ERR_INPUT, "profiles: \"%.*s\" is not a path",
                               SF_STR_ARG(sf_str_part(job->paths.list[i], 0, 60)));
        }
    }
    return err;
}

static bool scrape_job_is_taken(const struct sf_scrape_jobs *j, const struct sf_scrape_job *job,
                                sf_str name)
{
    for (size_t i = 0; i < j->n; i++) {
        if (&j->list[i] != job && sf_str_eq(j->list[i].name, name))
            return true;
    }
    return false;
}

/* Jobs need a unique name, by which targets are recognised after a reload. */
static enum sf_err name_job(struct sf_scrape_jobs *j, struct sf_scrape_job *job, struct sf_why *why)
{
    sf_str base = job->service.len ? job->service : SF_STR("scrape"), name = base;
    if (job->name.len)
        return scrape_job_is_taken(j, job, job->name)
                   ? sf_fail(why, SF_ERR_INPUT, "there is a scrape with job \"%.*s\" already",
                             SF_STR_ARG(sf_str_part(job->name, 0, 60)))
                   : SF_OK;
    for (size_t i = 2; scrape_job_is_taken(j, job, name); i++) {
        if (!sf_arena_print(&j->arena, &name, "%.*s-%zu", SF_STR_ARG(base), i))
            return sf_no_room(why, "scrapes");
    }
    job->name = name;
    return SF_OK;
}

enum sf_err sf_scrape_job_check(struct sf_scrape_jobs *j, struct sf_scrape_job *job,
                                struct sf_why *why)
{
    enum sf_err err = check_addresses(job, why);
    if (!err)
        err = check_paths(j, job, why);
    if (err)
        return err;
    if (!job->tenant.len)
        job->tenant = SF_STR("single-tenant");
    if (job->seconds_ns > job->interval_ns) {
        if (job->has_seconds)
            return sf_fail(why, SF_ERR_INPUT,
                           "seconds is at most the interval: a process has one CPU profile at a "
                           "time");
        job->seconds_ns = job->interval_ns;
    }
    if (!job->name.len && !job->service.len && job->url.len)
        return sf_fail(why, SF_ERR_INPUT, "a scrape with url needs the name of a service");
    err = name_job(j, job, why);
    if (err)
        return err;
    if ((job->cert_file.len > 0) != (job->key_file.len > 0))
        return sf_fail(why, SF_ERR_INPUT, "tls needs both cert and key");
    for (size_t i = 0; !err && i < job->n_relabel; i++)
        err = sf_relabel_check(&job->relabel[i], why);
    return err;
}

static const char *text_or_null(sf_str s)
{
    return s.len ? s.p : NULL;
}

struct sf_fetch_tls sf_scrape_job_tls(const struct sf_scrape_job *job)
{
    return (struct sf_fetch_tls){.ca_file = text_or_null(job->ca_file),
                                 .cert_file = text_or_null(job->cert_file),
                                 .key_file = text_or_null(job->key_file),
                                 .is_unchecked = job->is_unchecked};
}
