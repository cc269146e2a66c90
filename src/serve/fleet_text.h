/* fleet_text.h - a file of the server that all nodes of a fleet have in common: documents for
 * collectors, silences, alerts. The file stays what a node reads at its start; the text in the
 * store counts. The owner has a lock. */
#pragma once
#include "serve/service.h"

struct sf_fleet_text {
    const char *kind;
    uint64_t version; /* that this node has; 0: none yet */
};

/* Is this server a node of a fleet? If not, the calls below do nothing. */
bool sf_fleet_text_is_on(struct sf_service *s);
/* Is there a newer version than this node's? Then it is in `out`, in `req`, and the node has it. */
enum sf_err sf_fleet_text_pull(struct sf_fleet_text *t, struct sf_service *s, struct sf_arena *req,
                               sf_str *out, bool *out_is_new, struct sf_why *why);
/* Replaces the version that this node has. BUSY: there is a newer one. */
enum sf_err sf_fleet_text_push(struct sf_fleet_text *t, struct sf_service *s, sf_str body,
                               struct sf_why *why);
