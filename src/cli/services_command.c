#include "cli/services_command.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/text.h"
#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/client.h"
#include "os/terminal.h"
#include "render/known.h"
#include "render/units.h"
#include "wire/json.h"

enum { ARENA_LEN = 64 << 20 };

struct row {
    sf_str name;
    uint64_t n_errors, p50_ns, p95_ns, p99_ns;
    double rate, error_share;
};

static void services_command_add_cell(struct sf_buf *out, struct sf_buf *cell, size_t columns)
{
    size_t width = sf_utf8_width(sf_buf_str(cell));
    sf_units_pad(out, width < columns ? columns - width : 0);
    sf_buf_add_str(out, sf_buf_str(cell));
    sf_buf_reset(cell);
}

/* From a sketch: the error is less than a fifth. "-" without requests. */
static void add_quantile(struct sf_buf *out, struct sf_buf *cell, const struct row *r, uint64_t ns)
{
    sf_buf_add_str(cell, r->rate > 0 ? SF_STR(SF_ESTIMATE_MARK) : SF_STR("-"));
    if (r->rate > 0)
        sf_units_duration(cell, ns);
    services_command_add_cell(out, cell, 10);
}

static void services_command_add_row(struct sf_buf *out, const struct row *r, size_t indent,
                                     size_t name_columns, bool has_color)
{
    struct sf_buf cell = {0};
    size_t width;
    sf_units_pad(out, indent);
    width = sf_units_text(out, r->name, name_columns - indent);
    sf_units_pad(out, name_columns - indent - width);
    sf_units_rate(&cell, r->rate);
    services_command_add_cell(out, &cell, 10);
    if (has_color && r->n_errors)
        sf_buf_add_str(out, SF_STR("\033[31m"));
    if (r->rate > 0)
        sf_units_percent(&cell, r->error_share);
    else
        sf_buf_add_u8(&cell, '-');
    services_command_add_cell(out, &cell, 8);
    if (has_color && r->n_errors)
        sf_buf_add_str(out, SF_STR("\033[0m"));
    add_quantile(out, &cell, r, r->p50_ns);
    add_quantile(out, &cell, r, r->p95_ns);
    add_quantile(out, &cell, r, r->p99_ns);
    sf_buf_add_u8(out, '\n');
    sf_buf_done(&cell);
}

struct table { /* the table being written */
    struct sf_buf *out;
    size_t name_columns;
    bool has_operations, has_color;
    uint32_t n_services;
};

/* Reads one service or operation. Rows of its operations are collected in `below` until its own row
 * is written. `requests` gets the figures of its entry spans. */
static void services_command_read_entry(struct sf_json *j, const struct table *t, size_t indent,
                                        struct row *r, struct row *requests, struct sf_buf *below)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("service")) || sf_str_eq(key, SF_STR("operation"))) {
            r->name = sf_json_str(j);
        } else if (requests && sf_str_eq(key, SF_STR("requests"))) {
            services_command_read_entry(j, t, indent, requests, NULL, NULL);
        } else if (sf_str_eq(key, SF_STR("errors"))) {
            r->n_errors = sf_json_u64(j);
        } else if (sf_str_eq(key, SF_STR("ratePerSecond"))) {
            r->rate = sf_json_f64(j);
        } else if (sf_str_eq(key, SF_STR("errorShare"))) {
            r->error_share = sf_json_f64(j);
        } else if (sf_str_eq(key, SF_STR("p50Ns"))) {
            r->p50_ns = sf_json_u64(j);
        } else if (sf_str_eq(key, SF_STR("p95Ns"))) {
            r->p95_ns = sf_json_u64(j);
        } else if (sf_str_eq(key, SF_STR("p99Ns"))) {
            r->p99_ns = sf_json_u64(j);
        } else if (below && sf_str_eq(key, SF_STR("operations"))) {
            if (sf_json_array(j)) {
                while (sf_json_item(j)) {
                    struct row operation = {0};
                    services_command_read_entry(j, t, indent + 2, &operation, NULL, NULL);
                    services_command_add_row(below, &operation, indent + 2, t->name_columns,
                                             t->has_color);
                }
            }
        } else {
            sf_json_skip(j);
        }
    }
}

