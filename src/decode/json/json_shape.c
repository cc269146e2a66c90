#include "decode/json/json_shape.h"

#include "wire/json.h"

enum {
    N_ELEMENTS = 256
}; /* elements of an array that are examined: a trace may begin with dozens
    * of metadata events */

static bool json_shape_has(const struct sf_json_shape *s, sf_str outer, sf_str key)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (sf_str_eq(s->keys[i].key, key) && sf_str_eq(s->keys[i].outer, outer))
            return true;
    }
    return false;
}

static void json_shape_note(struct sf_json_shape *s, sf_str outer, sf_str key)
{
    if (s->n == SF_JSON_SHAPE_KEYS || json_shape_has(s, outer, key))
        return;
    s->keys[s->n].outer = outer;
    s->keys[s->n++].key = key;
}

/* Objects whose keys are examined too. */
static bool is_opened(sf_str key)
{
    return sf_str_eq(key, SF_STR("head")) || sf_str_eq(key, SF_STR("profile")) ||
           sf_str_eq(key, SF_STR("meta"));
}

static void read_object(struct sf_json_shape *s, struct sf_json *j, sf_str outer)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        json_shape_note(s, outer, key);
        if (!outer.len && is_opened(key) && sf_json_peek(j) == SF_JSON_OBJECT) {
            sf_str inner;
            if (!sf_json_object(j))
                break;
            while (sf_json_key(j, &inner)) {
                json_shape_note(s, key, inner);
                sf_json_skip(j);
            }
        } else {
            sf_json_skip(j);
        }
    }
}

static void json_shape_read_array(struct sf_json_shape *s, struct sf_json *j)
{
    if (!sf_json_array(j))
        return;
    for (unsigned i = 0; i < N_ELEMENTS && sf_json_item(j); i++) {
        if (sf_json_peek(j) == SF_JSON_OBJECT)
            read_object(s, j, SF_STR("[]"));
        else
            sf_json_skip(j);
    }
}

/* Whether the text ends inside the value that begins at `off`: a string, a number or a word. */
static bool ends_inside(sf_str text, size_t off)
{
    size_t i = off + 1;
    if (off < text.len && text.p[off] == '"') {
        for (; i < text.len && text.p[i] != '"'; i++)
            i += text.p[i] == '\\';
        return i >= text.len;
    }
    for (i = off; i < text.len; i++)
        if (!((text.p[i] >= 'a' && text.p[i] <= 'z') || (text.p[i] >= '0' && text.p[i] <= '9') ||
              text.p[i] == '-' || text.p[i] == '+' || text.p[i] == '.' || text.p[i] == 'E'))
            return false;
    return true;
}

bool sf_json_shape_read(struct sf_json_shape *s, sf_str text)
{
    struct sf_json j;
    enum sf_json_type type;
    s->n = 0;
    s->text = text;
    sf_json_init(&j, text, NULL);
    type = sf_json_peek(&j);
    if (type != SF_JSON_OBJECT && type != SF_JSON_ARRAY)
        return false;
    s->is_array = type == SF_JSON_ARRAY;
    if (s->is_array)
        json_shape_read_array(s, &j);
    else
        read_object(s, &j, SF_STR_NONE);
    s->fault = j.fault;
    s->fault_off = j.fault_off;
    s->is_cut = j.fault && ends_inside(text, j.fault_off);
    if (s->is_cut)
        s->fault_off = text.len;
    return true;
}

bool sf_json_shape_has(const struct sf_json_shape *s, const char *outer, const char *key)
{
    return json_shape_has(s, sf_str_from(outer), sf_str_from(key));
}
