/* Files: Landlock refuses access outside of the listed folders with EACCES. System calls: the
 * server does not start programs, load kernel modules or trace processes; a seccomp filter refuses
 * these calls with EPERM. The filter is a deny list, not an allow list: libraries change the calls
 * they use, and an unknown new call must not end the server. */
#include "os/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/asan.h"

/* ---- files ---- */

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

static const uint64_t FIRST_RIGHTS = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1; /* version 1 */
static const uint64_t READ_RIGHTS = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t FILE_RIGHTS = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
static const uint64_t NEVER = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                              LANDLOCK_ACCESS_FS_MAKE_BLOCK;

static uint64_t rights_known(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    uint64_t rights = FIRST_RIGHTS;
    if (version < 2) /* version 1 refuses all renames between folders */
        return 0;
    rights |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= 3)
        rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
    return rights;
}

static bool sandbox_add_rule(int rules, const char *path, uint64_t rights)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = rights};
    struct stat st;
    bool is_added;
    rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0)
        return errno == ENOENT; /* missing: nothing to allow */
    if (!fstat(rule.parent_fd, &st) && !S_ISDIR(st.st_mode))
        rule.allowed_access &= FILE_RIGHTS;
    is_added = !syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
    return is_added;
}

/* Allows the folder of a file and, if the file is a link, that of its target as well. */
static bool add_read(int rules, const char *path, uint64_t rights)
{
    char folder[PATH_MAX], real[PATH_MAX];
    struct stat st;
    char *slash;
    bool is_added = sandbox_add_rule(rules, path, rights);
    if (stat(path, &st) || S_ISDIR(st.st_mode))
        return is_added;
    for (int i = 0; i < 2; i++) {
        if (i == 1 && !realpath(path, real))
            return is_added;
        snprintf(folder, sizeof(folder), "%s", i == 0 ? path : real);
        slash = strrchr(folder, '/');
        if (slash == folder)
            continue;
        if (slash)
            *slash = 0;
        is_added = sandbox_add_rule(rules, slash ? folder : ".", rights) && is_added;
    }
    return is_added;
}

static bool restrict_files(const struct sf_sandbox *s)
{
    uint64_t known = rights_known();
    struct landlock_ruleset_attr attr = {.handled_access_fs = known};
    bool is_set;
    int rules;
    if (!known) {
        errno = ENOSYS;
        return false;
    }
    rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);
    if (rules < 0)
        return false;
    is_set = sandbox_add_rule(rules, "/dev", known & (READ_RIGHTS | FILE_RIGHTS));
    for (size_t i = 0; i < s->n_write; i++)
        is_set = is_set && sandbox_add_rule(rules, s->write[i], known & ~NEVER);
    for (size_t i = 0; i < s->n_read; i++)
        is_set = is_set && add_read(rules, s->read[i], known & READ_RIGHTS);
    is_set = is_set && !syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
    return is_set;
}

/* ---- calls ---- */

static const int refused[] = {
    SYS_execve,
    SYS_execveat,
#ifndef HAS_ASAN /* the address sanitizer's leak check uses it to stop threads */
    SYS_ptrace,
#endif
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_pidfd_getfd,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsmount,
    SYS_fspick,
    SYS_fsconfig,
    SYS_mount_setattr,
    SYS_setns,
    SYS_unshare,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_bpf,
    SYS_userfaultfd,
    SYS_io_uring_setup, /* its operations bypass the filter */
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_acct,
    SYS_quotactl,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_syslog,
    SYS_fanotify_init, /* its events have open files of any folder */
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_vhangup,
    SYS_personality,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_capset,
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
};
enum { N_REFUSED = sizeof(refused) / sizeof(refused[0]) };

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

static bool restrict_calls(void)
{
#ifndef OWN_ARCH
    errno = ENOSYS;
    return false;
#else
    const uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
    struct sock_filter code[N_REFUSED * 2 + 24];
    struct sock_fprog program = {.filter = code};
    size_t n = 0;

    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, arch));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refuse);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* x32 */
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refuse);
#endif
    for (size_t i = 0; i < N_REFUSED; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refused[i], 0,
                                                 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refuse);
    }
    /* Sockets: only local ones, netlink for addresses, and streams and datagrams of IPv4 and IPv6;
     * root could otherwise use raw ones. */
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 10);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, args[0]));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 8, 0);
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 7, 0);
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0);
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 4);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, args[1]));
    code[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K,
                                             ~(uint32_t)(SOCK_CLOEXEC | SOCK_NONBLOCK));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0);
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_DGRAM, 1, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refuse);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = (unsigned short)n;
    return !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
#endif
}

/* ---- entering the sandbox ---- */

void sf_sandbox_usual(struct sf_sandbox *s)
{
    static const char *const usual[] = {"/usr", "/lib",  "/lib64", "/bin",
                                        "/etc", "/proc", "/sys",   "/run/systemd/resolve"};
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        s->read[s->n_read++] = usual[i];
}

enum sf_err sf_sandbox_read(struct sf_sandbox *s, const char *path, struct sf_why *why)
{
    if (!path || !path[0])
        return SF_OK;
    if (s->n_read == SF_SANDBOX_PATHS)
        return sf_fail(why, SF_ERR_LIMIT, "sandbox: more than %d paths", SF_SANDBOX_PATHS);
    s->read[s->n_read++] = path;
    return SF_OK;
}

void sf_sandbox_enter(const struct sf_sandbox *s, struct sf_sandbox_state *out)
{
    struct sf_sandbox_state state = {0};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
        state.files_err = state.calls_err = errno;
    } else {
        state.has_files = restrict_files(s);
        state.files_err = state.has_files ? 0 : errno;
        state.has_calls = restrict_calls();
        state.calls_err = state.has_calls ? 0 : errno;
    }
    *out = state;
}
