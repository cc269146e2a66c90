#include "base/secret_shape.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"

struct scan {
    sf_str text;
    const struct sf_shape_names *names;
    struct sf_shape_hit *out;
    size_t n, max;
};

static void add_hit(struct scan *s, enum sf_shape shape, size_t at, size_t end)
{
    if (at >= end)
        return;
    if (s->n < s->max)
        s->out[s->n] = (struct sf_shape_hit){at, end, shape};
    s->n++;
}

/* ---- characters ---- */

enum { ALNUM = 1, TOKEN68 = 2, BASE64URL = 4, NAME = 8, UPPER_DIGIT = 16, DIGIT = 32, END = 64 };

static const uint8_t classes[256] = {
    ['0' ... '9'] = ALNUM | TOKEN68 | BASE64URL | NAME | UPPER_DIGIT | DIGIT,
    ['A' ... 'Z'] = ALNUM | TOKEN68 | BASE64URL | NAME | UPPER_DIGIT,
    ['a' ... 'z'] = ALNUM | TOKEN68 | BASE64URL | NAME,
    ['-'] = TOKEN68 | BASE64URL | NAME,
    ['_'] = TOKEN68 | BASE64URL | NAME,
    ['.'] = TOKEN68 | NAME,
    ['~'] = TOKEN68,
    ['+'] = TOKEN68,
    ['/'] = TOKEN68,
    ['='] = TOKEN68,
    [' '] = END, /* what ends the value of a pair */
    ['\t'] = END,
    ['\r'] = END,
    ['\n'] = END,
    ['&'] = END,
    [','] = END,
    [';'] = END,
    ['"'] = END,
    ['\''] = END,
};

static inline uint8_t class_of(char c)
{
    return classes[(uint8_t)c];
}

static size_t run_of(sf_str text, size_t at, uint8_t wanted)
{
    size_t end = at;
    while (end < text.len && (class_of(text.p[end]) & wanted))
        end++;
    return end;
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c) != NULL;
}

static bool has_at(sf_str text, size_t at, const char *word)
{
    size_t len = strlen(word);
    return at <= text.len && len <= text.len - at && memcmp(text.p + at, word, len) == 0;
}

/* `word` ends right before `end`, and no letter or digit stands before it. */
static bool has_before(sf_str text, size_t end, const char *word)
{
    size_t len = strlen(word);
    return len <= end && memcmp(text.p + end - len, word, len) == 0 &&
           (len == end || !(class_of(text.p[end - len - 1]) & ALNUM));
}

static bool has_word_before(sf_str text, size_t end, const char *word)
{
    size_t len = strlen(word);
    if (len > end || (len < end && (class_of(text.p[end - len - 1]) & ALNUM)))
        return false;
    return sf_str_ieq(sf_str_part(text, end - len, len), sf_str_from(word));
}

/* ---- cards ---- */

static bool is_luhn(const uint8_t *digits, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned d = digits[n - 1 - i];
        if (i % 2)
            d = d > 4 ? 2 * d - 9 : 2 * d;
        sum += d;
    }
    return sum % 10 == 0;
}

/* Issuers' prefixes and lengths. Without them one time stamp in ten would pass for a card. */
static bool is_issued(const uint8_t *d, size_t n)
{
    unsigned two = d[0] * 10u + d[1], four = two * 100 + d[2] * 10u + d[3];
    if (d[0] == 4)
        return n == 13 || n == 16 || n == 19;
    if ((two >= 51 && two <= 55) || (four >= 2221 && four <= 2720) || two == 35)
        return n == 16;
    if (two == 34 || two == 37)
        return n == 15;
    if (two == 30 || two == 36 || two == 38)
        return n == 14;
    if (four == 6011 || two == 65 || (four / 10 >= 644 && four / 10 <= 649) || two == 62)
        return n >= 16 && n <= 19;
    return false;
}

