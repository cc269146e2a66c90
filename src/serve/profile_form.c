#include "serve/profile_form.h"

#include "flame/tree_group.h"
#include "render/flame_svg.h"
#include "render/flame_text.h"
#include "render/folded.h"
#include "render/otlp_profile.h"
#include "render/pprof.h"
#include "render/profile_json.h"
#include "render/speedscope.h"
#include "render/units.h"
#include "render/unnamed_text.h"
#include "wire/deflate.h"

enum { COLUMNS = 120 };

static enum sf_err profile_form_group(struct sf_profile_view *v, struct sf_arena *req,
                                      struct sf_why *why)
{
    struct sf_tree_grouping how = {.by = SF_GROUP_FUNCTION};
    struct sf_tree grouped;
    enum sf_err err = sf_tree_group(&v->tree, how, req, &grouped, why);
    if (!err)
        v->tree = grouped;
    return err;
}

static enum sf_err draw_text(const struct sf_profile_view *v, const struct sf_tree *lines,
                             struct sf_arena *req, struct sf_buf *out, struct sf_why *why)
{
    struct sf_flame_text f = {.tree = &v->tree,
                              .lines = lines,
                              .order = SF_TREE_BY_TOTAL,
                              .columns = COLUMNS,
                              .min_share = 0.01,
                              .has_no_marks = v->is_few || v->is_estimate || v->has_no_hot,
                              .is_estimate = v->is_estimate};
    struct sf_flame_text_rest rest = {0};
    enum sf_err err = sf_flame_text_render(&f, *req, out, &rest, why);
    if (!err && rest.n_hidden)
        sf_buf_print(out, "(%u frames below 1 %% are not drawn)\n", rest.n_hidden);
    if (!err && v->reason.len) {
        sf_units_prose(out, v->reason, 0, 0);
        sf_buf_add_u8(out, '\n');
    }
    return err;
}

static enum sf_err profile_form_write_pprof(const struct sf_profile_view *v, struct sf_arena *req,
                                            struct sf_buf *out, struct sf_why *why)
{
    struct sf_deflate *z = sf_deflate_new();
    struct sf_buf plain = {0};
    enum sf_err err = z ? sf_pprof_render(v, *req, &plain, why)
                        : sf_fail(why, SF_ERR_NOMEM, "no memory to compress");
    if (!err)
        err = sf_deflate_gzip(z, 6, sf_buf_bytes(&plain), out, why);
    sf_deflate_free(z);
    sf_buf_done(&plain);
    return err;
}

enum { AS_TEXT, AS_SVG, AS_JSON, AS_PPROF, AS_FOLDED, AS_SPEEDSCOPE, AS_OTLP };

static const struct sf_profile_form forms[] = {
    {"flamegraph", "text/plain; charset=utf-8", AS_TEXT, true, false},
    {"svg", "image/svg+xml", AS_SVG, true, false},
    {"json", "application/json", AS_JSON, false, false},
    {"pprof", "application/octet-stream", AS_PPROF, false, true},
    {"folded", "text/plain; charset=utf-8", AS_FOLDED, true, false},
    {"speedscope", "application/json", AS_SPEEDSCOPE, false, false},
    {"otlp", "application/x-protobuf", AS_OTLP, false, false},
};

enum sf_err sf_profile_form_find(sf_str name, bool is_page, const struct sf_profile_form **out,
                                 struct sf_why *why)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (sf_str_eq(sf_str_from(forms[i].name), name)) {
            *out = i == 0 && is_page ? &forms[1] : &forms[i];
            return SF_OK;
        }
    }
    return sf_fail(why, SF_ERR_INPUT,
                   "format=%.*s: flamegraph, svg, json, pprof, folded, speedscope or otlp",
                   SF_STR_ARG(sf_str_part(name, 0, 40)));
}

enum sf_err sf_profile_form_render(const struct sf_profile_form *form, struct sf_profile_view *v,
                                   struct sf_arena *req, struct sf_buf *out, struct sf_why *why)
{
    struct sf_tree sent = v->tree;
    enum sf_err err = form->is_grouped ? profile_form_group(v, req, why) : SF_OK;
    if (err)
        return err;
    switch (form->as) {
    case AS_TEXT:
        err = draw_text(v, &sent, req, out, why);
        if (!err)
            sf_unnamed_text(&sent, out);
        return err;
    case AS_SVG: return sf_flame_svg_render(v, *req, out, why);
    case AS_JSON: return sf_profile_json_render(v, out, why);
    case AS_PPROF: return profile_form_write_pprof(v, req, out, why);
    case AS_FOLDED: return sf_folded_render(v, *req, out, why);
    case AS_SPEEDSCOPE: return sf_speedscope_render(v, *req, out, why);
    case AS_OTLP: return sf_otlp_profile_render(v, *req, out, why);
    }
    return SF_OK;
}
