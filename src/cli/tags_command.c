#include "cli/tags_command.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/text.h"
#include "base/time_unit.h"
#include "cli/answer.h"
#include "cli/client.h"
#include "os/clock.h"
#include "os/terminal.h"
#include "query/query_parse.h"
#include "render/units.h"
#include "wire/json.h"

enum { ARENA_LEN = 256 << 20 };

/* ---- names: under their scope, as many beside each other as fit ---- */

struct page {
    struct sf_buf *out;
    size_t columns;
    size_t used; /* columns used in the current line */
    uint32_t n;
};

static void tags_command_add_name(struct page *p, sf_str name)
{
    size_t width = sf_utf8_width(name);
    if (width > p->columns - 2)
        width = p->columns - 2;
    if (p->used && p->used + 2 + width > p->columns) {
        sf_buf_add_u8(p->out, '\n');
        p->used = 0;
    }
    sf_units_pad(p->out, 2);
    p->used += 2 + sf_units_text(p->out, name, p->columns - 2);
    p->n++;
}

static void tags_command_end_line(struct page *p)
{
    if (p->used)
        sf_buf_add_u8(p->out, '\n');
    p->used = 0;
}

static void tags_command_read_scope(struct sf_json *j, struct page *p)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("name"))) {
            sf_units_text(p->out, sf_json_str(j), p->columns);
            sf_buf_add_u8(p->out, '\n');
        } else if (sf_str_eq(key, SF_STR("tags"))) {
            if (sf_json_array(j)) {
                while (sf_json_item(j))
                    tags_command_add_name(p, sf_json_str(j));
            }
            tags_command_end_line(p);
        } else {
            sf_json_skip(j);
        }
    }
}

/* ---- values: one on a line, as a query writes it ---- */

static void tags_command_read_value(struct sf_json *j, struct page *p)
{
    sf_str key, type = SF_STR_NONE, val = SF_STR_NONE;
    bool is_quoted;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("type")))
            type = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("value")))
            val = sf_json_str(j);
        else
            sf_json_skip(j);
    }
    is_quoted = sf_str_eq(type, SF_STR("string"));
    if (is_quoted)
        sf_buf_add_u8(p->out, '"');
    sf_units_text(p->out, val, p->columns - (is_quoted ? 2 : 0));
    if (is_quoted)
        sf_buf_add_u8(p->out, '"');
    sf_buf_add_u8(p->out, '\n');
    p->n++;
}

static enum sf_err tags_command_show(sf_str body, bool has_name, struct sf_buf *out,
                                     struct sf_why *why)
{
    struct page p = {.out = out, .columns = sf_terminal_width(STDOUT_FILENO, 80)};
    sf_str list = has_name ? SF_STR("tagValues") : SF_STR("scopes"), key;
    struct sf_arena req = {0};
    struct sf_json j;
    enum sf_err err;
    if (p.columns < 20)
        p.columns = 20;
    if (!sf_arena_init(&req, ARENA_LEN))
        return sf_fail(why, SF_ERR_NOMEM, "no memory");
    sf_json_init(&j, body, &req);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (!sf_str_eq(key, list)) {
                sf_json_skip(&j);
            } else if (sf_json_array(&j)) {
                while (sf_json_item(&j)) {
                    if (has_name)
                        tags_command_read_value(&j, &p);
                    else
                        tags_command_read_scope(&j, &p);
                }
            }
        }
    }
    err = sf_json_why(&j, "the server's answer", why);
    if (!err && p.n == 0)
        sf_buf_add_str(out, SF_STR("(none in this time; widen it with --since 7d)\n"));
    sf_arena_done(&req);
    return err;
}

/* ---- the query ---- */

struct asked {
    const char *name, *scope, *query;
    int64_t since_ns;
    uint64_t limit;
};

/* Checks that the name is an attribute, before the server is asked. */
static bool check_name(const char *name)
{
    struct sf_query_attr attr;
    struct sf_arena req = {0};
    struct sf_why why = {.text = "no memory"};
    bool is_good = sf_arena_init(&req, 1 << 20) &&
                   !sf_query_parse_attr(sf_str_from(name), &req, &attr, &why);
    if (!is_good)
        sf_answer_usage("tags", why.text);
    sf_arena_done(&req);
    return is_good;
}

