/* gecko_table.c - tables of the Firefox profile format. A table is rows with a schema, or one array
 * per column; both are read into columns of numbers. Stacks refer to frames and frames to functions
 * by index; they are linked after all tables are read, because the tables may come in any order. */
#include <math.h>

#include "base/text.h"
#include "decode/frame_kind.h"
#include "decode/json/gecko.h"

/* --- columns --- */

static double gecko_table_read_number(struct sf_json *j)
{
    switch (sf_json_peek(j)) {
    case SF_JSON_NUMBER: return sf_json_f64(j);
    case SF_JSON_BOOL: return sf_json_bool(j);
    default: sf_json_skip(j); return NAN;
    }
}

static void gecko_table_put(struct sf_profile_build *b, struct sf_gecko_column *c, double v)
{
    double *to = sf_profile_list_more(b, &c->list, sizeof(*to));
    if (!to)
        return;
    *to = v;
    c->list.n++;
}

enum { MAX_COLUMNS = 64 };

/* Maps columns of the file to ours; the schema may be anywhere in the table. */
static void read_schema(struct sf_json *j, const struct sf_gecko_column *columns, uint32_t n,
                        uint8_t *ours)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        double at = gecko_table_read_number(j);
        for (uint32_t i = 0; i < n; i++) {
            if (sf_str_eq(key, sf_str_from(columns[i].name)) && at >= 0 && at < MAX_COLUMNS)
                ours[(uint32_t)at] = (uint8_t)(i + 1);
        }
    }
}

static void gecko_table_read_rows(struct sf_profile_build *b, struct sf_json *j,
                                  struct sf_gecko_column *columns, uint32_t n, const uint8_t *ours)
{
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j) && !b->is_full) {
        double row[16];
        for (uint32_t i = 0; i < n; i++)
            row[i] = NAN;
        if (sf_json_array(j)) {
            for (uint32_t at = 0; sf_json_item(j); at++) {
                if (at < MAX_COLUMNS && ours[at])
                    row[ours[at] - 1] = gecko_table_read_number(j);
                else
                    sf_json_skip(j);
            }
        }
        for (uint32_t i = 0; i < n; i++)
            gecko_table_put(b, &columns[i], row[i]);
    }
}

/* The text of a value, which is skipped. */
static sf_str gecko_table_value_text(struct sf_json *j)
{
    const char *from;
    (void)sf_json_peek(j);
    from = j->at;
    sf_json_skip(j);
    return sf_json_ok(j) ? (sf_str){from, (size_t)(j->at - from)} : SF_STR_NONE;
}

void sf_gecko_table_read(struct sf_profile_build *b, struct sf_json *j, sf_str text,
                         struct sf_gecko_column *columns, uint32_t n)
{
    sf_str key, schema = SF_STR_NONE, data = SF_STR_NONE;
    uint8_t ours[MAX_COLUMNS] = {0};
    sf_json_init(j, text, b->a);
    if (!text.len || sf_json_peek(j) != SF_JSON_OBJECT || !sf_json_object(j))
        return;
    while (sf_json_key(j, &key) && !b->is_full) {
        uint32_t i = 0;
        if (sf_str_eq(key, SF_STR("schema"))) {
            schema = gecko_table_value_text(j);
            continue;
        }
        if (sf_str_eq(key, SF_STR("data"))) {
            data = gecko_table_value_text(j);
            continue;
        }
        while (i < n && !sf_str_eq(key, sf_str_from(columns[i].name)))
            i++;
        if (i == n || sf_json_peek(j) != SF_JSON_ARRAY) {
            sf_json_skip(j);
        } else if (sf_json_array(j)) {
            while (sf_json_item(j) && !b->is_full)
                gecko_table_put(b, &columns[i], gecko_table_read_number(j));
        }
    }
    if (!schema.len || !data.len || !sf_json_ok(j))
        return;
    sf_json_init(j, schema, b->a);
    if (sf_json_peek(j) == SF_JSON_OBJECT)
        read_schema(j, columns, n, ours);
    if (!sf_json_ok(j))
        return;
    sf_json_init(j, data, b->a);
    gecko_table_read_rows(b, j, columns, n, ours);
}

double sf_gecko_table_number(const struct sf_gecko_column *c, uint32_t i)
{
    return i < c->list.n ? ((const double *)c->list.items)[i] : NAN;
}

uint32_t sf_gecko_table_place(const struct sf_gecko_column *c, uint32_t i, uint32_t n)
{
    double v = sf_gecko_table_number(c, i);
    return v >= 0 && v < (double)n && v == floor(v) ? (uint32_t)v : SF_NONE;
}

/* --- stacks --- */

enum { STACK_PREFIX, STACK_PREFIX_OFFSET, STACK_FRAME, N_STACK };
enum { FRAME_LOCATION, FRAME_FUNC, FRAME_LINE, N_FRAME };
enum { FUNC_NAME, FUNC_RESOURCE, FUNC_IS_JS, FUNC_FILE, FUNC_SOURCE, FUNC_LINE, N_FUNC };

