/* Reading a mesh: which format it is, and the way through it. */
#include "fem/mesh_read.h"

#include "fem/read_raw.h"

#include <string.h>

enum { MAX_PATH_LENGTH = 4096 };

/* Length of the name without .node, .ele, .edge or .face; 0 = another ending. */
static size_t triangle_base(const char *path)
{
    static const char *const endings[] = {".node", ".ele", ".edge", ".face"};
    const size_t length = strlen(path);
    for (size_t k = 0; k < sizeof endings / sizeof endings[0]; ++k) {
        const size_t tail = strlen(endings[k]);
        if (length > tail && strcmp(path + length - tail, endings[k]) == 0) {
            return length - tail;
        }
    }
    return 0;
}

static bool begins(const cmgi_text *t, const char *with)
{
    const size_t length = strlen(with);
    return t->size >= (cmg_size)length && memcmp(t->data, with, length) == 0;
}

/* Detection by content; the rows of bare numbers of Triangle need the ending of the name as well.
 */
static cmg_status read_any(cmgi_text *t, char *part, cmgi_raw *raw)
{
    if (begins(t, "$MeshFormat")) {
        return cmgi_read_gmsh(t, raw);
    }
    if (begins(t, "MFEM mesh")) {
        return cmgi_read_mfem(t, raw);
    }
    if (begins(t, "# vtk DataFile")) {
        return cmgi_read_vtk(t, raw);
    }
    const size_t length = triangle_base(t->path);
    if (length > 0 && length + 6 < MAX_PATH_LENGTH) {
        char base[MAX_PATH_LENGTH];
        memcpy(base, t->path, length);
        base[length] = 0;
        return cmgi_read_triangle(t->ctx, base, part, MAX_PATH_LENGTH, t, raw);
    }
    cmgi_text_word(t);
    return cmgi_text_fail(t, CMG_ERR_UNSUPPORTED,
                          "begins with '%.20s': not gmsh (2, 4.1), MFEM (v1.0), VTK legacy or "
                          "Triangle/TetGen",
                          t->word);
}

cmg_status cmgi_mesh_read(cmg_context *ctx, const char *path, cmgi_mesh **mesh)
{
    char part[MAX_PATH_LENGTH];
    cmgi_text t = {0};
    cmgi_raw raw = {.ctx = ctx};
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, path != NULL && mesh != NULL, CMG_ERR_ARG, "no path or no mesh");
    CMGI_TRY_GOTO(done, cmgi_text_open(ctx, path, &t));
    CMGI_TRY_GOTO(done, read_any(&t, part, &raw));
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
