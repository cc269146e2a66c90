/* recording_list.h - the rules of all tenants and their totals, shared by recording_rules.c, which
 * stores them, and recording_run.c, which evaluates them. */
#pragma once
#include "os/thread.h"
#include "serve/pyroscope/recording_rules.h"
#include "serve/pyroscope/recording_totals.h"

struct sf_recording_entry {
    char *line; /* as in the file, without the newline; owned, terminated */
};

struct sf_recording_rules {
    struct sf_dir *dir;
    struct sf_mutex lock; /* guards what follows; held while the file of rules is replaced, so that
                           * the file always matches the list */
    struct sf_recording_entry list[SF_LIMIT_RULES];
    size_t n;
    struct sf_recording_totals totals;
    uint64_t n_failed; /* failed evaluations */
};

extern const char sf_recording_totals_file[];

/* Parses the rule of an entry into `req`; it was validated before. False: no memory. */
bool sf_recording_rules_list_read(const struct sf_recording_entry *e, struct sf_arena *req,
                                  struct sf_recording_rule *out);
