#include "app/port_owner.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TCP_LISTENING = 0x0A };

/* The inode of the listening socket; 0: none. */
static unsigned long find_inode(const char *table, uint16_t port)
{
    char line[512];
    unsigned long inode = 0;
    FILE *f = fopen(table, "re");
    if (!f)
        return 0;
    while (!inode && fgets(line, sizeof(line), f)) {
        unsigned local_port, state;
        unsigned long found;
        /* sl local:port remote:port state queues timer retransmits uid timeout inode */
        if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*s %*s %lu",
                   &local_port, &state, &found) == 3 &&
            local_port == port && state == TCP_LISTENING)
            inode = found;
    }
    fclose(f);
    return inode;
}

static bool has_socket(const char *pid, const char *want)
{
    char path[300], target[64];
    bool is_found = false;
    snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
    DIR *dir = opendir(path);
    if (!dir)
        return false;
    for (struct dirent *e; !is_found && (e = readdir(dir));) {
        ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);
        if (n > 0) {
            target[n] = '\0';
            is_found = strcmp(target, want) == 0;
        }
    }
    closedir(dir);
    return is_found;
}

int sf_port_owner(uint16_t port)
{
    char want[64];
    int pid = 0;
    unsigned long inode = find_inode("/proc/net/tcp", port);
    if (!inode)
        inode = find_inode("/proc/net/tcp6", port);
    DIR *proc = inode ? opendir("/proc") : NULL;
    if (!proc)
        return 0;
    snprintf(want, sizeof(want), "socket:[%lu]", inode);
    for (struct dirent *e; !pid && (e = readdir(proc));) {
        if (isdigit((unsigned char)e->d_name[0]) && has_socket(e->d_name, want))
            pid = (int)strtol(e->d_name, NULL, 10);
    }
    closedir(proc);
    return pid;
}

uint16_t sf_port_owner_free_after(uint16_t port)
{
    for (uint32_t p = port + 1u; p < port + 50u && p <= UINT16_MAX; p++) {
        struct sockaddr_in addr = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)p),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool is_free = fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0;
        if (fd >= 0)
            close(fd);
        if (is_free)
            return (uint16_t)p;
    }
    return 0;
}
