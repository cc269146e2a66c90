/* alert_code.c - evaluates a rule about code: selects profiles, sums the values of all samples and
 * of those that contain the function, package or label, and returns the share or the amount. With
 * fewer than a minimum of samples a share is unknown. */
#include "alert/alert_code.h"

#include <math.h>

#include "alert/alert_value.h"
#include "exec/profile_types.h"
#include "flame/stack_filter.h"
#include "flame/tree_group.h"
#include "flame/tree_lines.h"
#include "flame/tree_top.h"
#include "query/label_selector.h"
#include "render/units.h"

/* With fewer samples a share is too uncertain: one of 30 is 3 %. */
enum { MIN_SAMPLES = 30 };

/* ---- the query ---- */

struct code {
    struct sf_prof_query all, part;
    struct sf_stack_filter *filter; /* selects `part` by stacks; NULL: a label selects it */
    sf_str unit;
    bool has;      /* the window has profiles of the type */
    bool is_level; /* the type is a level (such as memory in use): sums are divided by the number of
                    * profiles */
};

static enum sf_err parse_selectors(const struct sf_alert_rule *rule, struct sf_arena *req,
                                   struct sf_label_selector *all, struct sf_label_selector *part,
                                   struct sf_why *why)
{
    sf_str text;
    enum sf_err err = sf_label_selector_parse_loose(rule->selector, req, all, why);
    if (!err)
        err = sf_label_selector_parse_loose(rule->selector, req, part, why);
    if (err || !rule->label.len)
        return err;
    if (!sf_arena_print(req, &text, "{%.*s}", SF_STR_ARG(rule->label)))
        return sf_no_room(why, "the rule");
    err = sf_label_selector_parse_loose(text, req, part, why);
    if (!err && part->n == all->n)
        err = sf_fail(why, SF_ERR_INPUT, "label needs a name and a value, such as env=prod");
    return err;
}

static enum sf_err alert_code_make_filter(const struct sf_alert_rule *rule,
                                          struct sf_stack_filter **out, struct sf_why *why)
{
    struct sf_stack_term term = {rule->package.len ? rule->package : rule->function,
                                 rule->package.len ? SF_STACK_HAS_PACKAGE : SF_STACK_HAS_PATTERN};
    struct sf_stack_ask ask = {.terms = &term, .n_terms = term.text.len > 0};
    return sf_stack_filter_new(&ask, out, why);
}

enum sf_err sf_alert_code_check(struct sf_alert_rules *r, struct sf_alert_rule *rule,
                                struct sf_why *why)
{
    struct sf_arena room = r->arena;
    struct sf_label_selector all = {0}, part = {0};
    struct sf_stack_filter *filter = NULL;
    const char *kind = rule->kind == SF_ALERT_SHARE ? "share" : "amount";
    enum sf_err err;
    if (rule->selector.len == 0 ||
        (rule->function.len > 0) + (rule->package.len > 0) + (rule->label.len > 0) != 1)
        return sf_fail(why, SF_ERR_INPUT,
                       "%s expects a selector and one of function, package and label", kind);
    err = parse_selectors(rule, &room, &all, &part, why);
    if (!err)
        err = alert_code_make_filter(rule, &filter, why);
    sf_stack_filter_free(filter);
    for (size_t i = 0; !err && i < all.n; i++) {
        if (all.list[i].op == SF_OP_EQ && sf_str_eq(all.list[i].key, SF_STR("service_name")))
            rule->service = all.list[i].val;
    }
    if (!err && !sf_arena_copy(&r->arena, rule->service, &rule->service))
        err = sf_no_room(why, "the rules");
    if (err) {
        sf_why_prefix(why, "%s", kind);
        return SF_ERR_INPUT;
    }
    if (rule->test == SF_ALERT_ABSENT)
        return rule->kind == SF_ALERT_AMOUNT
                   ? SF_OK
                   : sf_fail(why, SF_ERR_INPUT, "a share is above or below; amount can be absent");
    if (rule->kind == SF_ALERT_SHARE &&
        (rule->unit != SF_ALERT_PERCENT || rule->threshold > 1 || rule->threshold < 0))
        return sf_fail(why, SF_ERR_INPUT, "share expects a percentage from 0%% to 100%%, as 20%%");
    if (rule->kind == SF_ALERT_AMOUNT && rule->unit == SF_ALERT_PERCENT)
        return sf_fail(why, SF_ERR_INPUT, "amount expects a time, a size or a number, not %%");
    return SF_OK;
}

