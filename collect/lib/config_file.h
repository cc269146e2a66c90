/* config_file.h - reads the `profiling:` block of a configuration file as variables.
 *
 * The server reads its file with libyaml; this library must not add dependencies to a program. So
 * it reads the subset of YAML used for such a block: mappings by indentation or on one line in
 * braces, plain and quoted values, comments. The value at profiling.cpu.sample_rate becomes
 * SPANFLAME_PROFILING_CPU_SAMPLE_RATE. Other blocks are ignored. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct sf_config_file {
    struct sf_buf vars; /* "NAME\0value\0line\0" ... */
};

/* Adds the values in the text. INPUT: `why` names the line with the error; values before it are
 * kept. */
enum sf_err sf_config_file_parse(struct sf_config_file *f, sf_str text, struct sf_why *why);
/* The same from a file of at most 1 MB; IO: it cannot be read. */
enum sf_err sf_config_file_read(struct sf_config_file *f, const char *path, struct sf_why *why);
const char *sf_config_file_get(const struct sf_config_file *f, const char *name); /* NULL: unsaid */
const char *sf_config_file_line(const struct sf_config_file *f, const char *name); /* "12", NULL */
void sf_config_file_done(struct sf_config_file *f);
