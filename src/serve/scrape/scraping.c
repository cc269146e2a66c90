/* scraping.c - connects the scraper to the server: runs it on a thread of the server, replaces its
 * jobs when the configuration is reloaded, and shows its targets in /metrics and /api/v1/targets.
 * Labels are redacted as intake does. */
#include "serve/scrape/scraping.h"

#include <inttypes.h>
#include <stdio.h>

#include "alert/alert_send.h"
#include "base/heap.h"
#include "base/time_unit.h"
#include "intake/intake.h"
#include "intake/redact.h"
#include "render/units.h"
#include "serve/kept_text.h"
#include "serve/own/own_form.h"
#include "serve/params.h"
#include "serve/scrape/scrape_take.h"
#include "wire/json_write.h"
#include "wire/time_text.h"

enum { SHOWN_UP = 2000 }; /* maximum number of series of spanflame_scrape_up */

struct sf_scraping {
    struct sf_scraper *scraper;
    struct sf_scrape_taker taker;
    sf_scraping_yaml *read_yaml;
};

enum sf_err sf_scraping_open(struct sf_service *service, struct sf_scrape_jobs *jobs,
                             struct sf_scraping **out, struct sf_why *why)
{
    struct sf_scraping *s = sf_heap_new(sizeof(*s));
    if (!s) {
        sf_scrape_jobs_free(jobs);
        return sf_no_memory(why, "scraping");
    }
    s->taker = (struct sf_scrape_taker){service, sf_intake_tools_new(), sf_queue_new(2)};
    s->scraper = sf_scraper_new(jobs);
    if (!s->scraper || !s->taker.tools || !s->taker.done) {
        sf_scraping_close(s);
        return sf_no_memory(why, "scraping");
    }
    *out = s;
    return SF_OK;
}

void sf_scraping_close(struct sf_scraping *s)
{
    if (!s)
        return;
    sf_scraper_free(s->scraper);
    sf_intake_tools_free(s->taker.tools);
    sf_queue_free(s->taker.done);
    sf_heap_free(s);
}

void sf_scraping_read_yaml(struct sf_scraping *s, sf_scraping_yaml *read)
{
    s->read_yaml = read;
}

void sf_scraping_replace(struct sf_scraping *s, struct sf_scrape_jobs *jobs)
{
    sf_scraper_replace(s->scraper, jobs);
}

static void scraping_say(void *arg, const char *sentence)
{
    struct sf_scrape_taker *t = arg;
    sf_kept_text_warn(t->service, "scrape", sentence);
}

void sf_scraping_run(struct sf_service *service, struct sf_worker *worker, int64_t now_ns,
                     const atomic_bool *is_stopping)
{
    struct sf_scraping *s = service->scraping;
    struct sf_scraper_ways ways = {&s->taker, sf_scrape_take, s->read_yaml, scraping_say};
    (void)worker, (void)now_ns, (void)is_stopping;
    sf_scraper_run(s->scraper, &ways);
}

/* ---- /metrics ---- */

struct exposing {
    struct sf_exposition *e;
    size_t n;
};

static void expose(void *arg, const struct sf_scrape_target *t)
{
    struct exposing *x = arg;
    struct sf_metric_label labels[] = {{"job", t->job->name},
                                       {"instance", t->instance},
                                       {"path", t->path.len ? t->path : SF_STR("url")},
                                       {"service", t->service},
                                       {"tenant", t->job->tenant}};
    if (t->health != SF_TARGET_UNKNOWN && x->n++ < SHOWN_UP)
        sf_exposition_u64(x->e, labels, sizeof(labels) / sizeof(labels[0]),
                          t->health == SF_TARGET_UP);
}

static void scraping_one(struct sf_exposition *e, const char *name, enum sf_metric_type type,
                         const char *help, uint64_t value)
{
    sf_exposition_family(e, name, type, help);
    sf_exposition_u64(e, NULL, 0, value);
}

void sf_scraping_render(struct sf_scraping *s, struct sf_exposition *e)
{
    struct exposing x = {.e = e};
    struct sf_scraper_counts n;
    if (!s)
        return;
    sf_exposition_family(e, "spanflame_scrape_up", SF_METRIC_GAUGE,
                         "1 when the last scrape of a target gave a profile, 0 when it failed; the "
                         "first 2,000 targets.");
    sf_scraper_visit(s->scraper, expose, NULL, &x, &n);
    scraping_one(e, "spanflame_scrape_targets", SF_METRIC_GAUGE, "Addresses that are scraped.",
                 n.n_targets);
    scraping_one(e, "spanflame_scrape_targets_dropped", SF_METRIC_GAUGE,
                 "Targets of the last discoveries that relabelling left out.", n.n_dropped);
    scraping_one(e, "spanflame_scrape_targets_over", SF_METRIC_GAUGE,
                 "Targets of the last discoveries above the maximum number.", n.n_over);
    scraping_one(e, "spanflame_scrapes", SF_METRIC_COUNTER, "Requests to targets.", n.n_scrapes);
    scraping_one(e, "spanflame_scrape_failures", SF_METRIC_COUNTER,
                 "Requests to targets that gave no profile.", n.n_failed);
    scraping_one(e, "spanflame_scrape_skipped", SF_METRIC_COUNTER,
                 "Scrapes left out because the one before was not over.", n.n_skipped);
}

