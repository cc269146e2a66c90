/* diff_command.h - spanflame diff FILE FILE: what got slower and what got faster. */
#pragma once

int sf_diff_command_run(int argc, char **argv);
