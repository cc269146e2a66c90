/* sd_groups.h - what a service discovery answers: groups of addresses with their labels.
 *
 *     [{"targets": ["10.0.0.1:6060"], "labels": {"env": "prod"}}]
 *
 * as Prometheus' file_sd and http_sd have it. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "scrape/relabel.h"

struct sf_sd_group {
    sf_str *targets; /* HOST:PORT */
    size_t n_targets, cap_targets;
    struct sf_label_set labels;
    struct sf_sd_group *next;
};

struct sf_sd_groups { /* all of it in the arena it was read into */
    struct sf_sd_group *first, *last;
    size_t n_targets;
};

/* HOST:PORT, or a name; nothing that would become another part of a URL. */
bool sf_sd_groups_is_address(sf_str s);
struct sf_sd_group *sf_sd_groups_add(struct sf_sd_groups *g, struct sf_arena *req); /* NULL: full */
/* INPUT: no address; LIMIT: too many. Copies. */
enum sf_err sf_sd_groups_target(struct sf_sd_groups *g, struct sf_sd_group *group, sf_str address,
                                struct sf_arena *req, struct sf_why *why);
enum sf_err sf_sd_groups_label(struct sf_sd_group *group, sf_str key, sf_str val,
                               struct sf_arena *req, struct sf_why *why);
/* INPUT with the place, LIMIT. What was read before is there. */
enum sf_err sf_sd_groups_read(sf_str json, struct sf_arena *req, struct sf_sd_groups *out,
                              struct sf_why *why);
