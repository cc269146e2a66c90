#include "symbol/dwarf_path.h"

static bool is_absolute(sf_str s)
{
    return s.len && s.p[0] == '/';
}

/* Removes the last folder; false: there is none. */
static bool go_up(struct sf_buf *out, size_t begin)
{
    size_t at = out->len;
    if (at == begin || (at == begin + 1 && out->p[begin] == '/'))
        return at != begin; /* the parent of the root is the root */
    while (at > begin && out->p[at - 1] != '/')
        at--;
    if (out->len - at == 2 && out->p[at] == '.' && out->p[at + 1] == '.')
        return false;
    out->len = at > begin + 1 ? at - 1 : at;
    return true;
}

static void dwarf_path_add_part(struct sf_buf *out, size_t begin, sf_str part)
{
    if (!part.len || sf_str_eq(part, SF_STR(".")))
        return;
    if (sf_str_eq(part, SF_STR("..")) && go_up(out, begin))
        return;
    if (out->len > begin && out->p[out->len - 1] != '/')
        sf_buf_add_u8(out, '/');
    sf_buf_add_str(out, part);
}

static void dwarf_path_add_path(struct sf_buf *out, size_t begin, sf_str path)
{
    sf_str part;
    if (path.len > SF_DWARF_PATH_MAX)
        path = sf_str_from_at(path, path.len - SF_DWARF_PATH_MAX);
    if (is_absolute(path) && out->len == begin)
        sf_buf_add_u8(out, '/');
    while (sf_buf_ok(out) && sf_str_split_next(&path, '/', &part))
        dwarf_path_add_part(out, begin, part);
}

void sf_dwarf_path_join(struct sf_buf *out, sf_str root, sf_str folder, sf_str name)
{
    size_t begin = out->len;
    if (!is_absolute(name)) {
        if (!is_absolute(folder))
            dwarf_path_add_path(out, begin, root);
        dwarf_path_add_path(out, begin, folder);
    }
    dwarf_path_add_path(out, begin, name);
}
