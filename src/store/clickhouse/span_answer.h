/* span_answer.h - spans from shards' answers, converted back to spans: the inverse of span_rows.c.
 *
 * Strings borrow from the answer, lists are in the arena. Answers are untrusted input: everything
 * is checked, and inconsistent answers are CORRUPT. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/table.h"
#include "model/select.h"
#include "model/span.h"

struct sf_span_answer_row {
    struct sf_span span; /* resource and scope are places in the lists below */
    sf_str tenant;
    /* Of a group of spans (span_groups.h): how many they are, and the sum of what is measured. */
    uint64_t n_same;
    double sum;
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
    /* Rows are groups: after the columns below they have a value of each of `keys` (span_groups.h
     * says how it is written), their number and the sum. */
    bool has_groups;
    const struct sf_key *keys;
    size_t n_keys;
};

/* Frees its tables; a zeroed object is allowed. */
void sf_span_answer_done(struct sf_span_answer *a);

/* The columns to select, in the order in which they are read. */
extern const char sf_span_answer_columns[];
/* Adds the rows. `in` must stay valid as long as the answer. CORRUPT, LIMIT (the arena), NOMEM. */
enum sf_err sf_span_answer_add(struct sf_span_answer *a, sf_bytes in, struct sf_why *why);
/* Decodes a value of `xv`, borrowed from `raw`. False: damaged, with the reason in `fault`. */
bool sf_span_answer_other(sf_str raw, struct sf_value *out, const char **fault);
/* Adds dictionary entries: rows of (UInt8: 1 for a scope, UInt64 id, String body). Entries that no
 * row refers to are ignored; a resource without an entry has only its service. */
enum sf_err sf_span_answer_add_entries(struct sf_span_answer *a, sf_bytes in, struct sf_why *why);
