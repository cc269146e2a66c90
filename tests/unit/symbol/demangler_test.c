#include "symbol/demangler.h"

#include "test.h"

static struct sf_buf text;

static sf_str name_of(const char *mangled)
{
    struct sf_demangler *d = sf_demangler_new();
    assert_non_null(d);
    sf_buf_reset(&text);
    if (!sf_demangler_run(d, sf_str_from(mangled), &text))
        assert_int_equal(text.len, 0);
    sf_demangler_free(d);
    return sf_buf_str(&text);
}

static void forget(void)
{
    sf_buf_done(&text);
    text = (struct sf_buf){0};
}

#define NAMED(mangled, name) assert_str(name_of(mangled), name)

TEST(demangler, says_cxx_functions_with_their_scope_and_parameters)
{
    NAMED("_Z1fv", "f()");
    NAMED("_Z3addiPKc", "add(int, char const*)");
    NAMED("_ZNK4shop4Cart5totalERKSs", "shop::Cart::total(std::string const&) const");
    NAMED("_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work()");
    NAMED("_ZNSt6vectorIiSaIiEE9push_backERKi",
          "std::vector<int, std::allocator<int> >::push_back(int const&)");
    NAMED("_ZNSsC1ERKSs", "std::basic_string<char, std::char_traits<char>, std::allocator<char> >"
                          "::basic_string(std::string const&)");
    NAMED("_ZN4CartD0Ev", "Cart::~Cart()");
    NAMED("_ZN4CartcvbEv", "Cart::operator bool()");
    NAMED("_ZlsRSoRK4Cart", "operator<<(std::ostream&, Cart const&)");
    NAMED("_Z5applyPFvPFviEE", "apply(void (*)(void (*)(int)))");
    NAMED("_Z1gRA3_KiM4CartKFivE", "g(int const (&) [3], int (Cart::*)() const)");
    NAMED("_ZTV4Cart", "vtable for Cart");
    NAMED("_ZThn16_N4Cart3payEv", "non-virtual thunk to Cart::pay()");
    forget();
}

TEST(demangler, says_cxx_templates_lambdas_and_clones)
{
    NAMED("_Z3maxIiET_S0_S0_", "int max<int>(int, int)");
    NAMED("_Z3putIJiPcEEvDpT_", "void put<int, char*>(int, char*)");
    NAMED("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const");
    NAMED("_ZZ4mainENKUlT_E_clIiEEDaS_",
          "auto main::{lambda(auto:1)#1}::operator()<int>(int) const");
    NAMED("_ZN4Cart4sortEv.isra.0.cold", "Cart::sort() [clone .isra.0] [clone .cold]");
    NAMED("_Z1fILb1ELi5ELm3EEvv", "void f<true, 5, 3ul>()");
    NAMED("_Z1fILi1ELj2ELl3ELm4ELx5ELy6ELln7EEvv", "void f<1, 2u, 3l, 4ul, 5ll, 6ull, -7l>()");
    NAMED("_Z1fIiENSt9enable_ifIXsr3std9is_signedIT_EE5valueEvE4typeES1_",
          "std::enable_if<std::is_signed<int>::value, void>::type f<int>(int)");
    NAMED("_ZN3FooB5cxx113barB3newEv", "Foo[abi:cxx11]::bar[abi:new]()");
    forget();
}

TEST(demangler, says_rust_names_of_both_kinds)
{
    NAMED("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
    NAMED("_ZN61_$LT$shop..Cart$u20$as$u20$core..iter..Iterator$LT$u8$GT$$GT$"
          "4next17h0123456789abcdefE",
          "<shop::Cart as core::iter::Iterator<u8>>::next");
    NAMED("_ZN4shop3pay17h0123456789abcdefE.llvm.1234", "shop::pay");
    NAMED("_RNvCs1234_7mycrate3foo", "mycrate::foo");
    NAMED("_RINvC1a1bNtC1c1djRShE", "a::b::<c::d, usize, &[u8]>");
    NAMED("_RNvXCs1234_1aNtB2_1SNtC4core5Clone5clone", "<a::S as core::Clone>::clone");
    NAMED("_RNCNvC1a4main0", "a::main::{closure#0}");
    NAMED("_RINvC1a1fKj7_Kb1_Kc41_E", "a::f::<7, true, 'A'>");
    NAMED("_RNvC1au9gre_6ka8i", "a::gr\xc3\xb6\xc3\x9f\x65");
    NAMED("_RINvC1a1fDNtC1b1Tp4ItemlEL_E", "a::f::<dyn b::T<Item = i32>>");
    NAMED("_RINvC1a1fFG_RL0_hEuE", "a::f::<for<'a> fn(&'a u8)>");
    forget();
}

TEST(demangler, leaves_other_names_alone)
{
    static const char *const others[] = {"main",    "_start", "_Z",         "_ZZZ",     "_R",
                                         "_Rust",   "_ZN",    "_Z1",        "_Z9f",     "_ZN1aE1",
                                         "_Z1fS5_", "_Z1fT_", "_RB_",       "_RNvB_1a", "_RNvC1a",
                                         "_ZNE",    "_Z1fi?", "__cxa_throw"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(name_of(others[i]).len, 0);
    forget();
}

/* Short names that ask for much: deep, or doubled at every step. */
TEST(demangler, ends_what_would_never_end)
{
    char deep[3000], twice[600];
    size_t at = 0;
    memcpy(deep, "_Z1f", 4);
    memset(deep + 4, 'P', sizeof(deep) - 6);
    memcpy(deep + sizeof(deep) - 2, "i", 2);
    assert_int_equal(name_of(deep).len, 0);
    at = (size_t)snprintf(twice, sizeof(twice), "_Z1fI1aE");
    for (int i = 0; i < 40; i++) /* each argument holds the one before twice */
        at += (size_t)snprintf(twice + at, sizeof(twice) - at, "1bIS%c_S%c_E", '0' + i % 10,
                               '0' + i % 10);
    name_of(twice);
    assert_true(text.len <= SF_DEMANGLE_MAX_LEN);
    forget();
}
