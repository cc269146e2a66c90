/* After the lengths, DWARF 2 to 4 has folders as texts up to an empty one, then files up to one
 * without a name: text, folder, two numbers. Folder 0 is the unit's, both are numbered from 1.
 * DWARF 5 first describes the values of each folder and file and their forms, and numbers them from
 * 0. */
#include "symbol/dwarf_line_table.h"

#include "symbol/dwarf_abbrevs.h"
#include "symbol/dwarf_names.h"
#include "symbol/dwarf_path.h"
#include "symbol/dwarf_unit.h"
#include "symbol/dwarf_value.h"

enum { MAX_FILES = 1 << 16, MAX_FORMATS = 16 };

struct file {
    sf_str name;
    uint64_t folder;
};

void sf_dwarf_line_table_done(struct sf_dwarf_line_table *t)
{
    sf_buf_done(&t->folders);
    sf_buf_done(&t->files);
    *t = (struct sf_dwarf_line_table){0};
}

static void add_folder(struct sf_dwarf_line_table *t, sf_str s)
{
    sf_buf_add(&t->folders, &s, sizeof(s));
}

static void dwarf_line_table_add_file(struct sf_dwarf_line_table *t, sf_str name, uint64_t folder)
{
    struct file one = {name, folder};
    sf_buf_add(&t->files, &one, sizeof(one));
}

static bool dwarf_line_table_is_full(const struct sf_dwarf_line_table *t)
{
    return t->files.len / sizeof(struct file) >= MAX_FILES ||
           t->folders.len / sizeof(sf_str) >= MAX_FILES;
}

static bool read_old(struct sf_dwarf_line_table *t, struct sf_dwarf *d,
                     const struct sf_dwarf_unit *unit, struct sf_dwarf_cursor *c)
{
    sf_str s;
    add_folder(t, unit->folder);
    dwarf_line_table_add_file(t, unit->name, 0); /* numbers begin at 1, but some compilers use 0 */
    while ((s = sf_dwarf_str(c)).len && !dwarf_line_table_is_full(t) && sf_dwarf_spend(d))
        add_folder(t, s);
    while (!c->is_bad && (s = sf_dwarf_str(c)).len && !dwarf_line_table_is_full(t) &&
           sf_dwarf_spend(d)) {
        dwarf_line_table_add_file(t, s, sf_dwarf_uleb(c));
        sf_dwarf_uleb(c); /* modification time */
        sf_dwarf_uleb(c); /* file length */
    }
    return !c->is_bad && !s.len;
}

struct formats {
    struct sf_dwarf_attr list[MAX_FORMATS]; /* `name` is the kind of the value */
    unsigned n;
};

static bool read_formats(struct formats *f, struct sf_dwarf_cursor *c)
{
    f->n = sf_dwarf_u8(c);
    if (f->n > MAX_FORMATS)
        return false;
    for (unsigned i = 0; i < f->n; i++) {
        uint64_t what = sf_dwarf_uleb(c), form = sf_dwarf_uleb(c);
        if (form > UINT16_MAX || form == SF_FORM_IMPLICIT_CONST)
            return false;
        f->list[i] = (struct sf_dwarf_attr){.name = what > UINT16_MAX ? 0 : (uint16_t)what,
                                            .form = (uint16_t)form};
    }
    return !c->is_bad;
}

