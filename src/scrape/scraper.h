/* scraper.h - scrapes profiles from targets: discovery, schedule, requests.
 *
 * One thread runs it (sf_scraper_run) and makes all requests without blocking, so that a slow, huge
 * or malicious target only affects its own request. Answers are passed to the caller's `take`. Any
 * thread may read the targets or replace the set of jobs. */
#pragma once
#include "os/thread.h"
#include "scrape/target_list.h"

struct sf_scraper;

struct sf_scrape_answer {
    const struct sf_scrape_target *target;
    sf_str body;
    sf_str prev;                /* the previous answer; empty: none */
    int64_t begun_ns, ended_ns; /* wall clock */
};

struct sf_scraper_ways { /* callbacks of the scraper */
    void *arg;
    /* Decodes and stores an answer. *out_has_totals: it contains totals since process start; the
     * next call gets this answer as `prev`. */
    enum sf_err (*take)(void *arg, const struct sf_scrape_answer *a, uint64_t *out_samples,
                        bool *out_has_totals, struct sf_why *why);
    /* Reads a YAML file of targets. */
    enum sf_err (*read_yaml)(const char *file, sf_str text, struct sf_arena *req,
                             struct sf_sd_groups *out, struct sf_why *why);
    void (*say)(void *arg, const char *sentence); /* reports a failing discovery once */
};

struct sf_scraper *sf_scraper_new(struct sf_scrape_jobs *jobs); /* takes the jobs; NULL: no
                                                                 * memory */
void sf_scraper_replace(struct sf_scraper *s, struct sf_scrape_jobs *jobs); /* takes the jobs */
/* Makes progress for at most 0.2 s. */
void sf_scraper_run(struct sf_scraper *s, const struct sf_scraper_ways *ways);
void sf_scraper_free(struct sf_scraper *s); /* cancels running requests; NULL is fine */

struct sf_scraper_counts {
    uint64_t n_targets, n_dropped, n_over, n_scrapes, n_failed, n_skipped;
};
struct sf_scraper_source {     /* a source of targets: a file, a URL */
    sf_str job, tenant, where; /* where: empty for the entry with the counts of the whole job */
    const char *why;           /* empty: no error */
    uint64_t n_dropped, n_over;
};
/* The callbacks run under the lock and must only read. `see_source` may be NULL. */
void sf_scraper_visit(struct sf_scraper *s,
                      void (*see)(void *arg, const struct sf_scrape_target *t),
                      void (*see_source)(void *arg, const struct sf_scraper_source *source),
                      void *arg, struct sf_scraper_counts *out);
