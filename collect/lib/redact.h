/* redact.h - removes secrets from data before it leaves the process, by the same built-in words and
 * shapes as the server. On unless SPANFLAME_REDACT=off. Any thread, not in signal handlers. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"

#define SF_REDACTED SF_STR("[REDACTED]")

/* To be called before anything is written; may be called again to change the choice. */
void sf_redact_set(bool is_on);
/* `text` itself, or its redacted form in `room` (zeroed before, freed by the caller after use). */
sf_str sf_redact_text(sf_str text, struct sf_buf *room);
/* Whether the value of this key is a secret. A number under a plural key ("tokens": 512) is a
 * count, not a secret. */
bool sf_redact_key(sf_str key, bool is_number);
