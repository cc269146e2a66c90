/* control_command.h - spanflame control: changes the profiling of running programs. */
#pragma once

int sf_control_command_run(int argc, char **argv);
