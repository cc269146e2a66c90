/* profile_upload.h - sends profiles to the server: encodes the windows as requests and gives them
 * to an exporter of their own, with the same batching, retries, limits and counters as for
 * spans. */
#pragma once
#include "base/err.h"
#include "collect/send/exporter.h"

struct sf_settings;

/* Called once, when the settings are read. The two functions write the parts around the
 * profiles. */
void sf_profile_upload_init(const struct sf_settings *settings,
                            void (*write_resource)(struct sf_buf *out),
                            void (*write_scope)(struct sf_buf *out), void (*say)(const char *));
/* Starts those kinds (bits); running ones continue. */
enum sf_err sf_profile_upload_start(unsigned kinds, struct sf_why *why);
void sf_profile_upload_begin_child(void);    /* starts the kinds that were on in the parent; does
                                              * not wait */
void sf_profile_upload_stop(unsigned kinds); /* stops them; their last window is queued */
void sf_profile_upload_will_end(void);       /* the next profiles are the last: look up all their
                                              * names */
void sf_profile_upload_after_fork(void);     /* in the child: a new budget for symbols */
/* True: all samples taken so far were sent or given up. */
bool sf_profile_upload_flush(int64_t timeout_ns, bool is_ending);

struct sf_exporter *sf_profile_upload_exporter(void);
uint64_t sf_profile_upload_dropped(void); /* profiles dropped because the queue was full or memory
                                           * was short */
