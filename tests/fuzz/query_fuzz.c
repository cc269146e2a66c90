/* Any text is a query or an error that says where. A query printed and parsed again is the same
 * query; what a completion box would send is never more than a filter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "query/query_parse.h"
#include "support/query_print.h"

static void stop(const char *what, sf_str text)
{
    fprintf(stderr, "query: %s: %.*s\n", what, SF_STR_ARG(text));
    abort();
}

static void check_fault(enum sf_err err, struct sf_query_fault fault, const struct sf_why *why,
                        sf_str text)
{
    if (err != SF_ERR_INPUT && err != SF_ERR_LIMIT)
        stop("fails in another way", text);
    if (!why->text[0])
        stop("no reason", text);
    if (err == SF_ERR_INPUT && (!fault.line || !fault.column || !fault.len))
        stop("no place", text);
    if (fault.column > text.len + 1)
        stop("a place behind the end", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sf_arena req;
    char *copy = malloc(size ? size : 1);
    sf_str text = {copy, size};
    const struct sf_query *q = NULL;
    struct sf_query_attr attr;
    struct sf_query_fault fault;
    struct sf_why why = {0};
    struct sf_buf printed = {0};
    enum sf_err err;
    const char *wrong;
    if (!copy || (!req.base && !sf_arena_init(&req, (size_t)64 << 20)))
        abort();
    if (size)
        memcpy(copy, data, size);
    err = sf_query_parse(text, &req, &q, &fault, &why);
    if (err) {
        check_fault(err, fault, &why, text);
    } else {
        wrong = query_print_fault(q, &req, &printed);
        if (wrong)
            stop(wrong, sf_buf_str(&printed));
    }
    q = sf_query_parse_partial(text, &req);
    if (q &&
        (!q->pipeline || q->pipeline->n_stages != 1 || !q->pipeline->stages[0].spanset->filter))
        stop("half a query is more than a filter", text);
    sf_query_parse_attr(text, &req, &attr, &why);
    sf_buf_done(&printed);
    sf_arena_reset(&req);
    free(copy);
    return 0;
}
