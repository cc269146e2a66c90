#include "render/inspected.h"

#include "wire/pb_write.h"

void sf_inspected_json(struct sf_json_writer *w, struct sf_inspected x)
{
    sf_json_write_key(w, SF_STR("metrics"));
    sf_json_write_object(w);
    if (x.n_traces)
        sf_json_write_key_u64(w, SF_STR("inspectedTraces"), x.n_traces);
    sf_json_write_key(w, SF_STR("inspectedBytes"));
    sf_json_write_u64_text(w, x.read_len);
    sf_json_write_key(w, SF_STR("inspectedSpans"));
    sf_json_write_u64_text(w, x.n_spans);
    if (x.n_blocks)
        sf_json_write_key_u64(w, SF_STR("totalBlocks"), x.n_blocks);
    if (!x.is_unfinished)
        sf_json_write_key_u64(w, SF_STR("completedJobs"), 1);
    sf_json_write_key_u64(w, SF_STR("totalJobs"), 1);
    sf_json_write_object_end(w);
}

void sf_inspected_pb(struct sf_buf *out, struct sf_inspected x)
{
    size_t mark = sf_pb_write_begin(out, 2);
    sf_pb_write_u64(out, 1, x.n_traces);
    sf_pb_write_u64(out, 2, x.read_len);
    sf_pb_write_u64(out, 3, x.n_blocks);
    sf_pb_write_u64(out, 4, x.is_unfinished ? 0 : 1);
    sf_pb_write_u64(out, 5, 1);
    sf_pb_write_u64(out, 7, x.n_spans);
    sf_pb_write_end(out, mark);
}
