/* scraper.c - the scraper's thread: discover targets (static, files, HTTP), start due requests up
 * to the limits per address, per job and in all, collect answers, pass each profile to the caller.
 * All requests are non-blocking on one fetch loop. */
#include "scrape/scraper.h"

#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "os/text_file.h"

enum { MAX_FILES = 256, MAX_MOVES = 3, TOKEN_LEN = 8192, SMALL_LEN = 1 << 20 };
static const int64_t STEP_NS = SF_NS_PER_S / 5, CONNECT_NS = 5 * SF_NS_PER_S;

struct source { /* a URL of http_sd, or a file pattern of file_sd */
    struct sf_scraper *scraper;
    struct job *job;
    sf_str where; /* terminated */
    bool is_http, is_busy, has_text;
    struct sf_buf text, next; /* the last good answer; the one being received */
    struct sf_why why;
    int64_t due_ns;
};

struct job { /* a configured job and its state */
    struct sf_scrape_job *job;
    struct source *sources;
    size_t n_sources;
    int64_t due_ns; /* time of its next discovery; INT64_MAX: targets never change */
    uint64_t n_dropped, n_over;
    struct sf_why why; /* error of the job's own targets */
};

struct sf_scraper {
    struct sf_fetches *fetches;
    struct sf_regex_scratch *regex;
    struct sf_arena scratch;
    const struct sf_scraper_ways *ways; /* set while it runs */
    size_t flight_len, kept_len;        /* bytes of bodies: being received; kept */
    size_t n_busy, next_start;
    struct job *list; /* for each job in jobs->list */
    size_t n_list;

    struct sf_mutex lock; /* guards what follows, and the fields of targets that other threads read;
                           * no other lock is taken while it is held */
    struct sf_scrape_jobs *jobs, *next_jobs; /* only the scraper's thread changes `jobs` */
    struct sf_target_list targets;           /* likewise */
    struct sf_scraper_counts counts;
};

/* ---- open and close ---- */

struct sf_scraper *sf_scraper_new(struct sf_scrape_jobs *jobs)
{
    struct sf_scraper *s = sf_heap_new(sizeof(*s));
    if (!s) {
        sf_scrape_jobs_free(jobs);
        return NULL;
    }
    sf_mutex_init(&s->lock, SF_LOCK_SCRAPE);
    s->next_jobs = jobs;
    s->regex = sf_regex_scratch_new();
    s->fetches = sf_fetches_new();
    if (!s->regex || !s->fetches || !sf_arena_init(&s->scratch, 256u << 20)) {
        sf_scraper_free(s);
        return NULL;
    }
    return s;
}

static void scraper_free_list(struct sf_scraper *s)
{
    for (size_t i = 0; i < s->n_list; i++) {
        for (size_t k = 0; k < s->list[i].n_sources; k++) {
            sf_buf_done(&s->list[i].sources[k].text);
            sf_buf_done(&s->list[i].sources[k].next);
        }
        sf_heap_free(s->list[i].sources);
    }
    sf_heap_free(s->list);
    s->list = NULL;
    s->n_list = 0;
}

void sf_scraper_free(struct sf_scraper *s)
{
    if (!s)
        return;
    sf_fetches_free(s->fetches); /* first, because its requests write to the targets */
    sf_target_list_done(&s->targets);
    scraper_free_list(s);
    sf_scrape_jobs_free(s->jobs);
    sf_scrape_jobs_free(s->next_jobs);
    sf_regex_scratch_free(s->regex);
    sf_arena_done(&s->scratch);
    sf_mutex_done(&s->lock);
    sf_heap_free(s);
}

void sf_scraper_replace(struct sf_scraper *s, struct sf_scrape_jobs *jobs)
{
    struct sf_scrape_jobs *old;
    sf_mutex_lock(&s->lock);
    old = s->next_jobs;
    s->next_jobs = jobs;
    sf_mutex_unlock(&s->lock);
    sf_scrape_jobs_free(old);
}

static bool add_sources(struct sf_scraper *s, struct job *j)
{
    const struct sf_scrape_job *job = j->job;
    size_t n = job->file_sd.n + job->http_sd.n;
    j->sources = sf_heap_new_n(n + 1, sizeof(*j->sources));
    if (!j->sources)
        return false;
    for (size_t i = 0; i < n; i++) {
        bool is_http = i >= job->file_sd.n;
        j->sources[i] = (struct source){.scraper = s,
                                        .job = j,
                                        .where = is_http ? job->http_sd.list[i - job->file_sd.n]
                                                         : job->file_sd.list[i],
                                        .is_http = is_http,
                                        .next = {.max = SF_LIMIT_SCRAPE_SD_LEN}};
    }
    j->n_sources = n;
    return true;
}

