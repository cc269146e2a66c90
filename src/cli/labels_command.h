/* labels_command.h - `spanflame labels`: what the series of profiles are told apart by. */
#pragma once

int sf_labels_command_run(int argc, char **argv);
