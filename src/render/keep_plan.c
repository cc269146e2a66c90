#include "render/keep_plan.h"

#include <inttypes.h>

#include "base/text.h"
#include "render/units.h"
#include "wire/json_write.h"

static const char *const names[SF_KEEP_ROWS] = {"errors", "slow",    "unusual",
                                                "cpu",    "flagged", "baseline"};

static void write_count(struct sf_json_writer *w, const struct sf_keep_count *c)
{
    sf_json_write_key_u64(w, SF_STR("traces"), c->n_traces);
    sf_json_write_key_u64(w, SF_STR("samples"), c->n_samples);
    sf_json_write_key_u64(w, SF_STR("bytesEstimate"), c->n_samples * SF_KEEP_BYTES_PER_SAMPLE);
}

static void keep_plan_write_rule(struct sf_json_writer *w, const struct sf_keep_rule *r)
{
    sf_json_write_key(w, SF_STR("rules"));
    sf_json_write_object(w);
    sf_json_write_key_u64(w, SF_STR("slowNs"), (uint64_t)r->slow_ns);
    sf_json_write_key_u64(w, SF_STR("cpuPercent"), r->cpu_percent);
    sf_json_write_key(w, SF_STR("errors"));
    sf_json_write_bool(w, r->has_errors);
    sf_json_write_key(w, SF_STR("baselinePercent"));
    sf_json_write_f64(w, r->baseline_per_10000 / 100.0);
    sf_json_write_object_end(w);
}

void sf_keep_plan_json(const struct sf_keep_plan *p, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key(&w, SF_STR("fromUnixNano"));
    sf_json_write_u64_text(&w, (uint64_t)p->from_ns);
    sf_json_write_key(&w, SF_STR("untilUnixNano"));
    sf_json_write_u64_text(&w, (uint64_t)p->until_ns);
    keep_plan_write_rule(&w, &p->rule);
    sf_json_write_key(&w, SF_STR("isDryRun"));
    sf_json_write_bool(&w, true);
    sf_json_write_key_u64(&w, SF_STR("spans"), p->n_spans);
    sf_json_write_key(&w, SF_STR("all"));
    sf_json_write_object(&w);
    write_count(&w, &p->all);
    sf_json_write_object_end(&w);
    sf_json_write_key(&w, SF_STR("kept"));
    sf_json_write_object(&w);
    write_count(&w, &p->kept);
    sf_json_write_object_end(&w);
    sf_json_write_key(&w, SF_STR("by"));
    sf_json_write_array(&w);
    for (int i = 0; i < SF_KEEP_ROWS; i++) {
        sf_json_write_object(&w);
        sf_json_write_key_str(&w, SF_STR("rule"), sf_str_from(names[i]));
        write_count(&w, &p->by[i]);
        sf_json_write_key(&w, SF_STR("alone"));
        sf_json_write_object(&w);
        write_count(&w, &p->alone[i]);
        sf_json_write_object_end(&w);
        sf_json_write_object_end(&w);
    }
    sf_json_write_array_end(&w);
    sf_json_write_key(&w, SF_STR("isPartial"));
    sf_json_write_bool(&w, p->reason.len > 0);
    sf_json_write_key_str(&w, SF_STR("reason"), p->reason);
    sf_json_write_object_end(&w);
}

static void keep_plan_add_cell(struct sf_buf *out, struct sf_buf *cell, size_t columns)
{
    size_t width = sf_utf8_width(sf_buf_str(cell));
    sf_units_pad(out, width < columns ? columns - width : 1);
    sf_buf_add_str(out, sf_buf_str(cell));
    sf_buf_reset(cell);
}

static void keep_plan_add_line(struct sf_buf *out, const char *name, const struct sf_keep_count *c,
                               const struct sf_keep_count *all, const struct sf_keep_count *alone)
{
    struct sf_buf cell = {0};
    sf_buf_print(out, "%-10s", name);
    sf_units_count(&cell, c->n_traces);
    keep_plan_add_cell(out, &cell, 10);
    sf_units_percent(&cell, all->n_traces ? (double)c->n_traces / (double)all->n_traces : 0);
    keep_plan_add_cell(out, &cell, 9);
    sf_units_count(&cell, c->n_samples);
    keep_plan_add_cell(out, &cell, 11);
    sf_buf_add_u8(&cell, '~');
    sf_units_bytes(&cell, c->n_samples * SF_KEEP_BYTES_PER_SAMPLE);
    keep_plan_add_cell(out, &cell, 11);
    if (alone)
        sf_units_count(&cell, alone->n_traces);
    if (alone)
        keep_plan_add_cell(out, &cell, 13);
    sf_buf_add_u8(out, '\n');
    sf_buf_done(&cell);
}

void sf_keep_plan_text(const struct sf_keep_plan *p, struct sf_buf *out)
{
    sf_buf_print(out, "%-10s%10s%9s%11s%11s%13s\n", "rule", "traces", "", "samples", "bytes",
                 "by it alone");
    for (int i = 0; i < SF_KEEP_ROWS; i++)
        keep_plan_add_line(out, names[i], &p->by[i], &p->all, &p->alone[i]);
    keep_plan_add_line(out, "kept", &p->kept, &p->all, NULL);
    keep_plan_add_line(out, "all", &p->all, &p->all, NULL);
    sf_buf_add_str(
        out, SF_STR("Nothing was removed. Samples are those that name a span, and bytes what they "
                    "take after retention.tail_delay.\n"));
    if (p->reason.len > 0) {
        sf_units_prose(out, p->reason, 0, 0);
        sf_buf_add_u8(out, '\n');
    }
}