static sf_str string_at(const struct sf_gecko_stacks *s, uint32_t place)
{
    return place == SF_NONE ? SF_STR_NONE : ((const sf_str *)s->strings.items)[place];
}

static void gecko_table_read_strings(struct sf_gecko_stacks *s, struct sf_json *j, sf_str text)
{
    sf_json_init(j, text, s->b->a);
    if (!text.len || sf_json_peek(j) != SF_JSON_ARRAY || !sf_json_array(j))
        return;
    while (sf_json_item(j) && !s->b->is_full) {
        sf_str *to = sf_profile_list_more(s->b, &s->strings, sizeof(*to)), v = SF_STR_NONE;
        if (sf_json_peek(j) == SF_JSON_STRING)
            v = sf_json_str(j);
        else
            sf_json_skip(j);
        if (!to)
            return;
        *to = v;
        s->strings.n++;
    }
}

static bool gecko_table_hex_of(sf_str text, uint64_t *out)
{
    uint64_t v = 0;
    if (text.len < 3 || text.len > 18 || !sf_str_starts(text, SF_STR("0x")))
        return false;
    for (size_t i = 2; i < text.len; i++) {
        int digit = sf_hex_digit(text.p[i]);
        if (digit < 0)
            return false;
        v = v << 4 | (uint64_t)digit;
    }
    *out = v;
    return true;
}

/* An address without a name, in the library loaded there. */
static uint32_t native_location(struct sf_gecko_stacks *s, uint64_t addr)
{
    const struct sf_gecko_lib *libs = s->libs->items;
    struct sf_location l = {.mapping = SF_NONE, .addr = addr, .kind = SF_FRAME_NATIVE};
    for (uint32_t i = 0; i < s->libs->n; i++) {
        if (addr < libs[i].start || addr >= libs[i].end)
            continue;
        l.mapping = sf_profile_build_mapping(s->b, &(struct sf_mapping){.file = libs[i].name});
        l.addr = addr - libs[i].start;
        break;
    }
    return sf_profile_build_location(s->b, &l);
}

/* "function (file:line:column)": removes the part in parentheses. */
static uint32_t take_place(sf_str *name, sf_str *file)
{
    sf_str inner;
    uint64_t line = 0, n;
    size_t open = name->len;
    if (!sf_str_ends(*name, SF_STR(")")))
        return 0;
    while (open && name->p[open - 1] != '(')
        open--;
    if (open < 2 || name->p[open - 2] != ' ')
        return 0;
    inner = sf_str_part(*name, open, name->len - 1 - open);
    for (int i = 0; i < 2; i++) { /* the column, then the line; or the line alone */
        size_t colon = inner.len;
        while (colon && inner.p[colon - 1] != ':')
            colon--;
        if (!colon || !sf_str_to_u64(sf_str_from_at(inner, colon), &n) || n > INT32_MAX)
            break;
        line = n;
        inner.len = colon - 1;
    }
    *file = inner;
    name->len = open - 2;
    return (uint32_t)line;
}

struct tables {
    struct sf_gecko_column stacks[N_STACK], frames[N_FRAME], funcs[N_FUNC], resources[1];
};

static uint32_t raw_location(struct sf_gecko_stacks *s, sf_str name, double line)
{
    struct sf_function f = {.name = name};
    uint32_t at = take_place(&f.name, &f.file);
    uint64_t addr;
    if (gecko_table_hex_of(name, &addr))
        return native_location(s, addr);
    if (line > 0 && line < INT32_MAX)
        at = (uint32_t)line;
    return sf_profile_build_frame(
        s->b, &f, at, f.file.len && at ? SF_FRAME_V8 : sf_frame_kind_of_file(f.file, SF_STR_NONE));
}

static uint32_t processed_location(struct sf_gecko_stacks *s, const struct tables *t, uint32_t func,
                                   double line)
{
    uint32_t n = s->strings.n, resource, source;
    struct sf_function f = {
        .name = string_at(s, sf_gecko_table_place(&t->funcs[FUNC_NAME], func, n))};
    struct sf_line l = {0};
    struct sf_location at = {.mapping = SF_NONE, .lines = &l, .n_lines = 1};
    bool is_js = sf_gecko_table_number(&t->funcs[FUNC_IS_JS], func) > 0;
    sf_str module = SF_STR_NONE;
    if (!f.name.len)
        f.name = SF_STR("(unknown)");
    f.file = string_at(s, sf_gecko_table_place(&t->funcs[FUNC_FILE], func, n));
    source = sf_gecko_table_place(&t->funcs[FUNC_SOURCE], func, s->sources.list.n);
    if (!f.file.len && source != SF_NONE)
        f.file = string_at(s, sf_gecko_table_place(&s->sources, source, n));
    resource = sf_gecko_table_place(&t->funcs[FUNC_RESOURCE], func, t->resources[0].list.n);
    if (!is_js && resource != SF_NONE)
        module = string_at(s, sf_gecko_table_place(&t->resources[0], resource, n));
    if (module.len)
        at.mapping = sf_profile_build_mapping(s->b, &(struct sf_mapping){.file = module});
    if (!(line > 0))
        line = sf_gecko_table_number(&t->funcs[FUNC_LINE], func);
    l.line = line > 0 && line < INT32_MAX ? (uint32_t)line : 0;
    at.kind = (uint8_t)(is_js ? SF_FRAME_V8 : sf_frame_kind_of_file(f.file, module));
    if (at.kind == SF_FRAME_UNKNOWN && module.len)
        at.kind = SF_FRAME_NATIVE;
    l.function = sf_profile_build_function(s->b, &f);
    return l.function == SF_NONE ? SF_NONE : sf_profile_build_location(s->b, &at);
}

