/* clocks.c - corrections of clocks that contradict each other. */
#include "render/clocks.h"

#include "render/units.h"

enum { NAME = 40 }; /* columns */

void sf_clocks_json(const struct sf_clocks_view *v, struct sf_json_writer *w)
{
    sf_json_write_key(w, SF_STR("clocks"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < v->n_rows; i++) {
        const struct sf_clock_row *r = &v->rows[i];
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("service"), r->service);
        sf_json_write_key_str(w, SF_STR("caller"), r->caller);
        sf_json_write_key_u64(w, SF_STR("calls"), r->n_calls);
        sf_json_write_key(w, SF_STR("offsetNs"));
        sf_json_write_i64(w, r->offset_ns);
        sf_json_write_key(w, SF_STR("slackNs"));
        if (r->slack_ns < 0)
            sf_json_write_null(w);
        else
            sf_json_write_i64(w, r->slack_ns);
        sf_json_write_key(w, SF_STR("isContradictory"));
        sf_json_write_bool(w, r->is_contradictory);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
    if (v->n_more > 0)
        sf_json_write_key_u64(w, SF_STR("moreClocks"), v->n_more);
}

static void clocks_add_row(const struct sf_clock_row *r, struct sf_buf *out)
{
    bool is_ahead = r->offset_ns > 0;
    uint64_t size_ns = (uint64_t)(is_ahead ? r->offset_ns : -r->offset_ns);
    if (r->is_contradictory) {
        sf_buf_add_str(out, SF_STR("clocks of "));
        sf_units_text(out, r->service, NAME);
        sf_buf_add_str(out, SF_STR(" and "));
        sf_units_text(out, r->caller, NAME);
        sf_buf_print(out,
                     " contradict each other: no one difference fits their calls, %llu moved one "
                     "by one\n",
                     (unsigned long long)r->n_calls);
        return;
    }
    sf_buf_add_str(out, SF_STR("clocks corrected: "));
    sf_units_text(out, r->service, NAME);
    sf_buf_add_str(out, r->slack_ns < 0 ? SF_STR(" is at least ") : SF_STR(" is "));
    sf_units_duration(out, size_ns);
    sf_buf_add_str(out, is_ahead ? SF_STR(" ahead of ") : SF_STR(" behind "));
    sf_units_text(out, r->caller, NAME);
    if (r->slack_ns > 0) {
        sf_buf_add_str(out, SF_STR(", to within "));
        sf_units_duration(out, (uint64_t)r->slack_ns);
    }
    sf_buf_print(out, " (%llu call%s)\n", (unsigned long long)r->n_calls,
                 r->n_calls == 1 ? "" : "s");
}

void sf_clocks_words(const struct sf_clocks_view *v, struct sf_buf *out)
{
    for (uint32_t i = 0; i < v->n_rows; i++)
        clocks_add_row(&v->rows[i], out);
    if (v->n_more > 0)
        sf_buf_print(out, "... and %u more calls between hosts whose clocks were corrected\n",
                     v->n_more);
}
