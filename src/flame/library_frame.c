#include "flame/library_frame.h"

#include <string.h>

#include "flame/runtime_frame.h"

static sf_str library_frame_base_name(sf_str path)
{
    for (size_t i = path.len; i > 0; i--)
        if (path.p[i - 1] == '/')
            return sf_str_from_at(path, i);
    return path;
}

static bool begins(sf_str text, const char *with)
{
    size_t len = strlen(with);
    return text.len >= len && memcmp(text.p, with, len) == 0;
}

static bool library_frame_fits(const struct sf_library_rule *r, const struct sf_frame *f)
{
    size_t at;
    if (r->kinds != 0 && f->kind != SF_FRAME_UNKNOWN && !(r->kinds >> f->kind & 1))
        return false;
    switch (r->where) {
    case SF_LIBRARY_MODULE: return begins(library_frame_base_name(f->module), r->text);
    case SF_LIBRARY_SOURCE: return sf_str_find(f->file, sf_str_from(r->text), &at);
    case SF_LIBRARY_FUNCTION: return begins(f->function, r->text);
    case SF_LIBRARY_NAMED: return sf_str_eq(f->function, sf_str_from(r->text));
    }
    return false;
}

static const struct sf_library_rule *library_frame_rule_of(const struct sf_frame *f)
{
    for (uint32_t i = 0; i < sf_library_n_rules; i++)
        if (library_frame_fits(&sf_library_rules[i], f))
            return &sf_library_rules[i];
    return NULL;
}

/* libfoo.so.1, _json.cpython-311-x86_64-linux-gnu.so: a shared library. The length of the name
 * before that, or SIZE_MAX. */
static size_t shared_stem(sf_str module)
{
    size_t at;
    sf_str name = library_frame_base_name(module);
    if (!sf_str_find(name, SF_STR(".so"), &at))
        return SIZE_MAX;
    bool is_end = at + 3 == name.len || name.p[at + 3] == '.';
    return is_end ? at : SIZE_MAX;
}

/* A standard package of Go has no dot in its first part: encoding/json, but github.com/x/y. */
static size_t library_frame_go_package(const struct sf_frame *f)
{
    size_t slash = 0, dot;
    if (f->kind != SF_FRAME_GO)
        return 0;
    for (size_t i = 0; i < f->function.len && f->function.p[i] != '('; i++)
        if (f->function.p[i] == '/')
            slash = i + 1;
    sf_str last = sf_str_from_at(f->function, slash);
    return sf_str_find(last, SF_STR("."), &dot) ? slash + dot : 0;
}

static bool is_go_std(const struct sf_frame *f)
{
    size_t len = library_frame_go_package(f), dot;
    sf_str package = sf_str_part(f->function, 0, len), first = package;
    if (len == 0 || begins(package, "main"))
        return false;
    for (size_t i = 0; i < package.len; i++)
        if (package.p[i] == '/') {
            first = sf_str_part(package, 0, i);
            break;
        }
    /* A service's own packages may have none either, if its module is called "shop". */
    return !sf_str_find(first, SF_STR("."), &dot) && f->file.len > 0 &&
           sf_str_find(f->file, SF_STR("/go/src/"), &dot);
}

bool sf_library_frame_is(const struct sf_frame *f)
{
    return f->kind == SF_FRAME_KERNEL || shared_stem(f->module) != SIZE_MAX ||
           library_frame_rule_of(f) || is_go_std(f) || sf_runtime_frame_of(f) != SF_RUNTIME_NOT;
}

sf_str sf_library_frame_name(const struct sf_frame *f)
{
    const struct sf_library_rule *r = library_frame_rule_of(f);
    size_t stem = shared_stem(f->module);
    if (r && r->name)
        return sf_str_from(r->name);
    if (f->kind == SF_FRAME_KERNEL)
        return SF_STR("the kernel");
    if (stem != SIZE_MAX)
        return sf_str_part(library_frame_base_name(f->module), 0, stem);
    return sf_str_part(f->function, 0, library_frame_go_package(f));
}

const uint32_t *sf_library_frame_owners(const struct sf_tree *tree, struct sf_arena *req)
{
    uint32_t *owners = sf_arena_new_n(req, tree->n_nodes + 1u, sizeof(*owners));
    bool *is_library = sf_arena_new_n(req, tree->n_frames + 1u, sizeof(*is_library));
    const uint32_t *runtime = sf_runtime_frame_owners(tree, req);
    if (!owners || !is_library || !runtime)
        return NULL;
    for (uint32_t i = 0; i < tree->n_frames; i++)
        is_library[i] = sf_library_frame_is(&tree->frames[i]);
    for (uint32_t i = 1; i < tree->n_nodes; i++) /* parents come first */
        owners[i] = is_library[tree->nodes[i].frame] ? owners[tree->nodes[i].parent] : i;
    for (uint32_t i = 1; i < tree->n_nodes; i++)
        if (owners[i] == 0)
            owners[i] = runtime[i];
    return owners;
}
