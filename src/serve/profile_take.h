/* profile_take.h - the common part of all endpoints that receive profiles: reading the body,
 * processing large ones in turn, storing.
 *
 * Each passes a function that reads the plain body and adds its profiles to the upload. It may run
 * twice: first with a small limit, and again in its turn when that was not enough. */
#pragma once
#include "intake/profile_upload.h"
#include "serve/call.h"

struct sf_profile_take {
    struct sf_call *call;
    struct sf_worker *worker;
    sf_str body; /* without its content encoding; borrowed */
    struct sf_profile_upload upload;
    bool is_malformed; /* set by that function: the profile is malformed, not the request around
                        * it */
};

typedef enum sf_err sf_profile_take_read(struct sf_profile_take *t, struct sf_why *why);

/* Does all the work of a handler: `answer` fills the response to a stored upload (NULL: an empty
 * 200), `refuse` that to a refused one (NULL: in the route's form). */
bool sf_profile_take_run(struct sf_call *call, struct sf_worker *worker,
                         sf_profile_take_read *reader, void (*answer)(struct sf_profile_take *t),
                         void (*refuse)(struct sf_profile_take *t, enum sf_err err,
                                        const struct sf_why *why));
/* The sender's host, which identifies a process that sends no identity. */
sf_str sf_profile_take_peer(const struct sf_call *call);
/* Counts what was decoded. */
void sf_profile_take_count(struct sf_counters *c, const struct sf_profile_upload *u);
