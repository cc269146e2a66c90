/* profile_upload.h - profiles on their way to the server: from windows to requests to an exporter
 * of their own, with the batching, retries, bounds and counters that spans have. */
#pragma once
#include "base/err.h"
#include "collect/send/exporter.h"

struct sf_settings;

/* Once, when the settings are read. The two write what goes around the profiles. */
void sf_profile_upload_init(const struct sf_settings *settings,
                            void (*write_resource)(struct sf_buf *out),
                            void (*write_scope)(struct sf_buf *out), void (*say)(const char *));
/* Those kinds (bits) from now on; those that run stay. */
enum sf_err sf_profile_upload_start(unsigned kinds, struct sf_why *why);
void sf_profile_upload_begin_child(void);    /* what was on in the parent; waits for nothing */
void sf_profile_upload_stop(unsigned kinds); /* their last window is queued */
void sf_profile_upload_will_end(void);       /* the next profiles are the last: named whole */
void sf_profile_upload_after_fork(void);     /* in the child: it earns for itself */
/* All that was sampled until now is sent or given up when it returns true. */
bool sf_profile_upload_flush(int64_t timeout_ns, bool is_ending);

struct sf_exporter *sf_profile_upload_exporter(void);
uint64_t sf_profile_upload_dropped(void); /* profiles: no space, or no memory */
