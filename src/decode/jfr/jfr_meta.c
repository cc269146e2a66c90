/* Metadata of a chunk: a tree of elements with attributes, in which texts are numbers. Only
 * classes, their fields and the fields' units are used.
 *
 * Types refer to each other by id and may come in any order. Inline fields contain the content of
 * their class, so a cycle of them would be infinite: a chunk with such a cycle is refused. Fields
 * that take no bytes are removed, so that the work is bounded by the bytes read. */
#include "base/key.h"
#include "base/list.h"
#include "decode/jfr/jfr.h"

enum { MAX_STRINGS = 262144, MAX_CLASSES = 16384, MAX_FIELDS = 1024, MAX_DEPTH = 16 };

void *sf_jfr_meta_list_more(struct sf_jfr *r, struct sf_profile_list *l, size_t size)
{
    if (!sf_list_room_arena(&r->scratch, &l->items, size, l->n, &l->cap, sizeof(l->cap), 64,
                            SF_LIST_MAX)) {
        r->b->is_full = true;
        return NULL;
    }
    return (uint8_t *)l->items + l->n * size;
}

static void jfr_meta_read_strings(struct sf_jfr *r, struct sf_jfr_cursor *c)
{
    const uint8_t *from = c->at;
    uint32_t n = sf_jfr_cursor_count(c, 1);
    if (n > MAX_STRINGS) {
        sf_jfr_cursor_fault(c, from, "more strings in the metadata than anybody needs");
        return;
    }
    r->strings = sf_jfr_new(r, n + 1u, sizeof(*r->strings));
    for (r->n_strings = 0; r->strings && r->n_strings < n && !c->fault; r->n_strings++) {
        struct sf_jfr_text t;
        sf_jfr_cursor_text_read(c, &t);
        if (!sf_jfr_cursor_text_str(&t, &r->scratch, &r->strings[r->n_strings]))
            r->b->is_full = true;
    }
}

static sf_str jfr_meta_read_string(struct sf_jfr *r, struct sf_jfr_cursor *c)
{
    const uint8_t *from = c->at;
    int32_t at = sf_jfr_int(c);
    if (at >= 0 && (uint32_t)at < r->n_strings)
        return r->strings[at];
    sf_jfr_cursor_fault(c, from, "a string of the metadata that is not there");
    return SF_STR_NONE;
}

struct element {
    sf_str name; /* name of the element */
    sf_str called, id, cls, value;
    bool is_pool, is_array, is_deep;
};

static void read_attribute(struct sf_jfr *r, struct sf_jfr_cursor *c, struct element *e)
{
    sf_str key = jfr_meta_read_string(r, c), val = jfr_meta_read_string(r, c);
    if (sf_str_eq(key, SF_STR("name")))
        e->called = val;
    else if (sf_str_eq(key, SF_STR("id")))
        e->id = val;
    else if (sf_str_eq(key, SF_STR("class")))
        e->cls = val;
    else if (sf_str_eq(key, SF_STR("value")) || sf_str_eq(key, SF_STR("value-0")))
        e->value = val;
    else if (sf_str_eq(key, SF_STR("constantPool")))
        e->is_pool = sf_str_eq(val, SF_STR("true"));
    else if (sf_str_eq(key, SF_STR("dimension"))) {
        e->is_array = sf_str_eq(val, SF_STR("1"));
        e->is_deep = !e->is_array && !sf_str_eq(val, SF_STR("0"));
    }
}

static void jfr_meta_add_class(struct sf_jfr *r, struct sf_jfr_cursor *c, const struct element *e)
{
    struct sf_jfr_class *k;
    uint64_t id;
    if (!sf_str_to_u64(e->id, &id) || r->classes.n == MAX_CLASSES) {
        sf_jfr_cursor_fault(c, c->at, "a class without a number, or too many");
        return;
    }
    k = sf_jfr_meta_list_more(r, &r->classes, sizeof(*k));
    if (!k)
        return;
    *k = (struct sf_jfr_class){.id = id, .name = e->called, .first = r->fields.n};
    r->classes.n++;
}

