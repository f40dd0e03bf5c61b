/* Reading a mesh: which format it is, and the way through it. */
#include "fem/mesh_read.h"

#include "fem/read_raw.h"

#include <string.h>

static bool begins(const cmgi_text *t, const char *with)
{
    const size_t length = strlen(with);
    return t->size >= (cmg_size)length && memcmp(t->data, with, length) == 0;
}

/* Detection by content, whatever the name. */
static cmg_status read_any(cmgi_text *t, cmgi_raw *raw)
{
    if (begins(t, "$MeshFormat")) {
        return cmgi_read_gmsh(t, raw);
    }
    if (begins(t, "MFEM mesh")) {
        return cmgi_read_mfem(t, raw);
    }
    cmgi_text_word(t);
    return cmgi_text_fail(t, CMG_ERR_UNSUPPORTED,
                          "begins with '%.20s': neither gmsh (2, 4.1) nor MFEM (v1.0); other forms "
                          "are converted in Python, cascademg.read_mesh(file).write(\"x.msh\")",
                          t->word);
}

cmg_status cmgi_mesh_read(cmg_context *ctx, const char *path, cmgi_mesh **mesh)
{
    cmgi_text t = {0};
    cmgi_raw raw = {.ctx = ctx};
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, path != NULL && mesh != NULL, CMG_ERR_ARG, "no path or no mesh");
    CMGI_TRY_GOTO(done, cmgi_text_open(ctx, path, &t));
    CMGI_TRY_GOTO(done, read_any(&t, &raw));
    t.binary = false;
    CMGI_TRY_GOTO(done, cmgi_raw_finish(&raw, &t, mesh));
    if ((*mesh)->note[0] != '\0') {
        cmgi_log(ctx, CMG_LOG_WARN, "%s: %s", path, (*mesh)->note);
    }
done:
    cmgi_raw_free(&raw);
    cmgi_text_close(&t);
    return status;
}
