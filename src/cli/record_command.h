/* record_command.h - `spanflame record`. */
#pragma once

int sf_record_command_run(int argc, char **argv);
