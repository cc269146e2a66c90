/* supplier - a remote third-party system: no spans, and a response after 20 ms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shop.h"
#include "shop_http.h"

enum { FAR_US = 20000 };

int main(void)
{
    static const char answer[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntomorrow\n";
    const char *port = getenv("SHOP_PORT");
    int listener = shop_http_listen(port ? (uint16_t)strtoul(port, NULL, 10) : 0);
    char request[SHOP_HEAD_CAP];
    if (listener < 0) {
        perror("supplier");
        return 1;
    }
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            continue;
        if (shop_http_read(fd, request, sizeof(request))) {
            if (!strstr(request, "/health"))
                shop_sleep_us(FAR_US);
            shop_http_write(fd, answer, sizeof(answer) - 1);
        }
        close(fd);
    }
}
