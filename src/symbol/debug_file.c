#include "symbol/debug_file.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/num.h"
#include "base/text.h"

enum {
    PATH_CAP = 4096,
    BUILD_ID_MAX = 64,
    NOTES_MAX = 1 << 16,
    PIECE = 1 << 16,
    CHECKED_MAX = 1 << 28, /* maximum length of a file whose checksum is computed, which takes 0.1
                            * s */
};

/* Note{u32 name length, u32 length, u32 type, name, bytes}, both parts in whole words. */
static sf_bytes debug_file_find_id(sf_bytes notes)
{
    while (notes.len >= 12) {
        uint64_t name_len = sf_load_u32le(notes.p), len = sf_load_u32le(notes.p + 4);
        uint64_t name_room = (name_len + 3) & ~3u, room = (len + 3) & ~(uint64_t)3;
        if (12 + name_room + len > notes.len)
            break;
        if (sf_load_u32le(notes.p + 8) == NT_GNU_BUILD_ID && name_len == 4 &&
            !memcmp(notes.p + 12, "GNU", 4))
            return (sf_bytes){notes.p + 12 + name_room, len};
        if (12 + name_room + room > notes.len)
            break;
        notes = (sf_bytes){notes.p + 12 + name_room + room, notes.len - 12 - name_room - room};
    }
    return SF_BYTES_NONE;
}

sf_bytes sf_debug_file_build_id(const struct sf_elf_file *f)
{
    for (uint32_t i = 0; i < f->n_sections; i++) {
        struct sf_elf_section s;
        sf_bytes id;
        if (!sf_elf_file_section(f, i, &s) || s.type != SHT_NOTE || s.bytes.len > NOTES_MAX ||
            !sf_file_pages_has(s.bytes))
            continue;
        id = debug_file_find_id(s.bytes);
        if (id.len >= 2 && id.len <= BUILD_ID_MAX)
            return id;
    }
    return SF_BYTES_NONE;
}

/* .gnu_debugaltlink: the file's name, a zero, its build id. .debug_sup, which DWARF 5 has instead:
 * u16 version, u8 1 in the shared file itself, the name, a zero, a length (ULEB128), the id. */
static sf_bytes find_shared_id(sf_bytes b, bool is_sup)
{
    size_t at = is_sup ? 3 : 0, len;
    if (is_sup && (b.len < 3 || b.p[2]))
        return SF_BYTES_NONE;
    len = strnlen((const char *)b.p + at, b.len - at);
    if (len == b.len - at)
        return SF_BYTES_NONE;
    at += len + 1;
    if (is_sup && (at == b.len || b.p[at] != b.len - at - 1))
        return SF_BYTES_NONE; /* build ids never have 128 bytes: the length is one byte */
    at += is_sup;
    return (sf_bytes){b.p + at, b.len - at};
}

sf_bytes sf_debug_file_shared_id(const struct sf_elf_file *f)
{
    for (uint32_t i = 0; i < f->n_sections; i++) {
        struct sf_elf_section s;
        bool is_sup;
        sf_bytes id;
        if (!sf_elf_file_section(f, i, &s) || s.type != SHT_PROGBITS)
            continue;
        is_sup = sf_str_eq(s.name, SF_STR(".debug_sup"));
        if ((!is_sup && !sf_str_eq(s.name, SF_STR(".gnu_debugaltlink"))) ||
            s.bytes.len > NOTES_MAX || !sf_file_pages_has(s.bytes))
            continue;
        id = find_shared_id(s.bytes, is_sup);
        if (id.len >= 2 && id.len <= BUILD_ID_MAX)
            return id;
    }
    return SF_BYTES_NONE;
}

static bool has_checksum(const struct sf_elf_file *f, uint32_t checksum)
{
    uLong sum = 0;
    if (f->image.len > CHECKED_MAX)
        return false;
    for (size_t at = 0; at < f->image.len; at += PIECE) {
        sf_bytes some = {f->image.p + at, f->image.len - at < PIECE ? f->image.len - at : PIECE};
        if (!sf_file_pages_has(some))
            return false;
        sum = crc32_z(sum, some.p, some.len);
        sf_file_pages_trim();
    }
    return sum == checksum;
}

static bool open_if_same(struct sf_elf_file *out, const char *path, sf_bytes id, uint32_t checksum)
{
    sf_bytes theirs;
    bool is_same;
    if (!sf_elf_file_open(out, path))
        return false;
    theirs = sf_debug_file_build_id(out);
    if (id.len && theirs.len)
        is_same = id.len == theirs.len && !memcmp(id.p, theirs.p, id.len);
    else
        is_same = !id.len && has_checksum(out, checksum);
    if (!is_same)
        sf_elf_file_close(out);
    return is_same;
}

static bool open_by_id(struct sf_elf_file *out, sf_bytes id, const char *root)
{
    char hex[BUILD_ID_MAX * 2], path[PATH_CAP];
    int len;
    if (!id.len)
        return false;
    sf_hex_encode(id.p, id.len, hex);
    len = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%.*s.debug", root, hex,
                   (int)(id.len * 2 - 2), hex + 2);
    return len > 0 && len < PATH_CAP && open_if_same(out, path, id, 0);
}

/* .gnu_debuglink: a file's name, zeros up to a whole word, the file's checksum. */
static bool find_link(const struct sf_elf_file *f, char name[256], uint32_t *checksum)
{
    for (uint32_t i = 0; i < f->n_sections; i++) {
        struct sf_elf_section s;
        size_t len, at;
        if (!sf_elf_file_section(f, i, &s) || !sf_str_eq(s.name, SF_STR(".gnu_debuglink")))
            continue;
        if (s.bytes.len > NOTES_MAX || !sf_file_pages_has(s.bytes))
            return false;
        len = strnlen((const char *)s.bytes.p, s.bytes.len);
        at = (len + 4) & ~(size_t)3;
        if (!len || len > 255 || memchr(s.bytes.p, '/', len) || at + 4 > s.bytes.len)
            return false;
        memcpy(name, s.bytes.p, len);
        name[len] = 0;
        *checksum = sf_load_u32le(s.bytes.p + at);
        return true;
    }
    return false;
}

static bool open_by_link(struct sf_elf_file *out, const struct sf_elf_file *f, const char *path,
                         sf_bytes id, const char *root)
{
    const char *slash = strrchr(path, '/');
    int folder_len = slash ? (int)(slash - path) : 0;
    struct {
        const char *before, *after;
    } const places[] = {{"", "/"}, {"", "/.debug/"}, {root, "/"}};
    uint32_t checksum;
    char name[256];
    if (!slash || folder_len > PATH_CAP || !find_link(f, name, &checksum))
        return false;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char there[PATH_CAP];
        int len = snprintf(there, sizeof(there), "%s%.*s%s%s", places[i].before, folder_len, path,
                           places[i].after, name);
        if (len > 0 && len < PATH_CAP && strcmp(there, path) != 0 &&
            open_if_same(out, there, id, checksum))
            return true;
    }
    return false;
}

bool sf_debug_file_open(struct sf_elf_file *out, const struct sf_elf_file *f, const char *path,
                        const char *root)
{
    uint8_t kept[BUILD_ID_MAX]; /* copied, because the pages read may be dropped */
    sf_bytes id = sf_debug_file_build_id(f);
    if (id.len)
        id.p = memcpy(kept, id.p, id.len);
    return open_by_id(out, id, root) || open_by_link(out, f, path, id, root);
}