static bool is_card(const uint8_t *digits, size_t n)
{
    return n >= 13 && n <= 19 && is_issued(digits, n) && is_luhn(digits, n);
}

bool sf_shape_is_card_slow(uint64_t number)
{
    uint8_t digits[20];
    size_t n = 0;
    for (uint64_t rest = number; rest; rest /= 10)
        n++;
    for (size_t i = n; i > 0; i--, number /= 10)
        digits[i - 1] = (uint8_t)(number % 10);
    return is_card(digits, n);
}

static bool is_card_char(char c)
{
    return (c >= '0' && c <= '9') || c == ' ' || c == '-';
}

/* One group of digits after another from `start`, single blanks or dashes between them: is any
 * sequence that begins here a card? Returns the end of the card, or of the first group. */
static size_t check_groups(struct scan *s, size_t start, size_t end)
{
    sf_str t = s->text;
    uint8_t digits[20];
    size_t n = 0, first_end = 0, i = start;

    while (i < end) {
        size_t group = i;
        for (; i < end && (class_of(t.p[i]) & DIGIT); i++) {
            if (n == sizeof(digits))
                return first_end ? first_end : run_of(t, start, DIGIT);
            digits[n++] = (uint8_t)(t.p[i] - '0');
        }
        first_end = first_end ? first_end : i;
        if (i - group < 3)
            break; /* cards are written in groups of 3 to 6: 1 2 3 4 ... is a list */
        if (!(i < t.len && (class_of(t.p[i]) & ALNUM)) && is_card(digits, n)) {
            add_hit(s, SF_SHAPE_CARD, start, i);
            return i;
        }
        i++; /* over one separator; a second one ends the sequence */
        if (i >= end || !(class_of(t.p[i]) & DIGIT))
            break;
    }
    return first_end;
}

/* The run of digits, blanks and dashes around `at`. Returns its end. */
static size_t check_card(struct scan *s, size_t at)
{
    sf_str t = s->text;
    size_t start = at, end = at;

    while (start > 0 && is_card_char(t.p[start - 1]))
        start--;
    while (end < t.len && is_card_char(t.p[end]))
        end++;
    if (end - start < 13)
        return end;
    if (start > 0 && (class_of(t.p[start - 1]) & ALNUM))
        start = run_of(t, start, DIGIT); /* the tail of an identifier is no number */
    for (size_t i = start; i < end;) {
        if (class_of(t.p[i]) & DIGIT)
            i = check_groups(s, i, end);
        else
            i++;
    }
    return end;
}

static void find_cards(struct scan *s)
{
    sf_str t = s->text;
    /* 13 digits with a gap after every fourth: of every third character in them at most one in
     * three is no digit. So looking at every third, two in a row decide. */
    for (size_t i = 2; i + 3 < t.len; i += 3) {
        if ((unsigned char)(t.p[i] - '0') <= 9 &&
            ((unsigned char)(t.p[i + 3] - '0') <= 9 || is_card_char(t.p[i + 3]))) {
            size_t end = check_card(s, i);
            while (i + 3 < end)
                i += 3;
        }
    }
}

/* ---- keys and tokens ---- */

static void check_jwt(struct scan *s, size_t at) /* at the J of eyJ */
{
    sf_str t = s->text;
    size_t start, dot, end;
    if (at < 2 || t.p[at - 2] != 'e')
        return;
    start = at - 2;
    if (start > 0 && (class_of(t.p[start - 1]) & BASE64URL))
        return;
    dot = run_of(t, start, BASE64URL);
    if (dot - start < 10 || dot >= t.len || t.p[dot] != '.')
        return;
    end = run_of(t, dot + 1, BASE64URL);
    if (end - dot < 8)
        return;
    if (end < t.len && t.p[end] == '.')
        end = run_of(t, end + 1, BASE64URL);
    add_hit(s, SF_SHAPE_JWT, start, end);
}