static void jfr_meta_add_field(struct sf_jfr *r, struct sf_jfr_cursor *c, const struct element *e)
{
    struct sf_jfr_class *k = (struct sf_jfr_class *)r->classes.items + (r->classes.n - 1);
    struct sf_jfr_field *f;
    uint64_t id;
    if (!sf_str_to_u64(e->cls, &id) || e->is_deep || k->n == MAX_FIELDS) {
        sf_jfr_cursor_fault(c, c->at, "a field without a class, of two dimensions, or too many");
        return;
    }
    f = sf_jfr_meta_list_more(r, &r->fields, sizeof(*f));
    if (!f)
        return;
    *f = (struct sf_jfr_field){
        .name = e->called, .class_id = id, .is_pool = e->is_pool, .is_array = e->is_array};
    r->fields.n++;
    k->n++;
}

/* "TICKS" and similar below a field: any annotation with such a value gives its unit. */
static void jfr_meta_add_unit(struct sf_jfr *r, const struct element *e)
{
    static const struct {
        const char *word;
        uint8_t unit;
    } units[] = {{"TICKS", SF_JFR_TICKS},
                 {"NANOSECONDS", SF_JFR_NS},
                 {"MICROSECONDS", SF_JFR_US},
                 {"MILLISECONDS", SF_JFR_MS},
                 {"SECONDS", SF_JFR_S}};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (sf_str_eq(e->value, sf_str_from(units[i].word)))
            ((struct sf_jfr_field *)r->fields.items)[r->fields.n - 1].unit = units[i].unit;
    }
}

enum place { IN_ROOT, IN_METADATA, IN_CLASS, IN_FIELD, IN_OTHER };

static enum place jfr_meta_enter(struct sf_jfr *r, struct sf_jfr_cursor *c, const struct element *e,
                                 enum place in)
{
    if (in == IN_ROOT && sf_str_eq(e->name, SF_STR("metadata")))
        return IN_METADATA;
    if (in == IN_METADATA && sf_str_eq(e->name, SF_STR("class"))) {
        jfr_meta_add_class(r, c, e);
        return IN_CLASS;
    }
    if (in == IN_CLASS && sf_str_eq(e->name, SF_STR("field"))) {
        jfr_meta_add_field(r, c, e);
        return IN_FIELD;
    }
    if (in == IN_FIELD && sf_str_eq(e->name, SF_STR("annotation")))
        jfr_meta_add_unit(r, e);
    return IN_OTHER;
}

/* Starts with the root as IN_ROOT; iterative, with a stack of counts. */
static void read_elements(struct sf_jfr *r, struct sf_jfr_cursor *c)
{
    struct {
        uint32_t left;
        enum place in;
    } open[MAX_DEPTH];
    unsigned depth = 0;
    open[0].left = 1;
    open[0].in = IN_OTHER;
    while (!c->fault && !r->b->is_full) {
        struct element e = {.name = SF_STR_NONE};
        uint32_t n;
        enum place in;
        while (depth && !open[depth].left)
            depth--;
        if (!open[depth].left)
            return;
        open[depth].left--;
        e.name = jfr_meta_read_string(r, c);
        n = sf_jfr_cursor_count(c, 2);
        while (n-- > 0 && !c->fault)
            read_attribute(r, c, &e);
        in = depth == 0 ? IN_ROOT : jfr_meta_enter(r, c, &e, open[depth].in);
        n = sf_jfr_cursor_count(c, 3);
        if (n && depth + 1 == MAX_DEPTH) {
            sf_jfr_cursor_fault(c, c->at, "the metadata is nested too deep");
            return;
        }
        if (n) {
            depth++;
            open[depth].left = n;
            open[depth].in = in;
        }
    }
}

/* --- classes by id, and what they are made of --- */

static uint32_t find_class(const struct sf_jfr *r, uint64_t id, struct sf_table_lookup *lookup)
{
    const struct sf_jfr_class *classes = r->classes.items;
    uint32_t at;
    *lookup = sf_table_lookup(&r->class_at, sf_key_u64(id));
    while (sf_table_next(lookup, &at)) {
        if (classes[at].id == id)
            return at;
    }
    return SF_NONE;
}

/* Each event looks up its class. Class ids are small, so a small cache by id finds most of them;
 * other ids are looked up in the table. */
