/* debug_info.h - finds functions, files, lines and inlined calls for addresses of one file, from
 * its debug information (DWARF 2 to 5).
 *
 * Many addresses are looked up at once. The first entry of every unit tells which addresses it
 * contains; only units with requested addresses are read, each once. One thread at a time; the file
 * stays open meanwhile. */
#pragma once
#include "symbol/dwarf_calls.h"
#include "symbol/dwarf_line_table.h"
#include "symbol/dwarf_package.h"
#include "symbol/dwarf_units.h"
#include "symbol/elf_file.h"
#include "symbol/elf_inflate.h"

enum {
    SF_SYMBOL_LINES_MAX = 64,        /* maximum depth of inlined calls at one address */
    SF_DEBUG_SECTIONS = 9,           /* sections that are read */
    SF_DEBUG_FILES = 3,              /* files that contain the sections */
    SF_DEBUG_SCOPES = 64,            /* cached scopes of lambdas */
    SF_DEBUG_INFLATED_MAX = 8 << 20, /* limit for decompressed sections inside a program */
};

struct sf_symbol_line {
    sf_str name;        /* the linker name if known; may be empty */
    sf_str file;        /* full path; empty: unknown */
    uint32_t line;      /* 0: unknown */
    uint32_t decl_line; /* line where the function begins; 0: unknown */
    /* Of the last line: the range of the symbol that contains the address; 0: none. */
    uint64_t code_at;
    uint32_t code_len;
};

struct sf_debug_more {     /* limits and further files; zeroed: none */
    size_t max_inflated;   /* for all compressed sections of a file */
    size_t max_now;        /* a lower limit for now, which may be higher another time; 0: the
                            * same */
    uint64_t max_work;     /* in units of dwarf.h; 0: depends on the file's size */
    bool is_names_only;    /* use symbol tables only, no debug information */
    sf_elf_unzstd *unzstd; /* NULL: sections compressed with zstd are not read */
    /* File to which dwz moved common debug information, if available: NULL or zeroed if not. */
    const struct sf_elf_file *shared;
    /* The .dwp file of a program built with -gsplit-dwarf, likewise. */
    const struct sf_elf_file *package;
};

struct sf_debug_info {
    struct sf_dwarf d, shared; /* shared without sections: there is no shared file */
    struct sf_dwarf_units units, shared_units;
    struct sf_dwarf_package package; /* without an index: there is no package */
    struct sf_dwarf part;            /* the part of the package for the current unit */
    struct sf_dwarf_units part_units;
    struct sf_dwarf *now; /* contains the calls of the current unit: `d` or `part` */
    struct sf_dwarf_units *now_units;
    struct sf_dwarf_line_table table;
    struct sf_dwarf_line_table part_table; /* file table of the part, if it has its own */
    bool has_part_table;
    struct sf_dwarf_calls calls;
    struct sf_buf path;   /* paths of one result */
    struct sf_buf scopes; /* names of enclosing scopes of lambdas */
    struct sf_debug_scope {
        uint64_t entry_off; /* 0: free */
        size_t at, len;     /* in `scopes`; length 0: none */
        bool is_shared;     /* in the shared file */
    } scope_cache[SF_DEBUG_SCOPES];
    uint64_t scope_work; /* remaining work for scopes */
    /* Decompressed sections of the file, the shared one and the package. */
    struct sf_buf inflated[SF_DEBUG_FILES][SF_DEBUG_SECTIONS];
    bool is_cut; /* `max_now` or the work limit was reached */
};

/* The innermost line first, the function itself last; valid only during the call. */
typedef void sf_debug_info_taker(void *arg, uint32_t query, const struct sf_symbol_line *lines,
                                 unsigned n);

/* False: the file has none, or its compression or size is not supported. Done must be called in any
 * case; `i` must not be moved until then. */
bool sf_debug_info_init(struct sf_debug_info *i, const struct sf_elf_file *f,
                        const struct sf_debug_more *more);
void sf_debug_info_done(struct sf_debug_info *i);
/* Calls `take` for each of the `n` sorted addresses that is known. The last line's name is empty if
 * the symbol table has a better name, or if there is none. */
void sf_debug_info_find(struct sf_debug_info *i, const uint64_t *at, uint32_t n,
                        sf_debug_info_taker *take, void *arg);
