/* flame_command.h - spanflame flame FILE|URL: a flame graph in the terminal, without any server. */
#pragma once

int sf_flame_command_run(int argc, char **argv);
