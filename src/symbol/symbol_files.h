/* symbol_files.h - programs and debug files by build id, in the data directory.
 *
 *   symbols/7/0a1b2c.debug    uploaded for tenant 7: debug information, without code
 *   symbols/7/0a1b2c.elf      likewise: a program or library, stripped or not
 *   symbols/7/0a1b2c.dwp      likewise: what -gsplit-dwarf left out of it
 *   symbols/fetched/...       the same from debuginfod servers, for all tenants
 *   symbols/fetched/0a1b2c.absent-91f0e7aa   empty: these servers had none when it was written
 *   tmp/symbol-12             being written; renamed when it is whole, checked and synced
 *
 * A build id may have a file of each kind. Their content is not trusted: they are read with the
 * bounds of elf_file.h and debug_info.h. Files may be replaced and deleted while they are read;
 * then only that lookup fails. Any thread. */
#pragma once
#include <stdatomic.h>

#include "base/arena.h"
#include "base/err.h"
#include "os/dir.h"

enum {
    SF_SYMBOL_ID_MIN = 4, /* minimum bytes of a build id: shorter ones are not used in practice */
    SF_SYMBOL_ID_MAX = 64,
    SF_SYMBOL_NAME_CAP = 192,
    SF_SYMBOL_FETCHED = 0 /* used instead of a tenant, whose numbers begin with 1 */
};

struct sf_symbol_id { /* the build id, or of a program without one its hash (file_hash.h) */
    char hex[2 * SF_SYMBOL_ID_MAX + 1]; /* lower case, terminated */
};

enum sf_symbol_part {
    SF_SYMBOL_PROGRAM,
    SF_SYMBOL_DEBUG,
    SF_SYMBOL_SPLIT, /* .dwp: debug information separated by -gsplit-dwarf; has no build id */
    SF_SYMBOL_PARTS
};

struct sf_symbol_info { /* properties of one file */
    struct sf_symbol_id id;
    enum sf_symbol_part part;
    uint64_t len;
    int64_t changed_ns;
    bool has_lines;                /* debug information: lines and inlined calls */
    bool has_names;                /* a symbol table */
    bool has_layout;               /* offsets of its code are known */
    bool is_shared;                /* no program's own: common debug information moved by dwz */
    bool is_split;                 /* inlined calls are in .dwo files (-gsplit-dwarf) */
    struct sf_symbol_id shared_id; /* of the shared file that it needs; empty: none */
    char note[192];                /* which part is not used, and why; empty: all is used */
};

struct sf_symbol_files {
    struct sf_dir *dir;     /* borrowed */
    uint64_t max_file_len;  /* limit of one file */
    uint64_t max_total_len; /* limit of a tenant's uploads */
    uint64_t max_cache_len; /* limit of downloaded files */
    uint64_t min_free_len;  /* free disk space to keep; 0: 2 GB or 5 %, whichever is more */
    uint64_t servers_key;   /* hash of the debuginfod servers: notes about missing files are valid
                             * only for these */
    atomic_uint n_written;  /* number for names of files being written */
};

/* False: not hexadecimal, too short or too long. */
bool sf_symbol_files_id_parse(sf_str text, struct sf_symbol_id *out);
/* "program", "debug" or "split". */
const char *sf_symbol_files_part_name(enum sf_symbol_part part);

/* The folders. */
enum sf_err sf_symbol_files_prepare(struct sf_symbol_files *s, struct sf_why *why);
/* A file's name below the data directory. */
void sf_symbol_files_name(uint32_t tenant, const struct sf_symbol_id *id, enum sf_symbol_part part,
                          char out[SF_SYMBOL_NAME_CAP]);
bool sf_symbol_files_has(const struct sf_symbol_files *s, uint32_t tenant,
                         const struct sf_symbol_id *id, enum sf_symbol_part part);
/* Examines the file at `path`. INPUT: not ELF, or without a build id (a .dwp file has none). */
enum sf_err sf_symbol_files_inspect(const char *path, struct sf_symbol_info *out,
                                    struct sf_why *why);
/* False: the file at `path` shares no debug information, or cannot be read. */
bool sf_symbol_files_shared_id(const char *path, struct sf_symbol_id *out);
/* In no order; damaged ones have a note. LIMIT: `req` is full. */
enum sf_err sf_symbol_files_list(struct sf_symbol_files *s, uint32_t tenant, struct sf_arena *req,
                                 const struct sf_symbol_info **out, uint32_t *out_n,
                                 struct sf_why *why);
/* NOT_FOUND: there is none of that build id. */
enum sf_err sf_symbol_files_delete(struct sf_symbol_files *s, uint32_t tenant,
                                   const struct sf_symbol_id *id, struct sf_why *why);
/* Deletes fetched files, those used longest ago first, until they fit. */
void sf_symbol_files_trim(struct sf_symbol_files *s);

/* Notes that the servers have no file with that build id: valid for SF_LIMIT_SYMBOL_ABSENT_S, also
 * after restarts. */
void sf_symbol_files_note_absent(struct sf_symbol_files *s, const struct sf_symbol_id *id);
/* How much longer such a note is valid; 0: there is none. */
int64_t sf_symbol_files_absent(const struct sf_symbol_files *s, const struct sf_symbol_id *id);

/* Checks every file of every tenant. */
enum sf_err sf_symbol_files_verify(struct sf_dir *dir, struct sf_arena scratch,
                                   void (*say)(void *arg, const char *sentence), void *arg,
                                   uint64_t *io_n_faults, struct sf_why *why);

/* ---- writing ---- */

struct sf_symbol_writer { /* a zeroed struct is done */
    struct sf_symbol_files *files;
    struct sf_file file;
    char name[40];
    uint64_t len;
};

/* `len`: length of the file, 0 if unknown. LIMIT: too long; FULL: the tenant's limit or the
 * disk. */
enum sf_err sf_symbol_files_writer_begin(struct sf_symbol_writer *w, struct sf_symbol_files *s,
                                         uint32_t tenant, uint64_t len, struct sf_why *why);
enum sf_err sf_symbol_files_writer_add(struct sf_symbol_writer *w, const void *p, size_t len,
                                       struct sf_why *why);
/* Checks the file and stores it durably. INPUT: it is not what was declared. `is_new`: there was
 * none of its kind. */
enum sf_err sf_symbol_files_writer_finish(struct sf_symbol_writer *w, uint32_t tenant,
                                          const struct sf_symbol_id *id, struct sf_symbol_info *out,
                                          bool *is_new, struct sf_why *why);
void sf_symbol_files_writer_done(struct sf_symbol_writer *w); /* deletes a file that was not
                                                               * finished */