static void check_cloud_key(struct scan *s, size_t at) /* at the last letter of AKIA, AIza's z */
{
    sf_str t = s->text;
    size_t end;
    if (t.p[at] == 'A') {
        if (!has_before(t, at + 1, "AKIA") && !has_before(t, at + 1, "ASIA") &&
            !has_before(t, at + 1, "ABIA"))
            return;
        end = run_of(t, at + 1, UPPER_DIGIT);
        if (end - at - 1 >= 16 && !(end < t.len && (class_of(t.p[end]) & ALNUM)))
            add_hit(s, SF_SHAPE_CLOUD_KEY, at - 3, end);
    } else if (has_before(t, at + 1, "AIz") && has_at(t, at + 1, "a")) {
        end = run_of(t, at + 2, BASE64URL);
        if (end - at >= 32)
            add_hit(s, SF_SHAPE_CLOUD_KEY, at - 2, end);
    }
}

static void check_private_key(struct scan *s, size_t at) /* at the B of -----BEGIN */
{
    sf_str t = s->text;
    sf_str head = sf_str_part(t, at, 64);
    size_t found, end = t.len;
    if (at < 5 || memcmp(t.p + at - 5, "-----", 5) != 0 || !has_at(t, at, "BEGIN ") ||
        !sf_str_find(head, SF_STR("PRIVATE KEY"), &found))
        return;
    if (sf_str_find(sf_str_from_at(t, at), SF_STR("-----END "), &found)) {
        size_t tail = at + found + 9, dashes;
        if (sf_str_find(sf_str_from_at(t, tail), SF_STR("-----"), &dashes))
            end = tail + dashes + 5;
    }
    add_hit(s, SF_SHAPE_PRIVATE_KEY, at - 5, end);
}

static bool is_basic(sf_str encoded)
{
    struct sf_buf plain = {.max = 4096};
    bool has_colon = sf_base64_decode(&plain, encoded) && plain.len &&
                     memchr(plain.p, ':', plain.len) != NULL;
    has_colon = has_colon || plain.err != SF_OK; /* in doubt it is one */
    sf_buf_done(&plain);
    return has_colon;
}

static void check_auth_header(struct scan *s, size_t at) /* at the blank behind Bearer */
{
    sf_str t = s->text;
    size_t start = at, end;
    bool has_mark = false;

    while (start < t.len && t.p[start] == ' ')
        start++;
    end = run_of(t, start, TOKEN68);
    if (end - start < 8)
        return;
    if (has_word_before(t, at, "bearer")) {
        /* "bearer authentication" is prose; a token has digits or marks, or is long. */
        for (size_t i = start; i < end; i++)
            has_mark = has_mark || !(class_of(t.p[i]) & ALNUM) || (class_of(t.p[i]) & DIGIT);
        if (has_mark || end - start >= 20)
            add_hit(s, SF_SHAPE_AUTH_HEADER, start, end);
    } else if (has_word_before(t, at, "basic") && is_basic(sf_str_part(t, start, end - start))) {
        add_hit(s, SF_SHAPE_AUTH_HEADER, start, end);
    }
}

static void check_token(struct scan *s, size_t at) /* at the last character of a prefix */
{
    static const struct {
        const char *prefix;
        size_t len, least;
    } kinds[] = {
#define KIND(prefix, least) {prefix, sizeof(prefix) - 1, least}
        KIND("ghp_", 20),   KIND("gho_", 20),     KIND("ghu_", 20),        KIND("ghs_", 20),
        KIND("ghr_", 20),   KIND("npm_", 30),     KIND("github_pat_", 20), KIND("hf_", 30),
        KIND("shpat_", 24), KIND("sk_live_", 16), KIND("sk_test_", 16),    KIND("rk_live_", 16),
        KIND("sft_", 30),   KIND("dop_v1_", 30),  KIND("glpat-", 16),      KIND("xoxb-", 10),
        KIND("xoxa-", 10),  KIND("xoxp-", 10),    KIND("xoxr-", 10),       KIND("xoxs-", 10),
        KIND("xoxe-", 10),  KIND("xapp-", 10),    KIND("sk-", 20),         KIND("pypi-", 30),
#undef KIND
    };
    sf_str t = s->text;
    size_t end;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *prefix = kinds[i].prefix;
        size_t len = kinds[i].len;
        /* A dash or underscore follows most letters somewhere: compare two characters first. */
        if (prefix[len - 1] != t.p[at] || prefix[len - 2] != t.p[at - 1] ||
            !has_before(t, at + 1, prefix))
            continue;
        end = run_of(t, at + 1, BASE64URL);
        if (end - at - 1 >= kinds[i].least)
            add_hit(s, SF_SHAPE_TOKEN, at + 1 - len, end);
        return;
    }
}

