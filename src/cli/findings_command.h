/* findings_command.h - spanflame findings: what stands out, in sentences. */
#pragma once

int sf_findings_command_run(int argc, char **argv);
