/* Stacks and threads of a chunk: constants that refer to other constants and finally to names. Each
 * is resolved when the first event needs it. A reference that leads nowhere becomes a placeholder
 * name. */
#include <inttypes.h>

#include "base/hash.h"
#include "base/key.h"
#include "decode/jfr/jfr.h"
#include "decode/jfr/jfr_name.h"

static void read_constant(struct sf_jfr *r, enum sf_jfr_pool_kind pool, uint32_t off,
                          struct sf_jfr_values *out, struct sf_jfr_cursor *out_array)
{
    struct sf_jfr_cursor c = sf_jfr_pool_cursor_at(r, off);
    sf_jfr_values_read(r, &c, r->pool_class[pool], out, out_array);
}

/* --- frames --- */

static enum sf_frame_kind jfr_stack_kind_of(struct sf_jfr *r, int64_t type)
{
    struct sf_jfr_constant *k = sf_jfr_pool_constant_find(r, SF_JFR_P_FRAME_TYPE, type);
    sf_str name;
    enum sf_frame_kind kind = SF_FRAME_JVM;
    if (!k)
        return SF_FRAME_JVM;
    if (k->place)
        return (enum sf_frame_kind)(k->place - 1);
    name = sf_jfr_pool_text(r, SF_JFR_P_FRAME_TYPE, type);
    if (sf_str_eq(name, SF_STR("Kernel")))
        kind = SF_FRAME_KERNEL;
    else if (sf_str_eq(name, SF_STR("C++")) ||
             (sf_str_eq(name, SF_STR("Native")) && r->is_native_c))
        kind = SF_FRAME_NATIVE;
    k->place = (uint32_t)kind + 1;
    return kind;
}

static sf_str key_text(const struct sf_jfr_values *v, struct sf_jfr *r)
{
    /* A name is a key of a symbol, or in some files a text. */
    return v->name.encoding == SF_JFR_POOL ? sf_jfr_pool_text(r, SF_JFR_P_SYMBOL, v->name.key)
                                           : sf_jfr_pool_text_of(r, &v->name, &r->scratch);
}

static sf_str class_text(struct sf_jfr *r, int64_t key)
{
    const struct sf_jfr_constant *k = sf_jfr_pool_constant_find(r, SF_JFR_P_CLASS, key);
    struct sf_jfr_values v;
    if (!k)
        return SF_STR_NONE;
    read_constant(r, SF_JFR_P_CLASS, k->off, &v, NULL);
    return key_text(&v, r);
}

static sf_str full_name(struct sf_jfr *r, sf_str cls, sf_str method, enum sf_frame_kind kind)
{
    char *p = sf_arena_raw(&r->scratch, cls.len + method.len + 1, 1);
    size_t len = 0;
    sf_str k = SF_STR("_[k]");
    if (!p) {
        r->b->is_full = true;
        return SF_STR_NONE;
    }
    if (kind == SF_FRAME_KERNEL && sf_str_ends(method, k))
        method.len -= k.len;
    if (cls.len)
        len = sf_jfr_name_of_class(cls, kind == SF_FRAME_JVM, p);
    if (len && method.len)
        p[len++] = '.';
    memcpy(p + len, method.p ? method.p : "", method.len);
    return (sf_str){p, len + method.len};
}

static uint32_t jfr_stack_library_of(struct sf_jfr *r, sf_str cls)
{
    struct sf_mapping m = {0};
    char *p;
    if (!cls.len)
        return SF_NONE;
    p = sf_arena_raw(r->b->a, cls.len, 1);
    if (!p) {
        r->b->is_full = true;
        return SF_NONE;
    }
    m.file = (sf_str){p, sf_jfr_name_of_library(cls, p)};
    return sf_profile_build_mapping(r->b, &m);
}

