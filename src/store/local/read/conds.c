/* conds.c - evaluates pushed-down conditions on the decoded rows of a granule. Each condition fills
 * one byte per row; the bytes are then combined with AND or OR. A value shared by many rows (a
 * text, a resource) is evaluated once. */
#include "store/local/read/conds.h"

#include <string.h>

#include "model/process.h"

enum intrinsic { OTHER, NAME, STATUS_MSG, DURATION, STATUS, KIND };

static enum intrinsic intrinsic_of(sf_str key)
{
    static const struct {
        sf_str key;
        enum intrinsic what;
    } names[] = {
        {SF_STR("name"), NAME},     {SF_STR("statusMessage"), STATUS_MSG},
        {SF_STR("status"), STATUS}, {SF_STR("duration"), DURATION},
        {SF_STR("kind"), KIND},
    };
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (sf_str_eq(key, names[i].key))
            return names[i].what;
    }
    return OTHER;
}

static uint32_t conds_columns_of(const struct sf_cond *c)
{
    static const uint32_t columns[] = {
        [OTHER] = 0,    [NAME] = SF_COL_NAME,   [STATUS_MSG] = SF_COL_STATUS_MSG,
        [DURATION] = 0, [STATUS] = SF_COL_KIND, [KIND] = SF_COL_KIND,
    };
    if (c->scope == SF_SCOPE_INTRINSIC)
        return columns[intrinsic_of(c->key)];
    return c->scope == SF_SCOPE_RESOURCE ? SF_COL_RESOURCE : 0;
}

size_t sf_conds_prepare(struct sf_conds *c, struct sf_key *keys, size_t n_keys, uint32_t *want)
{
    c->columns = SF_COL_TIMES | (c->process ? SF_COL_RESOURCE : 0);
    c->want = want;
    for (size_t i = 0; i < c->n; i++) {
        const struct sf_cond *one = &c->list[i];
        c->columns |= conds_columns_of(one);
        want[i] = SF_NONE;
        if (one->scope == SF_SCOPE_SPAN || one->scope == SF_SCOPE_ANY) {
            want[i] = (uint32_t)n_keys;
            keys[n_keys++] = (struct sf_key){one->scope, one->key};
        }
    }
    return n_keys;
}

/* ---- one value ---- */

static bool conds_is_number(struct sf_value v)
{
    return v.type == SF_VALUE_INT || v.type == SF_VALUE_DOUBLE;
}

