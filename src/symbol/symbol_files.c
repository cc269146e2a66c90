/* symbol_files.c - stores debug files by build id. Uploads go to a temporary file, are inspected
 * (ELF, DWARF, build id), synced and renamed. Also listing, deletion, trimming of downloaded files
 * by age, notes about files that no server has, and the check for fsck. */
#include "symbol/symbol_files.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "symbol/debug_file.h"
#include "symbol/debug_info.h"
#include "symbol/elf_layout.h"
#include "symbol/elf_unzstd.h"
#include "symbol/file_hash.h"

#define ROOT "symbols"

enum { PATH_CAP = 4096, MAX_LISTED = 1 << 16, UNITS_LOOKED_AT = 64 };

static const char *const endings[SF_SYMBOL_PARTS] = {".elf", ".debug", ".dwp"};

bool sf_symbol_files_id_parse(sf_str text, struct sf_symbol_id *out)
{
    uint8_t bytes[SF_SYMBOL_ID_MAX];
    size_t len = text.len / 2;
    if (text.len % 2 || len < SF_SYMBOL_ID_MIN || len > SF_SYMBOL_ID_MAX ||
        !sf_hex_decode(text, bytes, len))
        return false;
    sf_hex_encode(bytes, len, out->hex);
    out->hex[text.len] = 0;
    return true;
}

const char *sf_symbol_files_part_name(enum sf_symbol_part part)
{
    static const char *const names[SF_SYMBOL_PARTS] = {"program", "debug", "split"};
    return names[part];
}

static void folder_name(uint32_t tenant, char out[40])
{
    if (tenant == SF_SYMBOL_FETCHED)
        snprintf(out, 40, ROOT "/fetched");
    else
        snprintf(out, 40, ROOT "/%" PRIu32, tenant);
}

void sf_symbol_files_name(uint32_t tenant, const struct sf_symbol_id *id, enum sf_symbol_part part,
                          char out[SF_SYMBOL_NAME_CAP])
{
    char folder[40];
    folder_name(tenant, folder);
    snprintf(out, SF_SYMBOL_NAME_CAP, "%s/%s%s", folder, id->hex, endings[part]);
}

enum sf_err sf_symbol_files_prepare(struct sf_symbol_files *s, struct sf_why *why)
{
    enum sf_err err = sf_dir_make(s->dir, ROOT, why);
    if (!err)
        err = sf_dir_make(s->dir, ROOT "/fetched", why);
    return err ? err : sf_dir_make(s->dir, "tmp", why);
}

bool sf_symbol_files_has(const struct sf_symbol_files *s, uint32_t tenant,
                         const struct sf_symbol_id *id, enum sf_symbol_part part)
{
    char name[SF_SYMBOL_NAME_CAP];
    sf_symbol_files_name(tenant, id, part, name);
    return sf_dir_exists(s->dir, name);
}

/* ---- inspecting a file ---- */

static void symbol_files_note_unread(const struct sf_elf_section *s, uint64_t *inflated,
                                     struct sf_symbol_info *out)
{
    Elf64_Chdr head;
    if (!(s->flags & SHF_COMPRESSED) || s->bytes.len < sizeof(head) ||
        !sf_file_pages_has((sf_bytes){s->bytes.p, sizeof(head)}))
        return;
    memcpy(&head, s->bytes.p, sizeof(head));
    *inflated += head.ch_size < SF_LIMIT_SYMBOL_INFLATED_LEN ? head.ch_size
                                                             : SF_LIMIT_SYMBOL_INFLATED_LEN;
    if (head.ch_type != ELFCOMPRESS_ZLIB && head.ch_type != SF_ELF_ZSTD)
        snprintf(out->note, sizeof(out->note),
                 "debug information is compressed neither with zlib nor with zstd: names only");
    else if (*inflated > SF_LIMIT_SYMBOL_INFLATED_LEN || head.ch_size > *inflated)
        snprintf(out->note, sizeof(out->note),
                 "more than %u MiB of compressed debug information: names only",
                 SF_LIMIT_SYMBOL_INFLATED_LEN >> 20);
}

