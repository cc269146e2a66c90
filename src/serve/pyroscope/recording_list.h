/* recording_list.h - the rules of all tenants and their totals, as recording_rules.c keeps them and
 * recording_run.c evaluates them; no other code's. */
#pragma once
#include "os/thread.h"
#include "serve/pyroscope/recording_rules.h"
#include "serve/pyroscope/recording_totals.h"

struct sf_recording_entry {
    char *line; /* as in the file, without its end; owned, terminated */
};

struct sf_recording_rules {
    struct sf_dir *dir;
    struct sf_mutex lock; /* guards what follows; held while the file of rules is replaced, so that
                           * the file is always the list of one moment */
    struct sf_recording_entry list[SF_LIMIT_RULES];
    size_t n;
    struct sf_recording_totals totals;
    uint64_t n_failed; /* evaluations that could not be done */
};

extern const char sf_recording_totals_file[];

/* The rule of an entry, in `req`: it was written by us. False: no space. */
bool sf_recording_rules_list_read(const struct sf_recording_entry *e, struct sf_arena *req,
                                  struct sf_recording_rule *out);
