/* search_command.h - spanflame search 'QUERY': which traces match. */
#pragma once

int sf_search_run_command(int argc, char **argv);
