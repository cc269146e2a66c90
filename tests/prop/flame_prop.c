/* Tree operations against slow, obvious ones over a plain list of stacks. */
#include <stdlib.h>

#include "base/buf.h"
#include "flame/flamebearer.h"
#include "flame/tree_builder.h"
#include "flame/tree_cut.h"
#include "flame/tree_filter.h"
#include "flame/tree_group.h"
#include "flame/tree_order.h"
#include "flame/tree_sandwich.h"
#include "flame/tree_top.h"
#include "test.h"

enum { ROUNDS = 300, MAX_STACKS = 60, MAX_DEPTH = 9, NAMES = 7 };

static uint64_t seed = 20260115;
static uint32_t pick(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % n;
}

struct stack {
    uint8_t names[MAX_DEPTH]; /* root first */
    uint8_t depth;
    int64_t value;
};

struct list {
    struct stack stacks[MAX_STACKS * MAX_DEPTH];
    int n;
};

static const char *const names[NAMES] = {"main",     "alpha.run", "alpha.walk", "beta.go",
                                         "beta.net", "gc",        "x::y::z"};

static struct list random_list(void)
{
    struct list l = {.n = (int)pick(MAX_STACKS)};
    for (int i = 0; i < l.n; i++) {
        struct stack *s = &l.stacks[i];
        s->depth = (uint8_t)pick(MAX_DEPTH);
        for (int k = 0; k < s->depth; k++)
            s->names[k] = (uint8_t)pick(k == 0 ? 2 : NAMES);
        s->value = pick(100);
    }
    return l;
}

static struct sf_tree tree_of(const struct list *l, struct sf_arena *req)
{
    struct sf_tree_builder b;
    struct sf_tree t;
    sf_tree_builder_init(&b, req, 0, SF_TREE_BORROWS);
    for (int i = 0; i < l->n; i++) {
        uint32_t node = 0;
        for (int k = 0; k < l->stacks[i].depth; k++) {
            struct sf_frame f = {.function = sf_str_from(names[l->stacks[i].names[k]])};
            node = sf_tree_builder_child(&b, node, sf_tree_builder_frame(&b, &f));
        }
        sf_tree_builder_add(&b, node, l->stacks[i].value, 1);
    }
    assert_ok(sf_tree_builder_take(&b, SF_STR("count"), &t, NULL));
    sf_tree_builder_done(&b);
    return t;
}

/* ---- both as sorted lines, equal stacks added, zeros left out ---- */

struct line {
    char text[600];
    int64_t value;
};

static int compare_lines(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static void join(struct line *lines, int n, struct sf_buf *out)
{
    if (n)
        qsort(lines, (size_t)n, sizeof(*lines), compare_lines);
    for (int i = 0; i < n;) {
        int64_t sum = 0;
        int first = i;
        for (; i < n && strcmp(lines[i].text, lines[first].text) == 0; i++)
            sum += lines[i].value;
        if (sum)
            sf_buf_print(out, "%s %ld\n", lines[first].text, (long)sum);
    }
    sf_buf_add_u8(out, 0);
}

static void print_list(const struct list *l, struct sf_buf *out)
{
    struct line *lines = calloc((size_t)l->n + 1, sizeof(*lines));
    for (int i = 0; i < l->n; i++) {
        for (int k = 0; k < l->stacks[i].depth; k++) {
            strcat(lines[i].text, ";");
            strcat(lines[i].text, names[l->stacks[i].names[k]]);
        }
        lines[i].value = l->stacks[i].value;
    }
    join(lines, l->n, out);
    free(lines);
}

static void path_of(const struct sf_tree *t, uint32_t node, char *out)
{
    sf_str name;
    if (node == 0)
        return;
    path_of(t, t->nodes[node].parent, out);
    name = t->frames[t->nodes[node].frame].function;
    strcat(out, ";");
    strncat(out, name.p, name.len);
}

static void print_tree(const struct sf_tree *t, struct sf_buf *out)
{
    struct line *lines = calloc(t->n_nodes, sizeof(*lines));
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        path_of(t, i, lines[i].text);
        lines[i].value = t->nodes[i].self;
    }
    join(lines, (int)t->n_nodes, out);
    free(lines);
}

static void expect(const struct sf_tree *t, const struct list *l)
{
    struct sf_buf got = {0}, want = {0};
    print_tree(t, &got);
    print_list(l, &want);
    assert_string_equal((char *)got.p, (char *)want.p);
    sf_buf_done(&got);
    sf_buf_done(&want);
}

