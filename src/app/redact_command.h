/* redact_command.h - spanflame redact --dry-run FILE: lists what would be redacted, without showing
 * the secrets. */
#pragma once

int sf_redact_command_run(int argc, char **argv);