static void tags_command_make_path(const struct asked *a, struct sf_buf *out)
{
    int64_t now_s = sf_clock_wall_ns() / SF_NS_PER_S;
    if (a->name) {
        sf_buf_add_str(out, SF_STR("/api/v2/search/tag/"));
        sf_client_encode(out, sf_str_from(a->name));
        sf_buf_add_str(out, SF_STR("/values"));
    } else {
        sf_buf_add_str(out, SF_STR("/api/v2/search/tags"));
    }
    sf_buf_print(out, "?start=%" PRId64 "&end=%" PRId64 "&limit=%" PRIu64,
                 now_s > a->since_ns / SF_NS_PER_S ? now_s - a->since_ns / SF_NS_PER_S : 0,
                 now_s + 1, a->limit);
    if (a->scope) {
        sf_buf_add_str(out, SF_STR("&scope="));
        sf_client_encode(out, sf_str_from(a->scope));
    }
    if (a->query) {
        sf_buf_add_str(out, SF_STR("&q="));
        sf_client_encode(out, sf_str_from(a->query));
    }
    sf_buf_add_u8(out, 0);
}

static int tags_command_run(const struct sf_client *client, const struct asked *a,
                            enum sf_output form)
{
    struct sf_client_answer answer = {0};
    struct sf_buf path = {0}, out = {0};
    struct sf_why why = {0};
    enum sf_err err;
    tags_command_make_path(a, &path);
    err = sf_buf_ok(&path)
              ? sf_client_ask(client, (char *)path.p, "application/json", &answer, &why)
              : sf_no_memory(&why, "the request");
    if (!err && form == SF_OUTPUT_JSON) {
        sf_buf_add_str(&out, sf_buf_str(&answer.body));
        sf_buf_add_u8(&out, '\n');
    } else if (!err) {
        err = tags_command_show(sf_buf_str(&answer.body), a->name, &out, &why);
    }
    sf_buf_done(&path);
    sf_buf_done(&answer.body);
    if (err) {
        sf_buf_done(&out);
        return sf_answer_fault("tags", &why);
    }
    if (answer.note[0])
        sf_answer_note("tags", answer.note);
    return sf_answer_write(&out);
}

int sf_tags_command_run(int argc, char **argv)
{
    struct sf_client client = {0};
    struct asked a = {.since_ns = 86400000000000};
    const char *output = NULL;
    struct sf_flag flags[] = {
        SF_CLIENT_FLAGS(client),
        {"scope", SF_FLAG_STR, &a.scope, "SCOPE",
         "only resource, span, event, link, instrumentation or intrinsic"},
        {"query", SF_FLAG_STR, &a.query, "QUERY", "only for spans that match this TraceQL filter"},
        {"since", SF_FLAG_DURATION, &a.since_ns, "TIME", "how far to look back (default 24h)"},
        {"limit", SF_FLAG_U64, &a.limit, "N", "maximum number of values, or of names per scope"},
        {"output", SF_FLAG_STR, &output, "FORM", "text or json (default text)"},
    };
    struct sf_args args = {
        .command = "tags",
        .usage = "[NAME] [--scope SCOPE] [--query QUERY] [--since 24h] [--output text|json]",
        .summary = "List the attributes of spans, or the values of one, most frequent first.",
        .details =
            "NAME is written as in a query: resource.service.name, span.http.route, .region, "
            "name.",
        .examples = "spanflame tags --scope span\n"
                    "spanflame tags span.http.route\n"
                    "spanflame tags name --query '{ resource.service.name = \"cart\" }'",
        .flags = flags,
        .n_flags = sizeof(flags) / sizeof(flags[0]),
    };
    enum sf_output form;

    switch (sf_args_parse(&args, argc, argv)) {
    case SF_ARGS_DONE: return 0;
    case SF_ARGS_BAD: return 2;
    case SF_ARGS_RUN: break;
    }
    if (args.n_words > 1)
        return sf_answer_usage("tags", "give one name, or none");
    a.name = args.n_words ? args.words[0] : NULL;
    if (a.name && a.scope)
        return sf_answer_usage("tags", "--scope goes with names; write it before the name: span.x");
    if (a.since_ns <= 0)
        return sf_answer_usage("tags", "--since must be greater than zero");
    if (a.name && !check_name(a.name))
        return 2;
    form = sf_answer_output("tags", output, false);
    return form == SF_OUTPUT_BAD ? 2 : tags_command_run(&client, &a, form);
}
