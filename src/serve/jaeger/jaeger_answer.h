/* jaeger_answer.h - the envelope around every answer of Jaeger's classic API:
 * {"data":…,"total":N,"limit":0,"offset":0,"errors":null}. */
#pragma once
#include "serve/call.h"
#include "wire/json_write.h"

struct sf_jaeger_answer {
    struct sf_call *call;
    struct sf_json_writer w;
    uint32_t n;           /* members of `data` so far; counted by the caller */
    bool is_v3;           /* v3: no envelope */
    struct sf_buf errors; /* JSON objects with commas between them; owned */
};

/* Begins an answer with status 200 and opens the list `data` (v3: nothing is written yet). */
struct sf_jaeger_answer sf_jaeger_answer_begin(struct sf_call *call, bool is_v3);
/* Reports data that is missing from the answer; `id` may be empty. */
void sf_jaeger_answer_error(struct sf_jaeger_answer *a, int code, sf_str message, sf_str id);
/* Closes open lists and objects. Returns true, so that a handler may end with it. */
bool sf_jaeger_answer_end(struct sf_jaeger_answer *a);
/* Answers with an error: the envelope with `data` null (v3: plain text). */
bool sf_jaeger_answer_fail(struct sf_call *call, bool is_v3, enum sf_err err,
                           const struct sf_why *why, sf_str id);
