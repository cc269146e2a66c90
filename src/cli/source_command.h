/* source_command.h - spanflame source: a function's source with what each line cost. */
#pragma once

int sf_source_command_run(int argc, char **argv);