uint32_t sf_jfr_stack_function_of(struct sf_jfr *r, sf_str name)
{
    uint32_t n = r->b->functions.n;
    uint32_t place = sf_profile_build_function(r->b, &(struct sf_function){.name = name});
    if (place != SF_NONE && r->b->functions.n > n) { /* new: its name must be copied into the
                                                      * batch */
        struct sf_function *f = (struct sf_function *)r->b->functions.items + place;
        f->name = sf_profile_table_copy(r->b, f->name);
    }
    return place;
}

/* The function, and for C its library. */
static uint32_t function_of(struct sf_jfr *r, int64_t method, enum sf_frame_kind kind,
                            uint32_t *out_library)
{
    struct sf_jfr_constant *k = sf_jfr_pool_constant_find(r, SF_JFR_P_METHOD, method);
    sf_str cls = SF_STR_NONE, name = SF_STR_NONE;
    struct sf_jfr_values v;
    uint32_t place;
    if (k && k->place && kind == SF_FRAME_JVM)
        return k->place - 1;
    if (k) {
        read_constant(r, SF_JFR_P_METHOD, k->off, &v, NULL);
        cls = class_text(r, v.v[SF_JFR_TYPE]);
        name = key_text(&v, r);
    }
    if (kind == SF_FRAME_NATIVE && name.len) { /* for C the "class" is the library */
        *out_library = jfr_stack_library_of(r, cls);
        cls = SF_STR_NONE;
    }
    name = full_name(r, cls, name, kind);
    place = sf_jfr_stack_function_of(r, name.len ? name : SF_STR("(unknown)"));
    if (k && place != SF_NONE && kind == SF_FRAME_JVM)
        k->place = place + 1;
    return place;
}

static uint32_t make_frame(struct sf_jfr *r, int64_t method, int32_t line, enum sf_frame_kind kind)
{
    struct sf_location l = {.mapping = SF_NONE, .n_lines = 1, .kind = (uint8_t)kind};
    struct sf_line at = {.line = line > 0 ? (uint32_t)line : 0};
    at.function = function_of(r, method, kind, &l.mapping);
    if (at.function == SF_NONE)
        return SF_NONE;
    l.lines = &at;
    return sf_profile_build_location(r->b, &l);
}

static uint32_t jfr_stack_frame_of(struct sf_jfr *r, int64_t method, int32_t line, int64_t type)
{
    uint64_t hash = sf_key_mix(sf_key_u64((uint64_t)method) + (uint64_t)type, (uint32_t)line);
    struct sf_jfr_frame_cache *f = &r->frames[hash & (SF_JFR_FRAME_CACHE - 1)];
    if (f->place && f->method == method && f->line == line && f->type == type)
        return f->place - 1;
    *f = (struct sf_jfr_frame_cache){method, type, line,
                                     make_frame(r, method, line, jfr_stack_kind_of(r, type))};
    if (f->place == SF_NONE) {
        f->place = 0;
        return SF_NONE;
    }
    return f->place++;
}

static void jfr_stack_push(struct sf_jfr *r, uint32_t place)
{
    uint32_t *to = place == SF_NONE ? NULL : sf_profile_list_more(r->b, &r->path, sizeof(*to));
    if (!to)
        return;
    *to = place;
    r->path.n++;
}