/* ---- /api/v1/targets ---- */

struct listing {
    struct sf_call *call;
    const struct sf_arena *scratch;
    struct sf_buf targets, sources, left; /* left: what is not listed, by source */
    size_t n, n_sources, n_up, n_down;
    uint64_t n_over;
    bool is_text;
};

static bool scraping_is_ours(const struct sf_call *call, sf_str tenant)
{
    sf_str rest = call->tenant, one; /* a read request may name several tenants: a|b */
    while (sf_str_split_next(&rest, '|', &one)) {
        if (sf_str_eq(one, tenant))
            return true;
    }
    return false;
}

/* Redacts a label as intake does, so that it looks as in the target's profiles; in `room`. */
static sf_str shown(const struct listing *l, struct sf_arena *room, const char *key, sf_str text)
{
    const struct sf_redactor *redactor = l->call->service->intake.redactor;
    uint64_t n = 0;      /* not counted as a redaction: the page shows it repeatedly */
    *room = *l->scratch; /* reuse the memory of the previous text */
    return sf_redact_text(redactor, room, key, &text, &n, NULL) ? SF_STR_NONE : text;
}

static const char *scraping_health_of(const struct sf_scrape_target *t)
{
    return t->health == SF_TARGET_UP ? "up" : t->health == SF_TARGET_DOWN ? "down" : "unknown";
}

static void scraping_add_text(struct listing *l, const struct sf_scrape_target *t)
{
    struct sf_buf *out = &l->targets;
    struct sf_arena room;
    size_t from = out->len;
    sf_str text = shown(l, &room, "service.name", t->service);
    sf_buf_print(out, "%-8s %.*s", scraping_health_of(t), SF_STR_ARG(text));
    text = shown(l, &room, "url", t->url);
    sf_buf_print(out, "  %.*s", SF_STR_ARG(text));
    if (t->last_ns) {
        sf_buf_print(out, "  last ");
        sf_time_text_add(out, (uint64_t)t->last_ns);
    }
    if (t->health == SF_TARGET_UP)
        sf_buf_print(out, ", %llu samples", (unsigned long long)t->n_samples);
    sf_units_end_line(out, from);
    from = out->len;
    if (t->why.text[0]) {
        text = shown(l, &room, "message", sf_str_from(t->why.text));
        sf_buf_print(out, "         %.*s", SF_STR_ARG(text));
        sf_units_end_line(out, from);
    }
}

static void scraping_add_json(struct listing *l, const struct sf_scrape_target *t)
{
    struct sf_json_writer j = sf_json_writer_init(&l->targets);
    struct sf_arena room;
    char interval[32];
    if (l->n > 1)
        sf_buf_add_u8(&l->targets, ',');
    sf_json_write_object(&j);
    sf_json_write_key(&j, SF_STR("labels"));
    sf_json_write_object(&j);
    sf_json_write_key_str(&j, SF_STR("service_name"), shown(l, &room, "service.name", t->service));
    for (size_t i = 0; i < t->n_labels; i++) {
        const struct sf_label *label = &t->labels[i];
        sf_json_write_key_str(&j, label->key, shown(l, &room, label->key.p, label->val));
    }
    sf_json_write_object_end(&j);
    sf_json_write_key_str(&j, SF_STR("scrapePool"), t->job->name);
    sf_json_write_key_str(&j, SF_STR("scrapeUrl"), shown(l, &room, "url", t->url));
    sf_json_write_key_str(&j, SF_STR("lastError"),
                          shown(l, &room, "message", sf_str_from(t->why.text)));
    sf_json_write_key(&j, SF_STR("lastScrape"));
    sf_alert_send_json_time(t->last_ns, &l->targets);
    j.needs_comma = true;
    sf_json_write_key(&j, SF_STR("lastScrapeDuration"));
    sf_json_write_f64(&j, (double)t->took_ns / SF_NS_PER_S);
    sf_json_write_key_str(&j, SF_STR("health"), sf_str_from(scraping_health_of(t)));
    snprintf(interval, sizeof(interval), "%gs", (double)t->job->interval_ns / SF_NS_PER_S);
    sf_json_write_key_str(&j, SF_STR("scrapeInterval"), sf_str_from(interval));
    snprintf(interval, sizeof(interval), "%gs",
             (double)(t->job->timeout_ns + (t->has_seconds ? t->job->seconds_ns : 0)) /
                 SF_NS_PER_S);
    sf_json_write_key_str(&j, SF_STR("scrapeTimeout"), sf_str_from(interval));
    sf_json_write_key_u64(&j, SF_STR("samples"), t->n_samples);
    sf_json_write_key_u64(&j, SF_STR("bytes"), t->last_len);
    sf_json_write_key_u64(&j, SF_STR("succeeded"), t->n_ok);
    sf_json_write_key_u64(&j, SF_STR("failed"), t->n_failed);
    sf_json_write_key_u64(&j, SF_STR("skipped"), t->n_skipped);
    sf_json_write_object_end(&j);
}

