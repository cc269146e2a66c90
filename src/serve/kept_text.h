/* kept_text.h - redacts texts that are not telemetry and are stored, logged or shown: notes and
 * comments of users, names of deploys, self-descriptions of collectors, labels of scraped targets.
 * Secrets are removed as in span attributes (intake/redact.h). */
#pragma once
#include "base/arena.h"
#include "serve/service.h"

/* Redacts the text as the value of `key`. A changed text is in `req`; an empty `req` is
 * initialised, and the caller frees it. Counted as a redaction. NOMEM, LIMIT: the text must not be
 * used. */
enum sf_err sf_kept_text_clean(const struct sf_service *s, struct sf_arena *req, const char *key,
                               sf_str *io, struct sf_why *why);

/* Logs a warning: `what`, a colon, and `sentence`, which is redacted because it may contain a
 * URL. */
void sf_kept_text_warn(struct sf_service *s, const char *what, const char *sentence);
