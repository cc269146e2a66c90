/* ledger_command.h - spanflame ledger: the time breakdown of a span. */
#pragma once

int sf_ledger_command_run(int argc, char **argv);
