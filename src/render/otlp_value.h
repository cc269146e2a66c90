/* otlp_value.h - writes attributes in OTLP's protobuf and JSON. */
#pragma once
#include "base/buf.h"
#include "model/value.h"
#include "wire/json_write.h"

/* [{"key":"k","value":{…}}] */
void sf_otlp_value_attrs_json(struct sf_json_writer *w, struct sf_attrs attrs);
/* Each attribute as a KeyValue in `field`. */
void sf_otlp_value_attrs_pb(struct sf_buf *out, uint32_t field, struct sf_attrs attrs);