/* Switches to a new set of jobs; running requests continue. */
static void take_jobs(struct sf_scraper *s, struct sf_scrape_jobs *jobs)
{
    struct sf_scrape_jobs *old;
    struct job *list = sf_heap_new_n(jobs->n + 1, sizeof(*list));
    if (!list) {
        sf_scrape_jobs_free(jobs);
        return; /* the old ones are kept */
    }
    sf_mutex_lock(&s->lock);
    scraper_free_list(s);
    old = s->jobs;
    s->jobs = jobs;
    s->list = list;
    s->n_list = jobs->n;
    for (size_t i = 0; i < jobs->n; i++) {
        list[i].job = &jobs->list[i];
        (void)add_sources(s, &list[i]);
    }
    sf_target_list_keep(&s->targets, jobs);
    sf_mutex_unlock(&s->lock);
    sf_scrape_jobs_free(old);
}

/* ---- discovery ---- */

struct reading {
    struct sf_scraper *s;
    struct sf_target_update *update;
};

static enum sf_err read_groups(struct sf_scraper *s, const char *name, sf_str text, bool is_yaml,
                               struct sf_target_update *u, struct sf_why *why)
{
    struct sf_sd_groups groups = {0};
    enum sf_err err = is_yaml ? s->ways->read_yaml(name, text, &s->scratch, &groups, why)
                              : sf_sd_groups_read(text, &s->scratch, &groups, why);
    if (err)
        sf_why_prefix(why, "%.100s", name);
    return err ? err : sf_target_list_update_groups(u, &groups, why);
}

static enum sf_err scraper_read_file(void *arg, const char *path, struct sf_why *why)
{
    struct reading *r = arg;
    struct sf_buf text = {0};
    sf_str name = sf_str_from(path), view;
    enum sf_err err = sf_text_file_read(path, SF_LIMIT_SCRAPE_SD_LEN, &text, why);
    if (!err && !sf_arena_copy(&r->s->scratch, sf_buf_str(&text), &view))
        err = sf_no_room(why, "targets");
    sf_buf_done(&text);
    return err ? err
               : read_groups(r->s, path, view,
                             !sf_str_ends(name, SF_STR(".json")) && r->s->ways->read_yaml,
                             r->update, why);
}

static void scraper_tell(struct sf_scraper *s, struct sf_why *was, enum sf_err err,
                         const struct sf_why *why)
{
    bool is_new = err && strcmp(was->text, why->text) != 0;
    sf_mutex_lock(&s->lock);
    *was = err ? *why : (struct sf_why){0};
    sf_mutex_unlock(&s->lock);
    if (is_new && s->ways->say)
        s->ways->say(s->ways->arg, why->text);
}

static void scraper_recount(struct sf_scraper *s)
{
    s->kept_len = 0;
    for (size_t i = 0; i < s->targets.n; i++)
        s->kept_len += s->targets.list[i]->prev.len;
}

/* Finds the targets of a job from all its sources. If one of them cannot be read, the existing
 * targets are kept: an incomplete list would end the scraping of the others. */
static void discover(struct sf_scraper *s, struct job *j, int64_t now_ns)
{
    struct sf_target_update u = {.list = &s->targets,
                                 .jobs = s->jobs,
                                 .job = j->job,
                                 .scratch = &s->scratch,
                                 .regex = s->regex,
                                 .now_ns = now_ns};
    struct reading r = {s, &u};
    struct sf_why why = {0};
    enum sf_err err, first;
    sf_arena_reset(&s->scratch);
    first = sf_target_list_update_static(&u, &why);
    scraper_tell(s, &j->why, first, &why);
    for (size_t i = 0; i < j->n_sources; i++) {
        struct source *o = &j->sources[i];
        memset(&why, 0, sizeof(why));
        if (o->is_http && !o->has_text) {
            first = first ? first : SF_ERR_BUSY; /* no answer yet */
            continue;
        }
        err = o->is_http ? read_groups(s, o->where.p, sf_buf_str(&o->text), false, &u, &why)
                         : sf_text_file_match(o->where.p, MAX_FILES, scraper_read_file, &r, &why);
        if (!o->is_http || err)
            scraper_tell(s, &o->why, err, &why);
        first = first ? first : err;
    }
    sf_mutex_lock(&s->lock);
    if (!first)
        first = sf_target_list_update_end(&u, &why);
    j->n_dropped = u.n_dropped;
    j->n_over = u.n_over;
    sf_mutex_unlock(&s->lock);
    sf_target_list_update_drop(&u);
    scraper_recount(s); /* some targets may have been removed with their kept answers */
    sf_arena_release(&s->scratch);
}

