/* span_answer.h - spans that a shard answered, as spans again: the way back of span_rows.c.
 *
 * Strings borrow from the answer, lists are in the arena. Bytes from a shard are bytes from
 * outside: all is checked, what does not fit together is CORRUPT. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/table.h"
#include "model/span.h"

struct sf_span_answer_row {
    struct sf_span span; /* resource and scope are places in the lists below */
    sf_str tenant;
};

struct sf_span_answer {
    struct sf_arena *req;
    struct sf_span_answer_row *rows;
    struct sf_resource *resources;
    struct sf_scope *scopes;
    uint64_t *resource_ids, *scope_ids;
    uint32_t n_rows, rows_cap, n_resources, resources_cap, resource_ids_cap, n_scopes, scopes_cap,
        scope_ids_cap;
    struct sf_table resource_at, scope_at;
};

void sf_span_answer_done(struct sf_span_answer *a); /* its tables; a zeroed one is fine */

/* What to select, in the order in which it is read. */
extern const char sf_span_answer_columns[];
/* Adds the rows. `in` stays until the answer is done with. CORRUPT, LIMIT (the arena), NOMEM. */
enum sf_err sf_span_answer_add(struct sf_span_answer *a, sf_bytes in, struct sf_why *why);
/* A value of `xv`; `raw` stays. False: damaged, and how. */
bool sf_span_answer_other(sf_str raw, struct sf_value *out, const char **fault);
/* Adds entries of the dictionaries: rows of (UInt8: 1 a scope, UInt64 id, String body). Those that
 * no row refers to are ignored; a resource that never comes has its service and nothing else. */
enum sf_err sf_span_answer_add_entries(struct sf_span_answer *a, sf_bytes in, struct sf_why *why);
