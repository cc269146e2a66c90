/* Rust's v0 mangling: a prefix grammar of paths, types and constants. A back reference "B<n>_" is
 * the byte offset of an earlier part, which is read again, so a short name can expand to very much
 * text. Depth, steps and length are limited. */
#include "symbol/rust_name.h"

#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "symbol/demangler.h"
#include "symbol/punycode.h"

enum { MAX_DEPTH = 96, MAX_STEPS = 1 << 16 };

struct reader {
    sf_str text; /* behind "_R" */
    size_t at;
    struct sf_buf *out;
    size_t from;
    uint32_t depth, steps;
    uint32_t n_bound; /* number of lifetimes bound by enclosing binders */
    bool is_silent;   /* parse without printing */
    bool has_failed;
};

static bool rust_name_print_path(struct reader *r, bool is_value);
static void print_type(struct reader *r);
static void print_const(struct reader *r);

static void rust_name_fault(struct reader *r)
{
    r->has_failed = true;
    r->at = r->text.len;
}

static void rust_name_put(struct reader *r, const char *text, size_t len)
{
    if (r->is_silent || r->has_failed)
        return;
    if (len > SF_DEMANGLE_MAX_LEN || r->out->len - r->from > SF_DEMANGLE_MAX_LEN - len)
        rust_name_fault(r);
    else
        sf_buf_add(r->out, text, len);
}

static void rust_name_say(struct reader *r, const char *text)
{
    rust_name_put(r, text, strlen(text));
}

static void rust_name_say_number(struct reader *r, uint64_t v)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    rust_name_put(r, digits + at, sizeof(digits) - at);
}

static char rust_name_peek(const struct reader *r)
{
    return r->at < r->text.len ? r->text.p[r->at] : 0;
}

static bool eat(struct reader *r, char c)
{
    if (!c || rust_name_peek(r) != c)
        return false;
    r->at++;
    return true;
}

static char rust_name_take(struct reader *r)
{
    char c = rust_name_peek(r);
    if (c)
        r->at++;
    else
        rust_name_fault(r);
    return c;
}

static bool rust_name_enter(struct reader *r)
{
    if (++r->depth > MAX_DEPTH || ++r->steps > MAX_STEPS)
        rust_name_fault(r);
    return !r->has_failed;
}

