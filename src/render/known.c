/* known.c - what of an answer is known, and what is an estimate. */
#include "render/known.h"

static void write_time(struct sf_json_writer *w, sf_str key, int64_t ns)
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
        write_time(w, SF_STR("fromUnixNano"), k->from_ns);
        write_time(w, SF_STR("untilUnixNano"), k->to_ns);
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
