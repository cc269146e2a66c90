/* What another TraceQL server accepts and refuses: tests/golden/traceql_accept.tsv has queries with
 * the answers of Tempo's own parser and checks (main of 21 August 2026), C-escaped. */
#include <stdlib.h>
#include <string.h>

#include "query/query_parse.h"
#include "test.h"

/* In place: "a\nb" with its quotes becomes its characters. */
static sf_str unescape(char *quoted)
{
    size_t n = 0, len = strlen(quoted);
    assert_true(len >= 2 && quoted[0] == '"' && quoted[len - 1] == '"');
    for (size_t i = 1; i + 1 < len; i++) {
        char c = quoted[i];
        if (c == '\\') {
            c = quoted[++i];
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
        }
        quoted[n++] = c;
    }
    return (sf_str){quoted, n};
}

TEST(query_accept, agrees_with_tempo)
{
    char path[512], line[4096];
    const char *source = getenv("SPANFLAME_SOURCE");
    struct sf_arena req = {0};
    uint32_t n = 0;
    FILE *f;
    snprintf(path, sizeof(path), "%s/tests/golden/traceql_accept.tsv", source ? source : ".");
    f = fopen(path, "rb");
    assert_non_null(f);
    assert_true(sf_arena_init(&req, 16 << 20));
    while (fgets(line, sizeof(line), f)) {
        char *rest = line, *answer = strsep(&rest, "\t"), *quoted = strsep(&rest, "\t");
        const struct sf_query *q = NULL;
        struct sf_why why = {0};
        sf_str text;
        bool is_ok;
        if (line[0] == '#')
            continue;
        assert_non_null(rest);
        text = unescape(quoted);
        is_ok = strcmp(answer, "OK") == 0;
        sf_arena_reset(&req);
        if ((sf_query_parse(text, &req, &q, NULL, &why) == SF_OK) != is_ok)
            fail_msg("%.*s: %s there, here %s", SF_STR_ARG(text), answer,
                     is_ok ? why.text : "accepted");
        n++;
    }
    fclose(f);
    sf_arena_done(&req);
    assert_int_equal(n, 361);
}

static const struct sf_query *parse(struct sf_arena *req, const char *text)
{
    const struct sf_query *q = NULL;
    struct sf_why why = {0};
    if (sf_query_parse(sf_str_from(text), req, &q, NULL, &why))
        fail_msg("%s: %s", text, why.text);
    return q;
}

TEST(query_accept, constants_are_computed)
{
    struct sf_arena req = {0};
    const struct sf_stage *s;
    const struct sf_metrics *m;
    assert_true(sf_arena_init(&req, 1 << 20));
    s = &parse(&req, "avg(.field) > 1 - 3")->pipeline->stages[0];
    assert_int_equal(s->literal.type, SF_TYPE_INT);
    assert_int_equal(s->literal.i64, -2);
    s = &parse(&req, "min(span:childCount) < 2 / 6")->pipeline->stages[0];
    assert_int_equal(s->literal.i64, 0);
    s = &parse(&req, "{} | count() > (2 + 1) * 3")->pipeline->stages[1];
    assert_int_equal(s->literal.i64, 9);
    s = &parse(&req, "{} | avg(duration) > -(1s)")->pipeline->stages[1];
    assert_int_equal(s->literal.type, SF_TYPE_DURATION);
    assert_int_equal(s->literal.i64, -1000000000);
    m = parse(&req, "({} | rate()) + 3 / 2.0")->metrics;
    assert_int_equal(m->kind, SF_METRICS_BINARY);
    assert_true(m->right->kind == SF_METRICS_NUMBER && m->right->number == 1.5);
    m = parse(&req, "({} | rate()) + 3 - 2")->metrics; /* (A + 3) - 2 */
    assert_int_equal(m->op, SF_EXPR_SUB);
    assert_true(m->right->number == 2 && m->left->right->number == 3);
    m = parse(&req, "3 / 2 + ({} | rate())")->metrics;
    assert_true(m->left->number == 1);
    m = parse(&req, "({} | rate()) > 5 / 2 <= (10s)")->metrics;
    assert_int_equal(m->n_seconds, 2);
    assert_true(m->seconds[0].value == 2 && m->seconds[1].value == 10);
    sf_arena_done(&req);
}

TEST(query_accept, last_hints_replace_earlier_ones)
{
    struct sf_arena req = {0};
    const struct sf_query *q;
    assert_true(sf_arena_init(&req, 1 << 20));
    q = parse(&req, "{} | rate() with(sample=true) with(exemplars=5)");
    assert_int_equal(q->n_hints, 1);
    assert_true(sf_str_eq(q->hints[0].name, SF_STR("exemplars")));
    sf_arena_done(&req);
}
