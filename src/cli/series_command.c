/* series_command.c - the command `series`: asks the server for a profile type over time and draws
 * it as a chart. Without --type the server's list of types decides; values are scaled to cores,
 * bytes or seconds. */
#include "cli/series_command.h"

#include <math.h>
#include <unistd.h>

#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/profile_source.h"
#include "cli/querier_question.h"
#include "flame/batch_tree.h"
#include "os/clock.h"
#include "os/terminal.h"
#include "render/chart.h"
#include "wire/json.h"

enum {
    ARENA_LEN = 256 << 20,
    MAX_TYPES = 256,
    MAX_LINES = 30,
    MIN_STEP_S = 15,
    MAX_STEPS = 100000
};

struct asked {
    struct sf_client client;
    const char *selector, *type, *range, *output;
    struct sf_flag_list by;
    int64_t step_ns;
    enum sf_output form;
};

/* ---- choosing the type ---- */

static void series_command_read_type(struct sf_json *j, struct sf_profile_type *out)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("name")))
            out->name = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("sampleType")))
            out->sample_type = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("sampleUnit")))
            out->sample_unit = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("periodType")))
            out->period_type = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("periodUnit")))
            out->period_unit = sf_json_str(j);
        else
            sf_json_skip(j);
    }
}

static enum sf_err series_command_choose_type(const struct asked *a, struct sf_arena *req,
                                              struct sf_profile_type *out, struct sf_why *why)
{
    struct sf_querier_question q = {.client = &a->client, .range = a->range};
    struct sf_batch_type *types = sf_arena_new_n(req, MAX_TYPES, sizeof(*types));
    struct sf_buf body = {0};
    struct sf_json j;
    sf_str key, text;
    uint32_t n = 0, at = 0;
    enum sf_err err = types ? sf_querier_question_begin(&q, req, why)
                            : sf_fail(why, SF_ERR_NOMEM, "no memory");
    if (!err)
        err = sf_querier_question_ask(&q, "ProfileTypes", &body, why);
    if (!err && !sf_arena_copy(req, sf_buf_str(&body), &text))
        err = sf_fail(why, SF_ERR_NOMEM, "no memory");
    sf_buf_done(&body);
    if (err)
        return err;
    sf_json_init(&j, text, req);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (!sf_str_eq(key, SF_STR("profileTypes")) || !sf_json_array(&j)) {
                sf_json_skip(&j);
                continue;
            }
            while (sf_json_item(&j)) {
                if (n < MAX_TYPES)
                    series_command_read_type(&j, &types[n++].type);
                else
                    sf_json_skip(&j);
            }
        }
    }
    err = sf_json_why(&j, "the server's answer", why);
    if (!err && n == 0)
        err = sf_fail(why, SF_ERR_NOT_FOUND,
                      "no profiles in this time; widen it with --time-range 24h");
    if (!err)
        err = sf_batch_tree_choose(types, n, sf_str_from(a->type), &at, why);
    if (!err)
        *out = types[at].type;
    return err;
}

/* ---- the chart ---- */

struct drawing {
    struct sf_chart chart;
    struct sf_chart_series lines[MAX_LINES];
    uint32_t n_more;
    double scale; /* from the profile's unit to the chart's */
    struct sf_arena *req;
};

static void series_command_read_labels(struct sf_json *j, struct sf_buf *out)
{
    sf_str key;
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j)) {
        if (!sf_json_object(j))
            continue;
        if (out->len)
            sf_buf_add_u8(out, ' ');
        while (sf_json_key(j, &key)) {
            if (sf_str_eq(key, SF_STR("value")))
                sf_buf_add_str(out, sf_json_str(j));
            else
                sf_json_skip(j);
        }
    }
}

static void read_points(struct sf_json *j, const struct sf_chart *c, double scale, double *values)
{
    sf_str key;
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j)) {
        double value = 0;
        int64_t at_ms = 0, step;
        if (!sf_json_object(j))
            continue;
        while (sf_json_key(j, &key)) {
            if (sf_str_eq(key, SF_STR("value")))
                value = sf_json_f64(j);
            else if (sf_str_eq(key, SF_STR("timestamp")))
                at_ms = sf_json_i64(j);
            else
                sf_json_skip(j);
        }
        step = (at_ms - c->first_ns / SF_NS_PER_MS) / (c->step_ns / SF_NS_PER_MS);
        if (step >= 0 && step < c->n_steps)
            values[step] = value * scale;
    }
}