/* -1, 0, 1; 2: not comparable */
static int conds_compare(struct sf_value a, struct sf_value b)
{
    double x, y;
    if (a.type == SF_VALUE_INT && b.type == SF_VALUE_INT)
        return a.i64 < b.i64 ? -1 : a.i64 > b.i64;
    if (a.type == SF_VALUE_STR && b.type == SF_VALUE_STR) {
        int c = sf_str_cmp(a.str, b.str);
        return c < 0 ? -1 : c > 0;
    }
    if (!conds_is_number(a) || !conds_is_number(b))
        return 2;
    x = a.type == SF_VALUE_INT ? (double)a.i64 : a.f64;
    y = b.type == SF_VALUE_INT ? (double)b.i64 : b.f64;
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

static bool ordered_may(enum sf_op op, int c)
{
    switch (op) {
    case SF_OP_LT: return c == -1 || c == 2;
    case SF_OP_LE: return c <= 0 || c == 2;
    case SF_OP_GT: return c >= 1;
    case SF_OP_GE: return c >= 0;
    default: return true;
    }
}

static bool equal_may(struct sf_value have, const struct sf_cond *c)
{
    if (have.type == SF_VALUE_ARRAY || have.type == SF_VALUE_KVLIST ||
        have.type == SF_VALUE_BYTES || have.type == SF_VALUE_EMPTY)
        return true; /* a comparison may search inside */
    for (uint32_t i = 0; i < c->n_vals; i++) {
        struct sf_value want = c->vals[i];
        if (want.type == SF_VALUE_NONE || want.type == SF_VALUE_EMPTY ||
            want.type >= SF_VALUE_BYTES)
            return true;
        if (want.type == SF_VALUE_BOOL ? sf_value_eq(have, want) : conds_compare(have, want) == 0)
            return true;
    }
    return c->n_vals == 0;
}

static bool conds_wants_nothing(const struct sf_cond *c)
{
    for (uint32_t i = 0; i < c->n_vals; i++) {
        if (c->vals[i].type == SF_VALUE_NONE || c->vals[i].type == SF_VALUE_EMPTY)
            return true;
    }
    return false;
}

/* May the value satisfy the condition? `have` NONE: the row has no such attribute. */
static bool value_may(struct sf_value have, const struct sf_cond *c)
{
    if (have.type == SF_VALUE_NONE)
        return c->op == SF_OP_NOT_EXISTS || c->op == SF_OP_NE || c->op == SF_OP_NO_MATCH ||
               conds_wants_nothing(c);
    switch (c->op) {
    case SF_OP_NOT_EXISTS: return have.type == SF_VALUE_EMPTY;
    case SF_OP_EQ: return equal_may(have, c);
    case SF_OP_LT:
    case SF_OP_LE:
    case SF_OP_GT:
    case SF_OP_GE:
        return c->n_vals == 0 || have.type >= SF_VALUE_BYTES || have.type == SF_VALUE_EMPTY ||
               ordered_may(c->op, conds_compare(have, c->vals[0]));
    default: return true;
    }
}

/* ---- columns ---- */

struct judge {
    const struct sf_conds *c;
    const struct sf_span_rows *rows;
    uint32_t from, to;
    struct sf_arena scratch;
    uint8_t *verdict; /* result of one condition for each row, from row `from` on */
};

static bool judge_text(struct judge *j, const struct sf_cond *c, const struct sf_str_column *column)
{
    uint8_t *by_entry = sf_arena_raw(&j->scratch, column->n_dict + 1, 1);
    if (!by_entry)
        return false;
    for (uint32_t i = 0; i < column->n_dict; i++)
        by_entry[i] = value_may((struct sf_value){.type = SF_VALUE_STR, .str = column->dict[i]}, c);
    for (uint32_t i = j->from; i < j->to; i++)
        j->verdict[i - j->from] = by_entry[column->code[i]];
    return true;
}

static bool judge_want(struct judge *j, const struct sf_cond *c,
                       const struct sf_value_column *column)
{
    /* Without a scope, a row without service.name may still match through its resource. */
    bool missing = value_may((struct sf_value){0}, c) ||
                   (c->scope == SF_SCOPE_ANY && sf_str_eq(c->key, SF_STR("service.name")));
    uint8_t *by_value = sf_arena_raw(&j->scratch, column->n_vals + 1, 1);
    if (!by_value)
        return false;
    memset(by_value, 2, column->n_vals); /* 2: not examined */
    for (uint32_t i = j->from; i < j->to; i++) {
        uint32_t code = column->code[i];
        if (code == SF_NONE) {
            j->verdict[i - j->from] = missing;
            continue;
        }
        if (by_value[code] == 2)
            by_value[code] = value_may(column->vals[code], c);
        j->verdict[i - j->from] = by_value[code];
    }
    return true;
}

static bool resource_may(const struct sf_resource *r, const struct sf_cond *c)
{
    struct sf_value own = sf_attrs_get(r->attrs, c->key);
    if (own.type == SF_VALUE_NONE && sf_str_eq(c->key, SF_STR("service.name")))
        own = (struct sf_value){.type = SF_VALUE_STR, .str = r->service};
    return value_may(own, c);
}

static bool judge_resource(struct judge *j, const struct sf_cond *c)
{
    uint8_t *by_place = sf_arena_raw(&j->scratch, j->rows->n_resources + 1, 1);
    if (!by_place)
        return false;
    memset(by_place, 2, j->rows->n_resources);
    for (uint32_t i = j->from; i < j->to; i++) {
        uint32_t place = j->rows->resource[i];
        if (by_place[place] == 2)
            by_place[place] = resource_may(&j->rows->resources[place], c);
        j->verdict[i - j->from] = by_place[place];
    }
    return true;
}

/* The number of a name such as "error" or "server"; -1: unknown. */
static int conds_number_of(struct sf_value v, const char *const *names, int n)
{
    if (v.type == SF_VALUE_INT && v.i64 >= 0 && v.i64 < n)
        return (int)v.i64;
    for (int i = 0; v.type == SF_VALUE_STR && i < n; i++) {
        if (sf_str_eq(v.str, sf_str_from(names[i])))
            return i;
    }
    return -1;
}

static void judge_set(struct judge *j, const struct sf_cond *c, const uint8_t *column,
                      const char *const *names, int n)
{
    unsigned set = 0;
    for (uint32_t i = 0; i < c->n_vals; i++) {
        int v = conds_number_of(c->vals[i], names, n);
        set |= v < 0 ? ~0u : 1u << v;
    }
    if (c->op != SF_OP_EQ || c->n_vals == 0)
        set = ~0u;
    for (uint32_t i = j->from; i < j->to; i++)
        j->verdict[i - j->from] = (set >> (column[i] & 31) & 1) != 0;
}

static void judge_duration(struct judge *j, const struct sf_cond *c)
{
    for (uint32_t i = j->from; i < j->to; i++) {
        uint64_t start = j->rows->start_ns[i], end = j->rows->end_ns[i];
        uint64_t ns = end > start ? end - start : 0;
        struct sf_value v = {.type = SF_VALUE_INT,
                             .i64 = ns > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)ns};
        j->verdict[i - j->from] = value_may(v, c);
    }
}

