/* Vectors as plain text: one number a line; blank lines and lines that begin with # or % are
 * skipped. */
#include "core/memory.h"
#include "io/io.h"
#include "core/number.h"

#include <math.h>
#include <string.h>

/* Parses a line; false with *wrong set when it is neither a number nor skipped. */
static bool parse_line(const char *line, const char *stop, double *value, bool *is_number,
                       const char **wrong)
{
    const char *p = cmgi_skip_blanks(line);
    *is_number = p < stop && *p != '#' && *p != '%';
    if (!*is_number) {
        return true;
    }
    p = cmgi_parse_double(p, value);
    *wrong = p == NULL ? "not a number" : "more than one word";
    if (p == NULL || cmgi_skip_blanks(p) != stop) {
        return false;
    }
    *wrong = "the value is not finite or too large";
    return isfinite(*value);
}

/* Walks through the lines, counting and, unless values is NULL, storing the numbers. */
static cmg_status walk(cmg_context *ctx, const char *path, const char *text, cmg_size size,
                       double *values, cmg_size *n)
{
    const char *const end = text + size;
    cmg_size line = 1;
    *n = 0;
    for (const char *p = text; p < end; ++line) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline != NULL ? newline : end;
        const char *wrong = NULL;
        double value = 0;
        bool is_number = false;
        CMGI_CHECK(ctx, parse_line(p, stop, &value, &is_number, &wrong), CMG_ERR_FILE,
                   "%s:%lld: %s", path, (long long)line, wrong);
        if (is_number && values != NULL) {
            values[*n] = value;
        }
        *n += is_number;
        p = stop + 1;
    }
    return CMG_OK;
}

cmg_status cmgi_text_read_vector(cmg_context *ctx, const char *path, cmg_size *n, double **values)
{
    cmgi_scoped char *text = NULL;
    cmg_size size = 0;
    CMGI_TRY(cmgi_file_text(ctx, path, &text, &size));
    CMGI_TRY(walk(ctx, path, text, size, NULL, n));
    CMGI_TRY(cmgi_alloc(ctx, *n, sizeof **values, values));
    CMGI_TRY(walk(ctx, path, text, size, *values, n));
    CMGI_CHECK(ctx, *n != 0, CMG_ERR_FILE, "%s: the file holds no number", path);
    return CMG_OK;
}