static void services_command_read_services(struct sf_json *j, struct table *t)
{
    struct sf_buf below = {0};
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j)) {
        struct row spans = {0}, requests = {0};
        sf_buf_reset(&below);
        services_command_read_entry(j, t, 0, &spans, &requests, &below);
        requests.name = spans.name;
        services_command_add_row(t->out, &requests, 0, t->name_columns, t->has_color);
        if (t->has_operations)
            sf_buf_add_str(t->out, sf_buf_str(&below));
        t->n_services++;
    }
    sf_buf_done(&below);
}

static enum sf_err services_command_show(sf_str body, bool has_operations, struct sf_buf *out,
                                         struct sf_why *why)
{
    struct table t = {.out = out,
                      .has_operations = has_operations,
                      .has_color = sf_terminal_has_color(STDOUT_FILENO)};
    size_t columns = sf_terminal_width(STDOUT_FILENO, 80);
    struct sf_arena req = {0};
    struct sf_json j;
    enum sf_err err;
    sf_str key;

    if (!sf_arena_init(&req, ARENA_LEN))
        return sf_fail(why, SF_ERR_NOMEM, "no memory");
    t.name_columns = columns > 120 ? 70 : columns > 72 ? columns - 50 : 22;
    sf_units_text(out, SF_STR("service"), t.name_columns);
    sf_units_pad(out, t.name_columns - 7);
    sf_buf_print(out, "%10s%8s%10s%10s%10s\n", "requests", "errors", "p50", "p95", "p99");
    sf_json_init(&j, body, &req);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (sf_str_eq(key, SF_STR("services")))
                services_command_read_services(&j, &t);
            else
                sf_json_skip(&j);
        }
    }
    err = sf_json_why(&j, "the server's answer", why);
    if (!err && t.n_services && has_operations)
        sf_buf_add_str(out, SF_STR("(services: incoming requests; operations: all their spans)\n"));
    if (!err && t.n_services == 0)
        sf_buf_add_str(out, SF_STR("(no spans in this time; widen it with --since 24h, or send "
                                   "some: see the README)\n"));
    sf_arena_done(&req);
    return err;
}

int sf_services_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    const char *output = NULL, *service = NULL;
    int64_t since_ns = SF_NS_PER_HOUR;
    bool has_operations = false;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"since", SF_FLAG_DURATION, &since_ns, "TIME", "how far to look back (default 1h)"},
        {"operations", SF_FLAG_BOOL, &has_operations, NULL,
         "list the operations of each service too"},
        {"service", SF_FLAG_STR, &service, "NAME", "only this service, with its operations"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "services",
        .usage = "[--since 1h] [--operations | --service NAME]",
        .summary = "List services with request rate, error share and latency quantiles.",
        .examples = "spanflame services\nspanflame services --service order-service --since 15m",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    struct sf_buf path = {0}, body = {0}, out = {0};
    struct sf_why why = {0};
    enum sf_output form;
    enum sf_err err;

    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words)
        return sf_answer_usage("services", "it takes no arguments; name a service with --service");
    form = sf_answer_output("services", output, false);
    if (form == SF_OUTPUT_BAD)
        return 2;
    sf_buf_print(&path, "/api/v1/services?from=now-%" PRId64 "s", since_ns / SF_NS_PER_S);
    if (service) {
        sf_buf_add_str(&path, SF_STR("&service="));
        sf_client_encode(&path, sf_str_from(service));
    }
    sf_buf_add_u8(&path, 0);
    err = sf_client_get(&client, (char *)path.p, "application/json", &body, &why);
    if (!err && form == SF_OUTPUT_JSON) {
        sf_buf_add_str(&out, sf_buf_str(&body));
        sf_buf_add_u8(&out, '\n');
    } else if (!err) {
        err = services_command_show(sf_buf_str(&body), has_operations || service, &out, &why);
    }
    sf_buf_done(&path);
    sf_buf_done(&body);
    if (err) {
        sf_buf_done(&out);
        return sf_answer_fault("services", &why);
    }
    return sf_answer_write(&out);
}
