# bash completion for spanflame: commands and flags come from the program itself.
_spanflame() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$("$1" --list-commands 2>/dev/null) --help --version" -- "$word")
    elif [[ $previous == --output ]]; then
        mapfile -t COMPREPLY < <(compgen -W "text json" -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$1" "${COMP_WORDS[1]}" --list-flags 2>/dev/null)" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -F _spanflame spanflame
