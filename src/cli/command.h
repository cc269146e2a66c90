/* command.h - one subcommand of the binary. One file each; exit codes: 0 done, 1 it failed (a
 * sentence on stderr says why and what to do), 2 the command line was wrong. */
#pragma once
#include <stddef.h>

struct sf_command {
    const char *name;
    const char *summary;               /* for the list in --help */
    int (*run)(int argc, char **argv); /* argv[0] is the subcommand */
    const char *alias_of;              /* "serve" for "server"; NULL: none */
};

/* The commands of this module; app adds those that start or configure a server. */
extern const struct sf_command sf_cli_commands[];
extern const size_t sf_cli_n_commands;
