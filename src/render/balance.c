/* balance.c - which part of a service's samples is attributed to spans, and which is not, as
 * JSON. */
#include "render/balance.h"

#include "render/grades.h"

static void balance_write_time(struct sf_json_writer *w, sf_str key, int64_t ns)
{
    sf_json_write_key(w, key);
    sf_json_write_u64_text(w, ns > 0 ? (uint64_t)ns : 0);
}

static void balance_write_value(struct sf_json_writer *w, sf_str key, int64_t value)
{
    sf_json_write_key(w, key);
    sf_json_write_i64(w, value);
}

void sf_balance_json(const struct sf_balance *b, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("service"), b->service);
    sf_json_write_key_str(&w, SF_STR("instance"), b->instance);
    sf_json_write_key_str(&w, SF_STR("type"), b->type);
    sf_json_write_key_str(&w, SF_STR("unit"), b->unit);
    balance_write_time(&w, SF_STR("fromUnixNano"), b->from_ns);
    balance_write_time(&w, SF_STR("untilUnixNano"), b->until_ns);
    sf_json_write_key_u64(&w, SF_STR("spans"), b->n_spans);
    balance_write_value(&w, SF_STR("received"), b->received);
    sf_grades_json(&b->grades, &w);
    sf_json_write_key(&w, SF_STR("noSpan"));
    if (b->has_rest)
        sf_json_write_i64(&w, b->rest);
    else
        sf_json_write_null(&w);
    sf_json_write_key_str(&w, SF_STR("reason"), b->reason);
    if (b->is_part) {
        sf_json_write_key(&w, SF_STR("nextFromUnixNano"));
        if (b->next_ns > 0)
            sf_json_write_u64_text(&w, (uint64_t)b->next_ns);
        else
            sf_json_write_null(&w);
    }
    sf_json_write_object_end(&w);
}
