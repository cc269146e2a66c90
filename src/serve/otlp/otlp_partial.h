/* otlp_partial.h - the answer to an OTLP export: ExportXServiceResponse of any signal.
 *
 * All of them have one member, partial_success, with the count of what was left out and a sentence.
 * A count of 0 with a sentence is a warning; neither means that everything was taken. */
#pragma once
#include "serve/call.h"

/* `member` is the count's name in JSON: "rejectedSpans". An empty message writes an empty answer.
 */
void sf_otlp_partial_write(const char *member, uint64_t n_rejected, sf_str message, bool is_json,
                           struct sf_buf *out);
/* 200 with the content type of the call's form, and that answer. */
void sf_otlp_partial_answer(struct sf_call *call, const char *member, uint64_t n_rejected,
                            sf_str message);