/* ---- passwords in URLs ---- */

static void check_url_password(struct scan *s, size_t at) /* at the @ */
{
    sf_str t = s->text;
    size_t start = at, colon = 0;

    while (start > 0 && at - start < 512 && !is_one_of(t.p[start - 1], "/?# \t\r\n\"'<>")) {
        start--;
        if (t.p[start] == ':')
            colon = start; /* the first one divides user and password */
    }
    if (start < 2 || t.p[start - 1] != '/' || t.p[start - 2] != '/' || start == at)
        return;
    if (colon)
        add_hit(s, SF_SHAPE_URL_PASSWORD, colon + 1, at);
    else if (at - start >= 20) /* nobody's name is so long: a token as user */
        add_hit(s, SF_SHAPE_URL_PASSWORD, start, at);
}

/* ---- name=value ---- */

static bool is_header_line(sf_str name)
{
    size_t len = name.len;
    static const char *const headers[] = {"authorization", "cookie"};
    for (size_t i = 0; i < 2; i++) {
        size_t want = strlen(headers[i]);
        if (len >= want && sf_str_ieq(sf_str_from_at(name, len - want), sf_str_from(headers[i])))
            return true;
    }
    return false;
}

/* The end of a quoted text. Inside an escaped one (JSON in a JSON string) \" ends it, otherwise a
 * backslash takes the next character with it. */
static size_t quoted_end(sf_str t, size_t at, char quote, bool is_escaped)
{
    while (at < t.len && t.p[at] != quote) {
        if (t.p[at] == '\\' && at + 1 < t.len) {
            if (is_escaped && t.p[at + 1] == quote)
                return at;
            at++;
        }
        at++;
    }
    return at < t.len ? at : t.len;
}

static void check_pair(struct scan *s, size_t at) /* at = or : */
{
    sf_str t = s->text;
    size_t name_end = at, name_start, start = at + 1, end;
    bool is_number = true;
    sf_str name;

    if (t.p[at] == ':' && start < t.len && (t.p[start] == '/' || t.p[start] == ':'))
        return;
    while (name_end > 0 && is_one_of(t.p[name_end - 1], " \"'\\]"))
        name_end--;
    name_start = name_end;
    while (name_start > 0 && name_end - name_start < 128 && (class_of(t.p[name_start - 1]) & NAME))
        name_start--;
    name = sf_str_part(t, name_start, name_end - name_start);
    while (start < t.len && is_one_of(t.p[start], " =>\\")) /* == and => assign, too */
        start++;
    if (name.len == 0 || start >= t.len)
        return;
    if (t.p[start] == '"' || t.p[start] == '\'') {
        end = quoted_end(t, start + 1, t.p[start], t.p[start - 1] == '\\');
        start++;
    } else if (is_header_line(name)) {
        for (end = start; end < t.len && t.p[end] != '\n' && t.p[end] != '\r' && t.p[end] != '"';)
            end++;
    } else {
        for (end = start; end < t.len && !(class_of(t.p[end]) & END);)
            end++;
    }
    for (size_t i = start; i < end && is_number; i++)
        is_number = (class_of(t.p[i]) & DIGIT) != 0;
    if (end > start && s->names->is_secret(s->names->arg, name, is_number))
        add_hit(s, SF_SHAPE_PAIR, start, end);
}

