/* metrics_command.c - the command `metrics`: checks the TraceQL metrics query locally, asks the
 * server with a step that fits the terminal's width, reads the series from the JSON answer and
 * draws them as a chart. */
#include "cli/metrics_command.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/client.h"
#include "cli/query_text.h"
#include "cli/time_range.h"
#include "exec/metrics_window.h"
#include "os/clock.h"
#include "os/terminal.h"
#include "render/chart.h"
#include "wire/json.h"

enum { ARENA_LEN = 1 << 30, /* reserved address space, not memory in use */ MAX_LINES = 40 };

struct flags {
    struct sf_time_range range;
    const char *output;
    int64_t step_ns;
};

struct answer { /* the parsed answer of the server */
    struct sf_metrics_window window;
    struct sf_chart_series list[MAX_LINES];
    uint32_t n, n_more;
    sf_str note;
    bool is_zero_none; /* for quantiles, where Tempo's answer has 0 for steps without spans */
};

/* ---- reading ---- */

/* *out_is_text: a string that needs no name beside it. */
static void metrics_command_read_label_value(struct sf_json *j, struct sf_buf *out,
                                             bool *out_is_text)
{
    sf_str kind;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &kind)) {
        if (sf_str_eq(kind, SF_STR("doubleValue"))) {
            sf_buf_print(out, "%.6g", sf_json_f64(j));
        } else if (sf_str_eq(kind, SF_STR("boolValue"))) {
            sf_buf_add_str(out, sf_json_bool(j) ? SF_STR("true") : SF_STR("false"));
        } else if (sf_str_eq(kind, SF_STR("intValue"))) {
            sf_buf_add_str(out, sf_json_str(j));
        } else if (sf_str_eq(kind, SF_STR("stringValue"))) {
            sf_buf_add_str(out, sf_json_str(j));
            *out_is_text = out->len && !sf_str_eq(sf_buf_str(out), SF_STR("nil"));
        } else {
            sf_json_skip(j);
        }
    }
}

/* Adds "cart client" or "cart retry=true": an attribute's name only where the value is not clear
 * without it. */
static void metrics_command_add_label(struct sf_buf *out, sf_str name, sf_str value, bool is_text,
                                      bool is_compare)
{
    sf_buf_add_str(out, out->len ? SF_STR(" ") : SF_STR_NONE);
    if (sf_str_eq(name, SF_STR("__bucket"))) {
        sf_buf_add_str(out, SF_STR("<= "));
    } else if (!sf_str_starts(name, SF_STR("__")) && (!is_text || is_compare)) {
        sf_buf_add_str(out, name);
        sf_buf_add_u8(out, '=');
    }
    sf_buf_add_str(out, value);
}

static void metrics_command_read_labels(struct sf_json *j, struct sf_buf *out)
{
    struct sf_buf value = {0};
    bool is_compare = false;
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j)) {
        sf_str key, name = SF_STR_NONE;
        bool is_text = false;
        sf_buf_reset(&value);
        if (!sf_json_object(j))
            break;
        while (sf_json_key(j, &key)) {
            if (sf_str_eq(key, SF_STR("key")))
                name = sf_json_str(j);
            else if (sf_str_eq(key, SF_STR("value")))
                metrics_command_read_label_value(j, &value, &is_text);
            else
                sf_json_skip(j);
        }
        is_compare = is_compare || sf_str_starts(name, SF_STR("__meta"));
        metrics_command_add_label(out, name, sf_buf_str(&value), is_text, is_compare);
    }
    sf_buf_done(&value);
}

static void metrics_command_read_sample(struct sf_json *j, const struct answer *a, double *values)
{
    const struct sf_metrics_window *w = &a->window;
    int64_t at_ms = 0;
    double value = 0;
    uint32_t step;
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("timestampMs")))
            at_ms = sf_json_i64(j);
        else if (sf_str_eq(key, SF_STR("value")))
            value = sf_json_f64(j);
        else
            sf_json_skip(j);
    }
    if (at_ms > 0 && at_ms < INT64_MAX / SF_NS_PER_MS &&
        sf_metrics_window_place(w, (uint64_t)at_ms * SF_NS_PER_MS, &step) &&
        !(a->is_zero_none && value == 0))
        values[step] = value;
}

/* False: no memory. */
static bool metrics_command_read_series(struct sf_json *j, struct answer *a, struct sf_arena *req)
{
    double *values = sf_arena_new_n(req, a->window.n_steps, sizeof(*values));
    struct sf_buf label = {0};
    bool has_room = values != NULL, has_samples = false;
    sf_str key;
    for (uint32_t i = 0; values && i < a->window.n_steps; i++)
        values[i] = NAN;
    if (has_room && sf_json_object(j)) {
        while (sf_json_key(j, &key)) {
            if (sf_str_eq(key, SF_STR("labels"))) {
                metrics_command_read_labels(j, &label);
            } else if (sf_str_eq(key, SF_STR("samples")) && sf_json_array(j)) {
                while (sf_json_item(j)) {
                    metrics_command_read_sample(j, a, values);
                    has_samples = true;
                }
            } else {
                sf_json_skip(j);
            }
        }
    }
    if (has_samples) {
        a->list[a->n].values = values;
        has_room = sf_arena_copy(req, sf_buf_str(&label), &a->list[a->n].label);
        a->n++;
    }
    sf_buf_done(&label);
    return has_room;
}

