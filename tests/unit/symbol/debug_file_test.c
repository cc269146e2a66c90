#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "symbol/debug_file.h"

static void must_make(const char *path)
{
    assert_int_equal(mkdir(path, 0700), 0);
}

/* The place that distributions use, under a root of our own: this program represents its own
 * debug information. */
TEST(debug_file, is_found_by_build_id_and_believed_by_it)
{
    char root[] = "/tmp/spanflame-debug-XXXXXX", self[4096], hex[129];
    char folder[64], part[80], path[256];
    struct sf_elf_file f, out;
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    sf_bytes id;
    assert_true(len > 0);
    self[len] = 0;
    assert_true(sf_elf_file_open(&f, self));
    id = sf_debug_file_build_id(&f);
    if (!id.len || id.len > 64) /* a linker without them */
        skip();
    sf_hex_encode(id.p, id.len, hex);
    hex[id.len * 2] = 0;
    assert_non_null(mkdtemp(root));
    snprintf(folder, sizeof(folder), "%s/.build-id", root);
    snprintf(part, sizeof(part), "%s/%.2s", folder, hex);
    snprintf(path, sizeof(path), "%s/%s.debug", part, hex + 2);
    assert_false(sf_debug_file_open(&out, &f, self, root));
    must_make(folder);
    must_make(part);
    assert_int_equal(symlink(self, path), 0);
    assert_true(sf_debug_file_open(&out, &f, self, root));
    assert_int_equal(out.image.len, f.image.len);
    sf_elf_file_close(&out);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/bin/sh", path), 0); /* right by its name only */
    assert_false(sf_debug_file_open(&out, &f, self, root));
    assert_null(out.image.p);
    unlink(path);
    rmdir(part);
    rmdir(folder);
    rmdir(root);
    sf_elf_file_close(&f);
}
