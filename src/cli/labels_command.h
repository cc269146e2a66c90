/* labels_command.h - `spanflame labels`: labels that identify series of profiles. */
#pragma once

int sf_labels_command_run(int argc, char **argv);
