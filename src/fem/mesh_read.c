/* Reading a mesh: which format it is, and the way through it. */
#include "core/memory.h"
#include "fem/read_raw.h"
#include "io/source.h"

#include <string.h>

static bool begins(const cmgi_text *t, const char *with)
{
    return strncmp(t->data, with, strlen(with)) == 0;
}

cmg_status cmgi_mesh_read(cmg_context *ctx, const char *path, cmgi_mesh **mesh)
{
    cmgi_text t = {.ctx = ctx, .path = path, .line = 1};
    cmgi_scoped_by(cmgi_raw_free) cmgi_raw raw = {.text = &t};
    CMGI_FREED(ctx, &t.data);
    CMGI_CHECK(ctx, path != NULL && mesh != NULL, CMG_ERR_ARG, "no path or no mesh");
    CMGI_TRY(cmgi_file_text(ctx, path, &t.data, &t.size));
    t.p = t.data;
    /* detected by content, whatever the name */
    if (begins(&t, "$MeshFormat")) {
        cmgi_read_gmsh(&raw);
    } else if (begins(&t, "MFEM mesh")) {
        cmgi_read_mfem(&raw);
    } else {
        cmgi_text_word(&t);
        (void)cmgi_text_fail(&t, CMG_ERR_UNSUPPORTED,
                             "begins with '%.20s': neither gmsh (2, 4.1) nor MFEM (v1.0); other "
                             "forms are converted in Python, "
                             "cascademg.read_mesh(file).write(\"x.msh\")",
                             t.word);
    }
    CMGI_TRY(t.status);
    t.binary = false;
    CMGI_TRY(cmgi_raw_finish(&raw, mesh));
    if ((*mesh)->note[0] != '\0') {
        cmgi_log(ctx, CMG_LOG_WARN, "%s: %s", path, (*mesh)->note);
    }
    return CMG_OK;
}
