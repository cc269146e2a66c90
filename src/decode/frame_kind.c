#include "decode/frame_kind.h"

struct word {
    sf_str word;
    enum sf_frame_kind kind;
};

static enum sf_frame_kind frame_kind_find(const struct word *words, size_t n, sf_str word)
{
    for (size_t i = 0; i < n; i++) {
        if (sf_str_eq(words[i].word, word))
            return words[i].kind;
    }
    return SF_FRAME_UNKNOWN;
}

static sf_str extension(sf_str file)
{
    for (size_t i = file.len; i && file.len - i < 8; i--) {
        if (file.p[i - 1] == '.')
            return sf_str_from_at(file, i);
        if (file.p[i - 1] == '/')
            break;
    }
    return SF_STR_NONE;
}

enum sf_frame_kind sf_frame_kind_of_file(sf_str file, sf_str mapping)
{
    static const struct word words[] = {
        {SF_STR("go"), SF_FRAME_GO},      {SF_STR("py"), SF_FRAME_PYTHON},
        {SF_STR("js"), SF_FRAME_V8},      {SF_STR("mjs"), SF_FRAME_V8},
        {SF_STR("cjs"), SF_FRAME_V8},     {SF_STR("ts"), SF_FRAME_V8},
        {SF_STR("tsx"), SF_FRAME_V8},     {SF_STR("java"), SF_FRAME_JVM},
        {SF_STR("kt"), SF_FRAME_JVM},     {SF_STR("scala"), SF_FRAME_JVM},
        {SF_STR("rb"), SF_FRAME_RUBY},    {SF_STR("php"), SF_FRAME_PHP},
        {SF_STR("pl"), SF_FRAME_PERL},    {SF_STR("pm"), SF_FRAME_PERL},
        {SF_STR("cs"), SF_FRAME_DOTNET},  {SF_STR("fs"), SF_FRAME_DOTNET},
        {SF_STR("erl"), SF_FRAME_BEAM},   {SF_STR("ex"), SF_FRAME_BEAM},
        {SF_STR("rs"), SF_FRAME_RUST},    {SF_STR("lua"), SF_FRAME_LUAJIT},
        {SF_STR("c"), SF_FRAME_NATIVE},   {SF_STR("cc"), SF_FRAME_NATIVE},
        {SF_STR("cpp"), SF_FRAME_NATIVE}, {SF_STR("cxx"), SF_FRAME_NATIVE},
        {SF_STR("h"), SF_FRAME_NATIVE},   {SF_STR("hpp"), SF_FRAME_NATIVE},
        {SF_STR("s"), SF_FRAME_NATIVE},   {SF_STR("S"), SF_FRAME_NATIVE},
    };
    if (sf_str_starts(mapping, SF_STR("[kernel")) || sf_str_starts(mapping, SF_STR("vmlinux")) ||
        sf_str_ends(mapping, SF_STR(".ko")))
        return SF_FRAME_KERNEL;
    return frame_kind_find(words, sizeof(words) / sizeof(*words), extension(file));
}

enum sf_frame_kind sf_frame_kind_of_word(sf_str word)
{
    static const struct word words[] = {
        {SF_STR("native"), SF_FRAME_NATIVE},  {SF_STR("kernel"), SF_FRAME_KERNEL},
        {SF_STR("go"), SF_FRAME_GO},          {SF_STR("jvm"), SF_FRAME_JVM},
        {SF_STR("cpython"), SF_FRAME_PYTHON}, {SF_STR("v8js"), SF_FRAME_V8},
        {SF_STR("ruby"), SF_FRAME_RUBY},      {SF_STR("php"), SF_FRAME_PHP},
        {SF_STR("perl"), SF_FRAME_PERL},      {SF_STR("dotnet"), SF_FRAME_DOTNET},
        {SF_STR("beam"), SF_FRAME_BEAM},      {SF_STR("rust"), SF_FRAME_RUST},
        {SF_STR("luajit"), SF_FRAME_LUAJIT},  {SF_STR("abort-marker"), SF_FRAME_MARKER},
    };
    return frame_kind_find(words, sizeof(words) / sizeof(*words), word);
}

enum sf_frame_kind sf_frame_kind_of_spy(sf_str spy)
{
    static const struct word words[] = {
        {SF_STR("gospy"), SF_FRAME_GO},     {SF_STR("javaspy"), SF_FRAME_JVM},
        {SF_STR("pyspy"), SF_FRAME_PYTHON}, {SF_STR("rbspy"), SF_FRAME_RUBY},
        {SF_STR("nodespy"), SF_FRAME_V8},   {SF_STR("dotnetspy"), SF_FRAME_DOTNET},
        {SF_STR("phpspy"), SF_FRAME_PHP},   {SF_STR("pyroscope-rs"), SF_FRAME_RUST},
    };
    return frame_kind_find(words, sizeof(words) / sizeof(*words), spy);
}
