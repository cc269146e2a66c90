/* json.h - a bounded cursor over JSON text: no tree; nesting is limited.
 *
 *     if (sf_json_object(j))
 *         while (sf_json_key(j, &key))
 *             if (sf_str_eq(key, SF_STR("name")))
 *                 name = sf_json_str(j);
 *             else
 *                 sf_json_skip(j);
 *
 * After every key or item exactly one value is read or skipped. null reads as absent: an empty
 * string, zero, no object. The first error is kept, with its position as line, offset and path;
 * later steps end the loops and later reads return zero. Strings are views into the text, or copies
 * in `req` if they contain escapes. Integers are read from their digits, not converted from a
 * double. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/str.h"

enum sf_json_type {
    SF_JSON_NONE, /* the end, an error, or not JSON */
    SF_JSON_NULL,
    SF_JSON_BOOL,
    SF_JSON_NUMBER,
    SF_JSON_STRING,
    SF_JSON_ARRAY,
    SF_JSON_OBJECT
};

struct sf_json {
    const char *at, *end, *start;
    struct sf_arena *req;
    const char *fault; /* NULL: no error; otherwise a constant text */
    size_t fault_off;  /* bytes from the start */
    enum sf_err err;   /* INPUT, or LIMIT when `req` is full */
    uint32_t depth;    /* open objects and arrays */
    struct {           /* of each: its position, for the path of an error */
        sf_str key;    /* as written, with escapes */
        uint32_t n;    /* number of members so far */
        bool is_array;
    } open[SF_LIMIT_JSON_DEPTH];
};

/* `req` may be NULL: then a string with escapes is an error. */
void sf_json_init(struct sf_json *j, sf_str text, struct sf_arena *req);
static inline bool sf_json_ok(const struct sf_json *j)
{
    return !j->fault;
}
/* "`what`: a.b[3]: <fault> (line 1, byte 20)"; SF_OK if there was no error. */
enum sf_err sf_json_why(const struct sf_json *j, const char *what, struct sf_why *why);
/* Reports a semantic error at the current value (or just after it); the first one is kept. */
void sf_json_fault(struct sf_json *j, const char *fault);
/* Checks that nothing but blanks is left. */
bool sf_json_end(struct sf_json *j);

enum sf_json_type sf_json_peek(struct sf_json *j); /* type of the current value */

/* Enters an object or array; false for null and on an error. Then step until false. */
bool sf_json_object(struct sf_json *j);
bool sf_json_key(struct sf_json *j, sf_str *out_key);
bool sf_json_array(struct sf_json *j);
bool sf_json_item(struct sf_json *j);

void sf_json_skip(struct sf_json *j);
bool sf_json_bool(struct sf_json *j);
sf_str sf_json_str(struct sf_json *j);
/* Numbers, or strings that contain one, as in proto3 JSON. 1e3 and 10.0 are integers; 1.5 and
 * numbers out of range are errors. */
int64_t sf_json_i64(struct sf_json *j);
uint64_t sf_json_u64(struct sf_json *j);
uint32_t sf_json_u32(struct sf_json *j);
double sf_json_f64(struct sf_json *j); /* also "NaN", "Infinity", "-Infinity" */
