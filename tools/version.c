/* What this build is: version, commit, compiler, parts. */
#include "version.h"

#include "cmg.h"
#include "cmg_commit.h"

#include <stdio.h>

void version_print(void)
{
    printf("cmg %s\n", cmg_version());
    printf("commit    %s\n", CMG_COMMIT);
    printf("compiler  %s\n", TOOL_COMPILER);
    printf("parts     %s\n", TOOL_PARTS[0] != '\0' ? TOOL_PARTS : "none");
}
