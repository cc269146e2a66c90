/* version.h - the version, set by the build. */
#pragma once

const char *sf_version(void); /* "0.1.0"; constant */
