#include "scrape/scrape_target.h"

#include <string.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/time_unit.h"

/* ---- the URL ---- */

static bool takes_seconds(const struct sf_scrape_target_spec *s, sf_str url)
{
    sf_str path = url;
    size_t at;
    if (sf_str_find(url, SF_STR("seconds="), &at))
        return false;
    if (!s->job->url.len)
        return sf_str_eq(s->path, SF_STR("profile")) || sf_str_eq(s->path, SF_STR("fgprof"));
    if (sf_str_find_char(url, '?', &at))
        path = sf_str_part(url, 0, at);
    return s->job->has_seconds || sf_str_ends(path, SF_STR("/pprof/profile"));
}

static void write_url(const struct sf_scrape_target_spec *s, struct sf_buf *out,
                      bool *out_has_seconds)
{
    size_t at;
    if (s->job->url.len) {
        sf_buf_add_str(out, s->job->url);
    } else {
        sf_buf_add_str(out, s->scheme);
        sf_buf_add_str(out, SF_STR("://"));
        sf_buf_add_str(out, s->address);
        sf_buf_add_str(out, s->prefix);
        if (!sf_str_ends(s->prefix, SF_STR("/")))
            sf_buf_add_u8(out, '/');
        sf_buf_add_str(out, s->path);
    }
    *out_has_seconds = takes_seconds(s, sf_buf_str(out));
    if (*out_has_seconds)
        sf_buf_print(out, "%cseconds=%lld", sf_str_find_char(sf_buf_str(out), '?', &at) ? '&' : '?',
                     (long long)(s->job->seconds_ns / SF_NS_PER_S));
}

/* ---- names ---- */

static bool is_carried(sf_str key)
{
    return !sf_str_starts(key, SF_STR("__")) && !sf_str_eq(key, SF_STR("service_name")) &&
           !sf_str_eq(key, SF_STR("service"));
}

static sf_str scrape_target_service_of(const struct sf_scrape_target_spec *s)
{
    sf_str name = sf_relabel_label_get(s->labels, SF_STR("service_name"));
    if (!name.len)
        name = sf_relabel_label_get(s->labels, SF_STR("service"));
    if (!name.len)
        name = s->job->service;
    return name.len ? name : s->job->name;
}

static bool has_path(const struct sf_scrape_job *job, sf_str path)
{
    for (size_t i = 0; i < job->paths.n; i++) {
        if (sf_str_eq(job->paths.list[i], path))
            return true;
    }
    return false;
}

static sf_str scrape_target_keep(char **to, sf_str text)
{
    sf_str kept = {*to, text.len};
    if (text.len)
        memcpy(*to, text.p, text.len);
    *to += text.len + 1; /* zeroed memory, so the text is terminated */
    return kept;
}

/* The struct, its labels and its texts are one allocation. */
static struct sf_scrape_target *scrape_target_fill(const struct sf_scrape_target_spec *s,
                                                   sf_str url)
{
    sf_str service = scrape_target_service_of(s),
           instance = sf_relabel_label_get(s->labels, SF_STR("instance"));
    size_t n = 0, len = url.len + service.len + instance.len + s->path.len + 4;
    struct sf_scrape_target *t;
    struct sf_label *labels;
    char *to;
    for (size_t i = 0; i < s->labels->n; i++) {
        if (!is_carried(s->labels->list[i].key))
            continue;
        n++;
        len += s->labels->list[i].key.len + s->labels->list[i].val.len + 2;
    }
    t = sf_heap_new(sizeof(*t) + n * sizeof(*labels) + len);
    if (!t)
        return NULL;
    labels = (struct sf_label *)(t + 1);
    to = (char *)(labels + n);
    t->url = scrape_target_keep(&to, url);
    t->service = scrape_target_keep(&to, service);
    t->instance = scrape_target_keep(&to, instance);
    t->path = scrape_target_keep(&to, s->path);
    t->labels = labels;
    for (size_t i = 0; i < s->labels->n; i++) {
        if (is_carried(s->labels->list[i].key))
            labels[t->n_labels++] = (struct sf_label){
                scrape_target_keep(&to, s->labels->list[i].key),
                scrape_target_keep(&to, s->labels->list[i].val)};
    }
    return t;
}

static uint64_t scrape_target_key_of(const struct sf_scrape_target *t)
{
    uint64_t key = sf_hash_str(t->url) * 31 + sf_hash_str(t->job->name);
    key = key * 31 + sf_hash_str(t->service);
    key = key * 31 + sf_hash_str(t->job->tenant);
    for (size_t i = 0; i < t->n_labels; i++) /* in any order */
        key += sf_hash_str(t->labels[i].key) * 3 ^ sf_hash_str(t->labels[i].val);
    return key;
}

struct sf_scrape_target *sf_scrape_target_new(const struct sf_scrape_target_spec *spec)
{
    struct sf_buf url = {.max = SF_FETCH_URL_CAP - 1};
    bool has_seconds = false;
    struct sf_scrape_target *t = NULL;
    write_url(spec, &url, &has_seconds);
    if (sf_buf_ok(&url))
        t = scrape_target_fill(spec, sf_buf_str(&url));
    sf_buf_done(&url);
    if (!t)
        return NULL;
    t->jobs = sf_scrape_jobs_share(spec->jobs);
    t->job = spec->job;
    t->key = scrape_target_key_of(t);
    t->host_key = sf_hash_str(spec->address);
    t->has_seconds = has_seconds;
    t->is_delta = sf_str_starts(t->path, SF_STR("delta_"));
    t->takes_levels = !sf_str_eq(t->path, SF_STR("allocs")) || !has_path(t->job, SF_STR("heap"));
    t->takes_totals = !sf_str_eq(t->path, SF_STR("heap")) || !has_path(t->job, SF_STR("allocs"));
    t->body.max = t->job->max_len;
    return t;
}

void sf_scrape_target_free(struct sf_scrape_target *t)
{
    if (!t)
        return;
    sf_buf_done(&t->body);
    sf_buf_done(&t->prev);
    sf_heap_free(t->token);
    sf_scrape_jobs_free(t->jobs);
    sf_heap_free(t);
}
