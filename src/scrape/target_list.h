/* target_list.h - the list of targets, updated by discoveries: a target that is found again keeps
 * its state. */
#pragma once
#include "base/table.h"
#include "scrape/scrape_target.h"
#include "scrape/sd_groups.h"

struct sf_target_list {
    struct sf_scrape_target **list; /* targets with the same address are adjacent */
    size_t n;
};

void sf_target_list_done(struct sf_target_list *l);
/* Removes targets of jobs that are not in `jobs`; those being scraped are only marked. */
void sf_target_list_keep(struct sf_target_list *l, const struct sf_scrape_jobs *jobs);
void sf_target_list_remove(struct sf_target_list *l, struct sf_scrape_target *t); /* and frees it */

/* A discovery of one job: begin, add groups, end. Targets of the job that were not added are then
 * removed. */
struct sf_target_update {
    struct sf_target_list *list;
    struct sf_scrape_jobs *jobs;
    struct sf_scrape_job *job;
    struct sf_arena *scratch;
    struct sf_regex_scratch *regex;
    int64_t now_ns; /* monotonic */
    struct sf_scrape_target **fresh;
    size_t n_fresh, cap_fresh;
    size_t n_others_plus; /* number of targets of other jobs + 1; 0: not counted yet */
    uint64_t n_dropped;   /* by relabelling */
    uint64_t n_over;      /* targets above SF_LIMIT_SCRAPE_TARGETS */
};

enum sf_err sf_target_list_update_groups(struct sf_target_update *u,
                                         const struct sf_sd_groups *groups, struct sf_why *why);
/* Adds the job's own targets and url. */
enum sf_err sf_target_list_update_static(struct sf_target_update *u, struct sf_why *why);
/* Replaces the job's targets; old ones that are being scraped are marked as removed. NOMEM: nothing
 * changed. */
enum sf_err sf_target_list_update_end(struct sf_target_update *u, struct sf_why *why);
void sf_target_list_update_drop(struct sf_target_update *u); /* cancels the update */
