/* hint_parse.c - parses with(name=value, ...): hints for the execution of a query. */
#include "query/hint_parse.h"

enum { MAX_LIST = 64 };

/* Keywords of the language cannot be names of hints. */
static bool is_keyword(const struct sf_parser *p)
{
    static const char *const words[] = {"nil",
                                        "true",
                                        "false",
                                        "error",
                                        "ok",
                                        "unset",
                                        "unspecified",
                                        "internal",
                                        "server",
                                        "client",
                                        "producer",
                                        "consumer",
                                        "duration",
                                        "childCount",
                                        "name",
                                        "status",
                                        "statusMessage",
                                        "parent",
                                        "kind",
                                        "rootName",
                                        "rootServiceName",
                                        "rootService",
                                        "traceDuration",
                                        "nestedSetLeft",
                                        "nestedSetRight",
                                        "nestedSetParent",
                                        "id",
                                        "traceID",
                                        "spanID",
                                        "parentID",
                                        "timeSinceStart",
                                        "version",
                                        "count",
                                        "avg",
                                        "max",
                                        "min",
                                        "sum",
                                        "by",
                                        "coalesce",
                                        "select",
                                        "rate",
                                        "count_over_time",
                                        "min_over_time",
                                        "max_over_time",
                                        "avg_over_time",
                                        "sum_over_time",
                                        "quantile_over_time",
                                        "histogram_over_time",
                                        "compare",
                                        "topk",
                                        "bottomk",
                                        "with"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (sf_parser_is_word(p, words[i]))
            return true;
    return false;
}

bool sf_hint_parse(struct sf_parser *p, struct sf_query *q)
{
    struct sf_hint list[MAX_LIST];
    struct sf_hint *kept;
    uint32_t n = 0;
    sf_parser_next(p);
    if (!sf_parser_need_sign(p, "("))
        return false;
    do {
        if (p->token.kind != SF_TOKEN_WORD || is_keyword(p) || n == MAX_LIST) {
            sf_parser_unexpected(p, "a hint such as most_recent=true");
            return false;
        }
        list[n].name = p->token.text;
        sf_parser_next(p);
        if (!sf_parser_need_sign(p, "=") || !sf_expr_parse_plain_literal(p, &list[n].val))
            return false;
        n++;
    } while (sf_parser_take_sign(p, ","));
    if (!sf_parser_need_sign(p, ")"))
        return false;
    kept = sf_parser_new(p, n * sizeof(*kept));
    if (!kept)
        return false;
    for (uint32_t i = 0; i < n; i++)
        kept[i] = list[i];
    q->hints = kept;
    q->n_hints = n;
    return true;
}
