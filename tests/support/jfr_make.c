#include "support/jfr_make.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

static const char *const primitives[] = {"boolean", "byte",   "char",  "short",           "int",
                                         "long",    "double", "float", "java.lang.String"};
enum { PRIMITIVES = 9, HEADER = 68 };

static void put_be(struct sf_buf *b, uint64_t v, unsigned len)
{
    while (len-- > 0)
        sf_buf_add_u8(b, (uint8_t)(v >> (8 * len)));
}

static void put_varint(struct sf_buf *b, uint64_t v)
{
    for (int i = 0; i < 8 && v >= 0x80; i++, v >>= 7)
        sf_buf_add_u8(b, (uint8_t)(v | 0x80));
    sf_buf_add_u8(b, (uint8_t)v);
}

void jfr_make_byte(struct jfr_make *m, uint8_t v)
{
    sf_buf_add_u8(&m->out, v);
}

void jfr_make_int(struct jfr_make *m, int32_t v)
{
    if (m->is_plain)
        put_be(&m->out, (uint32_t)v, 4);
    else
        put_varint(&m->out, (uint32_t)v);
}

void jfr_make_long(struct jfr_make *m, int64_t v)
{
    if (m->is_plain)
        put_be(&m->out, (uint64_t)v, 8);
    else
        put_varint(&m->out, (uint64_t)v);
}

void jfr_make_float(struct jfr_make *m, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof(bits));
    put_be(&m->out, bits, 4);
}

void jfr_make_text(struct jfr_make *m, const char *text)
{
    jfr_make_byte(m, text ? 3 : 0);
    if (!text)
        return;
    jfr_make_int(m, (int32_t)strlen(text));
    sf_buf_add(&m->out, text, strlen(text));
}

/* Sizes are patched in later, so they are padded. */
size_t jfr_make_event(struct jfr_make *m, uint32_t cls)
{
    size_t mark = m->out.len;
    put_be(&m->out, 0, 4);
    jfr_make_long(m, cls);
    return mark;
}

void jfr_make_event_end(struct jfr_make *m, size_t mark)
{
    uint32_t size = (uint32_t)(m->out.len - mark);
    for (unsigned i = 0; i < 4; i++) {
        uint8_t part = m->is_plain ? (uint8_t)(size >> (24 - 8 * i))
                                   : (uint8_t)((size >> (7 * i) & 0x7f) | (i < 3 ? 0x80 : 0));
        m->out.p[mark + i] = part;
    }
}

void jfr_make_begin(struct jfr_make *m)
{
    m->chunk = m->out.len;
    m->n_classes = m->n_fields = 0;
    for (int i = 0; i < HEADER; i++)
        sf_buf_add_u8(&m->out, 0);
    for (int i = 0; i < PRIMITIVES; i++)
        jfr_make_class(m, primitives[i]);
}

uint32_t jfr_make_class(struct jfr_make *m, const char *name)
{
    m->classes[m->n_classes].name = name;
    m->classes[m->n_classes].first = m->n_fields;
    m->classes[m->n_classes].n = 0;
    return 100 + m->n_classes++;
}

void jfr_make_field(struct jfr_make *m, const char *name, const char *cls, uint32_t flags)
{
    uint32_t of = 0;
    while (of < m->n_classes && strcmp(m->classes[of].name, cls) != 0)
        of++;
    m->fields[m->n_fields].name = name;
    m->fields[m->n_fields].cls = of;
    m->fields[m->n_fields++].flags = flags;
    m->classes[m->n_classes - 1].n++;
}

/* --- metadata: every text stands once, under the number of its first use --- */

struct texts {
    char list[1024][64];
    int32_t n;
};

static int32_t text_of(struct texts *t, const char *text)
{
    int32_t i = 0;
    while (i < t->n && strcmp(t->list[i], text) != 0)
        i++;
    if (i == t->n)
        snprintf(t->list[t->n++], sizeof(t->list[0]), "%s", text);
    return i;
}

static void put_attribute(struct jfr_make *m, struct texts *t, const char *key, const char *val)
{
    jfr_make_int(m, text_of(t, key));
    jfr_make_int(m, text_of(t, val));
}

