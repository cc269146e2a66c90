#include "os/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool sf_terminal_is(int fd)
{
    return isatty(fd) == 1;
}

size_t sf_terminal_width(int fd, size_t otherwise)
{
    struct winsize size = {0};
    uint64_t columns;

    if (sf_str_to_u64(sf_str_from(getenv("COLUMNS")), &columns) && columns > 0 && columns < 10000)
        return (size_t)columns;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return otherwise;
}

bool sf_terminal_has_color(int fd)
{
    const char *term = getenv("TERM");
    const char *none = getenv("NO_COLOR");
    return sf_terminal_is(fd) && !(none && *none) && term && strcmp(term, "dumb") != 0;
}

bool sf_terminal_write(int fd, sf_str text)
{
    while (text.len) {
        ssize_t put = write(fd, text.p, text.len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        text = sf_str_from_at(text, (size_t)put);
    }
    return true;
}
