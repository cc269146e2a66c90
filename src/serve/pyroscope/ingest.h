/* ingest.h - POST /ingest, which most Pyroscope SDKs use. */
#pragma once
#include "base/arena.h"
#include "model/profile.h"
#include "serve/call.h"

bool sf_ingest_handle(struct sf_call *call, struct sf_worker *worker);

struct sf_app_name { /* "app{k=v,k2=v2}" */
    sf_str name;
    struct sf_label *labels; /* in the order given, the last one of a key counts */
    uint32_t n_labels;
};
/* Fails with INPUT, worded as Pyroscope does; lists are in `req`. */
enum sf_err sf_ingest_app_name_parse(sf_str text, struct sf_arena *req, struct sf_app_name *out,
                                     struct sf_why *why);
/* Never fails: a text that is not a time means now. */
int64_t sf_ingest_time(sf_str text, int64_t now_ns);