static bool series_command_read_series(struct sf_json *j, struct drawing *d)
{
    double *values = sf_arena_new_n(d->req, d->chart.n_steps, sizeof(*values));
    struct sf_buf label = {0};
    sf_str key, kept;
    bool is_ok = values != NULL;
    for (uint32_t i = 0; is_ok && i < d->chart.n_steps; i++)
        values[i] = NAN; /* no profile: unknown, not zero */
    if (is_ok && sf_json_object(j)) {
        while (sf_json_key(j, &key)) {
            if (sf_str_eq(key, SF_STR("labels")))
                series_command_read_labels(j, &label);
            else if (sf_str_eq(key, SF_STR("points")))
                read_points(j, &d->chart, d->scale, values);
            else
                sf_json_skip(j);
        }
    }
    is_ok = is_ok && sf_buf_ok(&label) &&
            sf_arena_copy(d->req, label.len ? sf_buf_str(&label) : SF_STR("all"), &kept);
    sf_buf_done(&label);
    if (is_ok && d->chart.n_series < MAX_LINES)
        d->lines[d->chart.n_series++] = (struct sf_chart_series){kept, values};
    else
        d->n_more++;
    return is_ok;
}

static enum sf_err series_command_read_answer(sf_str body, struct drawing *d, struct sf_why *why)
{
    struct sf_json j;
    sf_str key;
    bool is_ok = true;
    sf_json_init(&j, body, d->req);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (!sf_str_eq(key, SF_STR("series")) || !sf_json_array(&j)) {
                sf_json_skip(&j);
                continue;
            }
            while (sf_json_item(&j)) {
                if (is_ok)
                    is_ok = series_command_read_series(&j, d);
                else
                    sf_json_skip(&j);
            }
        }
    }
    return is_ok ? sf_json_why(&j, "the server's answer", why)
                 : sf_fail(why, SF_ERR_NOMEM, "no memory");
}

/* CPU time per second is shown as cores in use; other times and bytes keep their unit. */
static void series_command_set_unit(struct drawing *d, const struct sf_profile_type *type,
                                    struct sf_buf *out)
{
    double step_s = (double)d->chart.step_ns / 1e9;
    bool is_time = sf_str_eq(type->sample_unit, SF_STR("nanoseconds"));
    bool is_cpu = is_time && sf_str_eq(type->sample_type, SF_STR("cpu"));
    d->scale = is_cpu ? 1e-9 / step_s : is_time ? 1e-9 : 1;
    d->chart.unit = is_cpu                                          ? SF_CHART_NUMBER
                    : is_time                                       ? SF_CHART_SECONDS
                    : sf_str_eq(type->sample_unit, SF_STR("bytes")) ? SF_CHART_BYTES
                                                                    : SF_CHART_NUMBER;
    sf_buf_print(out, "%.*s %s, steps of %g s\n", SF_STR_ARG(type->sample_type),
                 is_cpu ? "in cores" : "per step", step_s);
}

/* Uses whole steps; the last may extend beyond the range, so that nothing at its end is left
 * out. */
static enum sf_err set_steps(const struct asked *a, struct sf_querier_question *q,
                             int64_t *out_step_ns, struct sf_why *why)
{
    uint32_t columns = sf_chart_columns(sf_terminal_width(STDOUT_FILENO, 100));
    int64_t step_ns = a->step_ns, s;
    if (!sf_profile_source_time_range(a->range, sf_clock_wall_ns(), &q->from_ns, &q->until_ns))
        return sf_profile_source_bad_range(a->range, why);
    s = (q->until_ns - q->from_ns) / SF_NS_PER_S;
    if (step_ns == 0) {
        s = (s + columns - 1) / columns;
        step_ns = (s < MIN_STEP_S ? MIN_STEP_S : s) * SF_NS_PER_S;
    }
    if ((q->until_ns - q->from_ns) / step_ns > MAX_STEPS)
        return sf_fail(why, SF_ERR_INPUT, "more than %d steps; choose a longer --step", MAX_STEPS);
    q->until_ns = q->from_ns + (q->until_ns - q->from_ns + step_ns - 1) / step_ns * step_ns;
    *out_step_ns = step_ns;
    return SF_OK;
}

