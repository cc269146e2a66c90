#include "serve/own/own_form.h"

#include <math.h>
#include <stdio.h>

#include "serve/profile_form.h"

bool sf_own_form_is_json(sf_str format)
{
    return format.len == 0 || sf_str_eq(format, SF_STR("json"));
}

bool sf_own_form_is_text(sf_str format)
{
    return sf_str_eq(format, SF_STR("text"));
}

static void own_form_say_number(struct sf_response *r, const char *name, double n)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%.0f", n);
    sf_response_header(r, name, (sf_str){text, (size_t)len});
}

void sf_own_form_say(struct sf_response *r, const struct sf_profile_view *v)
{
    /* A profile of spans counts records in the tree; one record may stand for several samples. */
    own_form_say_number(r, "x-spanflame-samples", fmax(v->taken, (double)v->tree.n_samples));
    if (v->is_estimate)
        sf_response_header(r, "x-spanflame-estimate", SF_STR("true"));
    if (v->is_few)
        own_form_say_number(r, "x-spanflame-few", v->taken);
}

enum sf_err sf_own_form_give(struct sf_call *call, sf_str format, struct sf_profile_view *view,
                             struct sf_arena *req, struct sf_why *why)
{
    const struct sf_profile_form *form;
    enum sf_err err = sf_profile_form_find(
        sf_own_form_is_text(format) ? SF_STR("flamegraph") : format, false, &form, why);
    if (err)
        return err;
    sf_call_ok(call, form->content_type);
    sf_own_form_say(call->response, view);
    call->response->is_uncompressible = form->is_packed;
    return sf_profile_form_render(form, view, req, &call->response->body, why);
}
