#include "symbol/demangler.h"

#include "base/heap.h"
#include "symbol/cxx_tree.h"
#include "symbol/rust_name.h"

struct sf_demangler {
    struct sf_cxx cxx;
};

struct sf_demangler *sf_demangler_new(void)
{
    return sf_heap_new(sizeof(struct sf_demangler));
}

void sf_demangler_free(struct sf_demangler *d)
{
    sf_heap_free(d);
}

bool sf_demangler_run(struct sf_demangler *d, sf_str mangled, struct sf_buf *out)
{
    uint16_t root;
    if (mangled.len < 3 || mangled.len > SF_DEMANGLE_MAX_LEN || mangled.p[0] != '_')
        return false;
    if (mangled.p[1] == 'R')
        return sf_rust_name_print(mangled, out);
    if (mangled.p[1] != 'Z')
        return false;
    if (sf_rust_legacy_name_print(mangled, out))
        return true;
    root = sf_cxx_read(&d->cxx, mangled);
    return root && sf_cxx_print(&d->cxx, root, out);
}