/* ---- the table over two bytes ---- */

enum { AT = 1, PAIR = 2, JWT = 4, CLOUD = 8, PEM = 16, BLANK = 32, PREFIX = 64 };

/* Bits of the checks a character may end, and of those its predecessor allows. */
static const uint8_t here[256] = {
    ['@'] = AT,    ['='] = PAIR, [':'] = PAIR,  ['J'] = JWT,    ['A'] = CLOUD,
    ['z'] = CLOUD, ['B'] = PEM,  [' '] = BLANK, ['_'] = PREFIX, ['-'] = PREFIX};
static const uint8_t before[256] = {
    ['y'] = JWT,    ['I'] = CLOUD,  ['-'] = PEM,    ['r'] = BLANK | PREFIX, ['R'] = BLANK,
    ['c'] = BLANK,  ['C'] = BLANK,  ['a'] = PREFIX, ['b'] = PREFIX,         ['e'] = PREFIX,
    ['f'] = PREFIX, ['i'] = PREFIX, ['k'] = PREFIX, ['m'] = PREFIX,         ['o'] = PREFIX,
    ['p'] = PREFIX, ['s'] = PREFIX, ['t'] = PREFIX, ['u'] = PREFIX,         ['1'] = PREFIX,
};

static inline uint8_t checks_at(const uint8_t *p)
{
    return here[p[0]] & (before[p[-1]] | AT | PAIR);
}

static void check_at(struct scan *s, size_t at, uint8_t bits)
{
    if (bits & PAIR)
        check_pair(s, at);
    if (!s->names->has_shapes)
        return;
    if (bits & AT)
        check_url_password(s, at);
    if (bits & JWT)
        check_jwt(s, at);
    if (bits & CLOUD)
        check_cloud_key(s, at);
    if (bits & PEM)
        check_private_key(s, at);
    if (bits & BLANK)
        check_auth_header(s, at);
    if (bits & PREFIX)
        check_token(s, at);
}

/* ---- sixteen at a time ---- */

enum { WIDE = 16, CARD_LEN = 13 };
typedef uint8_t wide __attribute__((vector_size(WIDE)));

static inline wide load(const uint8_t *p)
{
    wide v;
    memcpy(&v, p, WIDE);
    return v;
}

/* One bit for each lane that is not zero; lanes are all ones or all zeros. */
static inline uint32_t mask_of(wide v)
{
#ifdef __SSE2__
    typedef char lanes __attribute__((vector_size(WIDE)));
    return (uint32_t)__builtin_ia32_pmovmskb128((lanes)v);
#else
    uint64_t half[2];
    const uint64_t ones = 0x0101010101010101, gather = 0x0102040810204080;
    memcpy(half, &v, sizeof(half));
    return (uint32_t)((half[0] & ones) * gather >> 56 | ((half[1] & ones) * gather >> 56) << 8);
#endif
}

/* The checks of the table above for the 16 characters at p; two before them must be readable. Of
 * prefixes the last but two characters decide: gHp_, pAt-, nPm_, liVe_, teSt_, xoXb-, sFt_. */
static inline wide checks_wide(const uint8_t *p)
{
    wide c = load(p), p1 = load(p - 1), p2 = load(p - 2), low = p1 | 0x20;
    wide any = (wide)(c == '@') | (wide)(c == '=') | (wide)(c == ':');
    any |= (wide)(c == 'J') & (wide)(p1 == 'y');
    any |= (wide)(p1 == 'I') & ((wide)(c == 'A') | (wide)(c == 'z'));
    any |= (wide)(c == 'B') & (wide)(p1 == '-');
    any |= (wide)(c == ' ') & ((wide)(low == 'r') | (wide)(low == 'c'));
    /* a and f need the t that follows them: ids in hexadecimal have both before a dash. */
    any |= ((wide)(c == '_') | (wide)(c == '-')) &
           ((wide)(p2 == 'h') | (wide)(p2 == 'p') | (wide)(p2 == 'v') | (wide)(p2 == 's') |
            (wide)(p2 == 'x') | ((wide)(p1 == 't') & ((wide)(p2 == 'a') | (wide)(p2 == 'f'))));
    return any;
}

