/* attr_write.h - writes KeyValue messages of OTLP, as field `field` of the current message.
 *
 * Text that is not UTF-8 would make other servers refuse the whole request: invalid bytes become
 * '?'. Secrets become [REDACTED], see redact.h. */
#pragma once
#include "base/buf.h"
#include "spanflame.h"

enum { SF_ATTR_KEY_MAX = 1024 };

void sf_attr_write_str(struct sf_buf *out, uint32_t field, sf_str key, sf_str val);
void sf_attr_write_int(struct sf_buf *out, uint32_t field, sf_str key, int64_t val);
void sf_attr_write_double(struct sf_buf *out, uint32_t field, sf_str key, double val);
void sf_attr_write_bool(struct sf_buf *out, uint32_t field, sf_str key, bool val);
/* Writes a public attribute, its text truncated to `max_len`. False: it has no key. */
bool sf_attr_write(struct sf_buf *out, uint32_t field, const sf_attr *attr, size_t max_len);
/* Writes any text field: truncated to `max_len` at a character, made valid UTF-8. */
void sf_attr_write_text(struct sf_buf *out, uint32_t field, sf_str text, size_t max_len);
