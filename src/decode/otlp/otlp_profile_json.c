/* Converts OTLP profiles in JSON to protobuf, so that only one decoder is needed. The schema is a
 * table; keys are accepted in camelCase and in snake_case; unknown keys are skipped, as are
 * attribute types that profiles do not use. */
#include "base/text.h"
#include "decode/otlp/otlp_profile.h"
#include "wire/json.h"
#include "wire/pb_write.h"

enum kind { INT, UINT, FIXED, TRUTH, DOUBLE, TEXT, HEX, BASE64, ID, MSG, INTS, FIXEDS, MSGS };

enum message {
    ANY,
    ARRAY,
    KVLIST,
    KEY_VALUE,
    ATTRIBUTE,
    RESOURCE,
    SCOPE,
    VALUE_TYPE,
    LINE,
    FUNCTION,
    LINK,
    MAPPING,
    STACK,
    LOCATION, /* from here on versions differ */
    OLD_LOCATION,
    SAMPLE,
    OLD_SAMPLE,
    PROFILE,
    PROFILE_1_7,
    PROFILE_1_4,
    SCOPE_PROFILES,
    SCOPE_PROFILES_1_7,
    SCOPE_PROFILES_1_4,
    RESOURCE_PROFILES,
    RESOURCE_PROFILES_1_7,
    RESOURCE_PROFILES_1_4,
    DICTIONARY,
    DICTIONARY_1_7,
    REQUEST,
    REQUEST_1_7,
    REQUEST_1_4,
    MESSAGES
};

struct field {
    enum message in;
    sf_str camel, snake; /* snake empty: the same */
    uint32_t number;
    enum kind kind;
    enum message of; /* MSG, MSGS */
};

#define F(in, camel, snake, number, kind)                                             \
    {                                                                                 \
        in, {camel, sizeof(camel) - 1}, {snake, sizeof(snake) - 1}, number, kind, ANY \
    }
#define M(in, camel, snake, number, kind, of)                                        \
    {                                                                                \
        in, {camel, sizeof(camel) - 1}, {snake, sizeof(snake) - 1}, number, kind, of \
    }
/* For all versions from 1.8 on, written with the numbers of 1.10; fields that were renamed are
 * listed twice. */
