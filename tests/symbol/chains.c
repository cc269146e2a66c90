/* Functions inlined into each other in C, a nested copy that the compiler makes (".part", ".cold",
 * ".constprop"), code from a file that is included, and a computed jump. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain_step.inc"

struct node {
    struct node *next;
    int weight;
};

static inline int weigh(const struct node *n, int by)
{
    return n ? step(n->weight, by) : 0;
}

static inline int walk(const struct node *n, int by)
{
    int sum = 0;
    for (; n; n = n->next)
        sum += weigh(n, by);
    return sum;
}

static __attribute__((noinline)) int clone_me(const struct node *n, int by, int mode)
{
    if (mode == 7) {
        fprintf(stderr, "cold\n");
        abort();
    }
    return walk(n, by) + walk(n ? n->next : n, by + 1);
}

int jump(int op, int v)
{
    static const void *const to[] = {&&add, &&twice, &&none};
    goto *to[op % 3];
add:
    v = step(v, 1);
    goto none;
twice:
    v = step(step(v, v), 2);
none:
    return v;
}

int main(int argc, char **argv)
{
    struct node list[4] = {{&list[1], argc}, {&list[2], 2}, {&list[3], 3}, {NULL, 4}};
    int total = clone_me(list, 3, 1) + clone_me(list + 1, 3, argc);
    printf("%d %d %zu\n", total, jump(argc, total), strlen(argv[0]));
    return 0;
}