static enum sf_err on_list_piece(void *arg, const void *p, size_t len, struct sf_why *why)
{
    struct source *o = arg;
    sf_buf_add(&o->next, p, len);
    return sf_buf_ok(&o->next) ? SF_OK
                               : sf_fail(why, SF_ERR_LIMIT, "more than %u bytes of targets",
                                         SF_LIMIT_SCRAPE_SD_LEN);
}

static void on_list(void *arg, enum sf_err err, const struct sf_why *why)
{
    struct source *o = arg;
    struct sf_buf swap;
    o->is_busy = false;
    scraper_tell(o->scraper, &o->why, err, why);
    if (!err) {
        swap = o->text;
        o->text = o->next;
        o->next = swap;
        o->next.max = SF_LIMIT_SCRAPE_SD_LEN;
        o->has_text = true;
        o->job->due_ns = 0; /* run the discovery now */
    }
    sf_buf_reset(&o->next);
}

static void ask_sources(struct sf_scraper *s, struct job *j, int64_t now_ns)
{
    for (size_t i = 0; i < j->n_sources; i++) {
        struct source *o = &j->sources[i];
        struct sf_fetch f = {.url = o->where.p,
                             .tls = sf_scrape_job_tls(j->job),
                             .connect_ns = CONNECT_NS,
                             .whole_ns = j->job->timeout_ns,
                             .max_moves = MAX_MOVES,
                             .take = on_list_piece,
                             .arg = o};
        struct sf_why why = {0};
        enum sf_err err;
        if (!o->is_http || o->is_busy || now_ns < o->due_ns)
            continue;
        o->due_ns = now_ns + j->job->refresh_ns;
        err = sf_fetches_start(s->fetches, &f, on_list, &why);
        o->is_busy = !err;
        if (err)
            scraper_tell(s, &o->why, err, &why);
    }
}

/* ---- answers ---- */

static void keep_prev(struct sf_scraper *s, struct sf_scrape_target *t, bool has_totals)
{
    struct sf_buf swap = t->prev;
    s->kept_len -= t->prev.len;
    if (!has_totals || t->is_delta || s->kept_len + t->body.len > SF_LIMIT_SCRAPE_KEPT_LEN) {
        sf_buf_done(&t->prev);
        t->prev = (struct sf_buf){0};
        return;
    }
    t->prev = t->body;
    s->kept_len += t->prev.len;
    sf_buf_done(&swap);
    t->body = (struct sf_buf){0};
}

static enum sf_err use(struct sf_scraper *s, struct sf_scrape_target *t, int64_t wall_ns,
                       uint64_t *out_samples, struct sf_why *why)
{
    struct sf_scrape_answer a = {.target = t,
                                 .body = sf_buf_str(&t->body),
                                 .prev = sf_buf_str(&t->prev),
                                 .begun_ns = t->begun_wall_ns,
                                 .ended_ns = wall_ns};
    bool has_totals = false;
    enum sf_err err = a.body.len ? s->ways->take(s->ways->arg, &a, out_samples, &has_totals, why)
                                 : sf_fail(why, SF_ERR_INPUT, "an empty answer");
    if (!err) {
        keep_prev(s, t, has_totals);
    } else if (err == SF_ERR_INPUT) {
        sf_why_prefix(why, "%.100s", t->url.p);
    }
    return err;
}

