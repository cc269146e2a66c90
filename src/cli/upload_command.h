/* upload_command.h - `spanflame upload`: profile files into a server. */
#pragma once

int sf_upload_command_run(int argc, char **argv);
