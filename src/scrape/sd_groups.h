/* sd_groups.h - the result of service discovery: groups of addresses with labels,
 *
 *     [{"targets": ["10.0.0.1:6060"], "labels": {"env": "prod"}}]
 *
 * as in Prometheus' file_sd and http_sd. */
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

struct sf_sd_groups { /* everything is in the arena of the read call */
    struct sf_sd_group *first, *last;
    size_t n_targets;
};

/* Whether it is HOST:PORT or a name, without characters of other parts of a URL. */
bool sf_sd_groups_is_address(sf_str s);
struct sf_sd_group *sf_sd_groups_add(struct sf_sd_groups *g, struct sf_arena *req); /* NULL: full */
/* INPUT: not an address; LIMIT: too many. Copies it. */
enum sf_err sf_sd_groups_target(struct sf_sd_groups *g, struct sf_sd_group *group, sf_str address,
                                struct sf_arena *req, struct sf_why *why);
enum sf_err sf_sd_groups_label(struct sf_sd_group *group, sf_str key, sf_str val,
                               struct sf_arena *req, struct sf_why *why);
/* INPUT with the position, LIMIT. On failure groups read before are kept. */
enum sf_err sf_sd_groups_read(sf_str json, struct sf_arena *req, struct sf_sd_groups *out,
                              struct sf_why *why);
