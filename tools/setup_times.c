/* Where the time of a set-up went; see setup_times.h. */
#include "setup_times.h"

void setup_times_print(FILE *out, const double parts[CMG_SETUP_PARTS], double all)
{
    const char *before = "set-up: ";
    for (int p = 0; p < CMG_SETUP_PARTS; ++p) {
        if (20 * parts[p] >= all && parts[p] > 0) {
            fprintf(out, "%s%s %s", before, cmg_enum_name("setup-part", p),
                    format_seconds(parts[p]));
            before = ", ";
        }
    }
    fprintf(out, before[0] == ',' ? "\n" : "");
}

void setup_times_json(json *j, const double parts[CMG_SETUP_PARTS])
{
    json_object(j, "setup");
    for (int p = 0; p < CMG_SETUP_PARTS; ++p) {
        json_real(j, cmg_enum_name("setup-part", p), parts[p]);
    }
    json_end(j);
}
