#include "cli/querier_question.h"

#include <stdio.h>

#include "base/time_unit.h"
#include "cli/profile_source.h"
#include "os/clock.h"

enum sf_err sf_querier_question_begin(struct sf_querier_question *q, struct sf_arena *req,
                                      struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (q->until_ns == 0 &&
        !sf_profile_source_time_range(q->range, sf_clock_wall_ns(), &q->from_ns, &q->until_ns))
        return sf_profile_source_bad_range(q->range, why);
    if (q->selector)
        err = sf_label_selector_parse_loose(sf_str_from(q->selector), req, &q->labels, why);
    if (err)
        return err;
    q->w = sf_json_writer_init(&q->body);
    sf_json_write_object(&q->w);
    sf_json_write_key(&q->w, SF_STR("start"));
    sf_json_write_i64_text(&q->w, q->from_ns / SF_NS_PER_MS);
    sf_json_write_key(&q->w, SF_STR("end"));
    sf_json_write_i64_text(&q->w, q->until_ns / SF_NS_PER_MS);
    return SF_OK;
}

void sf_querier_question_selector(struct sf_querier_question *q, const char *key, bool is_list)
{
    struct sf_buf text = {0};
    sf_label_selector_render(&q->labels, &text);
    sf_json_write_key(&q->w, sf_str_from(key));
    if (is_list)
        sf_json_write_array(&q->w);
    sf_json_write_str(&q->w, sf_buf_str(&text));
    if (is_list)
        sf_json_write_array_end(&q->w);
    sf_buf_done(&text);
}

enum sf_err sf_querier_question_ask(struct sf_querier_question *q, const char *method,
                                    struct sf_buf *out, struct sf_why *why)
{
    char path[80];
    enum sf_err err;
    snprintf(path, sizeof(path), "/querier.v1.QuerierService/%s", method);
    sf_json_write_object_end(&q->w);
    err = sf_buf_ok(&q->body) ? sf_client_connect(q->client, path, sf_buf_str(&q->body), out, why)
                              : sf_no_memory(why, "the request");
    sf_buf_done(&q->body);
    return err;
}
