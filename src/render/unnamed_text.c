/* By Debian's policy (8.1) a library's package is named after its soname: libsqlite3.so.0 is in
 * libsqlite3-0, libssl.so.3 in libssl3; debug files are in a package with the suffix -dbgsym. The C
 * library's debug package has another name. */
#include "render/unnamed_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/units.h"

enum { MAX_LISTED = 3, MAX_MODULES = 64 };

static sf_str unnamed_text_base_name(sf_str path)
{
    for (size_t i = path.len; i-- > 0;) {
        if (path.p[i] == '/')
            return sf_str_from_at(path, i + 1);
    }
    return path;
}

static bool unnamed_text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_of_libc(sf_str name)
{
    static const char *const parts[] = {"libc.so.6",     "libm.so.6",  "libpthread.so.0",
                                        "libdl.so.2",    "librt.so.1", "libutil.so.1",
                                        "libresolv.so.2"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (sf_str_eq(name, sf_str_from(parts[i])))
            return true;
    }
    return sf_str_starts(name, SF_STR("ld-linux"));
}

bool sf_unnamed_text_debug_package(sf_str module, char out[SF_DEBUG_PACKAGE_CAP])
{
    sf_str name = unnamed_text_base_name(module), version;
    size_t at, n = 0;
    if (is_of_libc(name)) {
        snprintf(out, SF_DEBUG_PACKAGE_CAP, "libc6-dbg");
        return true;
    }
    if (!sf_str_starts(name, SF_STR("lib")) || !sf_str_find(name, SF_STR(".so."), &at) || at == 3 ||
        name.len >= SF_DEBUG_PACKAGE_CAP - 16)
        return false;
    version = sf_str_from_at(name, at + 4);
    while (n < version.len && unnamed_text_is_digit(version.p[n]))
        n++;
    if (!n || (n < version.len && version.p[n] != '.'))
        return false;
    for (size_t i = 0; i < at; i++) {
        char c = name.p[i];
        if (c <= ' ' || c > '~')
            return false;
        out[i] = c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    snprintf(out + at, SF_DEBUG_PACKAGE_CAP - at, "%s%.*s-dbgsym",
             unnamed_text_is_digit(name.p[at - 1]) ? "-" : "", (int)n, version.p);
    return true;
}

struct module {
    sf_str name, build_id;
    double value;
};

static bool has_no_name(const struct sf_frame *f)
{
    return (!f->function.len || f->is_unnamed) && f->module.len;
}

/* Libraries that do not fit in the list are ignored: they probably have few samples. */
static struct module *unnamed_text_find(struct module *list, uint32_t *n, const struct sf_frame *f)
{
    sf_str name = unnamed_text_base_name(f->module);
    for (uint32_t i = 0; i < *n; i++) {
        if (sf_str_eq(list[i].name, name) && sf_str_eq(list[i].build_id, f->build_id))
            return &list[i];
    }
    if (*n == MAX_MODULES)
        return NULL;
    list[*n] = (struct module){name, f->build_id, 0};
    return &list[(*n)++];
}

static bool unnamed_text_is_hex(sf_str id)
{
    for (size_t i = 0; i < id.len; i++) {
        if (!unnamed_text_is_digit(id.p[i]) && (id.p[i] < 'a' || id.p[i] > 'f'))
            return false;
    }
    return id.len >= 8 && id.len <= 128;
}

static void write_module(const struct module *m, double share, struct sf_buf *out)
{
    char package[SF_DEBUG_PACKAGE_CAP];
    bool has_package = sf_unnamed_text_debug_package(m->name, package);
    sf_units_text(out, m->name, 60);
    sf_buf_print(out, " has no names (%.2g %%)", share * 100);
    if (!unnamed_text_is_hex(m->build_id)) {
        sf_buf_add_str(out, SF_STR(" and was sent without a build id: names cannot be added\n"));
        return;
    }
    if (has_package)
        sf_buf_print(out, "; with its debug package (Debian: likely %s):\n", package);
    else
        sf_buf_add_str(out, SF_STR("; with its debug file:\n"));
    sf_buf_print(out, "  spanflame symbols upload /usr/lib/debug/.build-id/%.2s/%.*s.debug\n",
                 m->build_id.p, (int)m->build_id.len - 2, m->build_id.p + 2);
}

void sf_unnamed_text(const struct sf_tree *tree, struct sf_buf *out)
{
    struct module list[MAX_MODULES];
    double all = fabs((double)tree->total);
    uint32_t n = 0;
    for (uint32_t i = 1; i < tree->n_nodes && all > 0; i++) {
        const struct sf_tree_node *node = &tree->nodes[i];
        struct module *m = node->self && has_no_name(&tree->frames[node->frame])
                               ? unnamed_text_find(list, &n, &tree->frames[node->frame])
                               : NULL;
        if (m)
            m->value += fabs((double)node->self);
    }
    for (int k = 0; k < MAX_LISTED; k++) {
        struct module *most = NULL;
        for (uint32_t i = 0; i < n; i++)
            most = list[i].value >= 0.01 * all && (!most || list[i].value > most->value) ? &list[i]
                                                                                         : most;
        if (!most)
            return;
        write_module(most, most->value / all, out);
        most->value = 0;
    }
}