static const struct field fields[] = {
    F(ANY, "stringValue", "string_value", 1, TEXT),
    F(ANY, "boolValue", "bool_value", 2, TRUTH),
    F(ANY, "intValue", "int_value", 3, INT),
    F(ANY, "doubleValue", "double_value", 4, DOUBLE),
    M(ANY, "arrayValue", "array_value", 5, MSG, ARRAY),
    M(ANY, "kvlistValue", "kvlist_value", 6, MSG, KVLIST),
    F(ANY, "bytesValue", "bytes_value", 7, BASE64),
    F(ANY, "stringValueStrindex", "string_value_strindex", 8, INT),
    M(ARRAY, "values", "", 1, MSGS, ANY),
    M(KVLIST, "values", "", 1, MSGS, KEY_VALUE),
    F(KEY_VALUE, "key", "", 1, TEXT),
    M(KEY_VALUE, "value", "", 2, MSG, ANY),
    F(KEY_VALUE, "keyStrindex", "key_strindex", 3, INT),
    F(ATTRIBUTE, "key", "", 1, TEXT), /* 1.7 */
    F(ATTRIBUTE, "keyStrindex", "key_strindex", 1, INT),
    M(ATTRIBUTE, "value", "", 2, MSG, ANY),
    M(RESOURCE, "attributes", "", 1, MSGS, KEY_VALUE),
    M(SCOPE, "attributes", "", 3, MSGS, KEY_VALUE),
    F(VALUE_TYPE, "typeStrindex", "type_strindex", 1, INT),
    F(VALUE_TYPE, "unitStrindex", "unit_strindex", 2, INT),
    F(LINE, "functionIndex", "function_index", 1, INT),
    F(LINE, "line", "", 2, INT),
    F(FUNCTION, "nameStrindex", "name_strindex", 1, INT),
    F(FUNCTION, "systemNameStrindex", "system_name_strindex", 2, INT),
    F(FUNCTION, "filenameStrindex", "filename_strindex", 3, INT),
    F(FUNCTION, "startLine", "start_line", 4, INT),
    F(LINK, "traceId", "trace_id", 1, HEX),
    F(LINK, "spanId", "span_id", 2, HEX),
    F(MAPPING, "memoryStart", "memory_start", 1, UINT),
    F(MAPPING, "memoryLimit", "memory_limit", 2, UINT),
    F(MAPPING, "fileOffset", "file_offset", 3, UINT),
    F(MAPPING, "filenameStrindex", "filename_strindex", 4, INT),
    F(MAPPING, "attributeIndices", "attribute_indices", 5, INTS),
    F(STACK, "locationIndices", "location_indices", 1, INTS),
    F(LOCATION, "mappingIndex", "mapping_index", 1, INT),
    F(LOCATION, "address", "", 2, UINT),
    M(LOCATION, "lines", "line", 3, MSGS, LINE),
    F(LOCATION, "attributeIndices", "attribute_indices", 4, INTS),
    F(OLD_LOCATION, "mappingIndex", "mapping_index", 1, INT),
    F(OLD_LOCATION, "address", "", 2, UINT),
    M(OLD_LOCATION, "line", "", 3, MSGS, LINE),
    F(OLD_LOCATION, "attributeIndices", "attribute_indices", 5, INTS),
    F(SAMPLE, "stackIndex", "stack_index", 1, INT),
    F(SAMPLE, "attributeIndices", "attribute_indices", 2, INTS),
    F(SAMPLE, "linkIndex", "link_index", 3, INT),
    F(SAMPLE, "values", "value", 4, INTS),
    F(SAMPLE, "timestampsUnixNano", "timestamps_unix_nano", 5, FIXEDS),
    F(OLD_SAMPLE, "locationsStartIndex", "locations_start_index", 1, INT),
    F(OLD_SAMPLE, "locationsLength", "locations_length", 2, INT),
    F(OLD_SAMPLE, "value", "", 3, INTS),
    F(OLD_SAMPLE, "attributeIndices", "attribute_indices", 4, INTS),
    F(OLD_SAMPLE, "linkIndex", "link_index", 5, INT),
    F(OLD_SAMPLE, "timestampsUnixNano", "timestamps_unix_nano", 6, INTS),
    M(PROFILE, "sampleType", "sample_type", 1, MSG, VALUE_TYPE),
    M(PROFILE, "samples", "sample", 2, MSGS, SAMPLE),
    F(PROFILE, "timeUnixNano", "time_unix_nano", 3, FIXED),
    F(PROFILE, "durationNano", "duration_nano", 4, UINT),
    M(PROFILE, "periodType", "period_type", 5, MSG, VALUE_TYPE),
    F(PROFILE, "period", "", 6, INT),
    F(PROFILE, "profileId", "profile_id", 7, ID),
    F(PROFILE, "originalPayloadFormat", "original_payload_format", 9, TEXT),
    F(PROFILE, "originalPayload", "original_payload", 10, BASE64),
    F(PROFILE, "attributeIndices", "attribute_indices", 11, INTS),
    M(PROFILE_1_7, "sampleType", "sample_type", 1, MSGS, VALUE_TYPE),
    M(PROFILE_1_7, "sample", "", 2, MSGS, OLD_SAMPLE),
    F(PROFILE_1_7, "locationIndices", "location_indices", 3, INTS),
    F(PROFILE_1_7, "timeNanos", "time_nanos", 4, INT),
    F(PROFILE_1_7, "durationNanos", "duration_nanos", 5, INT),
    M(PROFILE_1_7, "periodType", "period_type", 6, MSG, VALUE_TYPE),
    F(PROFILE_1_7, "period", "", 7, INT),
    F(PROFILE_1_7, "profileId", "profile_id", 10, ID),
    F(PROFILE_1_7, "originalPayloadFormat", "original_payload_format", 12, TEXT),
    F(PROFILE_1_7, "originalPayload", "original_payload", 13, BASE64),
    F(PROFILE_1_7, "attributeIndices", "attribute_indices", 14, INTS),
    M(PROFILE_1_4, "sampleType", "sample_type", 1, MSGS, VALUE_TYPE),
    M(PROFILE_1_4, "sample", "", 2, MSGS, OLD_SAMPLE),
    M(PROFILE_1_4, "mappingTable", "mapping_table", 3, MSGS, MAPPING),
    M(PROFILE_1_4, "locationTable", "location_table", 4, MSGS, OLD_LOCATION),
    F(PROFILE_1_4, "locationIndices", "location_indices", 5, INTS),
    M(PROFILE_1_4, "functionTable", "function_table", 6, MSGS, FUNCTION),
    M(PROFILE_1_4, "attributeTable", "attribute_table", 7, MSGS, KEY_VALUE),
    M(PROFILE_1_4, "linkTable", "link_table", 9, MSGS, LINK),
    F(PROFILE_1_4, "stringTable", "string_table", 10, TEXT),
    F(PROFILE_1_4, "timeNanos", "time_nanos", 11, INT),
    F(PROFILE_1_4, "durationNanos", "duration_nanos", 12, INT),
    M(PROFILE_1_4, "periodType", "period_type", 13, MSG, VALUE_TYPE),
    F(PROFILE_1_4, "period", "", 14, INT),
    F(PROFILE_1_4, "profileId", "profile_id", 17, ID),
    F(PROFILE_1_4, "originalPayloadFormat", "original_payload_format", 20, TEXT),
    F(PROFILE_1_4, "originalPayload", "original_payload", 21, BASE64),
    F(PROFILE_1_4, "attributeIndices", "attribute_indices", 22, INTS),
#define SCOPE_FIELDS(suffix)                                                     \
    M(SCOPE_PROFILES##suffix, "scope", "", 1, MSG, SCOPE),                       \
        M(SCOPE_PROFILES##suffix, "profiles", "", 2, MSGS, PROFILE##suffix),     \
        M(RESOURCE_PROFILES##suffix, "resource", "", 1, MSG, RESOURCE),          \
        M(RESOURCE_PROFILES##suffix, "scopeProfiles", "scope_profiles", 2, MSGS, \
          SCOPE_PROFILES##suffix),                                               \
        M(REQUEST##suffix, "resourceProfiles", "resource_profiles", 1, MSGS,     \
          RESOURCE_PROFILES##suffix)
    SCOPE_FIELDS(),
    SCOPE_FIELDS(_1_7),
    SCOPE_FIELDS(_1_4),
#define TABLE_FIELDS(suffix, location)                                                  \
    M(DICTIONARY##suffix, "mappingTable", "mapping_table", 1, MSGS, MAPPING),           \
        M(DICTIONARY##suffix, "locationTable", "location_table", 2, MSGS, location),    \
        M(DICTIONARY##suffix, "functionTable", "function_table", 3, MSGS, FUNCTION),    \
        M(DICTIONARY##suffix, "linkTable", "link_table", 4, MSGS, LINK),                \
        F(DICTIONARY##suffix, "stringTable", "string_table", 5, TEXT),                  \
        M(DICTIONARY##suffix, "attributeTable", "attribute_table", 6, MSGS, ATTRIBUTE), \
        M(REQUEST##suffix, "dictionary", "", 2, MSG, DICTIONARY##suffix)
    TABLE_FIELDS(, LOCATION),
    M(DICTIONARY, "stackTable", "stack_table", 7, MSGS, STACK),
    TABLE_FIELDS(_1_7, OLD_LOCATION),
};
enum { N_FIELDS = sizeof(fields) / sizeof(*fields) };

struct writer {
    struct sf_json *j;
    struct sf_buf *out;
    unsigned depth;
    uint16_t first[MESSAGES + 1]; /* index of each message's first field in `order` */
    uint16_t order[N_FIELDS];
};

static void sort_fields(struct writer *w)
{
    uint16_t n = 0;
    for (int m = 0; m < MESSAGES; m++) {
        w->first[m] = n;
        for (unsigned i = 0; i < N_FIELDS; i++) {
            if (fields[i].in == (enum message)m)
                w->order[n++] = (uint16_t)i;
        }
    }
    w->first[MESSAGES] = n;
}

static const struct field *otlp_profile_json_find_field(const struct writer *w, enum message m,
                                                        sf_str key)
{
    for (uint16_t i = w->first[m]; i < w->first[m + 1]; i++) {
        const struct field *f = &fields[w->order[i]];
        if (sf_str_eq(f->camel, key) || (f->snake.len && sf_str_eq(f->snake, key)))
            return f;
    }
    return NULL;
}

static void write_hex(struct writer *w, uint32_t number)
{
    sf_str text = sf_json_str(w->j);
    uint8_t bytes[32];
    if (text.len > 2 * sizeof(bytes) || !sf_hex_decode(text, bytes, text.len / 2))
        sf_json_fault(w->j, "not a hexadecimal id");
    else if (text.len)
        sf_pb_write_bytes(w->out, number, (sf_bytes){bytes, text.len / 2});
}

static void write_base64(struct writer *w, uint32_t number)
{
    sf_str text = sf_json_str(w->j);
    size_t mark = sf_pb_write_begin(w->out, number);
    if (!sf_base64_decode(w->out, text) && sf_buf_ok(w->out))
        sf_json_fault(w->j, "not base64");
    else
        sf_pb_write_end(w->out, mark);
}

/* 32 hexadecimal digits, as the Collector writes them, or base64, as in the specification. */
static void otlp_profile_json_write_id(struct writer *w, uint32_t number)
{
    struct sf_json look = *w->j;
    sf_str text = sf_json_str(&look);
    uint8_t bytes[16];
    if (text.len == 32 && sf_hex_decode(text, bytes, sizeof(bytes)))
        write_hex(w, number);
    else
        write_base64(w, number);
}

static void write_ints(struct writer *w, uint32_t number, bool is_fixed)
{
    size_t mark;
    if (!sf_json_array(w->j))
        return;
    mark = sf_pb_write_begin(w->out, number);
    while (sf_json_item(w->j)) {
        if (is_fixed)
            sf_buf_add_u64le(w->out, sf_json_u64(w->j));
        else
            sf_pb_write_raw_varint(w->out, (uint64_t)sf_json_i64(w->j));
    }
    sf_pb_write_end(w->out, mark);
}

static void otlp_profile_json_write_message(struct writer *w, enum message m);

static void write_nested(struct writer *w, const struct field *f)
{
    size_t mark;
    if (w->depth > 2 * SF_LIMIT_NESTING + 16) {
        sf_json_fault(w->j, "a value is nested too deep");
        return;
    }
    mark = sf_pb_write_begin(w->out, f->number);
    w->depth++;
    otlp_profile_json_write_message(w, f->of);
    w->depth--;
    sf_pb_write_end(w->out, mark);
}

/* A single text is accepted where a list is expected. */
static void otlp_profile_json_write_texts(struct writer *w, uint32_t number)
{
    if (sf_json_peek(w->j) != SF_JSON_ARRAY) {
        sf_pb_write_str(w->out, number, sf_json_str(w->j));
        return;
    }
    if (!sf_json_array(w->j))
        return;
    while (sf_json_item(w->j))
        sf_pb_write_str(w->out, number, sf_json_str(w->j));
}

static void write_field(struct writer *w, const struct field *f)
{
    struct sf_json *j = w->j;
    if (sf_json_peek(j) == SF_JSON_NULL) {
        sf_json_skip(j);
        return;
    }
    switch (f->kind) {
    case INT: sf_pb_write_i64(w->out, f->number, sf_json_i64(j)); break;
    case UINT: sf_pb_write_u64(w->out, f->number, sf_json_u64(j)); break;
    case FIXED: sf_pb_write_fixed64(w->out, f->number, sf_json_u64(j)); break;
    case TRUTH: sf_pb_write_bool(w->out, f->number, sf_json_bool(j)); break;
    case DOUBLE: sf_pb_write_double(w->out, f->number, sf_json_f64(j)); break;
    case TEXT: otlp_profile_json_write_texts(w, f->number); break;
    case HEX: write_hex(w, f->number); break;
    case BASE64: write_base64(w, f->number); break;
    case ID: otlp_profile_json_write_id(w, f->number); break;
    case INTS: write_ints(w, f->number, false); break;
    case FIXEDS: write_ints(w, f->number, true); break;
    case MSG: write_nested(w, f); break;
    case MSGS:
        if (sf_json_peek(j) != SF_JSON_ARRAY) { /* "sampleType" of 1.4 to 1.7 may be a single
                                                 * object */
            write_nested(w, f);
        } else if (sf_json_array(j)) {
            while (sf_json_item(j))
                write_nested(w, f);
        }
        break;
    }
}

static void otlp_profile_json_write_message(struct writer *w, enum message m)
{
    sf_str key;
    if (!sf_json_object(w->j))
        return;
    while (sf_json_key(w->j, &key) && sf_buf_ok(w->out)) {
        const struct field *f = otlp_profile_json_find_field(w, m, key);
        if (f)
            write_field(w, f);
        else
            sf_json_skip(w->j);
    }
}

static bool otlp_profile_json_has_key(sf_str text, sf_str camel, sf_str snake)
{
    return sf_str_find(text, camel, &(size_t){0}) || sf_str_find(text, snake, &(size_t){0});
}

static enum sf_otlp_version otlp_profile_json_version_of(sf_str text)
{
    if (!otlp_profile_json_has_key(text, SF_STR("\"locationsLength\""),
                                   SF_STR("\"locations_length\"")))
        return SF_OTLP_1_10;
    return otlp_profile_json_has_key(text, SF_STR("\"dictionary\""), SF_STR("\"dictionary\""))
               ? SF_OTLP_1_7
               : SF_OTLP_1_4;
}

enum sf_err sf_otlp_profile_json_transcribe(struct sf_profile_build *b, sf_str *io_text,
                                            sf_bytes *out, enum sf_otlp_version *out_version)
{
    enum sf_otlp_version version = otlp_profile_json_version_of(*io_text);
    struct sf_json *j = sf_profile_new(b, 1, sizeof(*j));
    struct writer *w = sf_profile_new(b, 1, sizeof(*w));
    struct sf_buf buf = {.max = SF_LIMIT_INFLATED_LEN};
    sf_str copy = SF_STR_NONE;
    enum sf_err err;

    if (!j || !w)
        return SF_OK; /* finish() reports the error */
    sf_json_init(j, *io_text, b->a);
    w->j = j;
    w->out = &buf;
    sort_fields(w);
    otlp_profile_json_write_message(w, version == SF_OTLP_1_4   ? REQUEST_1_4
                                       : version == SF_OTLP_1_7 ? REQUEST_1_7
                                                                : REQUEST);
    if (sf_buf_ok(&buf)) {
        sf_str rest = sf_str_trim(sf_str_from_at(*io_text, (size_t)(j->at - j->start)));
        if (!rest.len || rest.p[0] != '{') /* not another object: nothing may follow */
            sf_json_end(j);
        err = sf_json_why(j, "otlp", b->why);
        *io_text = rest;
    } else {
        err = sf_fail(b->why, buf.err, "otlp: %s",
                      buf.err == SF_ERR_NOMEM ? "no memory" : "the decoded body exceeds its limit");
    }
    if (!err)
        copy = sf_profile_table_copy(b, sf_buf_str(&buf));
    sf_buf_done(&buf);
    *out = sf_str_bytes(copy);
    *out_version = version;
    return err;
}