static bool judge_intrinsic(struct judge *j, const struct sf_cond *c)
{
    static const char *const statuses[] = {"unset", "ok", "error"};
    static const char *const kinds[] = {"unspecified", "internal", "server",
                                        "client",      "producer", "consumer"};
    switch (intrinsic_of(c->key)) {
    case NAME: return judge_text(j, c, &j->rows->name);
    case STATUS_MSG: return judge_text(j, c, &j->rows->status_msg);
    case DURATION: judge_duration(j, c); return true;
    case STATUS: judge_set(j, c, j->rows->status, statuses, SF_STATUSES); return true;
    case KIND: judge_set(j, c, j->rows->kind, kinds, SF_KINDS); return true;
    case OTHER: break;
    }
    memset(j->verdict, 1, j->to - j->from);
    return true;
}

static bool judge_one(struct judge *j, size_t number)
{
    const struct sf_cond *c = &j->c->list[number];
    switch (c->scope) {
    case SF_SCOPE_INTRINSIC: return judge_intrinsic(j, c);
    case SF_SCOPE_RESOURCE: return judge_resource(j, c);
    case SF_SCOPE_SPAN:
    case SF_SCOPE_ANY: return judge_want(j, c, &j->rows->want[j->c->want[number]]);
    default: memset(j->verdict, 1, j->to - j->from); return true;
    }
}

static bool judge_process(struct judge *j, uint8_t *out)
{
    uint8_t *by_place = sf_arena_raw(&j->scratch, j->rows->n_resources + 1, 1);
    if (!by_place)
        return false;
    memset(by_place, 2, j->rows->n_resources);
    for (uint32_t i = j->from; i < j->to; i++) {
        uint32_t place = j->rows->resource[i];
        if (by_place[place] == 2) {
            const struct sf_resource *r = &j->rows->resources[place];
            struct sf_arena own = j->scratch;
            sf_str key;
            bool is_guess;
            if (!sf_process_key(r->attrs, SF_STR_NONE, SF_STR_NONE, &own, &key, &is_guess))
                return false;
            by_place[place] = sf_process_hash(r->service, key) == j->c->process;
        }
        out[i - j->from] &= by_place[place];
    }
    return true;
}

bool sf_conds_judge(const struct sf_conds *c, const struct sf_span_rows *rows, uint32_t from,
                    uint32_t to, struct sf_arena scratch, uint8_t *out)
{
    struct judge j = {.c = c, .rows = rows, .from = from, .to = to, .scratch = scratch};
    j.verdict = sf_arena_raw(&j.scratch, to - from + 1, 1);
    if (!j.verdict)
        return false;
    memset(out, c->is_all || c->n == 0, to - from);
    for (size_t i = 0; i < c->n; i++) {
        struct sf_arena before = j.scratch;
        if (!judge_one(&j, i))
            return false;
        for (uint32_t k = 0; k < to - from; k++)
            out[k] = c->is_all ? (out[k] & j.verdict[k]) : (out[k] | j.verdict[k]);
        j.scratch = before;
    }
    if (c->process && !judge_process(&j, out))
        return false;
    for (uint32_t i = from; i < to && (c->from_ns || c->to_ns); i++) {
        uint64_t start = rows->start_ns[i];
        uint64_t end = rows->end_ns[i] > start ? rows->end_ns[i] : start;
        out[i - from] &= (c->to_ns < 0 || start <= (uint64_t)c->to_ns) &&
                         (c->from_ns <= 0 || end >= (uint64_t)c->from_ns);
    }
    return true;
}
