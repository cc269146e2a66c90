/* `py-spy dump --json`: a list of threads, each with its frames, leaf first:
 *
 *     [{"pid": 1, "thread_name": "MainThread", "os_thread_id": 1, "active": true, "owns_gil": true,
 *       "frames": [{"name": "leaf", "filename": "/srv/w.py", "line": 3, "locals": null}, ...]}] */
#include "decode/json/json_shape.h"
#include "decode/python_threads.h"
#include "wire/json.h"

static void pyspy_dump_json_read_frame(struct sf_json *j, struct sf_python_threads *t)
{
    sf_str key, name = SF_STR_NONE, file = SF_STR_NONE;
    int64_t line = 0;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_json_peek(j) == SF_JSON_NULL)
            sf_json_skip(j);
        else if (sf_str_eq(key, SF_STR("name")))
            name = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("filename")))
            file = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("line")))
            line = sf_json_i64(j);
        else
            sf_json_skip(j);
    }
    sf_python_threads_frame(t, name, file, line > 0 && line <= INT32_MAX ? (uint32_t)line : 0);
}

static void pyspy_dump_json_read_thread(struct sf_json *j, struct sf_python_threads *t)
{
    sf_str key;
    bool is_active = false, has_lock = false;
    if (!sf_json_object(j))
        return;
    sf_python_threads_open(t);
    while (sf_json_key(j, &key)) {
        if (sf_json_peek(j) == SF_JSON_NULL) {
            sf_json_skip(j);
        } else if (sf_str_eq(key, SF_STR("thread_name"))) {
            t->name = sf_json_str(j);
        } else if (sf_str_eq(key, SF_STR("os_thread_id"))) {
            t->id = sf_json_u64(j);
        } else if (sf_str_eq(key, SF_STR("active"))) {
            is_active = sf_json_bool(j);
        } else if (sf_str_eq(key, SF_STR("owns_gil"))) {
            has_lock = sf_json_bool(j);
        } else if (sf_str_eq(key, SF_STR("frames")) && sf_json_array(j)) {
            while (sf_json_item(j))
                pyspy_dump_json_read_frame(j, t);
        } else {
            sf_json_skip(j);
        }
    }
    t->state = is_active  ? has_lock ? SF_STR("active+gil") : SF_STR("active")
                : has_lock ? SF_STR("idle+gil")
                          : SF_STR("idle");
    if (sf_json_ok(j))
        sf_python_threads_close(t);
}

static enum sf_err pyspy_dump_json_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct sf_python_threads t = sf_python_threads_init(b);
    struct sf_json *j = sf_profile_new(b, 1, sizeof(*j));
    if (!j)
        return SF_OK; /* finish() reports the error */
    sf_json_init(j, bytes, b->a);
    if (sf_json_array(j)) {
        while (sf_profile_build_ok(b) && sf_json_item(j))
            pyspy_dump_json_read_thread(j, &t);
    }
    if (b->is_full)
        return SF_OK;
    sf_json_end(j);
    return sf_json_why(j, "py-spy dump", b->why);
}

static bool pyspy_dump_json_is_dump(const struct sf_json_shape *s)
{
    return s->is_array && sf_json_shape_has(s, "[]", "frames") &&
           sf_json_shape_has(s, "[]", "owns_gil");
}

const struct sf_profile_format sf_pyspy_dump_json_format = {
    .name = "py-spy-dump-json",
    .also = "",
    .is_json = pyspy_dump_json_is_dump,
    .decode = pyspy_dump_json_decode,
};
