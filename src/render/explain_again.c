/* explain_again.c - the command and the URL that repeat an explanation. */
#include <inttypes.h>

#include "base/text.h"
#include "base/time_unit.h"
#include "http/request.h"
#include "render/explain.h"

static void add_flag(struct sf_buf *out, const char *name, sf_str value)
{
    if (value.len == 0)
        return;
    sf_buf_print(out, " --%s ", name);
    sf_text_shell_word(out, value);
}

void sf_explain_again_command(const struct sf_explain_view *v, struct sf_buf *out)
{
    char id[33], own[17];
    sf_trace_id_render(v->trace, id);
    sf_span_id_render(v->span, own);
    sf_buf_add_str(out, SF_STR("spanflame why"));
    if (v->of == SF_EXPLAIN_SPAN)
        sf_buf_print(out, " %s --trace %s", own, id);
    else if (v->of == SF_EXPLAIN_TRACE)
        sf_buf_print(out, " %s", id);
    else if (v->after_version.len > 0) {
        add_flag(out, "service", v->service);
        add_flag(out, "deploy", v->after_version);
        add_flag(out, "against", v->before_version);
    } else {
        add_flag(out, "q", v->query);
        add_flag(out, "split", v->split);
    }
    add_flag(out, "focus", v->focus.name);
}

static void explain_again_add_param(struct sf_buf *out, const char *name, sf_str value)
{
    if (value.len == 0)
        return;
    sf_buf_print(out, "&%s=", name);
    sf_request_encode(value, out);
}

void sf_explain_again_page(const struct sf_explain_view *v, struct sf_buf *out)
{
    char id[33], own[17];
    sf_trace_id_render(v->trace, id);
    sf_span_id_render(v->span, own);
    if (v->of == SF_EXPLAIN_SPAN || v->of == SF_EXPLAIN_TRACE) {
        sf_buf_print(out, "/?view=trace&id=%s", id);
        if (v->of == SF_EXPLAIN_SPAN)
            sf_buf_print(out, "&span=%s", own);
        sf_buf_add_str(out, SF_STR("&pane=why"));
        explain_again_add_param(out, "focus", v->focus.name);
        return;
    }
    sf_buf_add_str(out, SF_STR("/?view=compare"));
    if (v->after_version.len > 0) {
        explain_again_add_param(out, "service", v->service);
        explain_again_add_param(out, "version", v->after_version);
        explain_again_add_param(out, "against", v->before_version);
    } else {
        explain_again_add_param(out, "q", v->query);
        explain_again_add_param(out, "split", v->split.len > 0 ? v->split : SF_STR("all"));
        explain_again_add_param(out, "focus", v->focus.name);
    }
    sf_buf_print(out, "&from=%" PRId64 "&until=%" PRId64, v->from_ns / SF_NS_PER_MS,
                 v->to_ns / SF_NS_PER_MS);
}
