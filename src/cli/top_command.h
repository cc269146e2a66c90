/* top_command.h - spanflame top FILE|URL: the functions that cost most, as a table or a tree. */
#pragma once

int sf_top_command_run(int argc, char **argv);
