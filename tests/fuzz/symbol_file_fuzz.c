/* An uploaded file of any bytes: it is looked into within bounds, and each offset is answered once,
 * with names that a terminal can be given. The offsets lie all over where the seeds have their
 * code. */
#include <string.h>

#include "base/invariant.h"
#include "base/limits.h"
#include "base/text.h"
#include "os/file.h"
#include "symbol/file_names.h"
#include "symbol/symbol_files.h"

enum { N = 256 };

struct seen {
    const uint64_t *offs;
    unsigned times[N];
};

static void check_text(sf_str s)
{
    SF_ASSERT(s.len <= SF_LIMIT_NAME_LEN && sf_utf8_is_valid(s));
    for (size_t i = 0; i < s.len; i++)
        SF_ASSERT((unsigned char)s.p[i] >= 0x20 && s.p[i] != 0x7f);
}

static void take(void *arg, uint64_t off, const struct sf_named *named)
{
    struct seen *seen = arg;
    uint32_t at = 0;
    while (at < N && seen->offs[at] != off)
        at++;
    SF_ASSERT(at < N);
    seen->times[at]++;
    for (uint32_t i = 0; i < named->n_lines; i++) {
        SF_ASSERT(named->lines[i].function.len > 0);
        check_text(named->lines[i].function);
        check_text(named->lines[i].file);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct sf_file file = SF_FILE_NONE;
    struct sf_symbol_info info;
    struct sf_why why;
    uint64_t offs[N];
    struct seen seen = {.offs = offs};
    char path[64];
    for (unsigned i = 0; i < N; i++)
        offs[i] = i < N - 2 ? 0x1000 + i * 4 : UINT64_MAX - (N - 1 - i);
    if (sf_file_memory("symbol", &file, path, sizeof(path), &why))
        return 0;
    if (!sf_file_write_at(&file, 0, data, len, &why)) {
        if (!sf_symbol_files_inspect(path, &info, &why) && info.part != SF_SYMBOL_SPLIT) {
            struct sf_symbol_id again;
            SF_ASSERT(sf_symbol_files_id_parse(sf_str_from(info.id.hex), &again) &&
                      info.len == len);
        }
        if (sf_file_names_find(&(struct sf_file_names_paths){path, NULL, path, path}, offs, N, take,
                               &seen)) {
            for (unsigned i = 0; i < N; i++)
                SF_ASSERT(seen.times[i] == 1);
        }
    }
    sf_file_close(&file);
    return 0;
}
