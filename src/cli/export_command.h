/* export_command.h - spanflame export FILE|URL --format F: a profile in another format. */
#pragma once

int sf_export_command_run(int argc, char **argv);