static enum sf_err series_command_ask(const struct asked *a, struct sf_arena *req,
                                      struct sf_buf *out, struct sf_why *why)
{
    struct sf_querier_question q = {.client = &a->client, .selector = a->selector};
    struct drawing *d = sf_arena_new(req, sizeof(*d));
    struct sf_profile_type type = {0};
    struct sf_buf body = {0}, id = {0};
    int64_t step_ns = 0;
    enum sf_err err = d ? set_steps(a, &q, &step_ns, why) : sf_fail(why, SF_ERR_NOMEM, "no memory");
    if (!err)
        err = series_command_choose_type(a, req, &type, why);
    if (!err)
        err = sf_querier_question_begin(&q, req, why);
    if (err)
        return err;
    sf_batch_tree_type_add(&id, &type);
    sf_json_write_key_str(&q.w, SF_STR("profileTypeID"), sf_buf_str(&id));
    sf_buf_done(&id);
    sf_querier_question_selector(&q, "labelSelector", false);
    sf_json_write_key(&q.w, SF_STR("step"));
    sf_json_write_f64(&q.w, (double)step_ns / 1e9);
    sf_json_write_key(&q.w, SF_STR("groupBy"));
    sf_json_write_array(&q.w);
    for (size_t i = 0; i < a->by.n; i++)
        sf_json_write_str(&q.w, sf_str_from(a->by.items[i]));
    sf_json_write_array_end(&q.w);
    err = sf_querier_question_ask(&q, "SelectSeries", &body, why);
    if (!err && a->form == SF_OUTPUT_JSON) {
        sf_buf_add_str(out, sf_buf_str(&body));
        sf_buf_add_u8(out, '\n');
    } else if (!err) {
        d->req = req;
        d->chart = (struct sf_chart){.series = d->lines,
                                     .n_steps = (uint32_t)((q.until_ns - q.from_ns) / step_ns + 1),
                                     .first_ns = q.from_ns,
                                     .step_ns = step_ns,
                                     .is_flat = true};
        series_command_set_unit(d, &type, out);
        err = series_command_read_answer(sf_buf_str(&body), d, why);
        sf_chart_draw(&d->chart, sf_terminal_width(STDOUT_FILENO, 100), out);
        if (d->chart.n_series == 0)
            sf_buf_add_str(out, SF_STR("(no profiles in this time; widen it with --time-range "
                                       "24h)\n"));
        if (d->n_more)
            sf_buf_print(out, "%u more series: --output json has them\n", d->n_more);
    }
    sf_buf_done(&body);
    return err;
}

int sf_series_command_run(int argc, char **argv)
{
    struct asked a = {0};
    struct sf_flag flags[] = {
        {"type", SF_FLAG_STR, &a.type, "TYPE", "what is measured: cpu (default), alloc_space, ..."},
        {"by", SF_FLAG_LIST, &a.by, "LABEL", "one line per value of this label; repeatable"},
        {"time-range", SF_FLAG_STR, &a.range, "RANGE",
         "time range: 1h (default, back from now) or FROM..UNTIL: now-2h..now-1h"},
        {"step", SF_FLAG_DURATION, &a.step_ns, "TIME",
         "resolution (default: as fine as fits the terminal, at least 15s)"},
        {"output", SF_FLAG_STR, &a.output, "FORM", "text or json (default text)"},
        SF_CLIENT_FLAGS(a.client),
    };
    struct sf_args args = {
        .command = "series",
        .usage = "[SELECTOR] [--by LABEL] [--type TYPE] [--time-range 1h]",
        .summary = "Show the values of profiles over time, one line per series.",
        .details = "SELECTOR is a service with labels in braces, as in `spanflame flame`; without "
                   "one, all profiles. CPU time is shown as cores in use. All lines have the same "
                   "scale; the largest comes first. Times are UTC.",
        .examples = "spanflame series --by service_name\n"
                    "spanflame series 'order-service{env=prod}' --by commit --time-range 24h\n"
                    "spanflame series order-service --type alloc_space --step 5m",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_arena req = {0};
    struct sf_buf out = {0};
    struct sf_why why = {0};
    enum sf_err err;
    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words > 1)
        return sf_answer_usage("series", "give one selector, in quotes, or none");
    a.selector = args.n_words ? args.words[0] : NULL;
    if (a.step_ns && a.step_ns < 1000000000)
        return sf_answer_usage("series", "--step is a second or more");
    a.form = sf_answer_output("series", a.output, false);
    if (a.form == SF_OUTPUT_BAD)
        return 2;
    err = sf_arena_init(&req, ARENA_LEN) ? series_command_ask(&a, &req, &out, &why)
                                         : sf_fail(&why, SF_ERR_NOMEM, "no memory");
    sf_arena_done(&req);
    return sf_answer_end("series", err, &out, &why);
}