/* With -gsplit-dwarf a unit has ranges and lines here, and its functions in another file. */
static bool symbol_files_is_split(const struct sf_elf_file *f)
{
    struct sf_debug_more more = {.max_inflated = SF_DEBUG_INFLATED_MAX,
                                 .unzstd = sf_elf_unzstd_all};
    struct sf_debug_info *info = sf_heap_new(sizeof(*info));
    struct sf_dwarf_unit unit = {0};
    bool is_known, is_so = false;
    if (info && sf_debug_info_init(info, f, &more)) {
        for (int i = 0; i < UNITS_LOOKED_AT && unit.end < info->d.info.len && !is_so; i++) {
            if (!sf_dwarf_unit_read(&unit, &info->d, unit.end, &is_known))
                break;
            is_so = is_known && sf_dwarf_unit_read_root(&unit, &info->d, &info->units.scratch) &&
                    unit.is_split;
        }
    }
    if (info)
        sf_debug_info_done(info);
    sf_heap_free(info);
    return is_so;
}

static void note_elsewhere(const struct sf_elf_file *f, struct sf_symbol_info *out)
{
    sf_bytes shared = sf_debug_file_shared_id(f);
    if (shared.len >= SF_SYMBOL_ID_MIN && shared.len <= SF_SYMBOL_ID_MAX) {
        sf_hex_encode(shared.p, shared.len, out->shared_id.hex);
        snprintf(out->note, sizeof(out->note), "some names are in the file with build id %s",
                 out->shared_id.hex);
    }
    out->is_split = symbol_files_is_split(f);
    if (out->is_split)
        snprintf(out->note, sizeof(out->note),
                 "inlined calls are in .dwo files (-gsplit-dwarf): upload the .dwp file, too");
}

/* Examines the parts of split units: a package of all, with an index, or one .dwo file. */
static enum sf_err inspect_split(const struct sf_elf_file *f, struct sf_symbol_info *out,
                                 struct sf_why *why)
{
    bool has_index = false, has_half = false, is_compressed = false;
    for (uint32_t i = 0; i < f->n_sections; i++) {
        struct sf_elf_section s;
        if (!sf_elf_file_section(f, i, &s) || s.type != SHT_PROGBITS)
            continue;
        has_half |= sf_str_eq(s.name, SF_STR(".debug_info.dwo"));
        has_index |= sf_str_eq(s.name, SF_STR(".debug_cu_index"));
        is_compressed |= sf_str_ends(s.name, SF_STR(".dwo")) && (s.flags & SHF_COMPRESSED);
        if (sf_str_ends(s.name, SF_STR(".dwo")))
            symbol_files_note_unread(&s, &(uint64_t){0}, out);
    }
    if (has_half && !has_index)
        return sf_fail(why, SF_ERR_INPUT,
                       "one .dwo file of many: pack them (llvm-dwp -e PROGRAM -o PROGRAM.dwp) and "
                       "upload that");
    if (has_half) {
        out->part = SF_SYMBOL_SPLIT;
        out->has_lines = !out->note[0];
        if (!out->note[0])
            snprintf(out->note, sizeof(out->note), "inlined calls of the program beside it%s",
                     is_compressed ? ", compressed" : "");
    }
    return SF_OK;
}

