#include "collect/unwind/frame_program.h"

#include <string.h>

#include "base/num.h"

enum { REG_RBP = 6, REG_RSP = 7, REG_RA = 16, STATES = 8 };
enum { PE_OMIT = 0xff, PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_INDIRECT = 0x80 };

uint64_t sf_frame_program_fixed(struct sf_frame_bytes *b, size_t len)
{
    uint64_t v = 0;
    if (b->is_bad || (size_t)(b->end - b->at) < len) {
        b->is_bad = true;
        return 0;
    }
    memcpy(&v, b->at, len);
    b->at += len;
    return v;
}

uint64_t sf_frame_program_uleb(struct sf_frame_bytes *b)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = (uint8_t)sf_frame_program_fixed(b, 1);
        v |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return v;
    }
    b->is_bad = true;
    return 0;
}

int64_t sf_frame_program_sleb(struct sf_frame_bytes *b)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = (uint8_t)sf_frame_program_fixed(b, 1);
        v |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            if (byte & 64 && shift < 57)
                v |= ~(uint64_t)0 << (shift + 7);
            return (int64_t)v;
        }
    }
    b->is_bad = true;
    return 0;
}

uint64_t sf_frame_program_pointer(struct sf_frame_bytes *b, uint8_t encoding, uintptr_t data)
{
    uint64_t from = 0, v;
    if ((encoding & 0x70) == PE_PCREL)
        from = (uint64_t)(uintptr_t)b->at;
    else if ((encoding & 0x70) == PE_DATAREL)
        from = data;
    else if (encoding & 0x70)
        b->is_bad = true;
    switch (encoding & 15) {
    case 0: /* absolute */
    case 4:
    case 12: v = sf_frame_program_fixed(b, 8); break;
    case 1: v = sf_frame_program_uleb(b); break;
    case 2: v = sf_frame_program_fixed(b, 2); break;
    case 3: v = sf_frame_program_fixed(b, 4); break;
    case 9: v = (uint64_t)sf_frame_program_sleb(b); break;
    case 10: v = (uint64_t)(int16_t)sf_frame_program_fixed(b, 2); break;
    case 11: v = (uint64_t)(int32_t)sf_frame_program_fixed(b, 4); break;
    default: b->is_bad = true; return 0;
    }
    if (encoding & PE_INDIRECT)
        b->is_bad = true; /* only personality routines have this encoding, and those are skipped by
                           * length */
    return v + from;
}

struct run {
    const struct sf_frame_cie *cie;
    struct sf_frame_state now, first, saved[STATES];
    int n_saved;
    uint64_t pc;
    sf_frame_emit emit;
    void *to;
};

static void set_cfa(struct sf_frame_state *s, uint64_t reg, int64_t off)
{
    s->cfa_reg = (uint8_t)(reg < 255 ? reg : 255);
    s->kind = reg == REG_RSP ? SF_ROW_RSP : reg == REG_RBP ? SF_ROW_RBP : SF_ROW_BAD;
    s->cfa = off;
}

static void set_saved(struct sf_frame_state *s, uint64_t reg, int64_t off)
{
    if (reg == REG_RBP) {
        s->rbp = off;
        s->is_rbp_lost = false;
    } else if (reg == REG_RA) {
        s->is_ra_lost = off != -8;
    }
}

static void set_same(struct sf_frame_state *s, uint64_t reg, const struct sf_frame_state *first)
{
    if (reg == REG_RBP) {
        s->rbp = first->rbp;
        s->is_rbp_lost = first->is_rbp_lost;
    } else if (reg == REG_RA) {
        s->is_ra_lost = first->is_ra_lost;
    }
}

/* Marks a register whose location is computed, or that was moved to another one. */
static void set_lost(struct sf_frame_state *s, uint64_t reg)
{
    if (reg == REG_RBP)
        s->is_rbp_lost = true;
    else if (reg == REG_RA)
        s->is_ra_lost = true;
}

/* The two computed frame addresses that occur: those of PLT stubs, and *(rbp + n). */
static void set_cfa_expression(struct sf_frame_state *s, struct sf_frame_bytes e)
{
    static const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    size_t len = (size_t)(e.end - e.at);
    s->kind = SF_ROW_BAD;
    if (len == sizeof(plt) && !memcmp(e.at, plt, 6) && !memcmp(e.at + 7, plt + 7, 4)) {
        s->kind = SF_ROW_PLT;
        s->cfa = (e.at[6] - 0x30) * 8;        /* offset in the stub from which on the argument is
                                               * pushed */
    } else if (len >= 3 && e.at[0] == 0x76) { /* breg6 n, deref */
        e.at++;
        s->cfa = sf_frame_program_sleb(&e);
        if (sf_frame_program_fixed(&e, 1) == 6 && e.at == e.end && !e.is_bad)
            s->kind = SF_ROW_DEREF;
    }
}

