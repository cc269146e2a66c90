/* profile_take.h - what all endpoints that take profiles share: the body, the turn of large ones,
 * the store.
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
    bool is_malformed; /* set by that function: the profile is wrong, not the request around it */
};

typedef enum sf_err sf_profile_take_read(struct sf_profile_take *t, struct sf_why *why);

/* A handler's whole work: `answer` fills the response of what was taken (NULL: an empty 200),
 * `refuse` that of what was not (NULL: in the route's form). */
bool sf_profile_take_run(struct sf_call *call, struct sf_worker *worker,
                         sf_profile_take_read *reader, void (*answer)(struct sf_profile_take *t),
                         void (*refuse)(struct sf_profile_take *t, enum sf_err err,
                                        const struct sf_why *why));
/* The sender's host: what a process is known by when it says nothing. */
sf_str sf_profile_take_peer(const struct sf_call *call);
/* Counts what was decoded. */
void sf_profile_take_count(struct sf_counters *c, const struct sf_profile_upload *u);
