/* otlp_profile_write.h - writes profiles as one ExportProfilesServiceRequest (v1development, as of
 * OTLP 1.10). Every sample keeps its time, thread and span; names come from the files on this
 * machine, and build ids let the server find better ones. Not for signal handlers or hooks. */
#pragma once
#include "collect/lib/profiler.h"
#include "collect/lib/symbol_budget.h"

struct sf_otlp_frame {               /* encoded parts of the request's messages, copied unchanged */
    sf_bytes resource;               /* ResourceProfiles field 1 */
    sf_bytes scope;                  /* ScopeProfiles field 1 */
    struct sf_symbol_budget *budget; /* for names; NULL: no limit */
};

/* Writes the profiles that have samples; *n_profiles is the number of Profile messages; 0: `out` is
 * empty. Fails with NOMEM. */
enum sf_err sf_otlp_profile_write(const struct sf_profile *list, unsigned n,
                                  const struct sf_otlp_frame *frame, struct sf_buf *out,
                                  uint32_t *n_profiles, struct sf_why *why);