/* Reads folders or files; only what is stored differs. */
static bool dwarf_line_table_read_entries(struct sf_dwarf_line_table *t, struct sf_dwarf *d,
                                          const struct sf_dwarf_unit *unit,
                                          struct sf_dwarf_cursor *c, bool is_files)
{
    struct formats f;
    uint64_t n;
    if (!read_formats(&f, c))
        return false;
    n = sf_dwarf_uleb(c);
    if (n > MAX_FILES)
        return false;
    for (; n && !c->is_bad && sf_dwarf_spend(d); n--) {
        struct file one = {0};
        for (unsigned i = 0; i < f.n; i++) {
            struct sf_dwarf_value v = sf_dwarf_value_read(unit, &f.list[i], c);
            if (f.list[i].name == SF_LINE_PATH)
                one.name = sf_dwarf_value_text(d, unit, &v);
            else if (f.list[i].name == SF_LINE_DIRECTORY_INDEX)
                one.folder = v.u;
        }
        if (is_files)
            dwarf_line_table_add_file(t, one.name, one.folder);
        else
            add_folder(t, one.name);
    }
    return !n && !c->is_bad;
}

static bool dwarf_line_table_read_body(struct sf_dwarf_line_table *t, struct sf_dwarf *d,
                                       const struct sf_dwarf_unit *as, struct sf_dwarf_cursor *c)
{
    uint64_t len;
    struct sf_dwarf_cursor head;
    t->addr_size = as->addr_size;
    if (as->version >= 5) {
        t->version_5 = true;
        t->addr_size = sf_dwarf_u8(c);
        sf_dwarf_u8(c); /* segment selector size, not used */
    }
    len = sf_dwarf_uint(c, as->off_size);
    head = sf_dwarf_part(c, len);
    t->program = *c;
    t->min_len = sf_dwarf_u8(&head);
    if (as->version >= 4)
        sf_dwarf_u8(&head); /* operations per instruction: 1 on supported machines */
    sf_dwarf_u8(&head);     /* default of the statement flag */
    t->line_base = (int8_t)sf_dwarf_u8(&head);
    t->line_range = sf_dwarf_u8(&head);
    t->opcode_base = sf_dwarf_u8(&head);
    if (c->is_bad || head.is_bad || !t->line_range || !t->opcode_base ||
        (t->addr_size != 8 && t->addr_size != 4))
        return false;
    if (!sf_dwarf_cursor_need(&head, t->opcode_base - 1u))
        return false;
    t->operands = (sf_bytes){head.at, t->opcode_base - 1u};
    sf_dwarf_skip(&head, t->operands.len);
    if (head.is_bad)
        return false;
    if (!t->version_5)
        return read_old(t, d, as, &head);
    return dwarf_line_table_read_entries(t, d, as, &head, false) &&
           dwarf_line_table_read_entries(t, d, as, &head, true);
}

bool sf_dwarf_line_table_read(struct sf_dwarf_line_table *t, struct sf_dwarf *d,
                              const struct sf_dwarf_unit *unit)
{
    struct sf_dwarf_cursor c = sf_dwarf_cursor_at(d->line, unit->lines_off), body;
    struct sf_dwarf_unit as = *unit; /* version and offset size of the table determine how its
                                      * values are read */
    sf_buf_reset(&t->folders);
    sf_buf_reset(&t->files);
    t->version_5 = false;
    body = sf_dwarf_part(&c, sf_dwarf_length(&c, &as.off_size));
    as.version = (uint16_t)sf_dwarf_uint(&body, 2);
    return !body.is_bad && as.version >= 2 && as.version <= 5 &&
           dwarf_line_table_read_body(t, d, &as, &body) && sf_buf_ok(&t->folders) &&
           sf_buf_ok(&t->files);
}

bool sf_dwarf_line_table_file(const struct sf_dwarf_line_table *t, uint64_t at, struct sf_buf *out)
{
    const struct file *files = (const void *)t->files.p;
    const sf_str *folders = (const void *)t->folders.p;
    size_t n_folders = t->folders.len / sizeof(*folders);
    const struct file *one;
    if (at >= t->files.len / sizeof(*files) || !files[at].name.len)
        return false;
    one = &files[at];
    sf_dwarf_path_join(out, n_folders ? folders[0] : SF_STR_NONE,
                       one->folder && one->folder < n_folders ? folders[one->folder] : SF_STR_NONE,
                       one->name);
    return sf_buf_ok(out);
}
