/* Where the time of a set-up went: a line, and an object of JSON. */
#pragma once
#include "output.h"

/* Parts that take a twentieth of it; nothing where there is none. */
void setup_times_print(FILE *out, const double parts[CMG_SETUP_PARTS], double all);
void setup_times_json(json *j, const double parts[CMG_SETUP_PARTS]);
