#compdef spanflame
# zsh completion for spanflame: commands and flags come from the program itself.
_spanflame() {
    if ((CURRENT == 2)); then
        compadd -- ${(f)"$(${words[1]} --list-commands 2>/dev/null)"} --help --version
    elif [[ ${words[CURRENT - 1]} == --output ]]; then
        compadd -- text json
    elif [[ ${words[CURRENT]} == -* ]]; then
        compadd -- ${(f)"$(${words[1]} ${words[2]} --list-flags 2>/dev/null)"}
    else
        _files
    fi
}
_spanflame "$@"