static int64_t sum_of(const struct list *l)
{
    int64_t sum = 0;
    for (int i = 0; i < l->n; i++)
        sum += l->stacks[i].value;
    return sum;
}

static int64_t sum_below(const struct list *l, const struct sf_tree *t, uint32_t node)
{
    int64_t sum = 0;
    char path[600] = "";
    path_of(t, node, path);
    for (int i = 0; i < l->n; i++) {
        char own[600] = "";
        size_t len = strlen(path);
        for (int k = 0; k < l->stacks[i].depth; k++) {
            strcat(own, ";");
            strcat(own, names[l->stacks[i].names[k]]);
        }
        if (strncmp(own, path, len) == 0 && (own[len] == ';' || own[len] == 0))
            sum += l->stacks[i].value;
    }
    return sum;
}

static bool contains(const struct stack *s, const char *name, int *out_first)
{
    for (int k = 0; k < s->depth; k++) {
        if (strcmp(names[s->names[k]], name) == 0) {
            *out_first = k;
            return true;
        }
    }
    return false;
}

#define FOR_EACH_CASE(l, t, req)                                           \
    struct sf_arena req = {0};                                             \
    assert_true(sf_arena_init(&req, 16 << 20));                            \
    for (int round = 0; round < ROUNDS; round++, sf_arena_reset(&req))     \
        for (struct list l = random_list(), *once = &l; once; once = NULL) \
            for (struct sf_tree t = tree_of(&l, &req), *once_t = &t; once_t; once_t = NULL)

TEST(flame, totals_are_sums_over_every_stack_below)
{
    FOR_EACH_CASE(l, t, req)
    {
        int64_t *totals;
        expect(&t, &l);
        assert_int_equal(t.total, sum_of(&l));
        assert_ok(sf_tree_order_totals(&t, &req, &totals, NULL));
        for (uint32_t i = 0; i < t.n_nodes; i++)
            assert_int_equal(totals[i], sum_below(&l, &t, i));
    }
    sf_arena_done(&req);
}

TEST(flame, cutting_keeps_every_total_and_the_largest_nodes)
{
    FOR_EACH_CASE(l, t, req)
    {
        uint32_t max = 1 + pick(20);
        struct sf_tree cut;
        int64_t *totals, *old;
        int64_t least = INT64_MAX;
        uint32_t n_kept = 0, n_larger = 0;
        assert_ok(sf_tree_cut(&t, max, &req, &cut, NULL));
        assert_int_equal(cut.total, t.total);
        assert_int_equal(cut.is_cut, cut.is_cut && t.n_nodes - 1 > max);
        assert_ok(sf_tree_order_totals(&cut, &req, &totals, NULL));
        assert_ok(sf_tree_order_totals(&t, &req, &old, NULL));
        for (uint32_t i = 1; i < cut.n_nodes; i++) {
            if (sf_tree_cut_is_other(&cut.frames[cut.nodes[i].frame])) {
                assert_int_equal(totals[i], cut.nodes[i].self); /* a leaf */
                continue;
            }
            assert_int_equal(totals[i], sum_below(&l, &cut, i));
            least = totals[i] < least ? totals[i] : least;
            n_kept++;
        }
        for (uint32_t i = 1; i < t.n_nodes; i++)
            n_larger += old[i] > least;
        if (cut.is_cut)
            assert_true(n_kept >= max && n_larger < max); /* more than max only by ties */
        else
            expect(&cut, &l);
    }
    sf_arena_done(&req);
}

TEST(flame, the_table_counts_recursion_once)
{
    FOR_EACH_CASE(l, t, req)
    {
        const struct sf_top_row *rows;
        uint32_t n;
        assert_ok(sf_tree_top(&t, SF_TOP_BY_SELF, &req, &rows, &n, NULL));
        for (uint32_t i = 0; i < n; i++) {
            sf_str name = t.frames[rows[i].frame].function;
            int64_t self = 0, total = 0;
            for (int k = 0; k < l.n; k++) {
                const struct stack *s = &l.stacks[k];
                int first;
                if (contains(s, name.p, &first))
                    total += s->value;
                if (s->depth && strcmp(names[s->names[s->depth - 1]], name.p) == 0)
                    self += s->value;
            }
            assert_int_equal(rows[i].self, self);
            assert_int_equal(rows[i].total, total);
            assert_true(i == 0 || rows[i - 1].self >= rows[i].self);
        }
    }
    sf_arena_done(&req);
}