/* "_" is 0, "0_" is 1, base 62. */
static uint64_t base_62(struct reader *r)
{
    uint64_t v = 0;
    if (eat(r, '_'))
        return 0;
    while (!r->has_failed && !eat(r, '_')) {
        char c = rust_name_take(r);
        uint64_t digit = c >= '0' && c <= '9'   ? (uint64_t)(c - '0')
                         : c >= 'a' && c <= 'z' ? (uint64_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'Z' ? (uint64_t)(c - 'A' + 36)
                                                : 62;
        if (digit > 61 || __builtin_mul_overflow(v, 62, &v) || __builtin_add_overflow(v, digit, &v))
            rust_name_fault(r);
    }
    return sf_add_sat_u64(v, 1);
}

static uint64_t tagged(struct reader *r, char tag)
{
    return eat(r, tag) ? sf_add_sat_u64(base_62(r), 1) : 0;
}

struct ident {
    sf_str text;
    bool is_punycode;
};

static struct ident read_ident(struct reader *r)
{
    struct ident id = {.is_punycode = eat(r, 'u')};
    size_t len = 0;
    if (rust_name_peek(r) < '0' || rust_name_peek(r) > '9')
        rust_name_fault(r);
    if (!eat(r, '0')) {
        while (rust_name_peek(r) >= '0' && rust_name_peek(r) <= '9' && len < r->text.len)
            len = len * 10 + (size_t)(rust_name_take(r) - '0');
    }
    eat(r, '_');
    if (len > r->text.len - r->at) {
        rust_name_fault(r);
        return id;
    }
    id.text = (sf_str){r->text.p + r->at, len};
    r->at += len;
    return id;
}

static void print_ident(struct reader *r, struct ident id)
{
    if (!id.is_punycode)
        rust_name_put(r, id.text.p, id.text.len);
    else if (!r->is_silent && !r->has_failed && !sf_punycode_print(id.text, r->out))
        rust_name_fault(r);
}

/* Numbers count from the innermost binder; 0 is an erased lifetime. */
static void print_lifetime(struct reader *r, uint64_t number)
{
    uint64_t depth = r->n_bound - number;
    char letter[1];
    rust_name_say(r, "'");
    if (!number) {
        rust_name_say(r, "_");
    } else if (number > r->n_bound) {
        rust_name_fault(r);
    } else if (depth < 26) {
        letter[0] = (char)('a' + depth);
        rust_name_put(r, letter, 1);
    } else {
        rust_name_say(r, "z");
        rust_name_say_number(r, depth - 26 + 1);
    }
}

/* "for<'a, 'b> " before the bound part; the caller unbinds them. */
static uint32_t print_binder(struct reader *r)
{
    uint64_t n = tagged(r, 'G');
    if (!n || r->has_failed)
        return 0;
    if (n > 64) {
        rust_name_fault(r);
        return 0;
    }
    rust_name_say(r, "for<");
    for (uint64_t i = 0; i < n; i++) {
        if (i)
            rust_name_say(r, ", ");
        r->n_bound++;
        print_lifetime(r, 1);
    }
    rust_name_say(r, "> ");
    return (uint32_t)n;
}

/* The target of a back reference; SIZE_MAX: invalid. The caller moves there and back. */
static size_t back_reference(struct reader *r)
{
    size_t here = r->at - 1;
    uint64_t to = base_62(r);
    if (to >= here) {
        rust_name_fault(r);
        return SIZE_MAX;
    }
    return (size_t)to;
}

/* ---- paths ---- */

static void print_generic_arg(struct reader *r)
{
    if (eat(r, 'L'))
        print_lifetime(r, base_62(r));
    else if (eat(r, 'K'))
        print_const(r);
    else
        print_type(r);
}

static void print_generic_args(struct reader *r)
{
    for (bool is_first = true; !r->has_failed && !eat(r, 'E'); is_first = false) {
        if (!is_first)
            rust_name_say(r, ", ");
        print_generic_arg(r);
    }
}

static void print_nested(struct reader *r, bool is_value)
{
    char space = rust_name_take(r);
    struct ident id;
    uint64_t number;
    rust_name_print_path(r, is_value);
    number = tagged(r, 's');
    id = read_ident(r);
    if (space >= 'a' && space <= 'z') {
        if (id.text.len) {
            rust_name_say(r, "::");
            print_ident(r, id);
        }
        return;
    }
    if (space < 'A' || space > 'Z') {
        rust_name_fault(r);
        return;
    }
    rust_name_say(r, "::{");
    if (space == 'C')
        rust_name_say(r, "closure");
    else if (space == 'S')
        rust_name_say(r, "shim");
    else
        rust_name_put(r, &space, 1);
    if (id.text.len) {
        rust_name_say(r, ":");
        print_ident(r, id);
    }
    rust_name_say(r, "#");
    rust_name_say_number(r, number);
    rust_name_say(r, "}");
}

/* <T> and <T as Trait>; the path of the impl is parsed but not printed. */
static void print_impl(struct reader *r, char tag)
{
    bool was_silent = r->is_silent;
    if (tag != 'Y') {
        tagged(r, 's');
        r->is_silent = true;
        rust_name_print_path(r, false);
        r->is_silent = was_silent;
    }
    rust_name_say(r, "<");
    print_type(r);
    if (tag != 'M') {
        rust_name_say(r, " as ");
        rust_name_print_path(r, false);
    }
    rust_name_say(r, ">");
}

static void print_crate(struct reader *r)
{
    tagged(r, 's');
    print_ident(r, read_ident(r));
}

/* True: it ends in arguments whose list is left open, if `may_stay_open` (see print_dyn_trait). */
static bool print_open_path(struct reader *r, bool is_value, bool may_stay_open)
{
    char tag = rust_name_take(r);
    bool is_open = false;
    size_t back;
    switch (tag) {
    case 'C': print_crate(r); break;
    case 'N': print_nested(r, is_value); break;
    case 'M':
    case 'X':
    case 'Y': print_impl(r, tag); break;
    case 'I':
        rust_name_print_path(r, is_value);
        rust_name_say(r, is_value ? "::<" : "<");
        print_generic_args(r);
        is_open = may_stay_open;
        if (!is_open)
            rust_name_say(r, ">");
        break;
    case 'B':
        back = back_reference(r);
        if (back != SIZE_MAX && !r->is_silent) {
            size_t here = r->at;
            r->at = back;
            if (rust_name_enter(r))
                is_open = print_open_path(r, is_value, may_stay_open);
            r->depth--;
            r->at = r->has_failed ? r->text.len : here;
        }
        break;
    default: rust_name_fault(r); break;
    }
    return is_open;
}

static bool rust_name_print_path(struct reader *r, bool is_value)
{
    if (rust_name_enter(r))
        print_open_path(r, is_value, false);
    r->depth--;
    return !r->has_failed;
}

/* ---- types ---- */

static const char *basic_type(char tag)
{
    static const char *const names[26] = {
        ['a' - 'a'] = "i8",    ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64",
        ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",  ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize",
        ['j' - 'a'] = "usize", ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",  ['n' - 'a'] = "i128",
        ['o' - 'a'] = "u128",  ['s' - 'a'] = "i16",  ['t' - 'a'] = "u16",  ['u' - 'a'] = "()",
        ['v' - 'a'] = "...",   ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",  ['z' - 'a'] = "!",
        ['p' - 'a'] = "_"};
    return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

static void print_tuple(struct reader *r)
{
    uint32_t n = 0;
    rust_name_say(r, "(");
    for (; !r->has_failed && !eat(r, 'E'); n++) {
        if (n)
            rust_name_say(r, ", ");
        print_type(r);
    }
    rust_name_say(r, n == 1 ? ",)" : ")");
}

static void print_fn(struct reader *r)
{
    uint32_t n = print_binder(r);
    bool is_first = true;
    if (eat(r, 'U'))
        rust_name_say(r, "unsafe ");
    if (eat(r, 'K')) {
        rust_name_say(r, "extern \"");
        if (eat(r, 'C')) {
            rust_name_say(r, "C");
        } else {
            struct ident abi = read_ident(r);
            for (size_t i = 0; i < abi.text.len; i++)
                rust_name_put(r, abi.text.p[i] == '_' ? "-" : &abi.text.p[i], 1);
        }
        rust_name_say(r, "\" ");
    }
    rust_name_say(r, "fn(");
    for (; !r->has_failed && !eat(r, 'E'); is_first = false) {
        if (!is_first)
            rust_name_say(r, ", ");
        print_type(r);
    }
    rust_name_say(r, ")");
    if (!eat(r, 'u')) {
        rust_name_say(r, " -> ");
        print_type(r);
    }
    r->n_bound -= n;
}

/* Trait<Args, Name = Type>: associated types are in the same angle brackets. */
static void print_dyn_trait(struct reader *r)
{
    bool is_open = false;
    if (rust_name_enter(r))
        is_open = print_open_path(r, false, true);
    r->depth--;
    while (!r->has_failed && eat(r, 'p')) {
        rust_name_say(r, is_open ? ", " : "<");
        is_open = true;
        print_ident(r, read_ident(r));
        rust_name_say(r, " = ");
        print_type(r);
    }
    if (is_open)
        rust_name_say(r, ">");
}

static void print_dyn(struct reader *r)
{
    uint32_t n;
    uint64_t lifetime;
    rust_name_say(r, "dyn ");
    n = print_binder(r);
    for (bool is_first = true; !r->has_failed && !eat(r, 'E'); is_first = false) {
        if (!is_first)
            rust_name_say(r, " + ");
        print_dyn_trait(r);
    }
    r->n_bound -= n;
    if (!eat(r, 'L')) {
        rust_name_fault(r);
        return;
    }
    lifetime = base_62(r);
    if (lifetime) {
        rust_name_say(r, " + ");
        print_lifetime(r, lifetime);
    }
}

static void print_reference(struct reader *r, char tag)
{
    uint64_t lifetime = eat(r, 'L') ? base_62(r) : 0;
    rust_name_say(r, "&");
    if (lifetime) {
        print_lifetime(r, lifetime);
        rust_name_say(r, " ");
    }
    if (tag == 'Q')
        rust_name_say(r, "mut ");
    print_type(r);
}

static void print_array(struct reader *r, char tag)
{
    rust_name_say(r, "[");
    print_type(r);
    if (tag == 'A') {
        rust_name_say(r, "; ");
        print_const(r);
    }
    rust_name_say(r, "]");
}

/* Reads a part again at an earlier position. */
static void again(struct reader *r, void (*print_part)(struct reader *))
{
    size_t to = back_reference(r), here = r->at;
    if (to == SIZE_MAX || r->is_silent)
        return;
    r->at = to;
    print_part(r);
    r->at = r->has_failed ? r->text.len : here;
}

static void print_compound_type(struct reader *r, char tag)
{
    switch (tag) {
    case 'R':
    case 'Q': print_reference(r, tag); break;
    case 'P':
        rust_name_say(r, "*const ");
        print_type(r);
        break;
    case 'O':
        rust_name_say(r, "*mut ");
        print_type(r);
        break;
    case 'A':
    case 'S': print_array(r, tag); break;
    case 'T': print_tuple(r); break;
    case 'F': print_fn(r); break;
    case 'D': print_dyn(r); break;
    case 'B': again(r, print_type); break;
    default:
        r->at--; /* a path: go back to its tag */
        rust_name_print_path(r, false);
        break;
    }
}

static void print_type(struct reader *r)
{
    char tag;
    const char *basic;
    if (rust_name_enter(r)) {
        tag = rust_name_take(r);
        basic = basic_type(tag);
        if (basic)
            rust_name_say(r, basic);
        else if (!r->has_failed)
            print_compound_type(r, tag);
    }
    r->depth--;
}

/* ---- constants ---- */

static sf_str hex_digits(struct reader *r)
{
    size_t from = r->at;
    while (sf_hex_digit(rust_name_peek(r)) >= 0)
        r->at++;
    if (!eat(r, '_')) {
        rust_name_fault(r);
        return SF_STR_NONE;
    }
    return (sf_str){r->text.p + from, r->at - 1 - from};
}

static void print_integer(struct reader *r)
{
    bool is_minus = eat(r, 'n');
    sf_str hex = hex_digits(r);
    uint64_t v = 0;
    if (is_minus)
        rust_name_say(r, "-");
    if (hex.len > 16) {
        rust_name_say(r, "0x");
        rust_name_put(r, hex.p, hex.len);
        return;
    }
    for (size_t i = 0; i < hex.len; i++)
        v = v << 4 | (uint64_t)sf_hex_digit(hex.p[i]);
    rust_name_say_number(r, v);
}

static void print_bool(struct reader *r)
{
    sf_str hex = hex_digits(r);
    if (hex.len == 1 && (hex.p[0] == '0' || hex.p[0] == '1'))
        rust_name_say(r, hex.p[0] == '1' ? "true" : "false");
    else
        rust_name_fault(r);
}

static void print_char(struct reader *r)
{
    sf_str hex = hex_digits(r);
    uint32_t v = 0;
    char text[1];
    for (size_t i = 0; i < hex.len && i < 8; i++)
        v = v << 4 | (uint32_t)sf_hex_digit(hex.p[i]);
    text[0] = (char)v;
    rust_name_say(r, "'");
    if (v == '\t' || v == '\n' || v == '\r')
        rust_name_say(r, v == '\t' ? "\\t" : v == '\n' ? "\\n" : "\\r");
    else if (v >= 0x20 && v < 0x7f)
        rust_name_put(r, text, 1);
    else {
        rust_name_say(r, "\\u{");
        rust_name_put(r, hex.p, hex.len);
        rust_name_say(r, "}");
    }
    rust_name_say(r, "'");
}

static void print_const(struct reader *r)
{
    char tag;
    if (rust_name_enter(r)) {
        tag = rust_name_take(r);
        switch (tag) {
        case 'p': rust_name_say(r, "_"); break;
        case 'b': print_bool(r); break;
        case 'c': print_char(r); break;
        case 'B': again(r, print_const); break;
        default:
            if (tag && strchr("asxlnihtmyoj", tag))
                print_integer(r);
            else
                rust_name_fault(r);
            break;
        }
    }
    r->depth--;
}

bool sf_rust_name_print(sf_str mangled, struct sf_buf *out)
{
    struct reader r = {.out = out, .from = out->len};
    if (!sf_str_starts(mangled, SF_STR("_R")))
        return false;
    r.text = sf_str_from_at(mangled, 2);
    if (rust_name_peek(&r) < 'A' || rust_name_peek(&r) > 'Z') /* an unknown version, or not Rust */
        return false;
    rust_name_print_path(&r, true);
    if (!r.has_failed && rust_name_peek(&r) >= 'A' &&
        rust_name_peek(&r) <= 'Z') { /* the crate that instantiated it */
        r.is_silent = true;
        rust_name_print_path(&r, false);
    }
    if (!r.has_failed && (r.at == r.text.len || rust_name_peek(&r) == '.') && sf_buf_ok(out))
        return true;
    if (!out->err)
        out->len = r.from;
    return false;
}