static struct sf_frame_bytes block(struct sf_frame_bytes *b)
{
    uint64_t len = sf_frame_program_uleb(b);
    struct sf_frame_bytes part = {b->at, b->at, false};
    if (b->is_bad || len > (size_t)(b->end - b->at)) {
        b->is_bad = true;
        return part;
    }
    part.end = b->at += len;
    return part;
}

static bool advance(struct run *r, uint64_t by)
{
    if (by && !r->emit(r->to, r->pc, &r->now))
        return false;
    r->pc += by * r->cie->code_align;
    return true;
}

/* An offset in units of the data alignment. It wraps: no stack is that far. */
static int64_t factored(const struct run *r, uint64_t n)
{
    return (int64_t)(n * (uint64_t)r->cie->data_align);
}

static bool run_low(struct run *r, struct sf_frame_bytes *b, uint8_t op)
{
    struct sf_frame_state *s = &r->now;
    uint64_t reg;
    switch (op) {
    case 0x00: return true; /* nop */
    case 0x02: return advance(r, sf_frame_program_fixed(b, 1));
    case 0x03: return advance(r, sf_frame_program_fixed(b, 2));
    case 0x04: return advance(r, sf_frame_program_fixed(b, 4));
    case 0x05: /* offset_extended */
        reg = sf_frame_program_uleb(b);
        set_saved(s, reg, factored(r, sf_frame_program_uleb(b)));
        return true;
    case 0x06: set_same(s, sf_frame_program_uleb(b), &r->first); return true; /* restore_extended */
    case 0x07:                                                                /* undefined */
        reg = sf_frame_program_uleb(b);
        if (reg == REG_RA)
            s->is_ra_undefined = true;
        return true;
    case 0x08: /* same_value */
        if (sf_frame_program_uleb(b) == REG_RBP)
            s->rbp = SF_FRAME_SAME;
        return true;
    case 0x09: /* register */
        set_lost(s, sf_frame_program_uleb(b));
        sf_frame_program_uleb(b);
        return true;
    case 0x0a: /* remember_state */
        if (r->n_saved == STATES)
            return false;
        r->saved[r->n_saved++] = *s;
        return true;
    case 0x0b: /* restore_state */
        if (!r->n_saved)
            return false;
        *s = r->saved[--r->n_saved];
        return true;
    case 0x0c: /* def_cfa */
        reg = sf_frame_program_uleb(b);
        set_cfa(s, reg, (int64_t)sf_frame_program_uleb(b));
        return true;
    case 0x0d: set_cfa(s, sf_frame_program_uleb(b), s->cfa); return true;
    case 0x0e: set_cfa(s, s->cfa_reg, (int64_t)sf_frame_program_uleb(b)); return true;
    case 0x0f: set_cfa_expression(s, block(b)); return true;
    case 0x10: /* expression */
    case 0x16: /* val_expression */
        set_lost(s, sf_frame_program_uleb(b));
        block(b);
        return true;
    case 0x11: /* offset_extended_sf */
        reg = sf_frame_program_uleb(b);
        set_saved(s, reg, factored(r, (uint64_t)sf_frame_program_sleb(b)));
        return true;
    case 0x12: /* def_cfa_sf */
        reg = sf_frame_program_uleb(b);
        set_cfa(s, reg, factored(r, (uint64_t)sf_frame_program_sleb(b)));
        return true;
    case 0x13: set_cfa(s, s->cfa_reg, factored(r, (uint64_t)sf_frame_program_sleb(b))); return true;
    case 0x14: /* val_offset */
    case 0x15:
        set_lost(s, sf_frame_program_uleb(b));
        sf_frame_program_uleb(b);
        return true;
    case 0x2e: sf_frame_program_uleb(b); return true; /* GNU_args_size */
    default: return false;
    }
}

static bool run_some(struct run *r, struct sf_frame_bytes b)
{
    while (b.at < b.end && !b.is_bad) {
        uint8_t op = (uint8_t)sf_frame_program_fixed(&b, 1), low = op & 63;
        bool ok = true;
        switch (op >> 6) {
        case 1: ok = advance(r, low); break;
        case 2: set_saved(&r->now, low, factored(r, sf_frame_program_uleb(&b))); break;
        case 3: set_same(&r->now, low, &r->first); break;
        default: ok = run_low(r, &b, op);
        }
        if (!ok)
            return false;
    }
    return !b.is_bad;
}

bool sf_frame_program_run(const struct sf_frame_cie *cie, struct sf_frame_bytes program,
                          uint64_t pc, sf_frame_emit emit, void *to)
{
    struct run r = {.cie = cie, .pc = pc, .emit = emit, .to = to};
    r.now = (struct sf_frame_state){.kind = SF_ROW_BAD, .rbp = SF_FRAME_SAME, .cfa_reg = 255};
    r.first = r.now;
    if (!run_some(&r, cie->program))
        return false;
    r.first = r.now;
    if (!run_some(&r, program))
        return false;
    return emit(to, r.pc, &r.now);
}
