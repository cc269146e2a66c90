/* findings.h - noteworthy observations, as JSON and as text. */
#pragma once
#include "base/buf.h"
#include "model/answer/findings.h"
#include "wire/json_write.h"

/* Writes the members without the braces. */
void sf_findings_members(const struct sf_findings_view *v, struct sf_json_writer *w);
void sf_findings_json(const struct sf_findings_view *v, struct sf_buf *out);
void sf_findings_text(const struct sf_findings_view *v, struct sf_buf *out);
