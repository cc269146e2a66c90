#include "decode/profile_format.h"

#include "base/limits.h"
#include "decode/json/json_shape.h"
#include "decode/pprof/pprof.h"
#include "decode/profile_build.h"
#include "decode/profile_guess.h"

/* In the order in which they are tried: formats with a magic number first, then JSON, then text,
 * and pprof last, because almost any bytes look like the start of a protobuf message. */
/* clang-format off */
#define FORMATS(X) \
    X(jfr) \
    X(perf_data) \
    X(legacy_cpu) \
    X(mojo) \
    X(stackprof_dump) \
    X(cpuprofile) \
    X(heapprofile) \
    X(speedscope) \
    X(trace_event) \
    X(gecko) \
    X(stackprof) \
    X(pyspy_dump_json) \
    X(flamebearer) \
    X(otlp_json) \
    X(tree) \
    X(trie) \
    X(legacy_text) \
    X(goroutine_dump) \
    X(pyspy_dump) \
    X(pprof_raw) \
    X(pprof_traces) \
    X(async_text) \
    X(async_html) \
    X(flame_svg) \
    X(austin) \
    X(perf_script) \
    X(folded) \
    X(lines) \
    X(otlp) \
    X(pprof)
/* clang-format on */

#define DECLARE(noun) extern const struct sf_profile_format sf_##noun##_format;
#define LIST(noun)    &sf_##noun##_format,
FORMATS(DECLARE)
static const struct sf_profile_format *const formats[] = {FORMATS(LIST)};
enum { N_FORMATS = sizeof(formats) / sizeof(*formats) };

static bool profile_format_is_named(const struct sf_profile_format *f, sf_str name)
{
    sf_str rest = sf_str_from(f->also), one;
    if (sf_str_ieq(sf_str_from(f->name), name))
        return true;
    while (sf_str_split_next(&rest, ',', &one)) {
        if (sf_str_ieq(one, name))
            return true;
    }
    return false;
}

/* Finds the format by name, or by the bytes; JSON is read once for all its formats, and `shape`
 * tells afterwards whether it was JSON. */
static const struct sf_profile_format *profile_format_find(sf_str bytes, sf_str name,
                                                           struct sf_json_shape *shape)
{
    bool is_json = false;
    shape->text = SF_STR_NONE;
    if (!name.len && sf_pprof_is_whole(bytes))
        return &sf_pprof_format; /* most uploads are pprof: avoids scanning lines of text */
    if (!name.len)
        is_json = sf_json_shape_read(shape, bytes);
    for (size_t i = 0; i < N_FORMATS; i++) {
        const struct sf_profile_format *f = formats[i];
        if (name.len ? profile_format_is_named(f, name)
                     : (f->is && f->is(bytes)) || (is_json && f->is_json && f->is_json(shape)))
            return f;
    }
    if (!is_json)
        shape->text = SF_STR_NONE;
    return NULL;
}

const char *sf_profile_format_find(sf_str bytes)
{
    struct sf_json_shape shape;
    const struct sf_profile_format *f = profile_format_find(bytes, SF_STR_NONE, &shape);
    return f ? f->name : NULL;
}

enum sf_err sf_profile_format_refuse(sf_str bytes, struct sf_why *why)
{
    struct sf_json_shape shape;
    bool is_json = sf_json_shape_read(&shape, bytes);
    return sf_profile_guess_fail(bytes, is_json ? &shape : NULL, why);
}

enum sf_err sf_profile_format_decode(sf_str bytes, const struct sf_profile_hint *hint,
                                     struct sf_arena *a, struct sf_profile_batch *out,
                                     struct sf_why *why)
{
    sf_str name = hint ? hint->format : SF_STR_NONE;
    struct sf_json_shape shape;
    const struct sf_profile_format *f = profile_format_find(bytes, name, &shape);
    struct sf_profile_build b;
    enum sf_err err;

    if (!f && name.len)
        return sf_fail(why, SF_ERR_UNSUPPORTED, "profile: there is no format named \"%.*s\"",
                       SF_STR_ARG(name));
    if (!f)
        return sf_profile_guess_fail(bytes, shape.text.len ? &shape : NULL, why);
    sf_profile_build_init(&b, hint, a, why);
    err = f->decode(&b, bytes);
    return err ? err : sf_profile_build_finish(&b, out);
}

/* Decompresses into memory that the batch may point to. */
static enum sf_err unwrap_inside(struct sf_profile_build *b, sf_str *bytes)
{
    struct sf_inflate *z = sf_inflate_new();
    struct sf_buf out = {0};
    enum sf_err err = z ? sf_profile_format_unwrap(z, *bytes, SF_LIMIT_INFLATED_LEN, &out, bytes,
                                                   b->why)
                        : sf_fail(b->why, SF_ERR_NOMEM, "profile: no memory to inflate");
    if (!err && out.len)
        *bytes = sf_profile_table_copy(b, *bytes);
    sf_buf_done(&out);
    sf_inflate_free(z);
    return err;
}

enum sf_err sf_profile_format_decode_inside(struct sf_profile_build *b, sf_str format, sf_str bytes)
{
    const struct sf_profile_format *f = NULL;
    struct sf_why inner = {0}, *outer = b->why;
    struct sf_json_shape shape;
    uint32_t n_samples = b->samples.n;
    enum sf_err err;

    if (b->is_inside)
        return SF_OK;
    b->is_inside = true;
    b->why = &inner;
    err = unwrap_inside(b, &bytes);
    if (!err)
        f = profile_format_find(bytes, format.len ? format : SF_STR_NONE, &shape);
    if (!err && !f)
        err = sf_fail(&inner, SF_ERR_UNSUPPORTED, "\"%.*s\" is not read", SF_STR_ARG(format));
    if (!err)
        err = f->decode(b, bytes);
    b->why = outer;
    b->is_inside = false;
    if (err == SF_ERR_NOMEM)
        return sf_fail(b->why, err, "%s", inner.text);
    if (err) {
        b->samples.n = n_samples;
        sf_profile_build_drop(b, &b->drops.n_parts, "a profile inside: %s", inner.text);
    }
    return SF_OK;
}

enum sf_err sf_profile_format_unwrap(struct sf_inflate *z, sf_str in, size_t max_len,
                                     struct sf_buf *out, sf_str *plain, struct sf_why *why)
{
    bool is_gzip = sf_str_starts(in, SF_STR("\x1f\x8b"));
    bool is_zstd = sf_str_starts(in, SF_STR("\x28\xb5\x2f\xfd"));
    size_t most = in.len < SIZE_MAX / SF_LIMIT_RATIO ? in.len * SF_LIMIT_RATIO : SIZE_MAX;
    enum sf_err err;

    if (!is_gzip && !is_zstd) {
        *plain = in;
        return SF_OK;
    }
    if (most < SF_LIMIT_RATIO_FLOOR_LEN)
        most = SF_LIMIT_RATIO_FLOOR_LEN;
    sf_buf_reset(out);
    err = sf_inflate_bytes(z, is_gzip ? SF_INFLATE_GZIP : SF_INFLATE_ZSTD, sf_str_bytes(in),
                           max_len < most ? max_len : most, out, why);
    if (!err)
        *plain = sf_buf_str(out);
    return err;
}
