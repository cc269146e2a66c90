/* debug_info.h - addresses of one file to functions, files and lines, what was inlined among them,
 * from its debug information (DWARF 2 to 5).
 *
 * Addresses come many at once. One examine the first entry of every unit tells which unit has
 * which; only those are read, each once. One thread at a time; the file stays open meanwhile. */
#pragma once
#include "symbol/dwarf_calls.h"
#include "symbol/dwarf_line_table.h"
#include "symbol/dwarf_package.h"
#include "symbol/dwarf_units.h"
#include "symbol/elf_file.h"
#include "symbol/elf_inflate.h"

enum {
    SF_SYMBOL_LINES_MAX = 64,        /* calls inlined into each other at one address */
    SF_DEBUG_SECTIONS = 9,           /* that are read */
    SF_DEBUG_FILES = 3,              /* that they are in */
    SF_DEBUG_SCOPES = 64,            /* of lambdas, kept */
    SF_DEBUG_INFLATED_MAX = 8 << 20, /* of compressed sections, inside a program */
};

struct sf_symbol_line {
    sf_str name;        /* as the linker knows it where that is known; may be empty */
    sf_str file;        /* the whole path; empty: unknown */
    uint32_t line;      /* 0: unknown */
    uint32_t decl_line; /* where the function begins; 0: unknown */
    /* Of the last line: what the symbol covers that holds the address; 0: there is none. */
    uint64_t code_at;
    uint32_t code_len;
};

struct sf_debug_more {     /* what its reader may use; a zeroed one is nothing of it */
    size_t max_inflated;   /* of all compressed sections of a file */
    size_t max_now;        /* likewise, below it: another time it may be more; 0: as much */
    uint64_t max_work;     /* as dwarf.h counts it; 0: what the file's size allows */
    bool is_names_only;    /* symbol tables, no debug information */
    sf_elf_unzstd *unzstd; /* NULL: what was compressed with zstd is not read */
    /* What dwz moved out of several files, if it is here: NULL or zeroed when not. */
    const struct sf_elf_file *shared;
    /* The .dwp file beside a program of -gsplit-dwarf, likewise. */
    const struct sf_elf_file *package;
};

struct sf_debug_info {
    struct sf_dwarf d, shared; /* without sections: there is no shared file */
    struct sf_dwarf_units units, shared_units;
    struct sf_dwarf_package package; /* without an index: there is none */
    struct sf_dwarf part;            /* of it, of the unit in hand */
    struct sf_dwarf_units part_units;
    struct sf_dwarf *now; /* where the calls of the unit in hand are: `d` or `part` */
    struct sf_dwarf_units *now_units;
    struct sf_dwarf_line_table table;
    struct sf_dwarf_line_table part_table; /* its files, when the part has files of its own */
    bool has_part_table;
    struct sf_dwarf_calls calls;
    struct sf_buf path;   /* of one answer */
    struct sf_buf scopes; /* of lambdas that were seen */
    struct sf_debug_scope {
        uint64_t entry_off; /* 0: free */
        size_t at, len;     /* in `scopes`; nothing: there is none */
        bool is_shared;     /* of the shared file */
    } scope_cache[SF_DEBUG_SCOPES];
    uint64_t scope_work; /* that may be spent on them */
    /* Those that are compressed in the file, in the shared one and in the package. */
    struct sf_buf inflated[SF_DEBUG_FILES][SF_DEBUG_SECTIONS];
    bool is_cut; /* `max_now` or the work was not enough */
};

/* The innermost line first, the function itself last; all is borrowed until it returns. */
typedef void sf_debug_info_taker(void *arg, uint32_t query, const struct sf_symbol_line *lines,
                                 unsigned n);

/* False: the file has none, or it is compressed in a way or to a size that is not read. Done is
 * fine either way; `i` stays where it is until then. */
bool sf_debug_info_init(struct sf_debug_info *i, const struct sf_elf_file *f,
                        const struct sf_debug_more *more);
void sf_debug_info_done(struct sf_debug_info *i);
/* Gives `take` what is known of each of the `n` sorted addresses; of unknown ones nothing. The last
 * line's name is empty if the symbol table has a better name, or if there is none. */
void sf_debug_info_find(struct sf_debug_info *i, const uint64_t *at, uint32_t n,
                        sf_debug_info_taker *take, void *arg);
