#include "intake/redact.h"

#include "intake/redact_pass.h"

static void redact_resources(struct sf_redact_pass *p, struct sf_span_batch *b)
{
    void *copy = NULL;
    for (uint32_t i = 0; i < b->n_resources && !p->is_full; i++) {
        struct sf_resource res = b->resources[i];
        bool is_changed;
        p->resource = i;
        is_changed = sf_redact_pass_attrs(p, "resource.attributes", &res.attrs);
        is_changed = sf_redact_pass_free_text(p, "resource.schema_url", &res.schema_url) ||
                     is_changed;
        if (!is_changed ||
            !sf_redact_pass_own_list(p, &copy, b->resources, b->n_resources, sizeof(res)))
            continue;
        if (sf_attrs_str(res.attrs, SF_STR("service.name")).len)
            res.service = sf_attrs_str(res.attrs, SF_STR("service.name"));
        ((struct sf_resource *)copy)[i] = res;
    }
    if (copy)
        b->resources = copy;
}

static void redact_scopes(struct sf_redact_pass *p, struct sf_span_batch *b)
{
    void *copy = NULL;
    for (uint32_t i = 0; i < b->n_scopes && !p->is_full; i++) {
        struct sf_scope scope = b->scopes[i];
        bool is_changed = sf_redact_pass_name(p, "scope.name", &scope.name);
        is_changed = sf_redact_pass_free_text(p, "scope.version", &scope.version) || is_changed;
        is_changed = sf_redact_pass_free_text(p, "scope.schema_url", &scope.schema_url) ||
                     is_changed;
        is_changed = sf_redact_pass_attrs(p, "scope.attributes", &scope.attrs) || is_changed;
        if (is_changed && sf_redact_pass_own_list(p, &copy, b->scopes, b->n_scopes, sizeof(scope)))
            ((struct sf_scope *)copy)[i] = scope;
    }
    if (copy)
        b->scopes = copy;
}

static bool redact_events(struct sf_redact_pass *p, struct sf_span *span)
{
    void *copy = NULL;
    for (uint32_t i = 0; i < span->n_events && !p->is_full; i++) {
        struct sf_event event = span->events[i];
        bool is_changed = sf_redact_pass_name(p, "event.name", &event.name);
        is_changed = sf_redact_pass_attrs(p, "event.attributes", &event.attrs) || is_changed;
        if (is_changed &&
            sf_redact_pass_own_list(p, &copy, span->events, span->n_events, sizeof(event)))
            ((struct sf_event *)copy)[i] = event;
    }
    if (copy)
        span->events = copy;
    return copy != NULL;
}

static bool redact_links(struct sf_redact_pass *p, struct sf_span *span)
{
    void *copy = NULL;
    for (uint32_t i = 0; i < span->n_links && !p->is_full; i++) {
        struct sf_link link = span->links[i];
        bool is_changed = sf_redact_pass_free_text(p, "link.trace_state", &link.trace_state);
        is_changed = sf_redact_pass_attrs(p, "link.attributes", &link.attrs) || is_changed;
        if (is_changed &&
            sf_redact_pass_own_list(p, &copy, span->links, span->n_links, sizeof(link)))
            ((struct sf_link *)copy)[i] = link;
    }
    if (copy)
        span->links = copy;
    return copy != NULL;
}

static bool redact_span(struct sf_redact_pass *p, struct sf_span *span)
{
    bool is_changed = sf_redact_pass_name(p, "span.name", &span->name);
    is_changed = sf_redact_pass_attrs(p, "span.attributes", &span->attrs) || is_changed;
    is_changed = sf_redact_pass_free_text(p, "span.status", &span->status_msg) || is_changed;
    is_changed = sf_redact_pass_free_text(p, "span.trace_state", &span->trace_state) || is_changed;
    if (span->n_events)
        is_changed = redact_events(p, span) || is_changed;
    if (span->n_links)
        is_changed = redact_links(p, span) || is_changed;
    return is_changed;
}

enum sf_err sf_redact_spans(const struct sf_redactor *r, const struct sf_span_batch *in,
                            struct sf_arena *req, const struct sf_redact_watch *watch,
                            struct sf_span_batch *out, uint64_t *out_n, struct sf_why *why)
{
    struct sf_redact_pass p;
    struct sf_span_batch b = *in;
    void *copy = NULL;
    enum sf_err err = sf_redact_pass_init(&p, r, req, watch, why);

    if (err)
        return err;
    redact_resources(&p, &b);
    redact_scopes(&p, &b);
    for (uint32_t i = 0; i < b.n_spans && !p.is_full; i++) {
        struct sf_span span = b.spans[i];
        p.row = i;
        p.resource = span.resource;
        if (redact_span(&p, &span) &&
            sf_redact_pass_own_list(&p, &copy, b.spans, b.n_spans, sizeof(span)))
            ((struct sf_span *)copy)[i] = span;
    }
    err = sf_redact_pass_done(&p, why);
    if (err)
        return err;
    if (copy)
        b.spans = copy;
    *out = b;
    *out_n = p.n;
    return SF_OK;
}

enum sf_err sf_redact_attr(const struct sf_redactor *r, struct sf_arena *req, struct sf_attr *attr,
                           uint64_t *out_n, struct sf_why *why)
{
    struct sf_attrs attrs = {attr, 1};
    struct sf_redact_pass p;
    enum sf_err err = sf_redact_pass_init(&p, r, req, NULL, why);

    if (err)
        return err;
    sf_redact_pass_attrs(&p, "attribute", &attrs);
    err = sf_redact_pass_done(&p, why);
    if (err)
        return err;
    *attr = attrs.list[0];
    *out_n = p.n;
    return SF_OK;
}

enum sf_err sf_redact_text(const struct sf_redactor *r, struct sf_arena *req, const char *key,
                           sf_str *io, uint64_t *io_n, struct sf_why *why)
{
    struct sf_attr attr = {sf_str_from(key), {.type = SF_VALUE_STR, .str = *io}};
    uint64_t n = 0;
    enum sf_err err = r && io->len ? sf_redact_attr(r, req, &attr, &n, why) : SF_OK;
    if (err)
        return err;
    *io = attr.val.str;
    *io_n += n;
    return SF_OK;
}
