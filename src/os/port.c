#include "os/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool bind_to(uint16_t port, uint16_t *out_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t len = sizeof(at);
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_bound;
    if (fd < 0)
        return false;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    is_bound = bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 1) == 0 &&
               getsockname(fd, (struct sockaddr *)&at, &len) == 0;
    if (is_bound && out_port)
        *out_port = ntohs(at.sin_port);
    close(fd);
    return is_bound;
}

bool sf_port_is_free(uint16_t port)
{
    return bind_to(port, NULL);
}

uint16_t sf_port_find(void)
{
    uint16_t port = 0;
    return bind_to(0, &port) ? port : 0;
}
