/* redact_command.h - spanflame redact --dry-run FILE: what would change, without the secrets. */
#pragma once

int sf_redact_command_run(int argc, char **argv);
