#include "store/local/keep/keep_book.h"

#include <string.h>

#include "base/hash.h"
#include "base/heap.h"
#include "store/local/engine.h"
#include "store/local/files/directory.h"
#include "store/local/keep/pins.h"
#include "store/local/keep/rule_sets.h"
#include "store/local/keep/verdicts.h"

enum { FORMAT = 1, HEAD_LEN = 24, SUM_LEN = 8, MAX_LEN = 64 << 20 };

/* ---- small files: magic[4], u16 format, u16 0, uuid[16], bytes, u64 XXH3 of all before it ---- */

void sf_keep_book_file_begin(struct sf_buf *out, const char magic[4], const uint8_t uuid[16])
{
    sf_buf_add(out, magic, 4);
    sf_buf_add_u16le(out, FORMAT);
    sf_buf_add_u16le(out, 0);
    sf_buf_add(out, uuid, 16);
}

enum sf_err sf_keep_book_file_write(struct sf_dir *dir, const char *name, struct sf_buf *bytes,
                                    struct sf_why *why)
{
    if (sf_buf_ok(bytes))
        sf_buf_add_u64le(bytes, sf_hash(bytes->p, bytes->len));
    if (!sf_buf_ok(bytes))
        return sf_fail(why, bytes->err, "store: no memory to write %s", name);
    enum sf_err err = sf_dir_replace(dir, name, sf_buf_bytes(bytes), why);
    return err ? err : sf_dir_sync(dir, "verdict", why);
}

static enum sf_err keep_book_read_file(struct sf_dir *dir, const char *name, struct sf_buf *out,
                                       struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    enum sf_err err = sf_dir_open_read(dir, name, &file, why);
    if (!err)
        err = sf_file_read_all(&file, MAX_LEN, out, why);
    sf_file_close(&file);
    return err;
}

static bool keep_book_matches_sum(sf_bytes in, const char magic[4])
{
    return in.len >= HEAD_LEN + SUM_LEN && memcmp(in.p, magic, 4) == 0 &&
           sf_load_u64le(in.p + in.len - SUM_LEN) == sf_hash(in.p, in.len - SUM_LEN);
}

/* A number that does not match the checksum is damage and says nothing about the version: later
 * formats keep magic, number and checksum where they are. */
static enum sf_err check_format(const char *name, sf_bytes in, const char magic[4],
                                struct sf_why *why)
{
    if (keep_book_matches_sum(in, magic) && sf_load_u16le(in.p + 4) > FORMAT)
        return sf_fail(why, SF_ERR_UNSUPPORTED,
                       "store: %s is of format %u, which a later version wrote; this one does not "
                       "touch the directory",
                       name, sf_load_u16le(in.p + 4));
    return SF_OK;
}

enum sf_err sf_keep_book_file_read(struct sf_dir *dir, const char *name, const char magic[4],
                                   const uint8_t uuid[16], struct sf_buf *whole, sf_bytes *out,
                                   struct sf_why *why)
{
    enum sf_err err = keep_book_read_file(dir, name, whole, why);
    sf_bytes in = sf_buf_bytes(whole);
    if (!err)
        err = check_format(name, in, magic, why);
    if (err)
        return err;
    if (!keep_book_matches_sum(in, magic))
        return sf_fail(why, SF_ERR_CORRUPT, "store: %s does not match its checksum", name);
    if (uuid && memcmp(in.p + 8, uuid, 16) != 0)
        return sf_fail(why, SF_ERR_CORRUPT, "store: %s belongs to another store", name);
    *out = (sf_bytes){in.p + HEAD_LEN, in.len - HEAD_LEN - SUM_LEN};
    return SF_OK;
}

/* ---- open ---- */

static enum sf_err keep_book_refuse_newer(struct sf_dir *dir, const char *name, const char magic[4],
                                          struct sf_why *why)
{
    struct sf_buf whole = {0};
    enum sf_err err = keep_book_read_file(dir, name, &whole, why);
    /* A file that cannot be read now is checked again when it is opened. */
    err = err ? SF_OK : check_format(name, sf_buf_bytes(&whole), magic, why);
    sf_buf_done(&whole);
    return err;
}

enum sf_err sf_keep_book_refuse_newer(struct sf_dir *dir, struct sf_why *why)
{
    enum sf_err err = keep_book_refuse_newer(dir, SF_PINS_FILE, SF_PINS_MAGIC, why);
    if (!err)
        err = keep_book_refuse_newer(dir, SF_RULE_SETS_FILE, SF_RULE_SETS_MAGIC, why);
    return err ? err : sf_verdicts_refuse_newer(dir, why);
}

/* Moves a damaged list to orphan/ and starts with an empty one. */
static enum sf_err keep_book_set_aside(struct sf_local *l, const char *name,
                                       const struct sf_why *what, struct sf_why *why)
{
    sf_local_notice(l, "%s: moved to orphan/", what->text);
    return sf_directory_orphan(l->dir, name, l->now_ns, why);
}

enum sf_err sf_keep_book_open(struct sf_local *l, bool is_new, struct sf_why *why)
{
    struct sf_why what = {0};
    enum sf_err err = sf_pins_load(l, &what);
    if (err == SF_ERR_CORRUPT)
        err = keep_book_set_aside(l, SF_PINS_FILE, &what, why);
    else if (err)
        sf_fail(why, err, "%s", what.text);
    if (!err) {
        err = sf_rule_sets_load(l, &what);
        if (err == SF_ERR_CORRUPT) {
            is_new = false; /* the rules of past hours are unknown */
            err = keep_book_set_aside(l, SF_RULE_SETS_FILE, &what, why);
        } else if (err) {
            sf_fail(why, err, "%s", what.text);
        }
    }
    if (!err)
        err = sf_verdicts_load(l, why);
    return err ? err : sf_rule_sets_update(l, is_new, why);
}

void sf_keep_book_close(struct sf_local *l)
{
    struct sf_keep_book *b = &l->keep;
    for (size_t i = 0; i < b->n_pins; i++)
        sf_heap_free((void *)b->pins[i].note.p);
    for (size_t i = 0; i < b->n_sets; i++)
        sf_heap_free((void *)b->sets[i].rules.p);
    sf_heap_free(b->pins);
    sf_heap_free(b->sets);
    sf_heap_free(b->heads);
}