static void on_answer(void *arg, enum sf_err err, const struct sf_why *why)
{
    struct sf_scrape_target *t = arg;
    struct sf_scraper *s = t->scraper;
    struct sf_why said = *why;
    int64_t wall_ns = sf_clock_wall_ns();
    size_t len = t->body.len;
    uint64_t n_samples = 0;
    if (!err && !t->is_gone)
        err = use(s, t, wall_ns, &n_samples, &said);
    s->flight_len -= len;
    s->n_busy--;
    t->job->n_busy--;
    sf_buf_done(&t->body); /* free it, because most targets are idle most of the time */
    t->body = (struct sf_buf){.max = t->job->max_len};
    sf_heap_free(t->token);
    t->token = NULL;
    sf_mutex_lock(&s->lock);
    t->is_busy = false;
    s->counts.n_scrapes++;
    s->counts.n_failed += err != SF_OK;
    t->health = err ? SF_TARGET_DOWN : SF_TARGET_UP;
    t->last_ns = t->begun_wall_ns;
    t->took_ns = sf_clock_mono_ns() - t->begun_ns;
    t->n_ok += !err;
    t->n_failed += err != SF_OK;
    t->last_len = len;
    t->n_samples = n_samples;
    t->why = err ? said : (struct sf_why){0};
    if (t->is_gone) {
        s->kept_len -= t->prev.len;
        sf_target_list_remove(&s->targets, t);
    }
    sf_mutex_unlock(&s->lock);
}

static enum sf_err scraper_on_piece(void *arg, const void *p, size_t len, struct sf_why *why)
{
    struct sf_scrape_target *t = arg;
    struct sf_scraper *s = t->scraper;
    if (t->body.len + len > SMALL_LEN && s->flight_len + len > SF_LIMIT_SCRAPE_FLIGHT_LEN)
        return sf_fail(why, SF_ERR_BUSY, "too many large answers at once");
    if (len > t->job->max_len - t->body.len)
        return sf_fail(why, SF_ERR_LIMIT, "more than max_body, %llu bytes",
                       (unsigned long long)t->job->max_len);
    sf_buf_add(&t->body, p, len);
    if (!sf_buf_ok(&t->body))
        return sf_no_memory(why, "an answer");
    s->flight_len += len;
    return SF_OK;
}

/* ---- requests ---- */

/* The token file is read each time, because it may be replaced. */
static enum sf_err scraper_read_token(struct sf_scrape_target *t, struct sf_why *why)
{
    struct sf_buf text = {0};
    sf_str token;
    enum sf_err err = sf_text_file_read(t->job->token_file.p, TOKEN_LEN, &text, why);
    token = sf_str_trim(sf_buf_str(&text));
    for (size_t i = 0; !err && i < token.len; i++) {
        if ((unsigned char)token.p[i] <= ' ' || (unsigned char)token.p[i] >= 127)
            err = sf_fail(why, SF_ERR_INPUT, "%.100s: not one token", t->job->token_file.p);
    }
    if (!err && !token.len)
        err = sf_fail(why, SF_ERR_INPUT, "%.100s: no token in it", t->job->token_file.p);
    t->token = err ? NULL : sf_heap_new(token.len + 1);
    if (t->token)
        memcpy(t->token, token.p, token.len);
    else if (!err)
        err = sf_no_memory(why, "a token");
    if (text.p)
        memset(text.p, 0, text.len);
    sf_buf_done(&text);
    return err;
}

static void scraper_start(struct sf_scraper *s, struct sf_scrape_target *t, int64_t now_ns)
{
    struct sf_why why = {0};
    struct sf_fetch f = {.url = t->url.p,
                         .tls = sf_scrape_job_tls(t->job),
                         .connect_ns = CONNECT_NS,
                         .whole_ns = t->job->timeout_ns + (t->has_seconds ? t->job->seconds_ns : 0),
                         .max_moves = MAX_MOVES,
                         .take = scraper_on_piece,
                         .arg = t};
    enum sf_err err = t->job->token_file.len ? scraper_read_token(t, &why) : SF_OK;
    t->scraper = s;
    t->is_busy = true;
    t->begun_ns = now_ns;
    t->begun_wall_ns = sf_clock_wall_ns();
    s->n_busy++;
    t->job->n_busy++;
    f.bearer = t->token;
    if (!err)
        err = sf_fetches_start(s->fetches, &f, on_answer, &why);
    if (err)
        on_answer(t, err, &why);
}

/* Number of running requests to the same address, whose targets are adjacent. */
static size_t n_beside(const struct sf_target_list *l, size_t at)
{
    uint64_t host = l->list[at]->host_key;
    size_t n = 0;
    for (size_t i = at; i-- > 0 && l->list[i]->host_key == host;)
        n += l->list[i]->is_busy;
    for (size_t i = at; i < l->n && l->list[i]->host_key == host; i++)
        n += l->list[i]->is_busy;
    return n;
}

