#include "slow_answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/value_list.h"
#include "query/expr_text.h"

enum { MAX_TOUCHED = 64 };

static void add_value(struct sf_buf *out, struct sf_value v)
{
    struct sf_value_list list = sf_value_list_init(v);
    struct sf_attr element;
    uint64_t bits;
    switch (v.type) {
    case SF_VALUE_STR: sf_buf_print(out, "\"%.*s\"", SF_STR_ARG(v.str)); break;
    case SF_VALUE_BOOL: sf_buf_print(out, "%s", v.is_true ? "true" : "false"); break;
    case SF_VALUE_INT: sf_buf_print(out, "%" PRId64, v.i64); break;
    case SF_VALUE_DOUBLE:
        memcpy(&bits, &v.f64, 8);
        sf_buf_print(out, "%.17g/%" PRIx64, v.f64, bits);
        break;
    case SF_VALUE_ARRAY:
        sf_buf_print(out, "[");
        while (sf_value_list_next(&list, &element)) {
            add_value(out, element.val);
            sf_buf_print(out, " ");
        }
        sf_buf_print(out, "]");
        break;
    default: sf_buf_print(out, "?%d", (int)v.type); break;
    }
}

/* ---- lines ---- */

static int compare_lines(const void *a, const void *b)
{
    return sf_str_cmp(*(const sf_str *)a, *(const sf_str *)b);
}

void answer_attrs(struct sf_buf *out, struct sf_attrs attrs)
{
    struct sf_buf texts[MAX_TOUCHED] = {0};
    sf_str list[MAX_TOUCHED];
    for (uint32_t i = 0; i < attrs.n; i++) {
        sf_buf_print(&texts[i], " %.*s=", SF_STR_ARG(attrs.list[i].key));
        add_value(&texts[i], attrs.list[i].val);
        list[i] = sf_buf_str(&texts[i]);
    }
    if (attrs.n)
        qsort(list, attrs.n, sizeof(list[0]), compare_lines);
    for (uint32_t i = 0; i < attrs.n; i++)
        sf_buf_add_str(out, list[i]);
    for (uint32_t i = 0; i < attrs.n; i++)
        sf_buf_done(&texts[i]);
}

static void add_trace_line(struct sf_buf *out, const struct sf_found_trace *t)
{
    char id[33];
    sf_trace_id_render(t->id, id);
    sf_buf_print(out, "trace %s start %" PRIu64 " for %" PRIu64 " root %s \"%.*s\" \"%.*s\"", id,
                 t->start_ns, t->duration_ns, t->has_root ? "yes" : "no",
                 SF_STR_ARG(t->root_service), SF_STR_ARG(t->root_name));
    for (uint32_t i = 0; i < t->n_services; i++)
        sf_buf_print(out, " %.*s %u/%u", SF_STR_ARG(t->services[i].name), t->services[i].n_errors,
                     t->services[i].n_spans);
    sf_buf_print(out, "\n");
}

void answer_search(const struct sf_search_result *result, struct sf_buf *out)
{
    for (uint32_t i = 0; i < result->n_traces; i++) {
        const struct sf_found_trace *t = &result->traces[i];
        add_trace_line(out, t);
        for (uint32_t k = 0; k < t->n_sets; k++) {
            const struct sf_found_set *s = &t->sets[k];
            sf_buf_print(out, " set %u", s->n_matched);
            answer_attrs(out, s->attrs);
            sf_buf_print(out, "\n");
            for (uint32_t j = 0; j < s->n_spans; j++) {
                const struct sf_found_span *span = &s->spans[j];
                sf_buf_print(out, "  span %" PRIx64 " \"%.*s\" %" PRIu64 " %" PRIu64, span->id,
                             SF_STR_ARG(span->name), span->start_ns, span->duration_ns);
                answer_attrs(out, span->attrs);
                sf_buf_print(out, "\n");
            }
        }
    }
    if (result->is_partial)
        sf_buf_print(out, "partial: %.*s\n", SF_STR_ARG(result->note));
}

/* ---- what a query touches ---- */

struct touched {
    const struct sf_query_attr *list[MAX_TOUCHED];
    uint32_t n;
};

static void touch(struct touched *t, const struct sf_query_attr *a)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->list[i]->scope == a->scope && t->list[i]->intrinsic == a->intrinsic &&
            sf_str_eq(t->list[i]->name, a->name))
            return;
    }
    if (t->n == MAX_TOUCHED)
        abort();
    t->list[t->n++] = a;
}

static void touch_expr(struct touched *t, const struct sf_expr *x)
{
    if (!x)
        return;
    if (x->kind == SF_EXPR_ATTR)
        touch(t, &x->attr);
    touch_expr(t, x->left);
    touch_expr(t, x->right);
}

static void touch_pipeline(struct touched *t, const struct sf_pipeline *p);

static void touch_spanset(struct touched *t, const struct sf_spanset *s)
{
    if (!s)
        return;
    touch_expr(t, s->filter);
    touch_spanset(t, s->left);
    touch_spanset(t, s->right);
    if (s->pipeline)
        touch_pipeline(t, s->pipeline);
}

static void touch_pipeline(struct touched *t, const struct sf_pipeline *p)
{
    for (uint32_t i = 0; i < p->n_stages; i++) {
        touch_spanset(t, p->stages[i].spanset);
        touch_expr(t, p->stages[i].expr);
        for (uint32_t k = 0; k < p->stages[i].n_attrs; k++)
            touch(t, &p->stages[i].attrs[k]);
    }
}

/* ---- the slow search ---- */

struct asked {
    const struct sf_search *search;
    struct touched touched;
    struct sf_arena *req;
    struct sf_buf *out;
};

