#include "test.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/program.h"

static char path[64];

static void write_program(const void *bytes, size_t len)
{
    int fd;
    snprintf(path, sizeof(path), "/tmp/spanflame-program-%d", (int)getpid());
    unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}

static enum sf_program_kind kind_of(const char *name)
{
    struct sf_program looked;
    sf_program_inspect(name, &looked);
    return looked.kind;
}

TEST(program, is_found_as_a_shell_finds_it)
{
    assert_int_equal(kind_of("/proc/self/exe"), SF_PROGRAM_DYNAMIC);
    assert_int_equal(kind_of("sh"), SF_PROGRAM_DYNAMIC);
    assert_int_equal(kind_of("no-such-program"), SF_PROGRAM_UNKNOWN);
    assert_int_equal(kind_of("/"), SF_PROGRAM_UNKNOWN);
}

TEST(program, that_is_a_script_is_what_its_interpreter_is)
{
    char itself[80];
    write_program("#! /bin/sh -e\n", 14);
    assert_int_equal(kind_of(path), SF_PROGRAM_DYNAMIC);
    snprintf(itself, sizeof(itself), "#!%s\n", path);
    write_program(itself, strlen(itself)); /* for ever */
    assert_int_equal(kind_of(path), SF_PROGRAM_UNKNOWN);
    write_program("#!", 2);
    assert_int_equal(kind_of(path), SF_PROGRAM_UNKNOWN);
    unlink(path);
}

struct image {
    Elf64_Ehdr head;
    Elf64_Phdr parts[3];
    Elf64_Dyn list[3];
    char loader[40], name[40];
};

static struct image made(const char *loader, const char *needed)
{
    struct image i = {0};
    memcpy(i.head.e_ident, ELFMAG, SELFMAG);
    i.head.e_ident[EI_CLASS] = ELFCLASS64;
    i.head.e_ident[EI_DATA] = ELFDATA2LSB;
#ifdef __aarch64__
    i.head.e_machine = EM_AARCH64;
#else
    i.head.e_machine = EM_X86_64;
#endif
    i.head.e_phentsize = sizeof(Elf64_Phdr);
    i.head.e_phnum = 3;
    i.head.e_phoff = offsetof(struct image, parts);
    i.parts[0] = (Elf64_Phdr){.p_type = PT_INTERP, .p_offset = offsetof(struct image, loader)};
    i.parts[1] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = sizeof(i)};
    i.parts[2] = (Elf64_Phdr){
        .p_type = PT_DYNAMIC, .p_offset = offsetof(struct image, list), .p_filesz = sizeof(i.list)};
    i.list[0] = (Elf64_Dyn){.d_tag = DT_STRTAB,
                            .d_un.d_ptr = 0x1000 + offsetof(struct image, name)};
    i.list[1] = (Elf64_Dyn){.d_tag = DT_NEEDED};
    snprintf(i.loader, sizeof(i.loader), "%s", loader);
    snprintf(i.name, sizeof(i.name), "%s", needed);
    return i;
}

TEST(program, is_told_by_its_loader_and_its_libraries)
{
    struct image i = made("/lib/ld-musl-x86_64.so.1", "libc.so");
    struct sf_program looked;
    write_program(&i, sizeof(i));
    assert_int_equal(kind_of(path), SF_PROGRAM_MUSL);
    i = made("/lib64/ld-linux-x86-64.so.2", "libasan.so.8");
    write_program(&i, sizeof(i));
    sf_program_inspect(path, &looked);
    assert_int_equal(looked.kind, SF_PROGRAM_DYNAMIC);
    assert_string_equal(looked.first, "libasan.so.8");
    i.parts[0].p_type = PT_NULL;
    write_program(&i, sizeof(i));
    assert_int_equal(kind_of(path), SF_PROGRAM_STATIC);
    i.head.e_ident[EI_CLASS] = ELFCLASS32;
    write_program(&i, sizeof(i));
    assert_int_equal(kind_of(path), SF_PROGRAM_FOREIGN);
    unlink(path);
}

/* Every byte of the headers set to the worst, one after another: an answer, and no crash. */
TEST(program, may_lie_about_itself)
{
    struct image good = made("/lib64/ld-linux-x86-64.so.2", "libasan.so.8");
    for (size_t at = 4; at < offsetof(struct image, loader); at++) {
        struct image i = good;
        ((uint8_t *)&i)[at] = 0xff;
        write_program(&i, sizeof(i));
        assert_in_range(kind_of(path), SF_PROGRAM_UNKNOWN, SF_PROGRAM_STATIC);
    }
    unlink(path);
}