static void inspect_sections(const struct sf_elf_file *f, struct sf_symbol_info *out)
{
    struct sf_elf_layout layout;
    uint64_t inflated = 0;
    bool has_code = false, has_debug = false;
    out->part = SF_SYMBOL_DEBUG;
    for (uint32_t i = 0; i < f->n_sections; i++) {
        struct sf_elf_section s;
        if (!sf_elf_file_section(f, i, &s))
            continue;
        if ((s.flags & SHF_EXECINSTR) && s.type == SHT_PROGBITS)
            out->part = SF_SYMBOL_PROGRAM;
        has_debug |= s.type == SHT_PROGBITS && sf_str_eq(s.name, SF_STR(".debug_str"));
        has_code |= (s.flags & SHF_EXECINSTR) != 0; /* a debug file has the section without its
                                                     * bytes */
        if ((s.type == SHT_SYMTAB || s.type == SHT_DYNSYM) && s.bytes.len > sizeof(Elf64_Sym))
            out->has_names = true;
        if (s.type == SHT_PROGBITS && sf_str_eq(s.name, SF_STR(".debug_info")))
            out->has_lines = true;
        if (s.type == SHT_PROGBITS && sf_str_starts(s.name, SF_STR(".debug_")))
            symbol_files_note_unread(&s, &inflated, out);
        sf_file_pages_trim();
    }
    out->has_layout = sf_elf_layout_read(&layout, f);
    if (out->note[0]) {
        out->has_lines = false;
        return;
    }
    if (out->has_lines)
        note_elsewhere(f, out);
    out->is_shared = !has_code && has_debug && !out->has_names && !out->has_layout;
    if (out->is_shared)
        snprintf(out->note, sizeof(out->note), "for debug files that share it (dwz)");
    else if (!out->has_layout)
        snprintf(out->note, sizeof(out->note),
                 "it does not say where code lies in the program: "
                 "upload the program, too");
}

enum sf_err sf_symbol_files_inspect(const char *path, struct sf_symbol_info *out,
                                    struct sf_why *why)
{
    struct sf_symbol_info info = {0};
    uint8_t hash[SF_FILE_HASH_LEN];
    struct sf_elf_file f;
    sf_bytes id;
    enum sf_err err;
    if (!sf_elf_file_open(&f, path))
        return sf_fail(why, SF_ERR_INPUT, "not a little-endian ELF file of 64 bits");
    id = sf_debug_file_build_id(&f);
    if (id.len >= SF_SYMBOL_ID_MIN && id.len <= SF_SYMBOL_ID_MAX)
        sf_hex_encode(id.p, id.len, info.id.hex);
    info.len = f.image.len;
    err = inspect_split(&f, &info, why);
    if (!err && info.part != SF_SYMBOL_SPLIT)
        inspect_sections(&f, &info);
    /* Profilers identify a program without a build id by its hash; a debug file's hash would
     * differ. */
    if (!err && !info.id.hex[0] && info.part == SF_SYMBOL_PROGRAM && sf_file_hash(f.image, hash))
        sf_hex_encode(hash, sizeof(hash), info.id.hex);
    sf_elf_file_close(&f);
    if (err)
        return err;
    if (!info.id.hex[0] && info.part != SF_SYMBOL_SPLIT)
        return sf_fail(why, SF_ERR_INPUT,
                       "the ELF file has no build id; link it with -Wl,--build-id");
    *out = info;
    return SF_OK;
}

bool sf_symbol_files_shared_id(const char *path, struct sf_symbol_id *out)
{
    struct sf_elf_file f;
    sf_bytes id;
    bool is_there;
    if (!sf_elf_file_open(&f, path))
        return false;
    id = sf_debug_file_shared_id(&f);
    is_there = id.len >= SF_SYMBOL_ID_MIN && id.len <= SF_SYMBOL_ID_MAX;
    if (is_there) {
        sf_hex_encode(id.p, id.len, out->hex);
        out->hex[2 * id.len] = 0;
    }
    sf_elf_file_close(&f);
    return is_there;
}

/* ---- listing ---- */

struct listing {
    struct sf_symbol_files *files;
    uint32_t tenant;
    struct sf_symbol_info *list;
    uint32_t n, cap;
    bool is_full;
};