static enum sf_err metrics_command_read_answer(sf_str body, struct answer *a, struct sf_arena *req,
                                               struct sf_why *why)
{
    struct sf_json j;
    sf_str key;
    bool has_room = true;
    sf_json_init(&j, body, req);
    if (sf_json_object(&j)) {
        while (has_room && sf_json_key(&j, &key)) {
            if (sf_str_eq(key, SF_STR("message"))) {
                a->note = sf_json_str(&j);
            } else if (sf_str_eq(key, SF_STR("series")) && sf_json_array(&j)) {
                while (has_room && sf_json_item(&j)) {
                    if (a->n < MAX_LINES) {
                        has_room = metrics_command_read_series(&j, a, req);
                    } else {
                        sf_json_skip(&j);
                        a->n_more++;
                    }
                }
            } else {
                sf_json_skip(&j);
            }
        }
    }
    if (!has_room)
        return sf_no_memory(why, "the answer");
    return sf_json_why(&j, "the server's answer", why);
}

static bool has_quantile(const struct sf_metrics *m)
{
    if (m->kind == SF_METRICS_BINARY)
        return has_quantile(m->left) || has_quantile(m->right);
    return m->kind == SF_METRICS_QUERY && m->metric.fn == SF_FN_QUANTILE;
}

/* ---- the query ---- */

/* Chooses a round step that gives about one step per column of the chart. */
static int64_t choose_step(int64_t len_ns, size_t width)
{
    static const int64_t units_s[] = {1,   2,   5,    10,   15,   30,    60,    120,  300,
                                      600, 900, 1800, 3600, 7200, 10800, 21600, 86400};
    int64_t n_columns = sf_chart_columns(width);
    for (size_t i = 0; i < sizeof(units_s) / sizeof(units_s[0]); i++) {
        if (len_ns / (units_s[i] * SF_NS_PER_S) + 2 <= n_columns)
            return units_s[i] * SF_NS_PER_S;
    }
    return SF_NS_PER_DAY;
}

static enum sf_err metrics_command_ask(const struct sf_client *client, sf_str query,
                                       int64_t from_ns, int64_t until_ns, int64_t step_ns,
                                       struct sf_buf *out, struct sf_why *why)
{
    struct sf_buf path = {0};
    enum sf_err err;
    sf_buf_print(&path,
                 "/api/metrics/query_range?start=%" PRId64 "&end=%" PRId64 "&step=%" PRId64 "ns&q=",
                 from_ns, until_ns, step_ns);
    sf_client_encode(&path, query);
    sf_buf_add_u8(&path, 0);
    err = sf_buf_ok(&path) ? sf_client_get(client, (char *)path.p, "application/json", out, why)
                           : sf_no_memory(why, "the request");
    sf_buf_done(&path);
    return err;
}

/* ---- output ---- */

static enum sf_chart_unit metrics_command_unit_of(const struct sf_metrics *m)
{
    if (m->kind != SF_METRICS_QUERY)
        return SF_CHART_NUMBER;
    if (m->metric.fn == SF_FN_RATE)
        return SF_CHART_RATE;
    if (m->metric.fn >= SF_FN_MIN && m->metric.fn <= SF_FN_QUANTILE &&
        (m->metric.attr.intrinsic == SF_INTRINSIC_DURATION ||
         m->metric.attr.intrinsic == SF_INTRINSIC_TRACE_DURATION ||
         m->metric.attr.intrinsic == SF_INTRINSIC_EVENT_TIME))
        return SF_CHART_SECONDS;
    return SF_CHART_NUMBER;
}

/* Quantiles come from buckets, each twice as wide as the one before; with `extrapolate`, spans are
 * weighted by their sampling rate. Both are estimates. */
static bool is_estimate(const struct sf_query *query)
{
    for (uint32_t i = 0; i < query->n_hints; i++)
        if (sf_str_eq(query->hints[i].name, SF_STR("extrapolate")) &&
            query->hints[i].val.type == SF_TYPE_BOOL && query->hints[i].val.is_true)
            return true;
    return has_quantile(query->metrics);
}

