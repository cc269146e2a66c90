/* source_command.h - spanflame source: a function's source code with the cost of each line. */
#pragma once

int sf_source_command_run(int argc, char **argv);