static bool parse_name(const char *entry, struct sf_symbol_id *id, enum sf_symbol_part *part)
{
    sf_str name = sf_str_from(entry);
    for (*part = 0; *part < SF_SYMBOL_PARTS; ++*part) {
        sf_str ending = sf_str_from(endings[*part]);
        if (sf_str_ends(name, ending))
            return sf_symbol_files_id_parse(sf_str_part(name, 0, name.len - ending.len), id);
    }
    return false;
}

static bool symbol_files_see_file(void *arg, const char *entry, bool is_dir)
{
    struct listing *l = arg;
    struct sf_symbol_info *to;
    char name[SF_SYMBOL_NAME_CAP];
    struct sf_symbol_info one = {0};
    if (is_dir || !parse_name(entry, &one.id, &one.part))
        return true;
    sf_symbol_files_name(l->tenant, &one.id, one.part, name);
    if (sf_dir_stat(l->files->dir, name, &one.len, &one.changed_ns, NULL))
        return true; /* deleted meanwhile */
    if (l->n == MAX_LISTED || !sf_list_room(&l->list, l->n, &l->cap, 64)) {
        l->is_full = true;
        return false;
    }
    to = &l->list[l->n++];
    *to = one;
    return true;
}

static bool list_names(struct listing *l)
{
    char folder[40];
    folder_name(l->tenant, folder);
    (void)sf_dir_list(l->files->dir, folder, symbol_files_see_file, l,
                      NULL); /* no directory yet: nothing to do */
    return !l->is_full;
}

static void full_path(const struct sf_symbol_files *s, const char *name, char out[PATH_CAP])
{
    snprintf(out, PATH_CAP, "%s/%s", sf_dir_path(s->dir), name);
}

static void look_inside(const struct sf_symbol_files *s, uint32_t tenant,
                        struct sf_symbol_info *info)
{
    char name[SF_SYMBOL_NAME_CAP], path[PATH_CAP];
    struct sf_symbol_info found;
    struct sf_why why = {0};
    sf_symbol_files_name(tenant, &info->id, info->part, name);
    full_path(s, name, path);
    if (sf_symbol_files_inspect(path, &found, &why)) {
        snprintf(info->note, sizeof(info->note), "damaged: %.80s", why.text);
    } else if (found.part != info->part) {
        snprintf(info->note, sizeof(info->note), "damaged: a file of another kind is in it");
    } else if (found.part == SF_SYMBOL_SPLIT) {
        found.id = info->id;
        found.changed_ns = info->changed_ns;
        *info = found;
    } else if (strcmp(found.id.hex, info->id.hex) != 0) {
        snprintf(info->note, sizeof(info->note), "damaged: another file's build id is in it");
    } else {
        found.changed_ns = info->changed_ns;
        *info = found;
    }
}

static int symbol_files_by_id(const void *a, const void *b)
{
    const struct sf_symbol_info *x = a, *y = b;
    int order = strcmp(x->id.hex, y->id.hex);
    return order ? order : (int)x->part - (int)y->part;
}

enum sf_err sf_symbol_files_list(struct sf_symbol_files *s, uint32_t tenant, struct sf_arena *req,
                                 const struct sf_symbol_info **out, uint32_t *out_n,
                                 struct sf_why *why)
{
    struct listing l = {.files = s, .tenant = tenant};
    struct sf_symbol_info *list = NULL;
    if (list_names(&l))
        list = sf_arena_new_n(req, l.n + 1u, sizeof(*list));
    if (list) {
        for (uint32_t i = 0; i < l.n; i++) {
            list[i] = l.list[i];
            look_inside(s, tenant, &list[i]);
        }
        qsort(list, l.n, sizeof(*list), symbol_files_by_id);
        *out = list;
        *out_n = l.n;
    }
    sf_heap_free(l.list);
    return list ? SF_OK : sf_fail(why, SF_ERR_LIMIT, "no memory to list the symbol files");
}

