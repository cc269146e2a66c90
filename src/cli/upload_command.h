/* upload_command.h - `spanflame upload`: sends profile files to a server. */
#pragma once

int sf_upload_command_run(int argc, char **argv);
