#include "render/profile_json.h"

#include "flame/batch_tree.h"
#include "render/unnamed_text.h"
#include "wire/json_write.h"

static void profile_json_write_type(struct sf_json_writer *w, const struct sf_profile_type *type)
{
    struct sf_buf id = {0};
    sf_batch_tree_type_add(&id, type);
    sf_json_write_key_str(w, SF_STR("type"), sf_buf_str(&id));
    sf_json_write_key_str(w, SF_STR("unit"), type->sample_unit);
    sf_buf_done(&id);
}

static void write_i64(struct sf_json_writer *w, sf_str key, int64_t v)
{
    sf_json_write_key(w, key);
    sf_json_write_i64(w, v);
}

static void profile_json_write_time(struct sf_json_writer *w, sf_str key, int64_t ns)
{
    sf_json_write_key(w, key);
    sf_json_write_i64_text(w, ns);
}

static void write_flag(struct sf_json_writer *w, sf_str key, bool v)
{
    sf_json_write_key(w, key);
    sf_json_write_bool(w, v);
}

/* Times in nanoseconds since 1970 are written as text, as for traces, because they have more digits
 * than JavaScript numbers. Values are numbers. */
static void profile_json_write_head(struct sf_json_writer *w, const struct sf_profile_view *v)
{
    sf_json_write_key_str(w, SF_STR("service"), v->service);
    profile_json_write_type(w, &v->type);
    sf_json_write_key(w, SF_STR("labels"));
    sf_json_write_object(w);
    for (uint32_t i = 0; i < v->n_labels; i++)
        sf_json_write_key_str(w, v->labels[i].key, v->labels[i].val);
    sf_json_write_object_end(w);
    profile_json_write_time(w, SF_STR("timeUnixNano"), v->time_ns);
    write_i64(w, SF_STR("durationNs"), v->duration_ns);
    write_i64(w, SF_STR("period"), v->period);
    write_i64(w, SF_STR("total"), v->tree.total);
    sf_json_write_key_u64(w, SF_STR("samples"), v->tree.n_samples);
    write_flag(w, SF_STR("isCut"), v->tree.is_cut);
    write_flag(w, SF_STR("isEstimate"), v->is_estimate);
    write_flag(w, SF_STR("isFew"), v->is_few);
    if (v->is_few) {
        sf_json_write_key(w, SF_STR("looks"));
        sf_json_write_f64(w, v->taken);
    }
    if (v->reason.len)
        sf_json_write_key_str(w, SF_STR("reason"), v->reason);
}

