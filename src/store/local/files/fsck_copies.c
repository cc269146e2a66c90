/* fsck_copies.c - a server writes the catalogue and its copy one after the other, so after a kill
 * one of them may have an additional line: that is no fault. A line that differs is one: then both
 * sides have a line that the other lacks. */
#include "store/local/files/fsck_copies.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "os/dir.h"
#include "store/local/files/directory.h"

enum { MAX_LOG_LEN = 256 << 20 };

static bool fsck_copies_see_tenant(void *arg, uint32_t id, sf_str name)
{
    sf_buf_print(arg, "%u %.*s\n", id, SF_STR_ARG(name));
    return true;
}

static bool see_erasure(void *arg, uint64_t id, uint32_t tenant, sf_bytes selector,
                        uint64_t below_block, uint64_t lsn, int64_t created_ns)
{
    struct sf_buf *out = arg;
    uint8_t *hex;
    sf_buf_print(out, "%" PRIu64 " %u %" PRIu64 " %" PRIu64 " %" PRId64 " ", id, tenant,
                 below_block, lsn, created_ns);
    hex = sf_buf_take(out, 2 * selector.len);
    if (hex)
        sf_hex_encode(selector.p, selector.len, (char *)hex);
    sf_buf_add_u8(out, '\n');
    return true;
}

static enum sf_err fsck_copies_read_file(struct sf_fsck_copies *c, const char *name,
                                         struct sf_buf *out, struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    enum sf_err err = sf_dir_open_read(c->dir, name, &file, why);
    if (!err)
        err = sf_file_read_all(&file, MAX_LOG_LEN, out, why);
    sf_file_close(&file);
    return err == SF_ERR_NOT_FOUND ? SF_OK : err;
}

static void fsck_copies_compare(struct sf_fsck_copies *c, const char *name, sf_str wanted,
                                sf_str found)
{
    sf_str line, want = {0};
    size_t n_extra = 0, n_lines = 0, first_extra = 0;
    bool has_want = sf_str_split_next(&wanted, '\n', &want) && want.len;
    char text[200] = "";

    while (sf_str_split_next(&found, '\n', &line)) {
        n_lines++;
        if (line.len == 0)
            continue;
        if (has_want && sf_str_eq(line, want)) {
            has_want = sf_str_split_next(&wanted, '\n', &want) && want.len;
        } else if (n_extra++ == 0) {
            first_extra = n_lines;
        }
    }
    if (has_want && n_extra) {
        snprintf(text, sizeof(text), "%s: line %zu is damaged, or the catalogue is", name,
                 first_extra);
        c->n_faults++;
    } else if (has_want) {
        snprintf(text, sizeof(text), "note: %s lacks what the catalogue has: %.*s", name,
                 want.len < 60 ? (int)want.len : 60, want.p);
    } else if (n_extra) {
        snprintf(text, sizeof(text), "note: %s has %zu line%s that the catalogue does not", name,
                 n_extra, n_extra == 1 ? "" : "s");
    }
    if (text[0])
        c->say(c->arg, text);
}

static enum sf_err compare_lines(struct sf_fsck_copies *c, const char *name, struct sf_buf *wanted,
                                 struct sf_why *why)
{
    struct sf_buf found = {.max = MAX_LOG_LEN};
    enum sf_err err = fsck_copies_read_file(c, name, &found, why);
    if (err == SF_ERR_IO) {
        char text[200];
        snprintf(text, sizeof(text), "%.190s", why->text);
        c->n_faults++;
        c->say(c->arg, text);
        return SF_OK;
    }
    if (!err && !sf_buf_ok(wanted))
        err = sf_fail(why, SF_ERR_NOMEM, "fsck: no memory for %s", name);
    if (!err)
        fsck_copies_compare(c, name, sf_buf_str(wanted), sf_buf_str(&found));
    sf_buf_done(&found);
    return err;
}

static void compare_lock(struct sf_fsck_copies *c)
{
    uint8_t uuid[16];
    if (c->lock && (!sf_directory_read_uuid(c->lock, uuid) || memcmp(uuid, c->uuid, 16) != 0)) {
        c->n_faults++;
        c->say(c->arg, "LOCK does not name this store; the next start writes it anew");
    }
}

enum sf_err sf_fsck_copies(struct sf_fsck_copies *c, struct sf_why *why)
{
    struct sf_buf tenants = {.max = MAX_LOG_LEN}, erasures = {.max = MAX_LOG_LEN};
    enum sf_err err = sf_catalogue_tenants(c->catalogue, fsck_copies_see_tenant, &tenants, why);
    if (!err)
        err = compare_lines(c, "tenants.log", &tenants, why);
    if (!err)
        err = sf_catalogue_erasures(c->catalogue, see_erasure, &erasures, why);
    if (!err)
        err = compare_lines(c, "erase.log", &erasures, why);
    sf_buf_done(&tenants);
    sf_buf_done(&erasures);
    if (!err)
        compare_lock(c);
    return err;
}