struct sf_jfr_class *sf_jfr_meta_class_at(struct sf_jfr *r, uint64_t id)
{
    struct sf_jfr_class *classes = r->classes.items;
    uint32_t *seen = &r->class_seen[id % SF_JFR_CLASSES_SEEN];
    struct sf_table_lookup lookup;
    uint32_t place;
    if (*seen && classes[*seen - 1].id == id)
        return &classes[*seen - 1];
    place = find_class(r, id, &lookup);
    if (place == SF_NONE)
        return NULL;
    *seen = place + 1;
    return &classes[place];
}

static bool index_classes(struct sf_jfr *r, struct sf_jfr_cursor *c)
{
    struct sf_jfr_class *classes = r->classes.items;
    if (!sf_table_reset(&r->class_at, r->classes.n)) {
        r->b->is_full = true;
        return false;
    }
    for (uint32_t i = 0; i < r->classes.n; i++) {
        struct sf_table_lookup lookup;
        if (find_class(r, classes[i].id, &lookup) != SF_NONE)
            sf_jfr_cursor_fault(c, c->at, "two classes with one number");
        else
            sf_table_keep(&r->class_at, &lookup, i);
    }
    return true;
}

static uint8_t primitive_of(sf_str name)
{
    static const struct {
        const char *name;
        uint8_t kind;
    } names[] = {
        {"boolean", SF_JFR_BYTE}, {"byte", SF_JFR_BYTE},     {"short", SF_JFR_SHORT},
        {"char", SF_JFR_SHORT},   {"int", SF_JFR_INT},       {"long", SF_JFR_LONG},
        {"float", SF_JFR_FLOAT},  {"double", SF_JFR_DOUBLE}, {"java.lang.String", SF_JFR_STRING}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (sf_str_eq(name, sf_str_from(names[i].name)))
            return names[i].kind;
    }
    return SF_JFR_CLASS;
}

static void resolve_fields(struct sf_jfr *r, struct sf_jfr_cursor *c)
{
    struct sf_jfr_field *fields = r->fields.items;
    struct sf_jfr_class *classes = r->classes.items;
    for (uint32_t i = 0; i < r->fields.n; i++) {
        const struct sf_jfr_class *k = sf_jfr_meta_class_at(r, fields[i].class_id);
        if (!k) {
            sf_jfr_cursor_fault(c, c->at, "a field of a class that is not there");
            return;
        }
        fields[i].cls = (uint32_t)(k - classes);
        fields[i].kind = fields[i].is_pool ? SF_JFR_LONG : primitive_of(k->name);
    }
}

/* Bottom up: how deep a class is nested inline, and whether it takes any bytes. Recursion is
 * limited to MAX_DEPTH, because a deeper class is refused. */
static void visit(struct sf_jfr *r, struct sf_jfr_cursor *c, uint32_t at, unsigned depth)
{
    struct sf_jfr_class *classes = r->classes.items, *k = &classes[at];
    struct sf_jfr_field *fields = r->fields.items;
    enum { NEW, OPEN, DONE };
    if (k->visit == DONE || c->fault)
        return;
    if (k->visit == OPEN || depth == MAX_DEPTH) {
        sf_jfr_cursor_fault(c, c->at, "a type that holds itself, or types nested too deep");
        return;
    }
    k->visit = OPEN;
    k->kind = primitive_of(k->name);
    if (k->kind == SF_JFR_CLASS) {
        bool has_bytes = false;
        for (uint32_t i = k->first; i < k->first + k->n; i++) {
            if (fields[i].kind == SF_JFR_CLASS) {
                visit(r, c, fields[i].cls, depth + 1);
                fields[i].kind = classes[fields[i].cls].kind;
            }
            has_bytes |= fields[i].is_array || fields[i].kind != SF_JFR_NOTHING;
        }
        if (!has_bytes)
            k->kind = SF_JFR_NOTHING;
    }
    k->visit = DONE;
}

