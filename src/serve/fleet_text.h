/* fleet_text.h - state of the server that all nodes of a fleet share: documents for collectors,
 * silences, alerts.
 *
 * A single server keeps each of these in a file. A node of a fleet reads its file at start, too,
 * but the shared text in the remote store takes precedence and replaces it. The caller serializes
 * calls for the same sf_fleet_text with a lock of its own. */
#pragma once
#include "serve/service.h"

struct sf_fleet_text {
    const char *kind;
    uint64_t version; /* the version this node has; 0: none yet */
};

/* True: this server is a node of a fleet. Otherwise the calls below do nothing. */
bool sf_fleet_text_is_on(struct sf_service *s);
/* Reads the shared text. If it is newer than t->version, copies it to `req`, returns it in `out`,
 * and sets t->version and `*out_is_new`. */
enum sf_err sf_fleet_text_pull(struct sf_fleet_text *t, struct sf_service *s, struct sf_arena *req,
                               sf_str *out, bool *out_is_new, struct sf_why *why);
/* Replaces version t->version. BUSY: the shared text has a newer version. */
enum sf_err sf_fleet_text_push(struct sf_fleet_text *t, struct sf_service *s, sf_str body,
                               struct sf_why *why);
