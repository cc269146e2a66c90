#include "render/otlp_trace.h"

#include "golden.h"
#include "trace_sample.h"
#include "wire/pb.h"

static const struct sf_span_batch nothing;

TEST(otlp_trace, in_v1_json_is_what_clients_read)
{
    struct sf_buf out = {0};
    sf_otlp_trace_json(&(struct sf_otlp_trace){.spans = &sample_batch}, &out);
    assert_golden("trace-v1.json", &out);
    sf_buf_done(&out);
}

TEST(otlp_trace, in_v2_json_says_when_it_is_partial)
{
    struct sf_buf out = {0};
    sf_otlp_trace_json(&(struct sf_otlp_trace){.spans = &sample_batch,
                                               .is_v2 = true,
                                               .partial = SF_STR("too large"),
                                               .inspected_len = 4096},
                       &out);
    assert_golden("trace-v2-partial.json", &out);
    sf_buf_done(&out);
}

TEST(otlp_trace, not_found_in_v2_still_has_its_trace)
{
    struct sf_buf out = {0};
    sf_otlp_trace_json(&(struct sf_otlp_trace){.spans = &nothing, .is_v2 = true}, &out);
    assert_str(sf_buf_str(&out), "{\"trace\":{},\"metrics\":{}}");
    sf_buf_reset(&out);
    sf_otlp_trace_pb(&(struct sf_otlp_trace){.spans = &nothing, .is_v2 = true}, &out);
    assert_int_equal(out.len, 4);
    assert_memory_equal(out.p, "\x0a\x00\x12\x00", 4);
    sf_buf_done(&out);
}

/* Finds the content of the first `field` of a message. */
static bool child(sf_bytes in, uint32_t field, sf_bytes *out)
{
    struct sf_pb pb = sf_pb_init(in);
    while (sf_pb_next(&pb)) {
        if (pb.field == field && (pb.tag & 7) == SF_PB_LEN) {
            *out = sf_pb_bytes(&pb);
            return true;
        }
        sf_pb_skip(&pb);
    }
    return false;
}

TEST(otlp_trace, in_protobuf_always_has_resource_scope_and_status)
{
    static const struct sf_resource bare_resource = {.service = {"unknown_service", 15}};
    static const struct sf_scope bare_scope;
    static const struct sf_span bare = {.span_id = 1};
    struct sf_span_batch batch = {&bare_resource, &bare_scope, &bare, 1, 1, 1};
    struct sf_buf out = {0};
    sf_bytes rs, resource, ss, scope, span, status, attr;
    sf_otlp_trace_pb(&(struct sf_otlp_trace){.spans = &batch}, &out);
    assert_true(sf_buf_ok(&out));
    assert_true(child(sf_buf_bytes(&out), 1, &rs));
    assert_true(child(rs, 1, &resource));
    assert_true(child(resource, 1, &attr)); /* clients examine the first attribute */
    assert_true(child(rs, 2, &ss));
    assert_true(child(ss, 1, &scope));
    assert_int_equal(scope.len, 0);
    assert_true(child(ss, 2, &span));
    assert_true(child(span, 15, &status));
    assert_int_equal(status.len, 0);
    sf_buf_done(&out);
}

TEST(otlp_trace, in_protobuf_is_what_was_agreed)
{
    struct sf_buf out = {0};
    sf_otlp_trace_pb(&(struct sf_otlp_trace){.spans = &sample_batch}, &out);
    assert_golden("trace-v1.pb", &out);
    sf_buf_done(&out);
}

TEST(otlp_trace, groups_spans_of_one_resource_and_scope)
{
    struct sf_span spans[] = {
        {.span_id = 1}, {.span_id = 2}, {.span_id = 3, .scope = 1}, {.span_id = 4, .resource = 1}};
    struct sf_span_batch batch = {sample_resources, sample_scopes, spans, 2, 2, 4};
    struct sf_buf out = {0};
    sf_otlp_trace_pb(&(struct sf_otlp_trace){.spans = &batch}, &out);
    struct sf_pb top = sf_pb_init(sf_buf_bytes(&out));
    int n_resources = 0, n_scopes = 0;
    while (sf_pb_next(&top)) {
        struct sf_pb rs = sf_pb_msg(&top);
        n_resources++;
        while (sf_pb_next(&rs)) {
            n_scopes += rs.field == 2;
            sf_pb_skip(&rs);
        }
    }
    assert_int_equal(n_resources, 2);
    assert_int_equal(n_scopes, 3);
    sf_buf_done(&out);
}

TEST(otlp_trace, keeps_a_fault_of_the_buffer)
{
    struct sf_buf out = {.max = 64};
    sf_otlp_trace_json(&(struct sf_otlp_trace){.spans = &sample_batch}, &out);
    assert_int_equal(out.err, SF_ERR_LIMIT);
    sf_buf_done(&out);
}
