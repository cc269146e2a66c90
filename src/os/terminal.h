/* terminal.h - is somebody looking, and how wide is their window? */
#pragma once
#include <stdbool.h>
#include <stddef.h>

bool sf_terminal_is(int fd);
/* Columns of the terminal behind `fd`; COLUMNS in the environment counts first, `otherwise` when
 * there is neither. */
size_t sf_terminal_width(int fd, size_t otherwise);