static void profile_json_write_frames(struct sf_json_writer *w, const struct sf_tree *t)
{
    static const char *const kinds[SF_FRAME_KINDS] = {
        "",          "native",    "kernel",   "go",      "jvm",       "python",  "v8",
        "ruby",      "php",       "perl",     "dotnet",  "beam",      "rust",    "luajit",
        "marker",    "service",   "span",     "running", "unknown",   "wait gc", "wait run_queue",
        "wait lock", "wait disk", "wait net", "wait io", "wait sleep"};
    char package[SF_DEBUG_PACKAGE_CAP];
    sf_json_write_key(w, SF_STR("frames"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < t->n_frames; i++) {
        const struct sf_frame *f = &t->frames[i];
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("function"), f->function);
        if (f->file.len)
            sf_json_write_key_str(w, SF_STR("file"), f->file);
        if (f->line)
            sf_json_write_key_u64(w, SF_STR("line"), f->line);
        if (f->module.len)
            sf_json_write_key_str(w, SF_STR("module"), f->module);
        if (f->build_id.len)
            sf_json_write_key_str(w, SF_STR("buildId"), f->build_id);
        if (!f->function.len && f->module.len && sf_unnamed_text_debug_package(f->module, package))
            sf_json_write_key_str(w, SF_STR("debugPackage"), sf_str_from(package));
        if (f->file_off)
            sf_json_write_key_u64(w, SF_STR("address"), f->file_off);
        if (f->kind && f->kind < SF_FRAME_KINDS)
            sf_json_write_key_str(w, SF_STR("kind"), sf_str_from(kinds[f->kind]));
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void profile_json_write_node(struct sf_json_writer *w, const struct sf_tree_node *node)
{
    sf_json_write_array(w);
    sf_json_write_u64(w, node->parent);
    sf_json_write_i64(w, node->frame == SF_NONE ? -1 : (int64_t)node->frame);
}

void sf_profile_json_write(const struct sf_profile_view *v, struct sf_json_writer *w)
{
    sf_json_write_object(w);
    profile_json_write_head(w, v);
    profile_json_write_frames(w, &v->tree);
    sf_json_write_key(w, SF_STR("nodes"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < v->tree.n_nodes; i++) {
        profile_json_write_node(w, &v->tree.nodes[i]);
        sf_json_write_i64(w, v->tree.nodes[i].self);
        sf_json_write_array_end(w);
    }
    sf_json_write_array_end(w);
    sf_json_write_object_end(w);
}

enum sf_err sf_profile_json_render(const struct sf_profile_view *v, struct sf_buf *out,
                                   struct sf_why *why)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_profile_json_write(v, &w);
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "profile: no memory for the answer");
}

enum sf_err sf_profile_json_diff(const struct sf_profile_view *left,
                                 const struct sf_profile_view *right, const struct sf_tree_diff *d,
                                 struct sf_buf *out, struct sf_why *why)
{
    const struct sf_profile_view *sides[] = {left, right};
    const sf_str keys[] = {SF_STR("baseline"), SF_STR("comparison")};
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    for (size_t i = 0; i < 2; i++) {
        sf_json_write_key(&w, keys[i]);
        sf_json_write_object(&w);
        profile_json_write_head(&w, sides[i]);
        sf_json_write_object_end(&w);
    }
    if (left->duration_ns > 0 && right->duration_ns > 0) { /* values are not scaled by the length */
        sf_json_write_key(&w, SF_STR("lengthRatio"));
        sf_json_write_f64(&w, (double)right->duration_ns / (double)left->duration_ns);
    }
    profile_json_write_frames(&w, &d->shape);
    sf_json_write_key(&w, SF_STR("nodes"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < d->shape.n_nodes; i++) {
        profile_json_write_node(&w, &d->shape.nodes[i]);
        sf_json_write_i64(&w, d->left.self[i]);
        sf_json_write_i64(&w, d->right.self[i]);
        sf_json_write_array_end(&w);
    }
    sf_json_write_array_end(&w);
    sf_json_write_object_end(&w);
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "profile: no memory for the answer");
}

/* ---- Pyroscope's ---- */

/* The units that Pyroscope's clients expect: counts are "objects", CPU time is "samples" at a rate
 * of 10^9, so that a value is in nanoseconds. */
static sf_str units_of(const struct sf_profile_type *type, uint64_t *out_rate)
{
    static const sf_str objects[] = {
        {"inuse_objects", 13}, {"alloc_objects", 13}, {"goroutine", 9}, {"samples", 7}};
    *out_rate = 100;
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        if (sf_str_eq(type->sample_type, objects[i]))
            return SF_STR("objects");
    }
    if (!sf_str_eq(type->sample_type, SF_STR("cpu")))
        return type->sample_unit;
    *out_rate = 1000000000;
    return SF_STR("samples");
}

static void write_levels(struct sf_json_writer *w, const struct sf_flamebearer *f)
{
    sf_json_write_key(w, SF_STR("names"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < f->n_names; i++)
        sf_json_write_str(w, f->names[i]);
    sf_json_write_array_end(w);
    sf_json_write_key(w, SF_STR("levels"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < f->n_levels; i++) {
        sf_json_write_array(w);
        for (uint32_t k = 0; k < f->levels[i].n; k++)
            sf_json_write_i64(w, f->levels[i].values[k]);
        sf_json_write_array_end(w);
    }
    sf_json_write_array_end(w);
    write_i64(w, SF_STR("numTicks"), f->total);
    write_i64(w, SF_STR("maxSelf"), f->max_self);
}

enum sf_err sf_profile_json_pyroscope(const struct sf_flamebearer *f, bool is_double,
                                      const struct sf_profile_type *type, sf_str extra,
                                      struct sf_buf *out, struct sf_why *why)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    uint64_t rate;
    sf_str units = units_of(type, &rate);
    sf_json_write_object(&w);
    sf_json_write_key_u64(&w, SF_STR("version"), 1);
    sf_json_write_key(&w, SF_STR("flamebearer"));
    sf_json_write_object(&w);
    write_levels(&w, f);
    sf_json_write_object_end(&w);
    sf_json_write_key(&w, SF_STR("metadata"));
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("format"), is_double ? SF_STR("double") : SF_STR("single"));
    sf_json_write_key_str(&w, SF_STR("spyName"), SF_STR_NONE);
    sf_json_write_key_u64(&w, SF_STR("sampleRate"), rate);
    sf_json_write_key_str(&w, SF_STR("units"), units);
    sf_json_write_key_str(&w, SF_STR("name"), type->sample_type);
    sf_json_write_object_end(&w);
    sf_buf_add_u8(out, ',');
    sf_buf_add_str(out, extra.len ? extra : SF_STR("\"timeline\":null,\"groups\":null"));
    sf_json_write_key(&w, SF_STR("heatmap"));
    sf_json_write_null(&w);
    if (is_double) {
        write_i64(&w, SF_STR("leftTicks"), f->left_total);
        write_i64(&w, SF_STR("rightTicks"), f->right_total);
    }
    sf_json_write_object_end(&w);
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "profile: no memory for the answer");
}