static void put_field(struct jfr_make *m, struct texts *t, uint32_t i)
{
    uint32_t flags = m->fields[i].flags;
    bool has_unit = flags & (JFR_MAKE_TICKS | JFR_MAKE_NS);
    char id[16];
    snprintf(id, sizeof(id), "%u", 100 + m->fields[i].cls);
    jfr_make_int(m, text_of(t, "field"));
    jfr_make_int(m, 2 + !!(flags & JFR_MAKE_POOL) + !!(flags & JFR_MAKE_ARRAY));
    put_attribute(m, t, "name", m->fields[i].name);
    put_attribute(m, t, "class", id);
    if (flags & JFR_MAKE_POOL)
        put_attribute(m, t, "constantPool", "true");
    if (flags & JFR_MAKE_ARRAY)
        put_attribute(m, t, "dimension", "1");
    jfr_make_int(m, has_unit);
    if (has_unit) {
        jfr_make_int(m, text_of(t, "annotation"));
        jfr_make_int(m, 1);
        put_attribute(m, t, "value", flags & JFR_MAKE_TICKS ? "TICKS" : "NANOSECONDS");
        jfr_make_int(m, 0);
    }
}

static void put_elements(struct jfr_make *m, struct texts *t)
{
    char id[16];
    jfr_make_int(m, text_of(t, "root"));
    jfr_make_int(m, 0);
    jfr_make_int(m, 1);
    jfr_make_int(m, text_of(t, "metadata"));
    jfr_make_int(m, 0);
    jfr_make_int(m, (int32_t)m->n_classes);
    for (uint32_t k = 0; k < m->n_classes; k++) {
        snprintf(id, sizeof(id), "%u", 100 + k);
        jfr_make_int(m, text_of(t, "class"));
        jfr_make_int(m, 2);
        put_attribute(m, t, "name", m->classes[k].name);
        put_attribute(m, t, "id", id);
        jfr_make_int(m, (int32_t)m->classes[k].n);
        for (uint32_t i = 0; i < m->classes[k].n; i++)
            put_field(m, t, m->classes[k].first + i);
    }
}

void jfr_make_events(struct jfr_make *m)
{
    static struct texts t;
    size_t from = m->out.len, mark;
    t.n = 0;
    put_elements(m, &t); /* once to know the texts */
    m->out.len = from;
    mark = jfr_make_event(m, 0);
    for (int i = 0; i < 3; i++)
        jfr_make_long(m, 0);
    jfr_make_int(m, t.n);
    for (int32_t i = 0; i < t.n; i++)
        jfr_make_text(m, t.list[i]);
    put_elements(m, &t);
    jfr_make_event_end(m, mark);
}

void jfr_make_pools(struct jfr_make *m, uint32_t n)
{
    m->pools_at = m->out.len - m->chunk;
    m->size_at = jfr_make_event(m, 1);
    jfr_make_long(m, m->end_ticks);
    jfr_make_long(m, 0);
    jfr_make_long(m, 0);
    jfr_make_byte(m, 1);
    jfr_make_int(m, (int32_t)n);
}

void jfr_make_pool(struct jfr_make *m, uint32_t cls, uint32_t n)
{
    jfr_make_long(m, cls);
    jfr_make_int(m, (int32_t)n);
}

void jfr_make_end(struct jfr_make *m)
{
    uint8_t *p;
    jfr_make_event_end(m, m->size_at);
    p = m->out.p + m->chunk;
    memcpy(p, "FLR", 4);
    p[5] = 2;
    sf_store_u64be(p + 8, m->out.len - m->chunk);
    sf_store_u64be(p + 16, m->pools_at);
    sf_store_u64be(p + 24, HEADER);
    sf_store_u64be(p + 32, (uint64_t)m->start_ns);
    sf_store_u64be(p + 40, (uint64_t)m->duration_ns);
    sf_store_u64be(p + 48, (uint64_t)m->start_ticks);
    sf_store_u64be(p + 56, m->rate);
    p[67] = !m->is_plain;
}
