/* scrape_yaml.h - reads scrape jobs from YAML: the list below the key `scrape`, and files of
 * targets.
 *
 *     scrape:
 *       - {url: 'http://127.0.0.1:6060/debug/pprof/profile', service: cart, seconds: 10} */
#pragma once
#include "app/yaml.h"
#include "scrape/scrape_job.h"
#include "scrape/sd_groups.h"

/* Reads the rest of a list whose start is the newest event. False: an error. */
bool sf_scrape_yaml_list(struct sf_yaml_reader *yaml, struct sf_scrape_jobs *jobs);
/* To be called when the whole configuration is known: checks the tenants of the jobs. INPUT. */
enum sf_err sf_scrape_yaml_finish(const struct sf_scrape_jobs *jobs, bool has_tenancy,
                                  struct sf_why *why);
/* Reads a file of file_sd: a list of maps with targets and labels. INPUT, LIMIT, NOMEM. */
enum sf_err sf_scrape_yaml_groups(const char *file, sf_str text, struct sf_arena *req,
                                  struct sf_sd_groups *out, struct sf_why *why);
