/* The worked queries of tests/golden/traceql_search.txt, evaluated trace by trace. */
#include "test.h"

#include <stdlib.h>

#include "exec/eval.h"
#include "query/expr_text.h"
#include "query/query_parse.h"
#include "support/traceql_fixture.h"

static struct sf_arena req;

static void add_spans(struct sf_buf *out, const struct sf_trace_view *v,
                      const struct sf_spanset_result *s)
{
    for (uint32_t i = 0; i < s->n_spans; i++)
        sf_buf_print(out, "%s%s", out->len && out->p[out->len - 1] != '[' ? " " : "",
                     traceql_fixture_name(v->spans[s->spans[i]].span_id));
}

static void add_sets(struct sf_buf *out, const struct sf_trace_view *v,
                     const struct sf_spansets *sets, bool has_brackets)
{
    for (uint32_t i = 0; i < sets->n; i++) {
        const struct sf_spanset_result *s = &sets->list[i];
        if (has_brackets)
            sf_buf_print(out, "%s[", out->len ? " " : "");
        for (uint32_t k = 0; has_brackets && k < s->n_attrs; k++) {
            if (k)
                sf_buf_add_u8(out, ' ');
            sf_expr_text_static(s->attrs[k].val, out);
        }
        add_spans(out, v, s);
        if (has_brackets)
            sf_buf_add_u8(out, ']');
    }
}

static enum sf_err evaluate(const char *text, bool has_brackets, struct sf_buf *out,
                            struct sf_why *why)
{
    static const uint32_t sizes[] = {6, 2, 2};
    const struct sf_span_batch *b = traceql_fixture(1700000000000000000);
    const struct sf_query *q;
    struct sf_eval *e;
    uint32_t first = 0;
    enum sf_err err;
    sf_arena_reset(&req);
    err = sf_query_parse(sf_str_from(text), &req, &q, NULL, why);
    if (err)
        return err;
    assert_ok(sf_eval_new(q, &e, why));
    for (int t = 0; t < 3 && !err; first += sizes[t], t++) {
        struct sf_trace_view v = {.id = b->spans[first].trace_id,
                                  .spans = b->spans + first,
                                  .n_spans = sizes[t],
                                  .resources = b->resources,
                                  .scopes = b->scopes};
        struct sf_spansets sets = {0};
        sf_trace_view_init(&v);
        err = sf_eval_pipeline(e, q->pipeline, &v, &req, &sets, why);
        if (!err)
            add_sets(out, &v, &sets, has_brackets);
    }
    sf_eval_free(e);
    return err;
}

static void trim(char *line)
{
    size_t len = strlen(line);
    while (len && (line[len - 1] == '\n' || line[len - 1] == ' '))
        line[--len] = 0;
}

TEST(eval, answers_the_worked_queries)
{
    char query[512] = "", line[512];
    unsigned n = 0, n_wrong = 0;
    FILE *f;
    snprintf(line, sizeof(line), "%s/tests/golden/traceql_search.txt", getenv("SPANFLAME_SOURCE"));
    f = fopen(line, "r");
    assert_non_null(f);
    assert_true(sf_arena_init(&req, 16 << 20));
    while (fgets(line, sizeof(line), f)) {
        struct sf_buf out = {0};
        struct sf_why why = {0};
        const char *want;
        trim(line);
        if (line[0] == '#')
            continue;
        if (strncmp(line, "  =", 3) != 0) {
            snprintf(query, sizeof(query), "%s", line);
            continue;
        }
        want = line[3] ? line + 4 : "";
        n++;
        if (evaluate(query, want[0] == '[', &out, &why)) {
            sf_buf_reset(&out);
            sf_buf_print(&out, "ERROR");
        }
        sf_buf_add_u8(&out, 0);
        if (strcmp((char *)out.p, want) != 0) {
            print_error("%s\n  gives %s (%s)\n  not   %s\n", query, (char *)out.p, why.text, want);
            n_wrong++;
        }
        sf_buf_done(&out);
    }
    fclose(f);
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n, 121);
    sf_arena_done(&req);
}

TEST(eval, survives_any_shortage_of_memory)
{
    static char memory[] =
        "{ } &>> { } | by(name) | count() > 0 | coalesce() | avg(duration) > 1ns";
    struct sf_why why;
    unsigned n_limits = 0;
    for (size_t cap = 4096; cap < 65536; cap += 512) {
        struct sf_buf out = {0};
        enum sf_err err;
        assert_true(sf_arena_init(&req, cap));
        err = evaluate(memory, false, &out, &why);
        assert_true(err == SF_OK || err == SF_ERR_LIMIT);
        n_limits += err == SF_ERR_LIMIT;
        sf_buf_done(&out);
        sf_arena_done(&req);
    }
    assert_true(n_limits > 0 && n_limits < 120);
}
