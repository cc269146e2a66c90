/* config_file.h - the `profiling:` block of a configuration file, as variables.
 *
 * The server reads its file with libyaml; this library brings nothing into a program. So it reads
 * the part of YAML that such a block is written in: mappings by indentation or on one line in
 * braces, plain and quoted values, comments. The value at profiling.cpu.sample_rate becomes
 * SPANFLAME_PROFILING_CPU_SAMPLE_RATE. Other blocks are passed over. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct sf_config_file {
    struct sf_buf vars; /* "NAME\0value\0line\0" ... */
};

/* Adds what the text says. INPUT: `why` names the line that is not understood; what came before it
 * is there. */
enum sf_err sf_config_file_parse(struct sf_config_file *f, sf_str text, struct sf_why *why);
/* The same from a file of at most 1 MB; IO: it cannot be read. */
enum sf_err sf_config_file_read(struct sf_config_file *f, const char *path, struct sf_why *why);
const char *sf_config_file_get(const struct sf_config_file *f, const char *name); /* NULL: unsaid */
const char *sf_config_file_line(const struct sf_config_file *f, const char *name); /* "12", NULL */
void sf_config_file_done(struct sf_config_file *f);
