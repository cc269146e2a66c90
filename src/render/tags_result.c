#include "render/tags_result.h"

#include "wire/json_write.h"
#include "wire/pb_write.h"

const char *sf_tags_result_scope_name(enum sf_attr_scope scope)
{
    static const char *const names[SF_SCOPES] = {
        [SF_SCOPE_INTRINSIC] = "intrinsic",
        [SF_SCOPE_ANY] = "none",
        [SF_SCOPE_RESOURCE] = "resource",
        [SF_SCOPE_SPAN] = "span",
        [SF_SCOPE_EVENT] = "event",
        [SF_SCOPE_LINK] = "link",
        [SF_SCOPE_INSTRUMENTATION] = "instrumentation",
    };
    return scope < SF_SCOPES ? names[scope] : "none";
}

static sf_str tags_result_type_name(enum sf_tag_type type)
{
    static const char *const names[SF_TAG_TYPES] = {
        [SF_TAG_STRING] = "string", [SF_TAG_INT] = "int",           [SF_TAG_FLOAT] = "float",
        [SF_TAG_BOOL] = "bool",     [SF_TAG_DURATION] = "duration", [SF_TAG_KEYWORD] = "keyword",
    };
    return sf_str_from(names[type]);
}

/* ---- the old list of names: sorted lists become one, without repeats ---- */

struct merge {
    const struct sf_tags_result *r;
    uint32_t at[SF_SCOPES];
};

static bool merge_next(struct merge *m, sf_str *out)
{
    const sf_str *least = NULL;
    sf_str found;
    for (uint32_t i = 0; i < m->r->n_scopes; i++) {
        const struct sf_tag_scope *s = &m->r->scopes[i];
        if (m->at[i] < s->n_names && (!least || sf_str_cmp(s->names[m->at[i]].text, *least) < 0))
            least = &s->names[m->at[i]].text;
    }
    if (!least)
        return false;
    found = *least;
    for (uint32_t i = 0; i < m->r->n_scopes; i++) {
        const struct sf_tag_scope *s = &m->r->scopes[i];
        if (m->at[i] < s->n_names && sf_str_eq(s->names[m->at[i]].text, found))
            m->at[i]++;
    }
    *out = found;
    return true;
}

/* The v1 form has no types: a text and a number that look the same are written once. */
static bool is_repeated(const struct sf_tags_result *r, uint32_t i)
{
    if (r->values[i].type == SF_TAG_STRING)
        return false;
    for (uint32_t k = 0; k < r->n_values && k < 1000; k++) {
        if (k != i && r->values[k].type == SF_TAG_STRING &&
            sf_str_eq(r->values[k].text, r->values[i].text))
            return true;
    }
    return false;
}

/* ---- JSON ---- */

static void json_scopes(struct sf_json_writer *w, const struct sf_tags_result *r)
{
    sf_json_write_key(w, SF_STR("scopes"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < r->n_scopes; i++) {
        const struct sf_tag_scope *s = &r->scopes[i];
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("name"), sf_str_from(sf_tags_result_scope_name(s->scope)));
        sf_json_write_key(w, SF_STR("tags"));
        sf_json_write_array(w);
        for (uint32_t k = 0; k < s->n_names; k++)
            sf_json_write_str(w, s->names[k].text);
        sf_json_write_array_end(w);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void json_names(struct sf_json_writer *w, const struct sf_tags_result *r)
{
    struct merge m = {.r = r};
    sf_str name;
    sf_json_write_key(w, SF_STR("tagNames"));
    sf_json_write_array(w);
    while (merge_next(&m, &name))
        sf_json_write_str(w, name);
    sf_json_write_array_end(w);
}

static void json_values(struct sf_json_writer *w, const struct sf_tags_result *r, bool has_types)
{
    sf_json_write_key(w, SF_STR("tagValues"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < r->n_values; i++) {
        if (has_types) {
            sf_json_write_object(w);
            sf_json_write_key_str(w, SF_STR("type"), tags_result_type_name(r->values[i].type));
            sf_json_write_key_str(w, SF_STR("value"), r->values[i].text);
            sf_json_write_object_end(w);
        } else if (!is_repeated(r, i)) {
            sf_json_write_str(w, r->values[i].text);
        }
    }
    sf_json_write_array_end(w);
}

void sf_tags_result_json(const struct sf_tags_result *r, enum sf_tags_form form, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    switch (form) {
    case SF_TAGS_NAMES_V1: json_names(&w, r); break;
    case SF_TAGS_NAMES_V2: json_scopes(&w, r); break;
    case SF_TAGS_VALUES_V1: json_values(&w, r, false); break;
    case SF_TAGS_VALUES_V2: json_values(&w, r, true); break;
    }
    sf_json_write_key(&w, SF_STR("metrics"));
    sf_json_write_object(&w);
    sf_json_write_key(&w, SF_STR("inspectedBytes"));
    sf_json_write_u64_text(&w, r->read_len);
    sf_json_write_key_u64(&w, SF_STR("totalJobs"), 1);
    if (!r->is_partial)
        sf_json_write_key_u64(&w, SF_STR("completedJobs"), 1);
    if (r->n_blocks)
        sf_json_write_key_u64(&w, SF_STR("totalBlocks"), r->n_blocks);
    sf_json_write_object_end(&w);
    sf_json_write_object_end(&w);
}

/* ---- protobuf ---- */

static void pb_scopes(struct sf_buf *out, const struct sf_tags_result *r)
{
    for (uint32_t i = 0; i < r->n_scopes; i++) {
        const struct sf_tag_scope *s = &r->scopes[i];
        size_t mark = sf_pb_write_begin(out, 1);
        sf_pb_write_str(out, 1, sf_str_from(sf_tags_result_scope_name(s->scope)));
        for (uint32_t k = 0; k < s->n_names; k++)
            sf_pb_write_str(out, 2, s->names[k].text);
        sf_pb_write_end(out, mark);
    }
}

static void pb_values(struct sf_buf *out, const struct sf_tags_result *r, bool has_types)
{
    for (uint32_t i = 0; i < r->n_values; i++) {
        if (has_types) {
            size_t mark = sf_pb_write_begin(out, 1);
            sf_pb_write_str(out, 1, tags_result_type_name(r->values[i].type));
            sf_pb_write_str(out, 2, r->values[i].text);
            sf_pb_write_end(out, mark);
        } else if (!is_repeated(r, i)) {
            sf_pb_write_str(out, 1, r->values[i].text);
        }
    }
}

void sf_tags_result_pb(const struct sf_tags_result *r, enum sf_tags_form form, struct sf_buf *out)
{
    struct merge m = {.r = r};
    sf_str name;
    size_t mark;
    switch (form) {
    case SF_TAGS_NAMES_V1:
        while (merge_next(&m, &name))
            sf_pb_write_str(out, 1, name);
        break;
    case SF_TAGS_NAMES_V2: pb_scopes(out, r); break;
    case SF_TAGS_VALUES_V1: pb_values(out, r, false); break;
    case SF_TAGS_VALUES_V2: pb_values(out, r, true); break;
    }
    mark = sf_pb_write_begin(out, 2);
    sf_pb_write_u64(out, 1, r->read_len);
    sf_pb_write_u64(out, 2, 1);
    sf_pb_write_u64(out, 3, r->is_partial ? 0 : 1);
    sf_pb_write_u64(out, 4, r->n_blocks);
    sf_pb_write_end(out, mark);
}
