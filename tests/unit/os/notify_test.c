#include "os/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"

/* A socket as a service manager has one; the kernel chooses its abstract name, which comes back
 * after '@'. */
static int listen_as_manager(char *name, size_t size)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(at.sun_family);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    len = sizeof(at);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    size_t n = len - offsetof(struct sockaddr_un, sun_path);
    assert_true(n + 1 < size);
    memcpy(name, at.sun_path, n);
    name[0] = '@';
    name[n] = '\0';
    return fd;
}

TEST(notify, tells_the_manager_and_keeps_the_name_from_children)
{
    char name[108];
    char said[100];
    struct sf_notify n;
    int fd = listen_as_manager(name, sizeof(name));
    setenv("NOTIFY_SOCKET", name, 1);
    sf_notify_open(&n);
    assert_null(getenv("NOTIFY_SOCKET"));
    sf_notify_send(&n, "READY=1\nSTATUS=serving");
    ssize_t got = recv(fd, said, sizeof(said), 0);
    assert_int_equal(got, strlen("READY=1\nSTATUS=serving"));
    assert_memory_equal(said, "READY=1\nSTATUS=serving", (size_t)got);
    sf_notify_close(&n);
    close(fd);
}

TEST(notify, without_a_manager_nothing_is_sent)
{
    char too_long[200] = "/";
    struct sf_notify n;
    memset(too_long + 1, 'x', sizeof(too_long) - 2);
    const char *const names[] = {NULL, "", "@", "relative", "/nonexistent/socket", too_long};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i])
            setenv("NOTIFY_SOCKET", names[i], 1);
        sf_notify_open(&n);
        assert_int_equal(n.fd, -1);
        sf_notify_send(&n, "READY=1");
        sf_notify_close(&n);
    }
}

TEST(notify, a_manager_that_does_not_read_blocks_nobody)
{
    char name[108];
    struct sf_notify n;
    int fd = listen_as_manager(name, sizeof(name));
    setenv("NOTIFY_SOCKET", name, 1);
    sf_notify_open(&n);
    for (int i = 0; i < 10000; i++)
        sf_notify_send(&n, "STATUS=again");
    sf_notify_close(&n);
    close(fd);
}
