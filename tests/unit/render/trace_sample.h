/* trace_sample.h - a small trace with one of everything, for golden answers. */
#pragma once
#include "model/span.h"

/* [true, -7] as the content of an ArrayValue; {"k": 0.5} as that of a KeyValueList. */
static const char sample_array[] =
    "\x0a\x02\x10\x01\x0a\x0b\x18\xf9\xff\xff\xff\xff\xff\xff\xff\xff\x01";
static const char sample_map[] = "\x0a\x0e\x0a\x01k\x12\x09\x21\0\0\0\0\0\0\xe0\x3f";

static const struct sf_attr sample_attrs[] = {
    {{"s", 1}, {SF_VALUE_STR, {.str = {"caf\xc3\xa9 \"q\"", 9}}}},
    {{"b", 1}, {SF_VALUE_BOOL, {.is_true = false}}},
    {{"i", 1}, {SF_VALUE_INT, {.i64 = -9007199254740993}}},
    {{"d", 1}, {SF_VALUE_DOUBLE, {.f64 = 1.5}}},
    {{"y", 1}, {SF_VALUE_BYTES, {.str = {"\x00\xff", 2}}}},
    {{"a", 1}, {SF_VALUE_ARRAY, {.str = {sample_array, sizeof(sample_array) - 1}}}},
    {{"m", 1}, {SF_VALUE_KVLIST, {.str = {sample_map, sizeof(sample_map) - 1}}}},
    {{"e", 1}, {.type = SF_VALUE_EMPTY}},
};
static const struct sf_attr sample_resource_attrs[] = {
    {{"service.name", 12}, {SF_VALUE_STR, {.str = {"web", 3}}}}};
static const struct sf_resource sample_resources[] = {
    {.attrs = {sample_resource_attrs, 1}, .service = {"web", 3}, .schema_url = {"urn:x", 5}},
    {.service = {"unknown_service", 15}}};
static const struct sf_scope sample_scopes[] = {{.name = {"lib", 3}, .version = {"1.0", 3}},
                                                {.name = {"", 0}}};
static const struct sf_event sample_events[] = {
    {.time_ns = 1700000000000000500, .name = {"retry", 5}, .attrs = {sample_attrs, 1}}};
static const struct sf_link sample_links[] = {
    {.trace_id = {{9}}, .span_id = 10, .trace_state = {"a=b", 3}, .flags = 1}};
static const struct sf_span sample_spans[] = {
    {.trace_id = {{0x5b, 0x8e, 15}},
     .span_id = 0xeee19b7ec3c1b174,
     .name = {"GET /", 5},
     .kind = SF_KIND_SERVER,
     .status = SF_STATUS_ERROR,
     .status_msg = {"boom", 4},
     .start_ns = 1700000000000000000,
     .end_ns = 1700000000000002000,
     .attrs = {sample_attrs, 8},
     .events = sample_events,
     .n_events = 1,
     .links = sample_links,
     .n_links = 1,
     .flags = 0x101,
     .dropped_attrs = 3,
     .trace_state = {"t=u", 3}},
    {.trace_id = {{0x5b, 0x8e, 15}},
     .span_id = 2,
     .parent_id = 0xeee19b7ec3c1b174,
     .resource = 1,
     .scope = 1,
     .start_ns = 1700000000000000500,
     .end_ns = 1700000000000001500},
};
static const struct sf_span_batch sample_batch = {
    sample_resources, sample_scopes, sample_spans, 2, 2, 2};