enum sf_err sf_symbol_files_delete(struct sf_symbol_files *s, uint32_t tenant,
                                   const struct sf_symbol_id *id, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    bool was_there = false;
    char folder[40];
    for (enum sf_symbol_part part = 0; part < SF_SYMBOL_PARTS && !err; part++) {
        char name[SF_SYMBOL_NAME_CAP];
        sf_symbol_files_name(tenant, id, part, name);
        was_there |= sf_dir_exists(s->dir, name);
        err = sf_dir_unlink(s->dir, name, why);
    }
    if (err)
        return err;
    if (!was_there)
        return sf_fail(why, SF_ERR_NOT_FOUND, "no symbol file has build id %s", id->hex);
    folder_name(tenant, folder);
    return sf_dir_sync(s->dir, folder, why);
}

static int by_age(const void *a, const void *b)
{
    const struct sf_symbol_info *x = a, *y = b;
    return x->changed_ns < y->changed_ns ? -1 : x->changed_ns > y->changed_ns;
}

void sf_symbol_files_trim(struct sf_symbol_files *s)
{
    struct listing l = {.files = s, .tenant = SF_SYMBOL_FETCHED};
    uint64_t all = 0;
    (void)list_names(&l);
    for (uint32_t i = 0; i < l.n; i++)
        all += l.list[i].len;
    if (l.n)
        qsort(l.list, l.n, sizeof(*l.list), by_age);
    for (uint32_t i = 0; i < l.n && all > s->max_cache_len; i++) {
        char name[SF_SYMBOL_NAME_CAP];
        sf_symbol_files_name(SF_SYMBOL_FETCHED, &l.list[i].id, l.list[i].part, name);
        if (!sf_dir_unlink(s->dir, name, NULL))
            all -= l.list[i].len;
    }
    sf_heap_free(l.list);
}

/* ---- notes about files that no server has ---- */

static void absent_name(const struct sf_symbol_files *s, const struct sf_symbol_id *id,
                        char out[SF_SYMBOL_NAME_CAP])
{
    char folder[40];
    folder_name(SF_SYMBOL_FETCHED, folder);
    snprintf(out, SF_SYMBOL_NAME_CAP, "%s/%s.absent-%08" PRIx32, folder, id->hex,
             (uint32_t)s->servers_key);
}

/* How much longer the note in that file is valid; a clock that was set back does not prolong it. */
static int64_t absent_left(const struct sf_symbol_files *s, const char *name)
{
    int64_t noted_ns, age_ns;
    uint64_t len;
    if (sf_dir_stat(s->dir, name, &len, &noted_ns, NULL))
        return 0;
    age_ns = sf_clock_wall_ns() - noted_ns;
    return age_ns < 0 || age_ns > SF_LIMIT_SYMBOL_ABSENT_S * SF_NS_PER_S
               ? 0
               : SF_LIMIT_SYMBOL_ABSENT_S * SF_NS_PER_S - age_ns;
}

int64_t sf_symbol_files_absent(const struct sf_symbol_files *s, const struct sf_symbol_id *id)
{
    char name[SF_SYMBOL_NAME_CAP];
    absent_name(s, id, name);
    return absent_left(s, name);
}

struct absents {
    const struct sf_symbol_files *files;
    uint32_t n;
};

static bool see_absent(void *arg, const char *entry, bool is_dir)
{
    struct absents *a = arg;
    char folder[40], name[SF_SYMBOL_NAME_CAP];
    if (is_dir || !strstr(entry, ".absent-"))
        return true;
    folder_name(SF_SYMBOL_FETCHED, folder);
    snprintf(name, sizeof(name), "%s/%s", folder, entry);
    if (absent_left(a->files, name))
        a->n++;
    else
        (void)sf_dir_unlink(a->files->dir, name, NULL);
    return true;
}