static inline uint32_t card_mask(const uint8_t *p)
{
    wide c = load(p);
    return mask_of((wide)((c - '0') <= 9) | (wide)(c == ' ') | (wide)(c == '-'));
}

/* Are 13 bits in a row set? */
static inline bool has_card_run(uint32_t w)
{
    uint32_t two = w & w >> 1, four = two & two >> 2, twelve = four & four >> 4 & four >> 8;
    return (twelve & w >> 12) != 0;
}

static unsigned look_short(const uint8_t *p, size_t len)
{
    unsigned found = 0, run = 0;
    if (len < 4)
        return 0;
    for (size_t i = 1; i < len; i++)
        found |= checks_at(p + i);
    found = found ? SF_SHAPE_LOOK_CHECKS : 0;
    for (size_t i = 0; len >= CARD_LEN && i < len; i++) {
        run = is_card_char((char)p[i]) ? run + 1 : 0;
        if (run >= CARD_LEN)
            found |= SF_SHAPE_LOOK_CARDS;
    }
    return found;
}

unsigned sf_shape_look(sf_str text)
{
    const uint8_t *p = (const uint8_t *)text.p;
    wide any = {0};
    uint32_t last;
    unsigned found = 0;
    size_t i = 2;

    if (text.len < WIDE + 2)
        return look_short(p, text.len);
    if (checks_at(p + 1))
        found |= SF_SHAPE_LOOK_CHECKS;
    /* Card characters of the 16 before: here only the first two of the text. */
    last = (uint32_t)is_card_char((char)p[0]) << 14 | (uint32_t)is_card_char((char)p[1]) << 15;
    for (; i + WIDE <= text.len; i += WIDE) {
        uint32_t cards = card_mask(p + i);
        any |= checks_wide(p + i);
        if (has_card_run(last | cards << 16))
            found |= SF_SHAPE_LOOK_CARDS;
        last = cards;
    }
    if (i < text.len) { /* the rest, together with some characters seen before */
        uint32_t cards = card_mask(p + text.len - WIDE) >> (WIDE - (text.len - i));
        any |= checks_wide(p + text.len - WIDE);
        if (has_card_run(last | cards << 16))
            found |= SF_SHAPE_LOOK_CARDS;
    }
    if (mask_of(any))
        found |= SF_SHAPE_LOOK_CHECKS;
    return found;
}

/* ---- all of it ---- */

static void check_all(struct scan *s)
{
    const uint8_t *p = (const uint8_t *)s->text.p;
    size_t len = s->text.len, i = 1;

    for (; i < len && (i < 2 || len < WIDE + 2); i++) {
        uint8_t bits = checks_at(p + i);
        if (bits)
            check_at(s, i, bits);
    }
    while (i < len) {
        size_t from = i + WIDE <= len ? i : len - WIDE;
        uint32_t mask = mask_of(checks_wide(p + from)) >> (i - from) << (i - from);
        for (; mask; mask &= mask - 1) {
            size_t at = from + (size_t)__builtin_ctz(mask);
            check_at(s, at, checks_at(p + at));
        }
        i = from + WIDE;
    }
}

size_t sf_shape_find(sf_str text, unsigned look, const struct sf_shape_names *names,
                     struct sf_shape_hit *out, size_t max)
{
    struct scan s = {.text = text, .names = names, .out = out, .max = max};
    if (look & SF_SHAPE_LOOK_CHECKS)
        check_all(&s);
    if ((look & SF_SHAPE_LOOK_CARDS) && names->has_shapes)
        find_cards(&s);
    return s.n;
}
