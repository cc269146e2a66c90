# fish completion for spanflame: commands and flags come from the program itself.
complete -c spanflame -f
complete -c spanflame -n '__fish_use_subcommand' -a '(spanflame --list-commands 2>/dev/null)'
complete -c spanflame -n 'not __fish_use_subcommand' -a '(spanflame (commandline -opc)[2] --list-flags 2>/dev/null)'
complete -c spanflame -n 'not __fish_use_subcommand' -F