/* Of every occurrence: a stack with three of them is in each half three times, and once in the
 * total. */
TEST(flame, a_sandwich_has_the_callers_above_and_the_callees_below)
{
    static struct list callers, callees;
    FOR_EACH_CASE(l, t, req)
    {
        const char *name = names[pick(NAMES)];
        int64_t total = 0, self = 0;
        struct sf_tree_sandwich s;
        callers = callees = (struct list){0};
        for (int i = 0; i < l.n; i++) {
            const struct stack *from = &l.stacks[i];
            bool has = false;
            for (int at = 0; at < from->depth; at++) {
                struct stack *up = &callers.stacks[callers.n], *down = &callees.stacks[callees.n];
                if (strcmp(names[from->names[at]], name) != 0)
                    continue;
                has = true;
                for (int k = at; k >= 0; k--)
                    up->names[up->depth++] = from->names[k];
                for (int k = at; k < from->depth; k++)
                    down->names[down->depth++] = from->names[k];
                up->value = down->value = from->value;
                callers.n++;
                callees.n++;
                self += at == from->depth - 1 ? from->value : 0;
            }
            total += has ? from->value : 0;
        }
        assert_ok(sf_tree_sandwich(&t, sf_str_from(name), &req, &s, NULL));
        expect(&s.callers, &callers);
        expect(&s.callees, &callees);
        assert_int_equal(s.total, total);
        assert_int_equal(s.self, self);
    }
    sf_arena_done(&req);
}

TEST(flame, filters_choose_stacks_by_their_names)
{
    FOR_EACH_CASE(l, t, req)
    {
        struct list want = {0};
        struct sf_tree got;
        struct sf_tree_filter filter = {0};
        int kind = (int)pick(4);
        sf_str *patterns[] = {&filter.focus, &filter.ignore, &filter.hide, &filter.from};
        *patterns[kind] = SF_STR("^alpha\\.|net");
        for (int i = 0; i < l.n; i++) {
            const struct stack *from = &l.stacks[i];
            struct stack s = {.value = from->value};
            int first = -1;
            for (int k = 0; k < from->depth; k++) {
                bool is_match = from->names[k] == 1 || from->names[k] == 2 || from->names[k] == 4;
                first = is_match && first < 0 ? k : first;
                if ((kind == 2 && is_match) || (kind == 3 && first < 0))
                    continue;
                s.names[s.depth++] = from->names[k];
            }
            if (kind == 2 || (kind == 1 ? first < 0 : first >= 0))
                want.stacks[want.n++] = s;
        }
        assert_ok(sf_tree_filter(&t, &filter, NULL, &req, &got, NULL));
        expect(&got, &want);
    }
    sf_arena_done(&req);
}

/* All of a tree, each node's own value of a span of its own. */
static struct sf_owned own_all(const struct sf_tree *t, struct sf_arena *req)
{
    struct sf_owned o = {sf_arena_new_n(req, (size_t)t->n_nodes + 1, sizeof(*o.list)), 0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        if (t->nodes[i].self)
            o.list[n++] = (struct sf_profile_owned){i, {{0}}, (sf_span_id)i + 1, t->nodes[i].self};
    }
    sf_owned_merge(&o, n);
    return o;
}

static void expect_owned(const struct sf_tree *t, const struct sf_owned *o, struct sf_arena *req)
{
    int64_t *sums = sf_arena_new_n(req, (size_t)t->n_nodes + 1, sizeof(*sums));
    for (uint32_t i = 0; i < o->n; i++) {
        assert_true(o->list[i].node < t->n_nodes);
        assert_true(i == 0 || o->list[i - 1].node <= o->list[i].node);
        sums[o->list[i].node] += o->list[i].value;
    }
    for (uint32_t i = 0; i < t->n_nodes; i++)
        assert_int_equal(sums[i], t->nodes[i].self);
}

TEST(flame, ids_of_samples_go_where_their_values_go)
{
    FOR_EACH_CASE(l, t, req)
    {
        struct sf_tree_filter filter = {0};
        sf_str *patterns[] = {&filter.focus, &filter.ignore, &filter.hide, &filter.from};
        struct sf_owned owned = own_all(&t, &req);
        struct sf_tree got;
        *patterns[pick(4)] = SF_STR("^alpha\\.|net");
        *patterns[pick(4)] = SF_STR("b");
        assert_ok(sf_tree_filter(&t, &filter, &owned, &req, &got, NULL));
        expect_owned(&got, &owned, &req);
        owned = own_all(&t, &req);
        assert_ok(sf_tree_group_owned(&t,
                                      (struct sf_tree_grouping){.by = (enum sf_frame_group)pick(5)},
                                      &owned, &req, &got, NULL));
        expect_owned(&got, &owned, &req);
    }
    sf_arena_done(&req);
}

