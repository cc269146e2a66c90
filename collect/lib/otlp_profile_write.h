/* otlp_profile_write.h - profiles as one ExportProfilesServiceRequest (v1development, as of OTLP
 * 1.10). Every sample keeps its time, its thread and its span; names are those the files on this
 * machine have, and build ids let the server find better ones. Off the hot path. */
#pragma once
#include "collect/lib/profiler.h"
#include "collect/lib/symbol_budget.h"

struct sf_otlp_frame {               /* fields of the request's messages, ready to be copied */
    sf_bytes resource;               /* ResourceProfiles field 1 */
    sf_bytes scope;                  /* ScopeProfiles field 1 */
    struct sf_symbol_budget *budget; /* for names; NULL: no limit */
};

/* Writes what has samples; *n_profiles is how many Profile messages that made, 0 with an empty
 * `out`. Fails with NOMEM. */
enum sf_err sf_otlp_profile_write(const struct sf_profile *list, unsigned n,
                                  const struct sf_otlp_frame *frame, struct sf_buf *out,
                                  uint32_t *n_profiles, struct sf_why *why);
