/* redact.h - secrets out of what leaves the process: the built-in words and shapes that the server
 * knows, at the source. On unless SPANFLAME_REDACT=off. Any thread, not in signal handlers. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"

#define SF_REDACTED SF_STR("[REDACTED]")

/* Before anything is written; again changes the choice. */
void sf_redact_set(bool is_on);
/* `text` itself, or what is left of it, in `room` (zeroed before, done after use). */
sf_str sf_redact_text(sf_str text, struct sf_buf *room);
/* Does this key say that its value is a secret? A number under a plural key ("tokens": 512) is a
 * count and no secret. */
bool sf_redact_key(sf_str key, bool is_number);
