/* trace_flame.c - a whole request as one flame graph, as JSON. */
#include "render/trace_flame.h"

#include <math.h>

#include "render/clocks.h"
#include "render/grades.h"
#include "render/keep_state.h"
#include "render/known.h"
#include "render/profile_json.h"
#include "render/units.h"

enum sf_err sf_trace_flame_json(const struct sf_trace_flame_view *v, struct sf_buf *out,
                                struct sf_why *why)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    char trace[33];
    sf_trace_id_render(v->trace, trace);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("traceId"), sf_str_from(trace));
    sf_json_write_key_str(&w, SF_STR("by"), sf_str_from(v->by));
    sf_json_write_key_u64(&w, SF_STR("spans"), v->n_spans);
    sf_json_write_key_u64(&w, SF_STR("sampledSpans"), v->n_sampled);
    sf_json_write_key_u64(&w, SF_STR("samples"), v->n_samples);
    sf_json_write_key(&w, SF_STR("looks"));
    sf_json_write_f64(&w, v->view.taken);
    sf_json_write_key_str(&w, SF_STR("trust"), sf_str_from(v->trust));
    sf_grades_json(&v->grades, &w);
    sf_known_json(&v->known, &w);
    sf_json_write_key(&w, SF_STR("isPartial"));
    sf_json_write_bool(&w, v->is_partial);
    sf_json_write_key_str(&w, SF_STR("reason"), v->reason);
    sf_keep_state_json(&v->keep, &w);
    sf_clocks_json(&v->clocks, &w);
    sf_json_write_key(&w, SF_STR("types"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < v->n_types; i++)
        sf_json_write_str(&w, v->types[i]);
    sf_json_write_array_end(&w);
    sf_json_write_key(&w, SF_STR("profile"));
    sf_profile_json_write(&v->view, &w);
    sf_json_write_object_end(&w);
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "profile: no memory for the answer");
}

void sf_trace_flame_words(const struct sf_trace_flame_view *v, struct sf_buf *out)
{
    char trace[33];
    sf_trace_id_render(v->trace, trace);
    sf_buf_print(out, "trace %s by %s: ", trace, v->by);
    if (v->view.is_few)
        sf_known_few(out, &v->view);
    else
        sf_units_amount(out, v->view.tree.total, v->view.tree.unit);
    double taken = fmax(v->view.taken, (double)v->n_samples);
    sf_buf_print(out, ", %u of %u spans have samples (%.0f", v->n_sampled, v->n_spans, taken);
    sf_grades_words(&v->grades, taken, out);
    if (v->view.is_estimate)
        sf_buf_print(out, "; " SF_ESTIMATE_MARK " estimate, %.0f known)\n",
                     sf_grades_taken(&v->grades, taken, v->known.value, v->known.n_samples));
    else
        sf_buf_print(out, "; %s)\n", sf_grades_trust(v->trust));
    if (v->reason.len > 0) {
        sf_units_prose(out, v->reason, 0, 0);
        sf_buf_add_u8(out, '\n');
    }
    sf_clocks_words(&v->clocks, out);
}