static bool is_shown(enum sf_intrinsic i)
{
    return i != SF_INTRINSIC_NAME && i != SF_INTRINSIC_DURATION &&
           i != SF_INTRINSIC_TRACE_DURATION && i != SF_INTRINSIC_ROOT_NAME &&
           i != SF_INTRINSIC_ROOT_SERVICE && i != SF_INTRINSIC_TRACE_ID &&
           i != SF_INTRINSIC_SPAN_ID;
}

static void add_item(struct sf_buf *out, struct slow_item item, struct sf_arena *req)
{
    if (!item.is_array) {
        add_value(out, slow_static_value(item.one, req));
        return;
    }
    sf_buf_print(out, "[");
    for (uint32_t i = 0; i < item.n; i++) {
        add_value(out, slow_static_value(item.elements[i], req));
        sf_buf_print(out, " ");
    }
    sf_buf_print(out, "]");
}

static void add_span(struct asked *a, const struct slow_trace *t, uint32_t span)
{
    const struct sf_span *s = &t->spans[span]->span;
    struct sf_buf texts[MAX_TOUCHED] = {0};
    sf_str lines[MAX_TOUCHED];
    uint32_t n = 0;
    bool has_name = false;
    for (uint32_t i = 0; i < a->touched.n; i++) {
        const struct sf_query_attr *attr = a->touched.list[i];
        struct slow_items items = slow_values(attr, t, span, a->req);
        has_name |= attr->intrinsic == SF_INTRINSIC_NAME;
        if (!is_shown(attr->intrinsic) || items.n == 0)
            continue;
        sf_buf_print(&texts[n], " %.*s=",
                     SF_STR_ARG(attr->intrinsic
                                    ? sf_str_from(sf_expr_text_intrinsic(attr->intrinsic))
                                    : attr->name));
        add_item(&texts[n], items.list[0], a->req);
        lines[n] = sf_buf_str(&texts[n]);
        n++;
    }
    if (n)
        qsort(lines, n, sizeof(lines[0]), compare_lines);
    sf_buf_print(a->out, "  span %" PRIx64 " \"%.*s\" %" PRIu64 " %" PRIu64, s->span_id,
                 SF_STR_ARG(has_name ? s->name : SF_STR_NONE), s->start_ns,
                 s->end_ns > s->start_ns ? s->end_ns - s->start_ns : 0);
    for (uint32_t i = 0; i < n; i++)
        sf_buf_add_str(a->out, lines[i]);
    sf_buf_print(a->out, "\n");
    for (uint32_t i = 0; i < n; i++)
        sf_buf_done(&texts[i]);
}

static int compare_services(const void *a, const void *b)
{
    const struct sf_found_service *x = a, *y = b;
    return sf_str_cmp(x->name, y->name);
}

static void add_trace(struct asked *a, const struct slow_trace *t, struct slow_sets sets)
{
    struct sf_found_service *services = slow_new(a->req, t->n, sizeof(*services));
    struct sf_found_trace found = {.id = t->id,
                                   .start_ns = t->start_ns,
                                   .duration_ns = t->end_ns - t->start_ns,
                                   .has_root = t->root != NULL,
                                   .services = services};
    if (t->root) {
        found.root_name = t->root->span.name;
        found.root_service = t->root->resource->service;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        sf_str name = t->spans[i]->resource->service;
        uint32_t at = 0;
        while (at < found.n_services && !sf_str_eq(services[at].name, name))
            at++;
        found.n_services += at == found.n_services;
        services[at].name = name;
        services[at].n_spans++;
        services[at].n_errors += t->spans[i]->span.status == SF_STATUS_ERROR;
    }
    qsort(services, found.n_services, sizeof(*services), compare_services);
    add_trace_line(a->out, &found);
    for (uint32_t i = 0; i < sets.n; i++) {
        const struct slow_set *s = &sets.list[i];
        struct sf_attr *attrs = slow_new(a->req, s->n_attrs, sizeof(*attrs));
        uint32_t n_listed = 0;
        for (uint32_t k = 0; k < s->n_attrs; k++)
            attrs[k] = (struct sf_attr){s->attrs[k].name,
                                        slow_static_value(s->attrs[k].val, a->req)};
        sf_buf_print(a->out, " set %u", s->n);
        answer_attrs(a->out, (struct sf_attrs){attrs, s->n_attrs});
        sf_buf_print(a->out, "\n");
        for (uint32_t k = 0; k < t->n && n_listed < a->search->spans_per_set; k++) {
            if (!s->has[k])
                continue;
            add_span(a, t, k);
            n_listed++;
        }
    }
}

static bool is_in_range(const struct sf_search *s, const struct slow_trace *t)
{
    return (s->from_ns == 0 && s->to_ns == 0) ||
           (t->start_ns <= (uint64_t)s->to_ns && t->end_ns >= (uint64_t)s->from_ns);
}

bool slow_search(const struct slow_traces *traces, const struct sf_search *search,
                 struct sf_arena *req, struct sf_buf *out)
{
    struct asked a = {.search = search, .req = req, .out = out};
    const struct sf_pipeline *p = search->query->pipeline;
    uint32_t n = 0;
    bool is_error = false;
    touch_pipeline(&a.touched, p);
    for (uint32_t i = 0; i < traces->n; i++) {
        const struct slow_trace *t = &traces->list[i];
        struct slow_sets sets;
        if (!is_in_range(search, t))
            continue;
        sets = slow_pipeline(p, t, req);
        is_error |= sets.is_error;
        if (sets.n && n++ < search->limit)
            add_trace(&a, t, sets);
    }
    return is_error;
}
