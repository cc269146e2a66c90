/* manual.h - a command's manual page, from the table that also parses its flags. */
#pragma once
#include "base/buf.h"
#include "cli/args.h"
#include "cli/command.h"

void sf_manual_command(const struct sf_args *args, struct sf_buf *out); /* mdoc, section 1 */
/* spanflame(1): description and list of commands. */
void sf_manual_main(const struct sf_command *const *commands, size_t n, struct sf_buf *out);
