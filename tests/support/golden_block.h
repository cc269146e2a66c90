/* golden_block.h - a block that says its content in the code: what the golden file must keep
 * saying, and what the fuzz targets of single sections put their bytes into. */
#pragma once
#include <stdlib.h>

#include "block/span/span_block_writer.h"

static inline void golden_ok(enum sf_err err)
{
    if (err)
        abort();
}

static inline struct sf_buf golden_block(bool is_compressed)
{
    struct sf_span_block_options o = {.info = {.block_id = 0x1122334455667788,
                                               .level = 1,
                                               .tenant = 7,
                                               .store_uuid = {1, 2, 3, 4},
                                               .lsn_lo = 100,
                                               .lsn_hi = 200,
                                               .created_ns = 1700000001000000000,
                                               .flush_no = 5,
                                               .n_siblings = 2,
                                               .sibling = 1},
                                      .is_compressed = is_compressed,
                                      .dup_hashes = (const uint64_t[]){11, 12},
                                      .n_dup_hashes = 2,
                                      .source_ids = (const uint64_t[]){21},
                                      .n_source_ids = 1};
    struct sf_attr res_attrs[] = {
        {SF_STR("service.name"), {.type = SF_VALUE_STR, .str = SF_STR("shop")}},
        {SF_STR("host.cpus"), {.type = SF_VALUE_INT, .i64 = 8}}};
    struct sf_resource res = {.attrs = {res_attrs, 2}, .service = SF_STR("shop")};
    struct sf_scope scope = {.name = SF_STR("lib"), .version = SF_STR("1.2")};
    struct sf_attr event_attr = {SF_STR("exception.type"),
                                 {.type = SF_VALUE_STR, .str = SF_STR("IOError")}};
    struct sf_event event = {
        .time_ns = 1700000000000500000, .name = SF_STR("exception"), .attrs = {&event_attr, 1}};
    struct sf_link link = {.trace_id = {{9}}, .span_id = 99, .trace_state = SF_STR("a=b")};
    struct sf_span_block_writer *w;
    struct sf_buf memory = {0};
    struct sf_why why;
    uint64_t len;
    uint32_t code;

    golden_ok(sf_span_block_writer_new(&o, &w, &why));
    golden_ok(sf_span_block_writer_resource(w, 7, &res, &code, &why));
    golden_ok(sf_span_block_writer_scope(w, 7, &scope, &code, &why));
    for (uint32_t i = 0; i < 20; i++) {
        struct sf_attr attrs[] = {
            {SF_STR("http.method"),
             {.type = SF_VALUE_STR, .str = i % 3 ? SF_STR("GET") : SF_STR("POST")}},
            {SF_STR("http.status_code"), {.type = SF_VALUE_INT, .i64 = 200 + i % 2 * 300}},
            {SF_STR("ratio"), {.type = SF_VALUE_DOUBLE, .f64 = i * 0.25}},
            {SF_STR("ok"), {.type = SF_VALUE_BOOL, .is_true = i % 2}},
            {SF_STR("none"), {.type = SF_VALUE_EMPTY}},
            {SF_STR("list"), {.type = SF_VALUE_ARRAY, .str = SF_STR("\x0a\x03\x0a\x01x")}},
            {SF_STR("http.method"), {.type = SF_VALUE_STR, .str = SF_STR("again")}}};
        struct sf_span s = {.span_id = 1000 + i,
                            .parent_id = i % 5 ? 1000 + i / 5 * 5 : 0,
                            .start_ns = 1700000000000000000 + i * 1000,
                            .end_ns = 1700000000001000000 + i * 2000,
                            .name = i % 2 ? SF_STR("odd") : SF_STR("even"),
                            .kind = SF_KIND_SERVER,
                            .status = i == 7 ? SF_STATUS_ERROR : SF_STATUS_OK,
                            .status_msg = i == 7 ? SF_STR("broken") : SF_STR_NONE,
                            .attrs = {attrs, i % 4 ? 7 : 3},
                            .events = i == 7 ? &event : NULL,
                            .n_events = i == 7,
                            .links = i == 8 ? &link : NULL,
                            .n_links = i == 8};
        int64_t index = (int64_t)s.start_ns;
        s.trace_id.b[15] = (uint8_t)(1 + i / 5);
        golden_ok(sf_span_block_writer_trace(w, 7, &s, &index, 1, &why));
    }
    golden_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    sf_span_block_writer_free(w);
    return memory;
}