/* Sets the next time; missed intervals are skipped. */
static void plan_next(struct sf_scrape_target *t, int64_t now_ns)
{
    int64_t n_late = (now_ns - t->due_ns) / t->job->interval_ns;
    t->due_ns += (n_late + 1) * t->job->interval_ns;
}

static void start_due(struct sf_scraper *s, int64_t now_ns)
{
    struct sf_target_list *l = &s->targets;
    size_t n = l->n;
    for (size_t k = 0; k < n && l->n == n && s->n_busy < SF_LIMIT_SCRAPE_AT_ONCE; k++) {
        size_t at = (s->next_start + k) % n;
        struct sf_scrape_target *t = l->list[at];
        if (now_ns < t->due_ns || t->is_gone)
            continue;
        /* A CPU profile may take the whole interval: then the next one begins when it is over. */
        if (t->is_busy && now_ns - t->due_ns < t->job->interval_ns)
            continue;
        if (t->is_busy) {
            plan_next(t, now_ns);
            sf_mutex_lock(&s->lock);
            t->n_skipped++;
            s->counts.n_skipped++;
            sf_mutex_unlock(&s->lock);
            continue;
        }
        if (n_beside(l, at) >= SF_LIMIT_SCRAPE_PER_HOST || t->job->n_busy >= t->job->n_at_once)
            continue; /* a little later */
        plan_next(t, now_ns);
        scraper_start(s, t, now_ns);
    }
    s->next_start = n ? (s->next_start + 1) % n : 0;
}

/* ---- one step of the thread ---- */

static void take_next_jobs(struct sf_scraper *s)
{
    struct sf_scrape_jobs *next;
    for (size_t i = 0; i < s->n_list; i++) {
        for (size_t k = 0; k < s->list[i].n_sources; k++) {
            if (s->list[i].sources[k].is_busy)
                return; /* wait for its answer, which has a time limit */
        }
    }
    sf_mutex_lock(&s->lock);
    next = s->next_jobs;
    s->next_jobs = NULL;
    sf_mutex_unlock(&s->lock);
    if (next)
        take_jobs(s, next);
}

void sf_scraper_run(struct sf_scraper *s, const struct sf_scraper_ways *ways)
{
    int64_t now_ns = sf_clock_mono_ns();
    s->ways = ways;
    take_next_jobs(s);
    for (size_t i = 0; i < s->n_list; i++) {
        struct job *j = &s->list[i];
        ask_sources(s, j, now_ns);
        if (now_ns < j->due_ns)
            continue;
        j->due_ns = j->n_sources ? now_ns + j->job->refresh_ns : INT64_MAX;
        discover(s, j, now_ns);
    }
    start_due(s, now_ns);
    if (sf_fetches_n(s->fetches))
        sf_fetches_step(s->fetches, STEP_NS);
    s->ways = NULL;
}

/* ---- reading the state ---- */

void sf_scraper_visit(struct sf_scraper *s,
                      void (*see)(void *arg, const struct sf_scrape_target *t),
                      void (*see_source)(void *arg, const struct sf_scraper_source *source),
                      void *arg, struct sf_scraper_counts *out)
{
    sf_mutex_lock(&s->lock);
    *out = s->counts;
    for (size_t i = 0; i < s->n_list; i++) {
        const struct job *j = &s->list[i];
        out->n_dropped += j->n_dropped;
        out->n_over += j->n_over;
        for (size_t k = 0; see_source && k < j->n_sources; k++) {
            struct sf_scraper_source o = {
                j->job->name, j->job->tenant, j->sources[k].where, j->sources[k].why.text, 0, 0};
            see_source(arg, &o);
        }
        if (see_source && j->why.text[0])
            see_source(arg, &(struct sf_scraper_source){j->job->name, j->job->tenant,
                                                        SF_STR("targets"), j->why.text, 0, 0});
        if (see_source && j->n_dropped + j->n_over > 0)
            see_source(arg, &(struct sf_scraper_source){j->job->name, j->job->tenant, SF_STR_NONE,
                                                        "", j->n_dropped, j->n_over});
    }
    for (size_t i = 0; i < s->targets.n; i++) {
        out->n_targets += !s->targets.list[i]->is_gone;
        if (see && !s->targets.list[i]->is_gone)
            see(arg, s->targets.list[i]);
    }
    sf_mutex_unlock(&s->lock);
}
