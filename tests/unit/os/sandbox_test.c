#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/sandbox.h"

/* What it does cannot be undone, so each check is a child's; its exit code is the first step that
 * was not as it should be, or 0, or SKIPPED. */
enum { SKIPPED = 77 };

static char home[64], inside[96], outside[96];

static void make_folders(void)
{
    snprintf(home, sizeof(home), "/tmp/sf_sandbox.XXXXXX");
    assert_non_null(mkdtemp(home));
    snprintf(inside, sizeof(inside), "%s/inside", home);
    snprintf(outside, sizeof(outside), "%s/outside", home);
    assert_int_equal(mkdir(inside, 0700), 0);
    assert_int_equal(mkdir(outside, 0700), 0);
}

static void remove_folders(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", home);
    assert_int_equal(system(command), 0);
}

static int open_in(const char *folder, const char *name, int flags)
{
    char path[160];
    int fd;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static void run(int (*look)(void))
{
    int status = 0;
    pid_t pid;
    make_folders();
    assert_int_equal(open_in(outside, "file", O_WRONLY | O_CREAT), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(look());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    remove_folders();
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static struct sf_sandbox_state enter(const char *read)
{
    struct sf_sandbox box = {.write = {inside}, .n_write = 1};
    struct sf_sandbox_state state;
    sf_sandbox_usual(&box);
    if (sf_sandbox_read(&box, read, NULL))
        _exit(99);
    sf_sandbox_enter(&box, &state);
    return state;
}

static int try_files(void)
{
    char from[160], to[160];
    if (!enter(NULL).has_files)
        return SKIPPED;
    if (open_in(inside, "new", O_RDWR | O_CREAT) || open_in(inside, "new", O_RDONLY))
        return 1;
    snprintf(from, sizeof(from), "%s/new", inside);
    snprintf(to, sizeof(to), "%s/day", inside);
    if (mkdir(to, 0700))
        return 2;
    snprintf(to, sizeof(to), "%s/day/moved", inside);
    if (rename(from, to) || truncate(to, 0) || unlink(to)) /* from folder to folder */
        return 3;
    if (open_in(outside, "file", O_RDONLY) != EACCES ||
        open_in(outside, "file", O_WRONLY) != EACCES)
        return 4;
    if (open_in(outside, "new", O_WRONLY | O_CREAT) != EACCES)
        return 5;
    if (open_in("/etc", "spanflame-test", O_WRONLY | O_CREAT) != EACCES)
        return 6;
    if (open_in("/etc", "passwd", O_RDONLY) || open_in("/dev", "null", O_RDWR) ||
        open_in("/proc/self", "status", O_RDONLY))
        return 7;
    return 0;
}

static int try_named_file(void)
{
    char named[160];
    snprintf(named, sizeof(named), "%s/file", outside);
    if (!enter(named).has_files)
        return SKIPPED;
    if (open_in(outside, "file", O_RDONLY))
        return 1;
    return open_in(outside, "file", O_WRONLY) == EACCES ? 0 : 2;
}

static int try_calls(void)
{
    static const struct {
        int family, type;
        bool is_refused;
    } sockets[] = {{AF_PACKET, SOCK_RAW, true},     {AF_INET, SOCK_RAW, true},
                   {AF_INET6, SOCK_RAW, true},      {AF_INET, SOCK_RAW | SOCK_CLOEXEC, true},
                   {AF_INET, SOCK_SEQPACKET, true}, {AF_AX25, SOCK_DGRAM, true},
                   {AF_VSOCK, SOCK_STREAM, true},   {AF_ALG, SOCK_SEQPACKET, true},
                   {AF_INET, SOCK_STREAM, false},   {AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, false},
                   {AF_UNIX, SOCK_STREAM, false},   {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, false}};
    char *const argv[] = {"true", NULL};
    int fd;
    if (!enter(NULL).has_calls)
        return SKIPPED;
    for (int i = 0; i < (int)(sizeof(sockets) / sizeof(sockets[0])); i++) {
        fd = socket(sockets[i].family, sockets[i].type, 0);
        if ((fd < 0 && errno == EPERM) != sockets[i].is_refused)
            return 10 + i;
        if (fd >= 0)
            close(fd);
    }
    if (syscall(SYS_io_uring_setup, 1, NULL) != -1 || errno != EPERM)
        return 6;
    if (syscall(SYS_fanotify_init, 0, 0) != -1 || errno != EPERM)
        return 7;
    if (execv("/bin/true", argv) != -1 || errno != EPERM)
        return 1;
    if (setuid(getuid()) != -1 || errno != EPERM)
        return 4;
    return chroot("/") == -1 && errno == EPERM ? 0 : 5;
}

static void *in_thread(void *arg)
{
    *(int *)arg = open_in(outside, "file", O_RDONLY);
    return NULL;
}

static int try_thread(void)
{
    pthread_t thread;
    int got = 0;
    if (!enter(NULL).has_files)
        return SKIPPED;
    if (pthread_create(&thread, NULL, in_thread, &got) || pthread_join(thread, NULL))
        return 1;
    return got == EACCES ? 0 : 2;
}

TEST(sandbox, leaves_the_data_and_takes_the_rest)
{
    run(try_files);
}

TEST(sandbox, lets_a_named_file_be_read_and_not_written)
{
    run(try_named_file);
}

TEST(sandbox, refuses_what_a_server_does_not_do)
{
    run(try_calls);
}

TEST(sandbox, holds_for_threads_that_come_later)
{
    run(try_thread);
}
