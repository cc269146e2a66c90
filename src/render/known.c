/* known.c - which part of an answer is certain, and which is an estimate. */
#include "render/known.h"

#include <math.h>

#include "flame/tree_under.h"
#include "render/units.h"

static void known_write_time(struct sf_json_writer *w, sf_str key, int64_t ns)
{
    sf_json_write_key(w, key);
    sf_json_write_u64_text(w, ns > 0 ? (uint64_t)ns : 0);
}

static void write_level(const struct sf_known_view *k, struct sf_json_writer *w)
{
    char id[17];
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("service"), k->service);
    if (k->span != 0) {
        sf_span_id_render(k->span, id);
        sf_json_write_key_str(w, SF_STR("spanId"), sf_str_from(id));
        sf_json_write_key_str(w, SF_STR("name"), k->name);
    } else {
        known_write_time(w, SF_STR("fromUnixNano"), k->from_ns);
        known_write_time(w, SF_STR("untilUnixNano"), k->to_ns);
    }
    sf_json_write_key_str(w, SF_STR("command"), k->command);
    sf_json_write_object_end(w);
}

void sf_known_json(const struct sf_known_view *k, struct sf_json_writer *w)
{
    sf_json_write_key(w, SF_STR("isEstimate"));
    sf_json_write_bool(w, k->n_estimated > 0);
    sf_json_write_key(w, SF_STR("known"));
    sf_json_write_object(w);
    sf_json_write_key_u64(w, SF_STR("samples"), k->n_samples);
    sf_json_write_key_u64(w, SF_STR("estimatedSamples"), k->n_estimated);
    sf_json_write_key(w, SF_STR("value"));
    sf_json_write_i64(w, k->value);
    if (k->n_estimated > 0 && k->command.len > 0) {
        sf_json_write_key(w, SF_STR("of"));
        write_level(k, w);
    }
    sf_json_write_object_end(w);
}

static double known_taken_of(const struct sf_profile_view *v, int64_t value)
{
    double whole = (double)v->tree.total;
    return whole != 0 ? round(v->taken * (double)value / whole) : 0;
}

void sf_known_amount(struct sf_buf *out, const struct sf_profile_view *v, int64_t value)
{
    double n = known_taken_of(v, value);
    sf_buf_add_str(out, v->is_estimate ? SF_STR(SF_ESTIMATE_MARK) : SF_STR_NONE);
    if (v->is_few)
        sf_buf_print(out, "%.0f sample%s", n, n > 0.5 && n < 1.5 ? "" : "s");
    else
        sf_units_amount(out, value, v->tree.unit);
}

void sf_known_few(struct sf_buf *out, const struct sf_profile_view *v)
{
    sf_buf_print(out, "few samples: %.0f, too few for times and shares", v->taken);
}

enum sf_err sf_known_tree(const struct sf_profile_view *v, struct sf_arena *req,
                          struct sf_tree *out, struct sf_why *why)
{
    if (v->is_estimate && v->tree.total != 0)
        return sf_tree_under(&v->tree, SF_STR(SF_ESTIMATE_FRAME), req, out, why);
    *out = v->tree;
    return SF_OK;
}
