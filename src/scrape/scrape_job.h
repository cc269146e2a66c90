/* scrape_job.h - configured scrape jobs: targets or service discovery, and parameters.
 *
 * A set of jobs does not change after it is checked, except for the scraper's counters; threads
 * share it. Fields are set by the path of their key ("labels.env", "relabel.0.regex", "targets.3"),
 * so that the YAML reader does not depend on them. */
#pragma once
#include <stdatomic.h>

#include "base/arena.h"
#include "os/fetch.h"
#include "scrape/relabel.h"

enum { SF_SCRAPE_PATHS = 16, SF_SCRAPE_SOURCES = 32, SF_SCRAPE_RELABELS = 32 };

struct sf_scrape_words { /* a list of terminated texts */
    sf_str *list;
    size_t n;
};

struct sf_scrape_job {
    sf_str name;    /* default: the service, or the address */
    sf_str service; /* empty: the label service_name, or the job's name */
    sf_str tenant;
    sf_str where;                                     /* FILE:LINE */
    sf_str url;                                       /* a single complete URL */
    struct sf_scrape_words targets, file_sd, http_sd; /* HOST:PORT; file paths; URLs */
    struct sf_scrape_words paths;                     /* names below path_prefix */
    sf_str scheme, path_prefix;
    int64_t interval_ns, seconds_ns, timeout_ns, refresh_ns;
    bool has_seconds;
    uint64_t max_len;
    uint64_t n_at_once;
    struct sf_label_set labels;
    struct sf_relabel *relabel;
    size_t n_relabel;
    sf_str token_file; /* terminated; empty: none */
    sf_str ca_file, cert_file, key_file;
    bool is_unchecked;
    size_t n_busy; /* running requests; used by the scraper's thread */
};

struct sf_scrape_jobs {
    atomic_uint n_users;
    struct sf_arena arena;
    struct sf_scrape_job *list; /* SF_LIMIT_SCRAPE_JOBS */
    size_t n;
};

struct sf_scrape_jobs *sf_scrape_jobs_new(void);                       /* NULL: no memory */
struct sf_scrape_jobs *sf_scrape_jobs_share(struct sf_scrape_jobs *j); /* NULL is fine */
void sf_scrape_jobs_free(struct sf_scrape_jobs *j); /* drops a reference, the last frees; NULL is
                                                     * fine */

enum sf_err sf_scrape_jobs_add(struct sf_scrape_jobs *j, struct sf_scrape_job **out,
                               struct sf_why *why);
enum sf_err sf_scrape_job_set(struct sf_scrape_jobs *j, struct sf_scrape_job *job, sf_str path,
                              sf_str val, struct sf_why *why);
enum sf_err sf_scrape_job_check(struct sf_scrape_jobs *j, struct sf_scrape_job *job,
                                struct sf_why *why);
struct sf_fetch_tls sf_scrape_job_tls(const struct sf_scrape_job *job);
