/* scraping.h - the server's scraper: the work of its thread, and its status for users. */
#pragma once
#include "meter/exposition.h"
#include "scrape/scrape_job.h"
#include "scrape/sd_groups.h"
#include "serve/call.h"

struct sf_scraping;

/* Takes `jobs`, also on failure. NOMEM. */
enum sf_err sf_scraping_open(struct sf_service *service, struct sf_scrape_jobs *jobs,
                             struct sf_scraping **out, struct sf_why *why);
/* Function that reads target files in YAML; given by the program before the first run. */
typedef enum sf_err sf_scraping_yaml(const char *file, sf_str text, struct sf_arena *req,
                                     struct sf_sd_groups *out, struct sf_why *why);
void sf_scraping_read_yaml(struct sf_scraping *s, sf_scraping_yaml *read);
void sf_scraping_replace(struct sf_scraping *s, struct sf_scrape_jobs *jobs); /* takes the jobs */
/* One thread calls it repeatedly; it returns within 0.2 s. */
void sf_scraping_run(struct sf_service *s, struct sf_worker *worker, int64_t now_ns,
                     const atomic_bool *is_stopping);
void sf_scraping_render(struct sf_scraping *s, struct sf_exposition *e); /* /metrics */
void sf_scraping_close(struct sf_scraping *s);                           /* NULL is fine */

bool sf_scraping_targets_handle(struct sf_call *call, struct sf_worker *worker);
