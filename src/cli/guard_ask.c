/* guard_ask.c - collects what `spanflame guard` judges: duration and its parts, allocations, and
 * the share of failed spans, each for two versions of the same requests. Each is a server
 * call of its own, whose JSON is read into measures with confidence intervals. */
#include "cli/guard_ask.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/time_unit.h"
#include "cli/ask.h"
#include "os/clock.h"
#include "wire/json.h"

const char *sf_guard_ask_measure_name(unsigned measure)
{
    static const char *const names[SF_GUARD_N_MEASURES] = {
        [SF_GUARD_DURATION] = "duration", [SF_GUARD_CPU] = "CPU",
        [SF_GUARD_LOCK] = "lock time",    [SF_GUARD_ALLOC] = "allocation",
        [SF_GUARD_ERRORS] = "errors",
    };
    return names[measure];
}

/* ---- differences, as the server writes them ---- */

struct difference {
    struct sf_guard_measure m;
    bool is_significant;
    sf_str part, function;
};

static void read_functions(struct sf_json *j, struct sf_guard_row *row);

/* Reads an object with left, right, delta, low and high; `row` gets its functions, if any. */
static struct difference read_difference(struct sf_json *j, struct sf_guard_row *row)
{
    struct difference d = {0};
    bool has_low = false, has_high = false;
    sf_str key;
    if (!sf_json_object(j))
        return d;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("left")))
            d.m.left = sf_json_f64(j);
        else if (sf_str_eq(key, SF_STR("right")))
            d.m.right = sf_json_f64(j);
        else if (sf_str_eq(key, SF_STR("delta")))
            d.m.delta = sf_json_f64(j);
        else if (sf_str_eq(key, SF_STR("low")))
            has_low = (d.m.low = sf_json_f64(j), true);
        else if (sf_str_eq(key, SF_STR("high")))
            has_high = (d.m.high = sf_json_f64(j), true);
        else if (sf_str_eq(key, SF_STR("isSignificant")))
            d.is_significant = sf_json_bool(j);
        else if (sf_str_eq(key, SF_STR("part")))
            d.part = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("function")))
            d.function = sf_json_str(j);
        else if (row && sf_str_eq(key, SF_STR("functions")))
            read_functions(j, row);
        else
            sf_json_skip(j);
    }
    d.m.has_interval = has_low && has_high;
    return d;
}

/* Keeps the function that grew most among those that grew significantly. */
static void read_functions(struct sf_json *j, struct sf_guard_row *row)
{
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j)) {
        struct difference d = read_difference(j, NULL);
        if (d.is_significant && d.m.low > 0 && d.m.delta > row->function_delta) {
            row->function = d.function;
            row->function_delta = d.m.delta;
        }
    }
}

static void set_row(struct sf_guard_report *out, unsigned measure, const struct difference *d,
                    const struct sf_guard_row *functions)
{
    out->rows[measure].m = d->m;
    out->rows[measure].is_there = true;
    if (functions) {
        out->rows[measure].function = functions->function;
        out->rows[measure].function_delta = functions->function_delta;
    }
}

static void read_parts(struct sf_json *j, struct sf_guard_report *out)
{
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j)) {
        struct sf_guard_row functions = {0};
        struct difference d = read_difference(j, &functions);
        if (sf_str_eq(d.part, SF_STR("cpu")))
            set_row(out, SF_GUARD_CPU, &d, &functions);
        else if (sf_str_eq(d.part, SF_STR("lock")))
            set_row(out, SF_GUARD_LOCK, &d, &functions);
    }
}

static void guard_ask_read_time(struct sf_json *j, struct sf_guard_report *out)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("duration"))) {
            struct difference d = read_difference(j, NULL);
            set_row(out, SF_GUARD_DURATION, &d, NULL);
        } else if (sf_str_eq(key, SF_STR("parts"))) {
            read_parts(j, out);
        } else if (sf_str_eq(key, SF_STR("summary"))) {
            out->summary = sf_json_str(j);
        } else {
            sf_json_skip(j);
        }
    }
}

struct side {
    uint64_t n_found;
    double mean;
};

