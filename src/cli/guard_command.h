/* guard_command.h - spanflame guard: fails when a new version costs more than the old one. */
#pragma once

int sf_guard_command_run(int argc, char **argv);