/* Not synced: losing a note in a power failure only costs another request. */
void sf_symbol_files_note_absent(struct sf_symbol_files *s, const struct sf_symbol_id *id)
{
    struct absents a = {.files = s};
    struct sf_file file = SF_FILE_NONE;
    char folder[40], name[SF_SYMBOL_NAME_CAP];
    folder_name(SF_SYMBOL_FETCHED, folder);
    (void)sf_dir_list(s->dir, folder, see_absent, &a, NULL);
    if (a.n >= SF_LIMIT_SYMBOL_MODULES)
        return;
    absent_name(s, id, name);
    (void)sf_dir_unlink(s->dir, name, NULL);
    if (!sf_dir_create(s->dir, name, &file, NULL))
        sf_file_close(&file);
}

/* ---- checking ---- */

struct verifying {
    struct sf_symbol_files files;
    struct sf_arena scratch;
    void (*say)(void *arg, const char *sentence);
    void *arg;
    uint64_t n_faults;
    enum sf_err err;
    struct sf_why *why;
};

static bool see_folder(void *arg, const char *entry, bool is_dir)
{
    struct verifying *v = arg;
    struct sf_arena scratch = v->scratch;
    const struct sf_symbol_info *list = NULL;
    uint64_t tenant = SF_SYMBOL_FETCHED;
    uint32_t n = 0;
    if (!is_dir || (strcmp(entry, "fetched") != 0 &&
                    (!sf_str_to_u64(sf_str_from(entry), &tenant) || tenant > UINT32_MAX)))
        return true;
    v->err = sf_symbol_files_list(&v->files, (uint32_t)tenant, &scratch, &list, &n, v->why);
    for (uint32_t i = 0; !v->err && i < n; i++) {
        char line[SF_SYMBOL_NAME_CAP + 256], name[SF_SYMBOL_NAME_CAP];
        if (!sf_str_starts(sf_str_from(list[i].note), SF_STR("damaged")))
            continue;
        sf_symbol_files_name((uint32_t)tenant, &list[i].id, list[i].part, name);
        snprintf(line, sizeof(line), "%s: %s; send the file again, or delete it", name,
                 list[i].note);
        v->say(v->arg, line);
        v->n_faults++;
    }
    return !v->err;
}

enum sf_err sf_symbol_files_verify(struct sf_dir *dir, struct sf_arena scratch,
                                   void (*say)(void *arg, const char *sentence), void *arg,
                                   uint64_t *io_n_faults, struct sf_why *why)
{
    struct verifying v = {.files.dir = dir, .scratch = scratch, .say = say, .arg = arg, .why = why};
    enum sf_err err = sf_dir_list(dir, ROOT, see_folder, &v, why);
    *io_n_faults += v.n_faults;
    return err == SF_ERR_NOT_FOUND ? SF_OK : err ? err : v.err;
}

/* ---- writing ---- */

static enum sf_err symbol_files_check_room(struct sf_symbol_files *s, uint32_t tenant, uint64_t len,
                                           struct sf_why *why)
{
    struct listing l = {.files = s, .tenant = tenant};
    uint64_t all = len, free_len, disk_len, least;
    enum sf_err err;
    if (len > s->max_file_len)
        return sf_fail(why, SF_ERR_LIMIT,
                       "a symbol file of %" PRIu64 " bytes is over the limit of %" PRIu64
                       " (symbols.max_file)",
                       len, s->max_file_len);
    if (tenant != SF_SYMBOL_FETCHED) {
        (void)list_names(&l);
        for (uint32_t i = 0; i < l.n; i++)
            all += l.list[i].len;
        sf_heap_free(l.list);
        if (all > s->max_total_len || l.is_full)
            return sf_fail(why, SF_ERR_FULL,
                           "symbol files would take %" PRIu64 " bytes, over the limit of %" PRIu64
                           " (symbols.max_total); delete some, see spanflame symbols list",
                           all, s->max_total_len);
    }
    err = sf_dir_free_len(s->dir, &free_len, &disk_len, why);
    if (err)
        return err;
    least = s->min_free_len ? s->min_free_len : disk_len / 20;
    if (!s->min_free_len && least < 2000000000)
        least = 2000000000;
    if (free_len < len || free_len - len < least)
        return sf_fail(why, SF_ERR_FULL,
                       "not enough free disk space for a symbol file of %" PRIu64 " bytes", len);
    return SF_OK;
}