static struct side guard_ask_read_side(struct sf_json *j)
{
    struct side side = {0};
    sf_str key;
    if (!sf_json_object(j))
        return side;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("found")))
            side.n_found = sf_json_u64(j);
        else if (sf_str_eq(key, SF_STR("meanValue")))
            side.mean = sf_json_f64(j);
        else
            sf_json_skip(j);
    }
    return side;
}

/* ---- queries to the server ---- */

/* Frees `path`. */
static enum sf_err guard_ask_get(const struct sf_client *client, struct sf_buf *path,
                                 struct sf_arena *req, sf_str *out, struct sf_why *why)
{
    struct sf_buf answer = {0};
    enum sf_err err;
    sf_buf_add_u8(path, 0);
    err = sf_buf_ok(path) ? sf_client_get(client, (char *)path->p, "application/json", &answer, why)
                          : sf_no_memory(why, "the request");
    if (!err && !sf_arena_copy(req, sf_buf_str(&answer), out))
        err = sf_no_memory(why, "the server's answer");
    sf_buf_done(&answer);
    sf_buf_done(path);
    return err;
}

static enum sf_err guard_ask_compare(const struct sf_client *client,
                                     const struct sf_guard_question *question, const char *type,
                                     struct sf_arena *req, sf_str *out, struct sf_why *why)
{
    struct sf_buf path = {0};
    sf_buf_print(&path, "/api/v1/compare?from=now-%" PRId64 "s", question->since_ns / SF_NS_PER_S);
    sf_ask_param(&path, "q", question->query);
    sf_ask_param(&path, "by", question->by);
    sf_ask_param(&path, "left", question->left);
    sf_ask_param(&path, "right", question->right);
    sf_ask_param(&path, "type", type);
    return guard_ask_get(client, &path, req, out, why);
}

static enum sf_err ask_time(const struct sf_client *client,
                            const struct sf_guard_question *question, struct sf_arena *req,
                            struct sf_guard_report *out, struct sf_why *why)
{
    struct sf_json j;
    sf_str text = SF_STR_NONE, key;
    enum sf_err err = guard_ask_compare(client, question, NULL, req, &text, why);
    if (err)
        return err;
    sf_json_init(&j, text, req);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (sf_str_eq(key, SF_STR("left")))
                out->n_left = guard_ask_read_side(&j).n_found;
            else if (sf_str_eq(key, SF_STR("right")))
                out->n_right = guard_ask_read_side(&j).n_found;
            else if (sf_str_eq(key, SF_STR("time")))
                guard_ask_read_time(&j, out);
            else
                sf_json_skip(&j);
        }
    }
    return sf_json_why(&j, "the server's answer", why);
}

/* A comparison has no interval for the total, only simultaneous ones for its functions: the
 * difference is the sum of the functions that changed significantly, and its bounds are the sums of
 * theirs. */
static enum sf_err ask_alloc(const struct sf_client *client,
                             const struct sf_guard_question *question, struct sf_arena *req,
                             struct sf_guard_report *out, struct sf_why *why)
{
    struct sf_guard_row row = {.m.has_interval = true};
    struct side left = {0}, right = {0};
    struct sf_json j;
    sf_str text = SF_STR_NONE, key;
    enum sf_err err = guard_ask_compare(client, question, "alloc_space", req, &text, why);
    if (err == SF_ERR_NOT_FOUND || err == SF_ERR_INPUT)
        return SF_OK; /* no such profiles */
    if (err)
        return err;
    sf_json_init(&j, text, req);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (sf_str_eq(key, SF_STR("left"))) {
                left = guard_ask_read_side(&j);
            } else if (sf_str_eq(key, SF_STR("right"))) {
                right = guard_ask_read_side(&j);
            } else if (sf_str_eq(key, SF_STR("functions")) && sf_json_array(&j)) {
                while (sf_json_item(&j)) {
                    struct difference d = read_difference(&j, NULL);
                    if (!d.is_significant)
                        continue;
                    row.m.delta += d.m.delta;
                    row.m.low += d.m.low;
                    row.m.high += d.m.high;
                    if (d.m.low > 0 && d.m.delta > row.function_delta) {
                        row.function = d.function;
                        row.function_delta = d.m.delta;
                    }
                }
            } else {
                sf_json_skip(&j);
            }
        }
    }
    row.m.left = left.mean;
    row.m.right = right.mean;
    row.is_there = left.mean > 0 || right.mean > 0;
    out->rows[SF_GUARD_ALLOC] = row;
    return sf_json_why(&j, "the server's answer", why);
}

