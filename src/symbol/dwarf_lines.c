/* The program produces rows of increasing addresses, in sequences; a row is valid up to the next
 * one. Sequences may be in any order. A sequence that the linker has removed has the address 0, or
 * the highest. */
#include "symbol/dwarf_lines.h"

#include "symbol/dwarf_addresses.h"
#include "symbol/dwarf_names.h"

struct machine {
    const struct sf_dwarf_line_table *t;
    struct sf_dwarf *d;
    const uint64_t *at;
    struct sf_dwarf_place *places;
    uint32_t n;
    struct sf_dwarf_cursor c;

    uint64_t address, file; /* the current row */
    uint64_t line;
    struct { /* the previous row of the same sequence */
        uint64_t address, file, line;
        bool is_there;
    } last;
    uint32_t next; /* index of the first address not below the previous row */
};

static void begin_sequence(struct machine *m)
{
    m->address = 0;
    m->file = 1;
    m->line = 1;
    m->last.is_there = false;
}

/* The previous row is valid up to here. */
static void dwarf_lines_add_row(struct machine *m)
{
    if (!m->last.is_there || m->address < m->last.address)
        m->next = sf_dwarf_first_from(m->at, m->n, m->address);
    else if (m->last.address > 1) {
        for (; m->next < m->n && m->at[m->next] < m->address; m->next++) {
            struct sf_dwarf_place *p = &m->places[m->next];
            if (p->is_found)
                continue;
            p->is_found = true;
            p->file = m->last.file;
            p->line = m->last.line > UINT32_MAX ? 0 : (uint32_t)m->last.line;
        }
    }
    m->last.address = m->address;
    m->last.file = m->file;
    m->last.line = m->line;
    m->last.is_there = true;
}

static void run_extended(struct machine *m)
{
    struct sf_dwarf_cursor body = sf_dwarf_part(&m->c, sf_dwarf_uleb(&m->c));
    uint64_t left;
    switch (sf_dwarf_u8(&body)) {
    case SF_LINE_END_SEQUENCE:
        dwarf_lines_add_row(m);
        begin_sequence(m);
        break;
    case SF_LINE_SET_ADDRESS:
        left = sf_dwarf_cursor_left(&body);
        m->address = left && left <= 8 ? sf_dwarf_uint(&body, (unsigned)left) : 0;
        break;
    default: break; /* skipped by its length */
    }
}

static void run_standard(struct machine *m, uint8_t op)
{
    switch (op) {
    case SF_LINE_EXTENDED: run_extended(m); break;
    case SF_LINE_COPY: dwarf_lines_add_row(m); break;
    case SF_LINE_ADVANCE_PC: m->address += sf_dwarf_uleb(&m->c) * m->t->min_len; break;
    case SF_LINE_ADVANCE_LINE: m->line += (uint64_t)sf_dwarf_sleb(&m->c); break;
    case SF_LINE_SET_FILE: m->file = sf_dwarf_uleb(&m->c); break;
    case SF_LINE_CONST_ADD_PC:
        m->address += (uint64_t)((255 - m->t->opcode_base) / m->t->line_range) * m->t->min_len;
        break;
    case SF_LINE_FIXED_ADVANCE_PC: m->address += sf_dwarf_uint(&m->c, 2); break;
    default:
        for (unsigned i = m->t->operands.p[op - 1]; i; i--)
            sf_dwarf_uleb(&m->c);
        break;
    }
}

void sf_dwarf_lines_find(const struct sf_dwarf_line_table *t, struct sf_dwarf *d,
                         const uint64_t *at, uint32_t n, struct sf_dwarf_place *places)
{
    struct machine m = {.t = t, .d = d, .at = at, .n = n, .places = places, .c = t->program};
    begin_sequence(&m);
    while (!m.c.is_bad && m.c.at < m.c.end && sf_dwarf_spend(d)) {
        uint8_t op = sf_dwarf_u8(&m.c);
        if (op < t->opcode_base) {
            run_standard(&m, op);
            continue;
        }
        op = (uint8_t)(op - t->opcode_base);
        m.address += (uint64_t)(op / t->line_range) * t->min_len;
        m.line += (uint64_t)(int64_t)(t->line_base + op % t->line_range);
        dwarf_lines_add_row(&m);
    }
}