/* `n_more` frames follow them. */
static void jfr_stack_read_frames(struct sf_jfr *r, struct sf_jfr_cursor *c,
                                  const struct sf_jfr_class *k, uint32_t n_more)
{
    uint32_t n = sf_jfr_cursor_count(c, 1);
    struct sf_jfr_values v;
    for (uint32_t at = 0; at < n && !c->fault && !r->b->is_full; at++) {
        memset(v.v, 0, sizeof(v.v));
        for (uint32_t i = 0; i < k->n; i++) {
            const struct sf_jfr_step *s = &k->steps[i];
            int64_t num = 0;
            switch (s->is_array ? SF_JFR_CLASS : s->kind) {
            case SF_JFR_LONG: num = sf_jfr_long(c); break;
            case SF_JFR_INT: num = sf_jfr_int(c); break;
            case SF_JFR_SHORT: num = (int16_t)sf_jfr_short(c); break;
            case SF_JFR_BYTE: num = sf_jfr_byte(c); break;
            default: sf_jfr_cursor_fault(c, c->at, "a frame with more than numbers"); break;
            }
            if (s->slot != SF_JFR_SKIP)
                v.v[s->slot] = num;
        }
        if (!c->fault && !sf_profile_build_is_cut(r->b, at, (size_t)n + n_more))
            jfr_stack_push(r, jfr_stack_frame_of(r, v.v[SF_JFR_METHOD], (int32_t)v.v[SF_JFR_LINE],
                                                 v.v[SF_JFR_TYPE]));
    }
}

uint32_t sf_jfr_stack_of(struct sf_jfr *r, int64_t key)
{
    struct sf_jfr_constant *k = sf_jfr_pool_constant_find(r, SF_JFR_P_STACK, key);
    struct sf_jfr_cursor frames = {0};
    struct sf_jfr_values v;
    uint32_t place;

    if (!k)
        return sf_profile_build_stack(r->b, NULL, 0);
    if (k->place)
        return k->place - 1;
    r->path.n = 0;
    read_constant(r, SF_JFR_P_STACK, k->off, &v, &frames);
    if (frames.at && r->pool_class[SF_JFR_P_FRAME])
        jfr_stack_read_frames(r, &frames, r->pool_class[SF_JFR_P_FRAME],
                              v.v[SF_JFR_TRUNCATED] != 0);
    if (v.v[SF_JFR_TRUNCATED])
        jfr_stack_push(
            r, sf_profile_build_frame(r->b, &(struct sf_function){.name = SF_STR("(truncated)")}, 0,
                                      SF_FRAME_MARKER));
    place = sf_profile_build_stack(r->b, r->path.items, r->path.n);
    if (place != SF_NONE)
        k->place = place + 1;
    return place;
}

/* --- threads --- */

struct sf_jfr_thread sf_jfr_stack_thread_of(struct sf_jfr *r, int64_t key)
{
    struct sf_jfr_constant *k = key ? sf_jfr_pool_constant_find(r, SF_JFR_P_THREAD, key) : NULL;
    struct sf_jfr_thread t = {0}, *to;
    struct sf_jfr_values v;

    if (!k)
        return t;
    if (k->place)
        return ((const struct sf_jfr_thread *)r->threads.items)[k->place - 1];
    read_constant(r, SF_JFR_P_THREAD, k->off, &v, NULL);
    t.name = sf_jfr_pool_text_of(r, &v.name, r->b->a);
    if (!t.name.len)
        t.name = sf_jfr_pool_text_of(r, &v.value, r->b->a);
    t.name = sf_profile_clean(r->b, t.name);
    t.id = (uint64_t)v.v[SF_JFR_OS_ID];
    t.is_kernel = t.id != 0;
    t.java_id = v.v[SF_JFR_JAVA_ID] > 0 ? (uint64_t)v.v[SF_JFR_JAVA_ID] : 0;
    if (!t.id && v.v[SF_JFR_JAVA_ID]) /* a virtual thread has only this id */
        t.id = sf_hash_mix(0x6a666972, (uint64_t)v.v[SF_JFR_JAVA_ID]);
    if (!t.name.len && t.id &&
        !sf_arena_print(r->b->a, &t.name, "[tid=%" PRId64 "]",
                        v.v[SF_JFR_OS_ID] ? v.v[SF_JFR_OS_ID] : v.v[SF_JFR_JAVA_ID]))
        r->b->is_full = true;
    to = sf_jfr_meta_list_more(r, &r->threads, sizeof(*to));
    if (to) {
        *to = t;
        k->place = ++r->threads.n;
    }
    return t;
}
