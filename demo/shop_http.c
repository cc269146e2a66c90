#include "shop_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

bool shop_http_read(int fd, char *out, size_t cap)
{
    size_t len = 0;
    while (len + 1 < cap) {
        ssize_t n = recv(fd, out + len, cap - 1 - len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        len += (size_t)n;
        out[len] = '\0';
        if (strstr(out, "\r\n\r\n"))
            return true;
    }
    return false;
}

bool shop_http_header(const char *head, const char *name, char *out, size_t cap)
{
    size_t name_len = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        const char *val = line + 2 + name_len;
        size_t len;
        if (strncasecmp(line + 2, name, name_len) != 0 || *val != ':')
            continue;
        val += 1 + strspn(val + 1, " ");
        len = strcspn(val, "\r\n");
        if (len >= cap)
            return false;
        memcpy(out, val, len);
        out[len] = '\0';
        return true;
    }
    return false;
}

void shop_http_write(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        bytes += n;
        len -= (size_t)n;
    }
}

static int on_loopback(uint16_t port, int (*join)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct timeval patience = {.tv_sec = 10};
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (join == bind) /* a new version starts while the old one still runs, then the old one ends */
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes));
    if (join(fd, (const struct sockaddr *)&at, sizeof(at))) {
        close(fd);
        return -1;
    }
    if (join == connect)
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return fd;
}

int shop_http_listen(uint16_t port)
{
    int fd = on_loopback(port, bind);
    if (fd >= 0 && listen(fd, 64)) {
        close(fd);
        return -1;
    }
    return fd;
}

int shop_http_connect(uint16_t port)
{
    return on_loopback(port, connect);
}
