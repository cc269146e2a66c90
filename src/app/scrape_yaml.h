/* scrape_yaml.h - what is scraped, as YAML: the list behind the key scrape, and files of targets.
 *
 *     scrape:
 *       - {url: 'http://127.0.0.1:6060/debug/pprof/profile', service: cart, seconds: 10}
 */
#pragma once
#include "app/yaml.h"
#include "scrape/scrape_job.h"
#include "scrape/sd_groups.h"

/* The rest of a list whose beginning the reader has just given out. False: a mistake. */
bool sf_scrape_yaml_list(struct sf_yaml_reader *yaml, struct sf_scrape_jobs *jobs);
/* When the whole configuration is known: a tenant is a name, and of use. INPUT. */
enum sf_err sf_scrape_yaml_finish(const struct sf_scrape_jobs *jobs, bool has_tenancy,
                                  struct sf_why *why);
/* A file of file_sd: a list of maps with targets and labels. INPUT, LIMIT, NOMEM. */
enum sf_err sf_scrape_yaml_groups(const char *file, sf_str text, struct sf_arena *req,
                                  struct sf_sd_groups *out, struct sf_why *why);
