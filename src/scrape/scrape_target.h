/* scrape_target.h - one target that is scraped for profiles, with its status.
 *
 * Created by discovery, scraped by the scraper's thread; other threads read it under the scraper's
 * lock. */
#pragma once
#include "base/buf.h"
#include "scrape/scrape_job.h"

enum sf_scrape_target_health { SF_TARGET_UNKNOWN, SF_TARGET_UP, SF_TARGET_DOWN };

struct sf_scrape_target {
    /* Identity; does not change, except that jobs and job are replaced after a reload. */
    struct sf_scrape_jobs *jobs; /* shared reference: keeps `job` valid */
    struct sf_scrape_job *job;
    sf_str url; /* terminated */
    sf_str service, instance, path;
    const struct sf_label *labels; /* labels of the series, without the service's name */
    size_t n_labels;
    uint64_t key, host_key; /* hash of all of the above; hash of the address alone */
    bool has_seconds;       /* the answer takes the job's `seconds` */
    bool is_delta;          /* the values cover a time range: nothing is subtracted */
    bool takes_levels, takes_totals;

    /* Used by the scraper's thread. */
    int64_t due_ns; /* monotonic */
    bool is_busy, is_gone, is_seen;
    struct sf_buf body; /* of the answer being received */
    struct sf_buf prev; /* the previous answer, for totals */
    char *token;        /* used while it is being scraped */
    int64_t begun_ns, begun_wall_ns;
    void *scraper;

    /* How it went. */
    enum sf_scrape_target_health health;
    int64_t last_ns, took_ns; /* last_ns: wall clock; 0: not scraped yet */
    uint64_t n_ok, n_failed, n_skipped, last_len, n_samples;
    struct sf_why why;
};

struct sf_scrape_target_spec { /* borrowed */
    struct sf_scrape_jobs *jobs;
    struct sf_scrape_job *job;
    sf_str address, scheme, prefix; /* without address: the job's url */
    sf_str path;
    const struct sf_label_set *labels;
};

struct sf_scrape_target *sf_scrape_target_new(
    const struct sf_scrape_target_spec *spec);          /* NULL: no memory */
void sf_scrape_target_free(struct sf_scrape_target *t); /* NULL is fine */
