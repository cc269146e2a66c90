#include "os/host.h"

#include <arpa/inet.h>
#include <string.h>

bool sf_host_is_public(const char *host)
{
    struct in_addr four;
    struct in6_addr six;

    if (strcmp(host, "localhost") == 0)
        return false;
    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> 24 != 127;
    if (inet_pton(AF_INET6, host, &six) == 1) {
        if (IN6_IS_ADDR_V4MAPPED(&six))
            return six.s6_addr[12] != 127;
        return !IN6_IS_ADDR_LOOPBACK(&six);
    }
    return true;
}

bool sf_host_is_any(const char *host)
{
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET, host, &four) == 1)
        return four.s_addr == INADDR_ANY;
    return inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_UNSPECIFIED(&six);
}
