/* symbols_command.h - spanflame symbols: programs and debug files that name the code in profiles.
 */
#pragma once

int sf_symbols_command_run(int argc, char **argv);
