/* token_command.h - spanflame token new: makes a token, shows it once, and prints the line for the
 * token file. */
#pragma once

int sf_token_command_run(int argc, char **argv);