/* ---- failed spans ---- */

struct counts {
    uint64_t n[2], n_failed[2]; /* left, right */
};

/* A label's value as text, without the quotes of the attribute. */
static sf_str guard_ask_read_label_value(struct sf_json *j)
{
    sf_str key, value = SF_STR_NONE;
    if (!sf_json_object(j))
        return value;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("stringValue")) || sf_str_eq(key, SF_STR("intValue")))
            value = sf_json_str(j);
        else
            sf_json_skip(j);
    }
    return value;
}

static void guard_ask_read_label(struct sf_json *j, const struct sf_guard_question *question,
                                 int *side, bool *is_failed)
{
    sf_str key, name = SF_STR_NONE, value = SF_STR_NONE;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("key")))
            name = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("value")))
            value = guard_ask_read_label_value(j);
        else
            sf_json_skip(j);
    }
    if (sf_str_eq(name, SF_STR("status")))
        *is_failed = sf_str_eq(value, SF_STR("error"));
    else if (sf_str_eq(value, sf_str_from(question->left)))
        *side = 0;
    else if (sf_str_eq(value, sf_str_from(question->right)))
        *side = 1;
}

static void guard_ask_read_count(struct sf_json *j, const struct sf_guard_question *question,
                                 struct counts *out)
{
    int side = -1;
    bool is_failed = false;
    double value = 0;
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("labels")) && sf_json_array(j)) {
            while (sf_json_item(j))
                guard_ask_read_label(j, question, &side, &is_failed);
        } else if (sf_str_eq(key, SF_STR("value"))) {
            value = sf_json_f64(j);
        } else {
            sf_json_skip(j);
        }
    }
    if (side < 0 || !(value > 0) || value > 1e15)
        return;
    out->n[side] += (uint64_t)value;
    out->n_failed[side] += is_failed ? (uint64_t)value : 0;
}

static enum sf_err ask_errors(const struct sf_client *client,
                              const struct sf_guard_question *question, struct sf_arena *req,
                              struct sf_guard_report *out, struct sf_why *why)
{
    struct sf_buf path = {0}, query = {0};
    struct counts counts = {0};
    struct sf_json j;
    sf_str text = SF_STR_NONE, key;
    enum sf_err err;
    sf_buf_print(&query, "%s | count_over_time() by (%s, status)", question->query, question->by);
    sf_buf_add_u8(&query, 0);
    sf_buf_print(&path, "/api/metrics/query?since=%" PRId64 "s", question->since_ns / SF_NS_PER_S);
    sf_ask_param(&path, "q", sf_buf_ok(&query) ? (char *)query.p : NULL);
    sf_buf_done(&query);
    err = guard_ask_get(client, &path, req, &text, why);
    if (err)
        return err;
    sf_json_init(&j, text, req);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (sf_str_eq(key, SF_STR("series")) && sf_json_array(&j)) {
                while (sf_json_item(&j))
                    guard_ask_read_count(&j, question, &counts);
            } else {
                sf_json_skip(&j);
            }
        }
    }
    out->rows[SF_GUARD_ERRORS].m = sf_guard_shares(counts.n_failed[0], counts.n[0],
                                                   counts.n_failed[1], counts.n[1]);
    out->rows[SF_GUARD_ERRORS].is_there = counts.n[0] && counts.n[1];
    return sf_json_why(&j, "the server's answer", why);
}

enum sf_err sf_guard_ask(const struct sf_client *client, const struct sf_guard_question *question,
                         struct sf_arena *req, struct sf_guard_report *out, struct sf_why *why)
{
    *out = (struct sf_guard_report){.asked_ns = sf_clock_wall_ns()};
    enum sf_err err = ask_time(client, question, req, out, why);
    if (!err && !(out->n_left && out->n_right)) /* a side without spans: nothing to compare */
        memset(out->rows, 0, sizeof(out->rows));
    if (!err && out->n_left && out->n_right)
        err = ask_alloc(client, question, req, out, why);
    if (!err && out->n_left && out->n_right)
        err = ask_errors(client, question, req, out, why);
    return err;
}