static void metrics_command_show_text(const struct answer *a, const struct sf_query *query,
                                      size_t width, struct sf_buf *out)
{
    struct sf_chart chart = {.series = a->list,
                             .n_series = a->n,
                             .n_steps = a->window.n_steps,
                             .first_ns = a->window.from_ns + a->window.step_ns,
                             .step_ns = a->window.step_ns,
                             .unit = metrics_command_unit_of(query->metrics),
                             .is_estimate = is_estimate(query)};
    if (a->n == 0)
        sf_buf_add_str(out, SF_STR("(nothing to count in this time; widen it with --since 24h, or "
                                   "see what there is: spanflame services)\n"));
    sf_chart_draw(&chart, width, out);
    if (a->n_more)
        sf_buf_print(out, "%u more series: --output json, or | topk(10)\n", a->n_more);
    if (a->note.len)
        sf_buf_print(out, "note: %.*s\n", SF_STR_ARG(a->note));
}

static int metrics_command_run(const struct sf_client *client, sf_str text,
                               const struct sf_query *query, const struct flags *f,
                               enum sf_output form, struct sf_arena *req)
{
    size_t width = sf_terminal_width(STDOUT_FILENO, 80);
    int64_t from_ns = 0, until_ns = 0, step_ns = f->step_ns;
    const char *fault = sf_time_range_read(&f->range, sf_clock_wall_ns(), &from_ns, &until_ns);
    struct answer *a = sf_arena_new(req, sizeof(*a));
    struct sf_buf body = {0}, out = {0};
    struct sf_why why = {0};
    enum sf_err err;
    if (fault)
        return sf_answer_usage("metrics", fault);
    if (step_ns == 0)
        step_ns = choose_step(until_ns - from_ns, width);
    err = a ? sf_metrics_window_range(from_ns, until_ns, step_ns, &a->window, &why)
            : sf_fail(&why, SF_ERR_NOMEM, "no memory");
    if (!err)
        err = metrics_command_ask(client, text, from_ns, until_ns, step_ns, &body, &why);
    if (!err && form == SF_OUTPUT_JSON) {
        sf_buf_add_str(&out, sf_buf_str(&body));
        sf_buf_add_u8(&out, '\n');
    } else if (!err) {
        a->is_zero_none = has_quantile(query->metrics);
        err = metrics_command_read_answer(sf_buf_str(&body), a, req, &why);
        if (!err)
            metrics_command_show_text(a, query, width, &out);
    }
    sf_buf_done(&body);
    if (err) {
        sf_buf_done(&out);
        return sf_answer_fault("metrics", &why);
    }
    return sf_answer_write(&out);
}

static int check_and_run(const struct sf_client *client, const char *word, const struct flags *f,
                         enum sf_output form, struct sf_arena *req)
{
    const struct sf_query *query;
    struct sf_buf text = {0};
    struct sf_why why = {0};
    int code = 2;
    if (sf_query_text_read(word, &text, &why))
        sf_answer_fault("metrics", &why);
    else if (sf_query_text_check("metrics", sf_buf_str(&text), req, &query))
        code = query->metrics ? metrics_command_run(client, sf_buf_str(&text), query, f, form, req)
                              : sf_answer_usage("metrics", "this query finds traces; end it with "
                                                           "| rate() or another metrics function, "
                                                           "or use: spanflame search");
    sf_buf_done(&text);
    return code;
}

int sf_metrics_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    struct flags f = {0};
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        SF_TIME_RANGE_FLAGS(f.range, "only spans that start after this time",
                            "only spans that start before this time (default now)"),
        {"step", SF_FLAG_DURATION, &f.step_ns, "TIME",
         "resolution (default: as fine as fits the terminal)"},
        {"output", SF_FLAG_STR, &f.output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "metrics",
        .usage = "'QUERY' [--since 1h | --from T --until T] [--step 15s]",
        .summary = "Count spans over time by a TraceQL metrics query, and draw a chart.",
        .details = "QUERY is TraceQL that ends in a metrics function; - reads it from standard "
                   "input. Lines that start with # are ignored. A syntax error is shown with its "
                   "position, and the exit status is 2. Times are unix seconds, RFC 3339 "
                   "(2026-01-02T03:04:05Z), now, or now-15m; they are shown in UTC. The range is "
                   "at most 24 hours.",
        .examples =
            "spanflame metrics '{ status = error } | rate() by (resource.service.name)'\n"
            "spanflame metrics '{ name = \"GET /cart\" } | quantile_over_time(duration, .5, .99)'\n"
            "spanflame metrics '{ } | count_over_time()' --since 24h --step 1h --output json",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_arena req = {0};
    enum sf_output form;
    int code;

    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words != 1)
        return sf_answer_usage("metrics", "give one query, in quotes: '{ } | rate()'");
    form = sf_answer_output("metrics", f.output, false);
    if (form == SF_OUTPUT_BAD)
        return 2;
    if (!sf_arena_init(&req, ARENA_LEN)) {
        struct sf_why why = {.text = "no memory"};
        return sf_answer_fault("metrics", &why);
    }
    code = check_and_run(&client, args.words[0], &f, form, &req);
    sf_arena_done(&req);
    return code;
}
