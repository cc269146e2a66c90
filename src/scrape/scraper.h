/* scraper.h - asks targets for profiles, in time: discovery, schedule, requests.
 *
 * One thread runs it (sf_scraper_run) and makes all requests itself, so that a target that is slow,
 * huge or hostile costs its own request and no thread. What a target answers is given to the
 * caller's `take`. Any thread may examine the targets, or put another set of jobs in the place of
 * the one there is. */
#pragma once
#include "os/thread.h"
#include "scrape/target_list.h"

struct sf_scraper;

struct sf_scrape_answer {
    const struct sf_scrape_target *target;
    sf_str body;
    sf_str prev;                /* the answer before; empty: there is none */
    int64_t begun_ns, ended_ns; /* wall clock */
};

struct sf_scraper_ways { /* what the scraper is lent */
    void *arg;
    /* Decodes and keeps an answer. *out_has_totals: it holds sums since process start, and the next
     * one is requested with this one as `prev`. */
    enum sf_err (*take)(void *arg, const struct sf_scrape_answer *a, uint64_t *out_samples,
                        bool *out_has_totals, struct sf_why *why);
    /* A file of targets in YAML. */
    enum sf_err (*read_yaml)(const char *file, sf_str text, struct sf_arena *req,
                             struct sf_sd_groups *out, struct sf_why *why);
    void (*say)(void *arg, const char *sentence); /* a discovery that fails, once */
};

struct sf_scraper *sf_scraper_new(struct sf_scrape_jobs *jobs); /* takes them; NULL: no memory */
void sf_scraper_replace(struct sf_scraper *s, struct sf_scrape_jobs *jobs); /* takes them */
/* Makes progress for a fifth of a second at most. */
void sf_scraper_run(struct sf_scraper *s, const struct sf_scraper_ways *ways);
void sf_scraper_free(struct sf_scraper *s); /* ends requests that are under way; NULL is fine */

struct sf_scraper_counts {
    uint64_t n_targets, n_dropped, n_over, n_scrapes, n_failed, n_skipped;
};
struct sf_scraper_source {     /* of targets: a file, an address */
    sf_str job, tenant, where; /* where: empty, of all of the job's: counts, once */
    const char *why;           /* empty: it went well */
    uint64_t n_dropped, n_over;
};
/* Under the lock: looks only. `see_source` may be NULL. */
void sf_scraper_visit(struct sf_scraper *s,
                      void (*see)(void *arg, const struct sf_scrape_target *t),
                      void (*see_source)(void *arg, const struct sf_scraper_source *source),
                      void *arg, struct sf_scraper_counts *out);