static void scraping_see(void *arg, const struct sf_scrape_target *t)
{
    struct listing *l = arg;
    if (!scraping_is_ours(l->call, t->job->tenant))
        return;
    l->n++;
    l->n_up += t->health == SF_TARGET_UP;
    l->n_down += t->health == SF_TARGET_DOWN;
    if (l->is_text)
        scraping_add_text(l, t);
    else
        scraping_add_json(l, t);
}

static void see_left(struct listing *l, const struct sf_scraper_source *s)
{
    struct sf_json_writer j = sf_json_writer_init(&l->left);
    l->n_over += s->n_over;
    if (l->is_text && s->n_dropped > 0)
        sf_buf_print(&l->left, "%" PRIu64 " more of %.*s left out by relabelling\n", s->n_dropped,
                     SF_STR_ARG(s->job));
    if (l->is_text && s->n_over > 0)
        sf_buf_print(&l->left, "%" PRIu64 " more of %.*s above the maximum number of targets\n",
                     s->n_over, SF_STR_ARG(s->job));
    if (l->is_text || s->n_dropped == 0)
        return;
    j.needs_comma = l->left.len > 0;
    sf_json_write_key_u64(&j, s->job, s->n_dropped);
}

static void scraping_see_source(void *arg, const struct sf_scraper_source *source)
{
    struct listing *l = arg;
    struct sf_json_writer j = sf_json_writer_init(&l->sources);
    struct sf_arena room;
    sf_str text;
    if (!scraping_is_ours(l->call, source->tenant))
        return;
    if (source->where.len == 0) {
        see_left(l, source);
        return;
    }
    if (l->is_text) {
        if (source->why[0]) {
            size_t from = l->sources.len;
            text = shown(l, &room, "url", source->where);
            sf_buf_print(&l->sources, "failed   discovery of %.*s by %.*s", SF_STR_ARG(source->job),
                         SF_STR_ARG(text));
            text = shown(l, &room, "message", sf_str_from(source->why));
            sf_buf_print(&l->sources, ": %.*s", SF_STR_ARG(text));
            sf_units_end_line(&l->sources, from);
        }
        return;
    }
    if (l->n_sources++)
        sf_buf_add_u8(&l->sources, ',');
    sf_json_write_object(&j);
    sf_json_write_key_str(&j, SF_STR("scrapePool"), source->job);
    sf_json_write_key_str(&j, SF_STR("source"), shown(l, &room, "url", source->where));
    sf_json_write_key_str(&j, SF_STR("lastError"),
                          shown(l, &room, "message", sf_str_from(source->why)));
    sf_json_write_object_end(&j);
}

bool sf_scraping_targets_handle(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_scraping *s = call->service->scraping;
    struct sf_buf *out = &call->response->body;
    struct listing l = {.call = call, .scratch = &worker->arena};
    struct sf_scraper_counts n = {0};
    enum sf_err err;
    l.is_text = sf_own_form_is_text(sf_params_word(call->request, "format", &worker->arena));
    if (s)
        sf_scraper_visit(s->scraper, scraping_see, scraping_see_source, &l, &n);
    err = l.targets.err ? l.targets.err : l.sources.err ? l.sources.err : l.left.err;
    sf_call_ok(call, l.is_text ? "text/plain; charset=utf-8" : "application/json");
    if (l.is_text) {
        sf_buf_add_str(out, sf_buf_str(&l.sources));
        sf_buf_add_str(out, sf_buf_str(&l.targets));
        if (l.n)
            sf_buf_print(out, "%zu target%s: %zu up, %zu down, %zu not scraped yet\n", l.n,
                         l.n == 1 ? "" : "s", l.n_up, l.n_down, l.n - l.n_up - l.n_down);
        else
            sf_buf_print(out, "no targets: add some to scrape in the configuration\n");
        sf_buf_add_str(out, sf_buf_str(&l.left));
    } else {
        sf_buf_print(out, "{\"status\":\"success\",\"data\":{\"activeTargets\":[");
        sf_buf_add_str(out, sf_buf_str(&l.targets));
        sf_buf_print(
            out,
            "],\"droppedTargets\":[],\"droppedTargetCounts\":{%.*s},\"moreTargets\":%" PRIu64
            ",\"discovery\":[",
            SF_STR_ARG(sf_buf_str(&l.left)), l.n_over);
        sf_buf_add_str(out, sf_buf_str(&l.sources));
        sf_buf_print(out, "]}}");
    }
    sf_buf_done(&l.targets);
    sf_buf_done(&l.sources);
    sf_buf_done(&l.left);
    if (!err)
        err = out->err;
    return err ? sf_call_fail(call, err, NULL) : true;
}
