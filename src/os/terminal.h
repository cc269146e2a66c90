/* terminal.h - whether the output is a terminal, and its width. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

bool sf_terminal_is(int fd);
/* It is a terminal, and neither NO_COLOR nor TERM=dumb is set. */
bool sf_terminal_has_color(int fd);
/* Columns of the terminal `fd`; the variable COLUMNS takes precedence; `otherwise` if neither is
 * known. */
size_t sf_terminal_width(int fd, size_t otherwise);
/* Writes all of it; false when the other side was closed. */
bool sf_terminal_write(int fd, sf_str text);