TEST(flame, folding_recursion_drops_repeated_frames_only)
{
    FOR_EACH_CASE(l, t, req)
    {
        struct list want = {.n = l.n};
        struct sf_tree got;
        for (int i = 0; i < l.n; i++) {
            struct stack *s = &want.stacks[i];
            s->value = l.stacks[i].value;
            for (int k = 0; k < l.stacks[i].depth; k++) {
                uint8_t name = l.stacks[i].names[k];
                if (s->depth == 0 || s->names[s->depth - 1] != name)
                    s->names[s->depth++] = name;
            }
        }
        assert_ok(
            sf_tree_group(&t, (struct sf_tree_grouping){.is_collapsed = true}, &req, &got, NULL));
        expect(&got, &want);
        assert_ok(
            sf_tree_group(&t, (struct sf_tree_grouping){.by = SF_GROUP_PACKAGE}, &req, &got, NULL));
        assert_int_equal(got.total, t.total);
    }
    sf_arena_done(&req);
}

TEST(flame, a_comparison_keeps_both_sides_even_when_cut)
{
    FOR_EACH_CASE(l, t, req)
    {
        struct list other = random_list();
        struct sf_tree right = tree_of(&other, &req);
        struct sf_tree_diff d, cut;
        assert_ok(sf_tree_diff(&t, &right, &req, &d, NULL));
        for (uint32_t i = 0; i < d.shape.n_nodes; i++) {
            assert_int_equal(d.left.totals[i], sum_below(&l, &d.shape, i));
            assert_int_equal(d.right.totals[i], sum_below(&other, &d.shape, i));
            assert_int_equal(d.shape.nodes[i].self, d.right.self[i] - d.left.self[i]);
        }
        assert_ok(sf_tree_diff_cut(&d, 1 + pick(10), &req, &cut, NULL));
        assert_int_equal(cut.left.total, t.total);
        assert_int_equal(cut.right.total, right.total);
    }
    sf_arena_done(&req);
}

/* Reads levels as Grafana does: a bar's parent is the bar of the level above that encloses it. */
static void read_levels(const struct sf_flamebearer *f, struct line *lines, int *n)
{
    static struct bar {
        int64_t start, end;
        char path[600];
    } above[1000], here[1000];
    uint32_t n_above = 0;
    for (uint32_t level = 0; level < f->n_levels; level++) {
        int64_t at = 0;
        uint32_t n_here = 0;
        for (uint32_t i = 0; i < f->levels[level].n; i += 4) {
            const int64_t *v = f->levels[level].values + i;
            struct bar *b = &here[n_here++];
            sf_str name = f->names[v[3]];
            b->start = at + v[0];
            b->end = at = b->start + v[1];
            b->path[0] = 0;
            if (level > 0) {
                uint32_t k = 0;
                /* an empty bar lies on the edge of several: any will do, it adds nothing */
                while (k < n_above && !(above[k].start <= b->start && b->end <= above[k].end &&
                                        (above[k].start < b->end || v[1] == 0)))
                    k++;
                assert_true(k < n_above);
                sprintf(b->path, "%s;%.*s", above[k].path, SF_STR_ARG(name));
            } else {
                assert_int_equal(v[0], 0);
                assert_str(name, "total");
            }
            strcpy(lines[*n].text, b->path);
            lines[(*n)++].value = v[2];
        }
        memcpy(above, here, n_here * sizeof(*here));
        n_above = n_here;
    }
}

TEST(flame, levels_read_back_as_the_same_stacks)
{
    FOR_EACH_CASE(l, t, req)
    {
        static struct line lines[1000];
        struct sf_flamebearer f;
        struct sf_buf got = {0}, want = {0};
        int n = 0;
        assert_ok(sf_flamebearer_single(&t, &req, &f, NULL));
        assert_int_equal(f.total, t.total);
        read_levels(&f, lines, &n);
        assert_int_equal(n, t.n_nodes);
        join(lines, n, &got);
        print_list(&l, &want);
        assert_string_equal((char *)got.p, (char *)want.p);
        sf_buf_done(&got);
        sf_buf_done(&want);
    }
    sf_arena_done(&req);
}
