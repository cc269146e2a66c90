/* query_verdict.c - what the parser says to each query of standard input, for a test to compare
 * with another parser: queries end in a zero byte, and each gets a line, "ok" or "refused: " and
 * the reason. */
#include <stdio.h>

#include "base/arena.h"
#include "query/query_parse.h"

enum { MAX_QUERY = 1 << 18 };

int main(void)
{
    static char text[MAX_QUERY];
    struct sf_arena req = {0};
    size_t n = 0;
    if (!sf_arena_init(&req, 16 << 20))
        return 1;
    for (int c = getchar(); c != EOF; c = getchar()) {
        const struct sf_query *q = NULL;
        struct sf_why why = {0};
        if (c && n < sizeof(text)) {
            text[n++] = (char)c;
            continue;
        }
        if (c)
            return 1;
        sf_arena_reset(&req);
        if (sf_query_parse((sf_str){text, n}, &req, &q, NULL, &why))
            printf("refused: %s\n", why.text);
        else
            puts("ok");
        n = 0;
    }
    sf_arena_done(&req);
    return 0;
}
