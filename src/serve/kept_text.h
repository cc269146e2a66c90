/* kept_text.h - texts that come besides telemetry and are kept, logged or shown to others: notes
 * and comments of people, names of deploys, what collectors say of themselves, labels of scraped
 * targets. They lose their secrets as attributes of spans do (intake/redact.h). */
#pragma once
#include "base/arena.h"
#include "serve/service.h"

/* The text as the value under `key`. What changed is in `req`, which may be empty and is made then;
 * the caller ends it. Counted as a redaction. NOMEM, LIMIT: the text must not be used. */
enum sf_err sf_kept_text_clean(const struct sf_service *s, struct sf_arena *req, const char *key,
                               sf_str *io, struct sf_why *why);

/* A warning for the log: `what`, a colon, and a sentence that may name an address. */
void sf_kept_text_warn(struct sf_service *s, const char *what, const char *sentence);
