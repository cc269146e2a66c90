/* Any bytes are a query to the querier or an error that says why. The first byte names the
 * method and the grammar. What was read is bounded and what is text lies where it may. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/pyroscope/querier_ask.h"

static void stop(const char *what)
{
    fprintf(stderr, "querier_ask: %s\n", what);
    abort();
}

static void check(const struct sf_querier_ask *a)
{
    size_t sum = 0;
    if (a->n_keys > SF_QUERIER_LIST || a->n_sites > SF_QUERIER_LIST ||
        a->n_spans > SF_QUERIER_LIST || a->n_traces > SF_QUERIER_LIST ||
        a->n_profiles > SF_QUERIER_LIST || a->n_frames > SF_STACK_TERMS ||
        a->selector.n > a->selector.cap)
        stop("more than fits");
    for (size_t i = 0; i < a->n_keys; i++) /* reads every byte: the sanitizer sees a stray view */
        for (size_t k = 0; k < a->keys[i].len; k++)
            sum += (unsigned char)a->keys[i].p[k];
    for (size_t i = 0; i < a->n_sites; i++)
        for (size_t k = 0; k < a->sites[i].len; k++)
            sum += (unsigned char)a->sites[i].p[k];
    for (size_t i = 0; i < a->n_frames; i++)
        for (size_t k = 0; k < a->frames[i].text.len; k++)
            sum += (unsigned char)a->frames[i].text.p[k];
    for (size_t i = 0; i < a->selector.n; i++)
        for (size_t k = 0; k < a->selector.list[i].val.len; k++)
            sum += (unsigned char)a->selector.list[i].val.p[k];
    for (size_t i = 0; i < 2; i++) {
        if (a->sides[i])
            check(a->sides[i]);
    }
    if (sum == SIZE_MAX)
        stop("no such sum");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sf_arena req;
    struct sf_querier_ask *a;
    struct sf_why why = {0};
    enum sf_err err;
    char *copy;
    if (size == 0)
        return 0;
    copy = malloc(size);
    if (!copy || (!req.base && !sf_arena_init(&req, (size_t)64 << 20)))
        abort();
    memcpy(copy, data + 1, size - 1);
    a = sf_arena_new(&req, sizeof(*a));
    err = sf_querier_ask_read((enum sf_querier_method)(data[0] % SF_QUERIER_METHODS),
                              (sf_str){copy, size - 1}, data[0] & 128, &req, a, &why);
    if (!err)
        check(a);
    else if ((err != SF_ERR_INPUT && err != SF_ERR_LIMIT && err != SF_ERR_UNSUPPORTED) ||
             !why.text[0])
        stop("fails without a reason");
    free(copy);
    sf_arena_reset(&req);
    return 0;
}