enum sf_err sf_symbol_files_writer_begin(struct sf_symbol_writer *w, struct sf_symbol_files *s,
                                         uint32_t tenant, uint64_t len, struct sf_why *why)
{
    enum sf_err err = symbol_files_check_room(s, tenant, len, why);
    if (err)
        return err;
    *w = (struct sf_symbol_writer){.files = s};
    snprintf(w->name, sizeof(w->name), "tmp/symbol-%u", atomic_fetch_add(&s->n_written, 1));
    return sf_dir_create(s->dir, w->name, &w->file, why);
}

enum sf_err sf_symbol_files_writer_add(struct sf_symbol_writer *w, const void *p, size_t len,
                                       struct sf_why *why)
{
    enum sf_err err;
    if (len > w->files->max_file_len - w->len)
        return sf_fail(why, SF_ERR_LIMIT,
                       "a symbol file of more than %" PRIu64 " bytes (symbols.max_file)",
                       w->files->max_file_len);
    err = sf_file_write_at(&w->file, w->len, p, len, why);
    if (!err)
        w->len += len;
    return err;
}

static enum sf_err put_in_place(struct sf_symbol_writer *w, uint32_t tenant,
                                const struct sf_symbol_info *info, bool *is_new, struct sf_why *why)
{
    struct sf_dir *dir = w->files->dir;
    char folder[40], name[SF_SYMBOL_NAME_CAP];
    enum sf_err err;
    folder_name(tenant, folder);
    sf_symbol_files_name(tenant, &info->id, info->part, name);
    err = sf_dir_make(dir, folder, why);
    if (!err)
        err = sf_dir_sync(dir, ROOT, why);
    *is_new = !sf_dir_exists(dir, name);
    if (!err)
        err = sf_dir_rename(dir, w->name, name, why);
    if (err)
        return err;
    w->name[0] = 0;
    return sf_dir_sync(dir, folder, why);
}

enum sf_err sf_symbol_files_writer_finish(struct sf_symbol_writer *w, uint32_t tenant,
                                          const struct sf_symbol_id *id, struct sf_symbol_info *out,
                                          bool *is_new, struct sf_why *why)
{
    struct sf_symbol_info info;
    char path[PATH_CAP];
    enum sf_err err;
    full_path(w->files, w->name, path);
    err = sf_symbol_files_inspect(path, &info, why);
    if (err)
        return err;
    if (info.part == SF_SYMBOL_SPLIT)
        info.id = *id; /* it has no id: use the one given by the sender */
    if (strcmp(info.id.hex, id->hex) != 0)
        return sf_fail(why, SF_ERR_INPUT, "the file's build id is %s, not %s", info.id.hex,
                       id->hex);
    if (!info.has_lines && !info.has_names && !info.is_shared && info.part == SF_SYMBOL_DEBUG)
        return sf_fail(why, SF_ERR_INPUT,
                       "the file has neither code nor symbols nor debug information");
    err = sf_file_sync(&w->file, why);
    if (!err)
        err = put_in_place(w, tenant, &info, is_new, why);
    if (!err)
        *out = info;
    return err;
}

void sf_symbol_files_writer_done(struct sf_symbol_writer *w)
{
    sf_file_close(&w->file);
    if (w->files && w->name[0])
        (void)sf_dir_unlink(w->files->dir, w->name, NULL);
    *w = (struct sf_symbol_writer){0};
}