/* Locations by frame, SF_NONE for "(root)". */
static uint32_t *make_locations(struct sf_gecko_stacks *s, const struct tables *t, uint32_t n)
{
    uint32_t *out = sf_profile_new(s->b, n + 1u, sizeof(*out));
    for (uint32_t i = 0; out && i < n && !s->b->is_full; i++) {
        uint32_t func = sf_gecko_table_place(&t->frames[FRAME_FUNC], i, t->funcs[FUNC_NAME].list.n);
        uint32_t name = func == SF_NONE
                            ? sf_gecko_table_place(&t->frames[FRAME_LOCATION], i, s->strings.n)
                            : sf_gecko_table_place(&t->funcs[FUNC_NAME], func, s->strings.n);
        double line = sf_gecko_table_number(&t->frames[FRAME_LINE], i);
        if (sf_str_eq(string_at(s, name), SF_STR("(root)")))
            out[i] = SF_NONE;
        else if (func != SF_NONE)
            out[i] = processed_location(s, t, func, line);
        else
            out[i] = raw_location(s, name == SF_NONE ? SF_STR("(unknown)") : string_at(s, name),
                                  line);
    }
    return out;
}

static void link_stacks(struct sf_gecko_stacks *s, const struct tables *t,
                        const uint32_t *locations, uint32_t n_frames)
{
    uint32_t n = t->stacks[STACK_FRAME].list.n;
    if (!sf_link_tree_init(&s->tree, s->b, n))
        return;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t frame = sf_gecko_table_place(&t->stacks[STACK_FRAME], i, n_frames);
        double off = sf_gecko_table_number(&t->stacks[STACK_PREFIX_OFFSET], i);
        s->tree.links[i].parent = sf_gecko_table_place(&t->stacks[STACK_PREFIX], i, n);
        if (off >= 1 && off <= (double)i) /* newer versions give the distance to the parent */
            s->tree.links[i].parent = i - (uint32_t)off;
        s->tree.links[i].location = frame == SF_NONE ? SF_NONE : locations[frame];
    }
    sf_link_tree_close(&s->tree);
    s->made = sf_profile_new(s->b, n + 1u, sizeof(*s->made));
    for (uint32_t i = 0; s->made && i < n; i++)
        s->made[i] = SF_NONE;
}

void sf_gecko_table_stacks_read(struct sf_gecko_stacks *s, struct sf_json *j,
                                const struct sf_gecko_texts *texts)
{
    struct tables t = {
        .stacks = {{.name = "prefix"}, {.name = "prefixOffset"}, {.name = "frame"}},
        .frames = {{.name = "location"}, {.name = "func"}, {.name = "line"}},
        .funcs = {{.name = "name"},
                  {.name = "resource"},
                  {.name = "isJS"},
                  {.name = "fileName"},
                  {.name = "source"},
                  {.name = "lineNumber"}},
        .resources = {{.name = "name"}},
    };
    const struct {
        sf_str text;
        struct sf_gecko_column *columns;
        uint32_t n;
    } all[] = {{texts->stacks, t.stacks, N_STACK},
               {texts->frames, t.frames, N_FRAME},
               {texts->funcs, t.funcs, N_FUNC},
               {texts->resources, t.resources, 1},
               {texts->sources, &s->sources, 1}};
    const uint32_t *locations;
    uint32_t n_frames;
    s->sources.name = "filename";
    if (!s->strings.n)
        gecko_table_read_strings(s, j, texts->strings);
    for (size_t i = 0; i < 5 && sf_json_ok(j) && !s->b->is_full; i++)
        sf_gecko_table_read(s->b, j, all[i].text, all[i].columns, all[i].n);
    if (!sf_json_ok(j) || s->b->is_full)
        return;
    n_frames = t.frames[FRAME_FUNC].list.n > t.frames[FRAME_LOCATION].list.n
                   ? t.frames[FRAME_FUNC].list.n
                   : t.frames[FRAME_LOCATION].list.n;
    locations = make_locations(s, &t, n_frames);
    if (locations && !s->b->is_full)
        link_stacks(s, &t, locations, n_frames);
    s->is_read = true;
}

uint32_t sf_gecko_table_stacks_make(struct sf_gecko_stacks *s, uint32_t place)
{
    if (place >= s->tree.n || !s->made)
        return SF_NONE;
    if (s->made[place] == SF_NONE)
        s->made[place] = sf_link_tree_stack(&s->tree, place);
    return s->made[place];
}
