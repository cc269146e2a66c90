/* terminal.h - is the output a terminal, and how wide is it? */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

bool sf_terminal_is(int fd);
/* A terminal, and neither NO_COLOR nor TERM=dumb speaks against colours. */
bool sf_terminal_has_color(int fd);
/* Columns of the terminal behind `fd`; COLUMNS in the environment counts first, `otherwise` when
 * there is neither. */
size_t sf_terminal_width(int fd, size_t otherwise);
/* Writes all of it; false when the reader disconnected. */
bool sf_terminal_write(int fd, sf_str text);