static enum sf_err alert_code_choose_type(const struct sf_alert_ask *ask, struct code *c,
                                          struct sf_query_ctx *q, struct sf_why *why)
{
    const struct sf_alert_rule *rule = ask->rule;
    struct sf_prof_list list = {0};
    const struct sf_batch_type *types;
    uint32_t n = 0, at = 0;
    bool is_time, is_size;
    enum sf_err err = ask->store->ops->prof_list(ask->store, &c->all, q, &list, why);
    if (!err)
        err = sf_profile_types(&list, q->req, &types, &n, why);
    if (err || n == 0 || sf_batch_tree_choose(types, n, rule->type, &at, NULL))
        return err;
    c->unit = types[at].type.sample_unit;
    c->is_level = sf_profile_types_is_level(&types[at].type);
    is_time = sf_str_eq(c->unit, SF_STR("nanoseconds"));
    is_size = sf_str_eq(c->unit, SF_STR("bytes"));
    if (rule->test != SF_ALERT_ABSENT &&
        ((rule->unit == SF_ALERT_TIME && !is_time) || (rule->unit == SF_ALERT_SIZE && !is_size)))
        return sf_fail(why, SF_ERR_INPUT, "profiles are in %.*s, the rule says %.*s",
                       SF_STR_ARG(sf_str_part(c->unit, 0, 40)), SF_STR_ARG(rule->threshold_text));
    if (!sf_batch_tree_type_print(&types[at].type, q->req, &c->all.type))
        return sf_no_room(why, "a type");
    c->part.type = c->all.type;
    c->has = true;
    return SF_OK;
}

/* The caller calls code_close() in any case. */
static enum sf_err code_open(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                             struct code *out, struct sf_why *why)
{
    struct sf_label_selector all = {0}, part = {0};
    enum sf_err err = parse_selectors(ask->rule, q->req, &all, &part, why);
    *out = (struct code){0};
    if (!err)
        err = alert_code_make_filter(ask->rule, &out->filter, why);
    out->all = (struct sf_prof_query){.from_ns = ask->at_ns - ask->rule->window_ns,
                                      .to_ns = ask->at_ns,
                                      .match = all.list,
                                      .n_match = all.n};
    out->part = out->all;
    out->part.match = part.list;
    out->part.n_match = part.n;
    out->part.stacks = out->filter;
    return !err && q->n_tenants ? alert_code_choose_type(ask, out, q, why) : err;
}

static void code_close(struct code *c)
{
    sf_stack_filter_free(c->filter);
}

/* ---- share and amount ---- */

struct sums {
    double value;
    uint64_t n_samples, n_profiles;
};

static enum sf_err sum(const struct sf_alert_ask *ask, const struct sf_prof_query *query,
                       struct sf_query_ctx *q, struct sums *out, struct sf_why *why)
{
    struct sf_prof_points points = {0};
    enum sf_err err = ask->store->ops->prof_points(ask->store, query, NULL, 0,
                                                   query->to_ns - query->from_ns, q, &points, why);
    *out = (struct sums){0};
    for (uint32_t i = 0; !err && i < points.n_points; i++) {
        out->value += (double)points.points[i].value;
        out->n_samples += points.points[i].n_samples;
        out->n_profiles += points.points[i].n_profiles;
    }
    return err;
}

static double per(const struct code *c, const struct sums *all)
{
    return c->is_level && all->n_profiles ? (double)all->n_profiles : 1;
}

/* NAN: unknown. */
static enum sf_err alert_code_measure(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                      double *out, struct sf_why *why)
{
    struct code c;
    struct sums all = {0}, part = {0};
    enum sf_err err = code_open(ask, q, &c, why);
    *out = NAN;
    if (!err && c.has && (ask->rule->kind == SF_ALERT_SHARE || c.is_level))
        err = sum(ask, &c.all, q, &all, why);
    if (!err && c.has)
        err = sum(ask, &c.part, q, &part, why);
    if (!err && c.has && ask->rule->kind == SF_ALERT_AMOUNT)
        *out = part.value / per(&c, &all);
    else if (!err && all.n_samples >= MIN_SAMPLES && all.value > 0)
        *out = part.value / all.value;
    code_close(&c);
    return err;
}