static uint8_t event_of(sf_str name)
{
    static const struct {
        const char *name;
        uint8_t event;
    } events[] = {{"jdk.ExecutionSample", SF_JFR_EV_EXECUTION},
                  {"jdk.NativeMethodSample", SF_JFR_EV_NATIVE},
                  {"jdk.CPUTimeSample", SF_JFR_EV_CPU_TIME},
                  {"profiler.WallClockSample", SF_JFR_EV_WALL},
                  {"jdk.ObjectAllocationInNewTLAB", SF_JFR_EV_TLAB},
                  {"jdk.ObjectAllocationOutsideTLAB", SF_JFR_EV_OUTSIDE},
                  {"jdk.ObjectAllocationSample", SF_JFR_EV_ALLOC},
                  {"profiler.LiveObject", SF_JFR_EV_LIVE},
                  {"jdk.JavaMonitorEnter", SF_JFR_EV_MONITOR},
                  {"jdk.JavaMonitorWait", SF_JFR_EV_WAIT},
                  {"jdk.ThreadPark", SF_JFR_EV_PARK},
                  {"profiler.NativeLock", SF_JFR_EV_NATIVE_LOCK},
                  {"profiler.Malloc", SF_JFR_EV_MALLOC},
                  {"jdk.GarbageCollection", SF_JFR_EV_GC},
                  {"profiler.Span", SF_JFR_EV_SPAN},
                  {"datadog.ExecutionSample", SF_JFR_EV_DD_CPU},
                  {"datadog.MethodSample", SF_JFR_EV_DD_WALL},
                  {"datadog.ObjectSample", SF_JFR_EV_DD_ALLOC},
                  {"datadog.HeapLiveObject", SF_JFR_EV_DD_LIVE},
                  {"jdk.ActiveSetting", SF_JFR_EV_SETTING},
                  {"datadog.DatadogProfilerConfig", SF_JFR_EV_DD_CONFIG}};
    for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
        if (sf_str_eq(name, sf_str_from(events[i].name)))
            return events[i].event;
    }
    return SF_JFR_EV_NONE;
}

static uint8_t pool_of(sf_str name)
{
    static const struct {
        const char *name;
        uint8_t pool;
    } pools[] = {
        {"java.lang.String", SF_JFR_P_STRING},        {"jdk.types.Symbol", SF_JFR_P_SYMBOL},
        {"java.lang.Class", SF_JFR_P_CLASS},          {"jdk.types.Method", SF_JFR_P_METHOD},
        {"jdk.types.StackTrace", SF_JFR_P_STACK},     {"jdk.types.StackFrame", SF_JFR_P_FRAME},
        {"jdk.types.FrameType", SF_JFR_P_FRAME_TYPE}, {"jdk.types.ThreadState", SF_JFR_P_STATE},
        {"java.lang.Thread", SF_JFR_P_THREAD},        {"jdk.types.GCName", SF_JFR_P_GC_NAME},
        {"jdk.types.GCCause", SF_JFR_P_GC_CAUSE}};
    for (size_t i = 0; i < sizeof(pools) / sizeof(*pools); i++) {
        if (sf_str_eq(name, sf_str_from(pools[i].name)))
            return pools[i].pool;
    }
    return SF_JFR_P_NONE;
}

bool sf_jfr_meta_read(struct sf_jfr *r, struct sf_jfr_cursor *c)
{
    struct sf_jfr_class *classes;
    const uint8_t *from = c->at;
    int32_t size = sf_jfr_int(c);

    if (size <= 0 || (size_t)size > (size_t)(c->end - from))
        sf_jfr_cursor_fault(c, from, "the metadata is larger than its chunk");
    else
        c->end = from + size;
    if (sf_jfr_long(c) != 0)
        sf_jfr_cursor_fault(c, from, "no metadata where the header says it is");
    sf_jfr_long(c); /* ticks, duration, id */
    sf_jfr_long(c);
    sf_jfr_long(c);
    jfr_meta_read_strings(r, c);
    read_elements(r, c);
    if (c->fault || r->b->is_full)
        return false;
    if (!index_classes(r, c))
        return false;
    resolve_fields(r, c);
    classes = r->classes.items;
    for (uint32_t i = 0; i < r->classes.n && !c->fault; i++)
        visit(r, c, i, 0);
    for (uint32_t i = 0; i < r->classes.n && !c->fault && !r->b->is_full; i++) {
        classes[i].event = event_of(classes[i].name);
        classes[i].pool = pool_of(classes[i].name);
        if ((classes[i].event || classes[i].pool) && !sf_jfr_value_steps_make(r, &classes[i]))
            return false;
        if (!r->pool_class[classes[i].pool])
            r->pool_class[classes[i].pool] = &classes[i];
    }
    return !c->fault && !r->b->is_full;
}
