#include "render/services_json.h"

#include "wire/json_write.h"

static void stats(struct sf_json_writer *w, const char *count_key, const struct sf_span_stats *c,
                  double seconds)
{
    sf_json_write_key_u64(w, sf_str_from(count_key), c->n);
    sf_json_write_key_u64(w, SF_STR("errors"), c->n_errors);
    sf_json_write_key(w, SF_STR("ratePerSecond"));
    sf_json_write_f64(w, (double)c->n / seconds);
    sf_json_write_key(w, SF_STR("errorShare"));
    sf_json_write_f64(w, c->n ? (double)c->n_errors / (double)c->n : 0);
    sf_json_write_key_u64(w, SF_STR("meanNs"), c->mean_ns);
    sf_json_write_key_u64(w, SF_STR("p50Ns"), c->p50_ns);
    sf_json_write_key_u64(w, SF_STR("p95Ns"), c->p95_ns);
    sf_json_write_key_u64(w, SF_STR("p99Ns"), c->p99_ns);
}

/* Figures of all spans are written next to the name, those of requests in an object of their
 * own. */
static void numbers(struct sf_json_writer *w, sf_str key, const struct sf_call_stats *c,
                    double seconds)
{
    sf_json_write_key_str(w, key, c->name);
    stats(w, "spans", &c->spans, seconds);
    sf_json_write_key(w, SF_STR("requests"));
    sf_json_write_object(w);
    stats(w, "count", &c->requests, seconds);
    sf_json_write_object_end(w);
}

static void service(struct sf_json_writer *w, const struct sf_service_stats *s, double seconds)
{
    sf_json_write_object(w);
    numbers(w, SF_STR("service"), &s->sum, seconds);
    sf_json_write_key(w, SF_STR("operations"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < s->n_operations; i++) {
        sf_json_write_object(w);
        numbers(w, SF_STR("operation"), &s->operations[i], seconds);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
    sf_json_write_object_end(w);
}

void sf_services_json(const struct sf_services *s, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    double seconds = s->until_ns > s->from_ns ? (double)(s->until_ns - s->from_ns) / 1e9 : 1;
    sf_json_write_object(&w);
    sf_json_write_key(&w, SF_STR("fromUnixNano"));
    sf_json_write_i64_text(&w, s->from_ns);
    sf_json_write_key(&w, SF_STR("untilUnixNano"));
    sf_json_write_i64_text(&w, s->until_ns);
    sf_json_write_key(&w, SF_STR("isExact"));
    sf_json_write_bool(&w, s->is_exact);
    sf_json_write_key(&w, SF_STR("isQuantileEstimate")); /* they come from sketches */
    sf_json_write_bool(&w, true);
    sf_json_write_key(&w, SF_STR("services"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < s->n; i++)
        service(&w, &s->list[i], seconds);
    sf_json_write_array_end(&w);
    sf_json_write_object_end(&w);
}
