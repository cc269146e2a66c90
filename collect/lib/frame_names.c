#include "collect/lib/frame_names.h"

#include "base/heap.h"
#include "collect/symbol/elf_symbols.h"

bool sf_frame_names_open(struct sf_frame_names *f)
{
    *f = (struct sf_frame_names){.m = sf_modules_enter()};
    f->symbols = sf_heap_new_n((f->m ? f->m->n : 0) + 1, sizeof(*f->symbols));
    f->files = sf_heap_new_n((f->m ? f->m->n : 0) + 1, sizeof(*f->files));
    f->is_tried = sf_heap_new_n((f->m ? f->m->n : 0) + 1, sizeof(*f->is_tried));
    return f->symbols && f->files && f->is_tried;
}

void sf_frame_names_close(struct sf_frame_names *f)
{
    for (uint32_t i = 0; f->symbols && f->files && f->m && i < f->m->n; i++) {
        sf_elf_symbols_done(&f->symbols[i]);
        sf_elf_file_close(&f->files[i]);
    }
    sf_modules_leave();
    sf_heap_free(f->symbols);
    sf_heap_free(f->files);
    sf_heap_free(f->is_tried);
}

uint32_t sf_frame_names_find(struct sf_frame_names *f, uint64_t at, sf_str *function)
{
    const struct sf_module *m = f->m ? sf_modules_find(f->m, at) : NULL;
    uint32_t module = 0;
    uint64_t start;
    *function = SF_STR_NONE;
    if (!m)
        return 0;
    while (f->m->list[module] != m)
        module++;
    if (!f->is_tried[module]) {
        f->is_tried[module] = true;
        if (sf_elf_file_open(&f->files[module], m->path))
            sf_elf_symbols_read(&f->symbols[module], &f->files[module]);
    }
    *function = sf_elf_symbols_find(&f->symbols[module], at - m->base, &start);
    return module + 1;
}