enum sf_err sf_alert_code(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                          struct sf_alert_value **out, size_t *out_n, struct sf_why *why)
{
    struct sf_alert_value *one = sf_arena_new(q->req, sizeof(*one));
    struct sf_alert_found f;
    double value = NAN;
    bool is_absent;
    enum sf_err err = one ? alert_code_measure(ask, q, &value, why) : sf_no_room(why, "the rule");
    if (err)
        return err;
    if (ask->measured)
        *ask->measured = value;
    is_absent = ask->rule->test == SF_ALERT_ABSENT && (isnan(value) || value == 0);
    *out = one;
    if (!is_absent && !sf_alert_rule_holds(ask->rule, value))
        return SF_OK;
    if (!sf_alert_value_found_begin(&f, ask->rule, q->req))
        return sf_no_room(why, "the rule");
    *out_n = 1;
    return sf_alert_value_found_finish(&f, ask->rule, is_absent ? 0 : value, q->req, one, why);
}

/* ---- the hottest function and line ---- */

struct hottest {
    sf_str function;          /* empty: none */
    struct sf_line_cost line; /* its most expensive line */
    int64_t self, total;      /* of the function, and of all of `part` */
};

static enum sf_err find_hottest(const struct sf_alert_ask *ask, const struct code *c,
                                struct sf_query_ctx *q, struct hottest *out, struct sf_why *why)
{
    const struct sf_tree *tree = NULL;
    struct sf_tree grouped;
    const struct sf_top_row *rows = NULL;
    uint32_t n = 0;
    enum sf_err err = ask->store->ops->prof_merge(ask->store, &c->part, q, &tree, why);
    *out = (struct hottest){0};
    if (!err)
        err = sf_tree_group(tree, (struct sf_tree_grouping){SF_GROUP_FUNCTION, false}, q->req,
                            &grouped, why);
    if (!err)
        err = sf_tree_top(&grouped, SF_TOP_BY_SELF, q->req, &rows, &n, why);
    if (err)
        return err;
    out->total = tree->total;
    if (n == 0 || rows[0].self <= 0)
        return SF_OK;
    out->function = grouped.frames[rows[0].frame].function;
    out->self = rows[0].self;
    out->line = sf_tree_lines_hottest(tree, out->function);
    return SF_OK;
}

enum sf_err sf_alert_code_hottest(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                  sf_str *out, struct sf_why *why)
{
    struct code c;
    struct hottest h = {0};
    enum sf_err err = code_open(ask, q, &c, why);
    if (!err && c.has)
        err = find_hottest(ask, &c, q, &h, why);
    code_close(&c);
    *out = h.function;
    return err;
}

/* ---- the sentence ---- */

static void add_subject(const struct sf_alert_rule *rule, struct sf_buf *out)
{
    sf_str what = rule->function.len  ? rule->function
                  : rule->package.len ? rule->package
                                      : rule->label;
    sf_units_plain(out, what);
}

static void alert_code_add_amount(double value, sf_str unit, struct sf_buf *out)
{
    sf_units_amount(out, llround(fmin(value, 9e18)), unit);
}

void sf_alert_code_reason(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                          struct sf_buf *out)
{
    const struct sf_alert_rule *rule = ask->rule;
    struct code c;
    struct hottest h = {0};
    struct sums all = {0};
    enum sf_err err = code_open(ask, q, &c, NULL);
    if (!err && rule->test == SF_ALERT_ABSENT) {
        sf_buf_print(out, "no samples of ");
        add_subject(rule, out);
    } else if (!err && c.has && !sum(ask, &c.all, q, &all, NULL) &&
               !find_hottest(ask, &c, q, &h, NULL)) {
        add_subject(rule, out);
        sf_buf_print(out, " has ");
        alert_code_add_amount((double)h.total / per(&c, &all), c.unit, out);
        sf_buf_print(out, " of ");
        alert_code_add_amount(all.value / per(&c, &all), c.unit, out);
        if (all.value > 0)
            sf_buf_print(out, " (%.3g %%)", 100 * (double)h.total / all.value);
    }
    code_close(&c);
    if (!out->len)
        return;
    sf_buf_print(out, " in ");
    sf_units_plain(out, rule->selector);
    sf_buf_print(out, " within ");
    sf_units_duration(out, (uint64_t)rule->window_ns);
    if (!h.function.len)
        return;
    sf_buf_print(out, ", hottest: ");
    sf_units_plain(out, h.function);
    if (h.line.file.len) {
        sf_buf_print(out, " (");
        sf_units_plain(out, h.line.file);
        sf_buf_print(out, ":%u)", h.line.line);
    }
    sf_buf_print(out, ", ");
    alert_code_add_amount((double)h.self / per(&c, &all), c.unit, out);
}
