/* exchange IN OUT: reads a hierarchy and writes it again, for the tests that are written in Python.
 */
#include "cmg.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    if (argc != 3 || cmg_context_create(NULL, &ctx) != CMG_OK) {
        return 1;
    }
    cmg_status status = cmg_hierarchy_read(ctx, argv[1], CMG_FILE_AUTO, &h);
    if (status == CMG_OK) {
        status = cmg_hierarchy_write(h, argv[2], CMG_FILE_AUTO);
    }
    if (status != CMG_OK) {
        printf("%s: %s\n", cmg_status_name(status), cmg_context_message(ctx));
    }
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    return status == CMG_OK ? 0 : 2;
}
