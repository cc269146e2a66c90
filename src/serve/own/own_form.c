#include "serve/own/own_form.h"

#include "serve/profile_form.h"

bool sf_own_form_is_json(sf_str format)
{
    return format.len == 0 || sf_str_eq(format, SF_STR("json"));
}

bool sf_own_form_is_text(sf_str format)
{
    return sf_str_eq(format, SF_STR("text"));
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
    call->response->is_uncompressible = form->is_packed;
    return sf_profile_form_render(form, view, req, &call->response->body, why);
}
