#include "test.h"

#include "wire/pb.h"

#define PB(...) \
    sf_pb_init((sf_bytes){(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})})

static void assert_fault(struct sf_pb pb, const char *fault, size_t off)
{
    while (sf_pb_next(&pb))
        sf_pb_skip(&pb);
    assert_false(sf_pb_ok(&pb));
    assert_non_null(strstr(pb.fault, fault));
    assert_int_equal(pb.fault_off, off);
}

TEST(pb, reads_each_wire_type)
{
    struct sf_pb pb = PB(0x08, 0x96, 0x01, 0x11, 1, 0, 0, 0, 0, 0, 0, 0x80, 0x1a, 3, 'a', 'b', 'c',
                         0x25, 7, 0, 0, 0);
    assert_true(sf_pb_next(&pb));
    assert_int_equal(pb.tag, SF_PB_TAG(1, SF_PB_VARINT));
    assert_int_equal(sf_pb_u64(&pb), 150);
    assert_true(sf_pb_next(&pb));
    assert_true(sf_pb_fixed64(&pb) == 0x8000000000000001u);
    assert_true(sf_pb_next(&pb));
    assert_int_equal(pb.field, 3);
    assert_str(sf_pb_str(&pb), "abc");
    assert_true(sf_pb_next(&pb));
    assert_int_equal(sf_pb_fixed32(&pb), 7);
    assert_false(sf_pb_next(&pb));
    assert_true(sf_pb_ok(&pb));
}

TEST(pb, takes_negative_and_padded_numbers)
{
    struct sf_pb pb = PB(0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, /* -1 */
                         0x10, 0x85, 0x80, 0x80, 0x80, 0x00,                               /* 5 */
                         0x1a, 0x81, 0x80, 0x00, 'x', /* a length padded to three bytes */
                         0x20, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00);
    assert_true(sf_pb_next(&pb));
    assert_int_equal(sf_pb_i64(&pb), -1);
    assert_true(sf_pb_next(&pb));
    assert_int_equal(sf_pb_u64(&pb), 5);
    assert_true(sf_pb_next(&pb));
    assert_str(sf_pb_str(&pb), "x");
    assert_true(sf_pb_next(&pb));
    assert_int_equal(sf_pb_u64(&pb), 1);
    assert_false(sf_pb_next(&pb));
    assert_true(sf_pb_ok(&pb));
}

TEST(pb, refuses_numbers_over_64_bits)
{
    assert_fault(PB(0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02), "64 bits",
                 1);
    assert_fault(PB(0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00),
                 "64 bits", 1);
}

TEST(pb, refuses_what_is_cut_off)
{
    assert_fault(PB(0x08), "cut off", 1);
    assert_fault(PB(0x08, 0x80), "cut off", 1);
    assert_fault(PB(0x80), "cut off", 0);
    assert_fault(PB(0x09, 1, 2, 3, 4, 5, 6, 7), "cut off", 1);
    assert_fault(PB(0x0d, 1, 2, 3), "cut off", 1);
    assert_fault(PB(0x0a, 2, 'a'), "past the end", 1);
    assert_fault(PB(0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
                 "past the end", 1);
}

TEST(pb, refuses_bad_tags_and_groups)
{
    assert_fault(PB(0x08, 0, 0x00, 0), "field number 0", 2);
    assert_fault(PB(0x02, 0), "field number 0", 0);
    assert_fault(PB(0x0b, 0x0c), "group", 0);
    assert_fault(PB(0x0c), "group", 0);
    assert_fault(PB(0x0e, 0), "wire type", 0);
    assert_fault(PB(0x88, 0x80, 0x80, 0x80, 0x10, 0), "too large", 0);
}

TEST(pb, skips_a_known_field_of_another_wire_type)
{
    struct sf_pb pb = PB(0x0a, 1, 'x', 0x08, 9);
    assert_true(sf_pb_next(&pb));
    assert_int_equal(sf_pb_u64(&pb), 0);
    assert_true(sf_pb_next(&pb));
    assert_int_equal(sf_pb_str(&pb).len, 0);
    assert_false(sf_pb_next(&pb));
    assert_true(sf_pb_ok(&pb));
}

TEST(pb, names_a_childs_fault_by_its_place_in_the_body)
{
    struct sf_pb pb = PB(0x08, 1, 0x12, 4, 0x0a, 2, 0x08, 0x80, 0x08, 1);
    struct sf_pb child, grandchild;
    struct sf_why why;
    assert_true(sf_pb_next(&pb));
    sf_pb_skip(&pb);
    assert_true(sf_pb_next(&pb));
    child = sf_pb_msg(&pb);
    assert_true(sf_pb_next(&child));
    grandchild = sf_pb_msg(&child);
    assert_true(sf_pb_next(&grandchild));
    sf_pb_u64(&grandchild);
    assert_false(sf_pb_join(&child, &grandchild));
    assert_false(sf_pb_join(&pb, &child));
    assert_false(sf_pb_next(&pb));
    assert_err(sf_pb_why(&pb, "body", &why), SF_ERR_INPUT);
    assert_string_equal(why.text, "body: a number is cut off at byte 7");
}

TEST(pb, reads_repeated_scalars_packed_or_not)
{
    struct sf_pb pb = PB(0x08, 1, 0x0a, 3, 2, 0x96, 0x01, 0x08, 4, 0x0a, 0);
    uint64_t got[8], v;
    size_t n = 0;
    while (sf_pb_next(&pb)) {
        struct sf_pb run = sf_pb_run(&pb);
        while (sf_pb_run_varint(&run, &v))
            got[n++] = v;
        assert_true(sf_pb_join(&pb, &run));
    }
    assert_int_equal(n, 4);
    assert_int_equal(got[0], 1);
    assert_int_equal(got[2], 150);
    assert_int_equal(got[3], 4);

    pb = PB(0x0a, 9, 1, 0, 0, 0, 0, 0, 0, 0, 5);
    assert_true(sf_pb_next(&pb));
    struct sf_pb run = sf_pb_run(&pb);
    assert_true(sf_pb_run_fixed64(&run, &v));
    assert_int_equal(v, 1);
    assert_false(sf_pb_run_fixed64(&run, &v));
    assert_false(sf_pb_join(&pb, &run));
    assert_int_equal(pb.fault_off, 10);
}

TEST(pb, an_empty_body_has_no_fields)
{
    struct sf_pb pb = sf_pb_init(SF_BYTES_NONE);
    assert_false(sf_pb_next(&pb));
    assert_true(sf_pb_ok(&pb));
}
