/* token_command.h - spanflame token new: a token, shown once, and the line for the file. */
#pragma once

int sf_token_command_run(int argc, char **argv);
