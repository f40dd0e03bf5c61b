/*
 * VTK XML unstructured grid with appended data in base64: an XML head whose arrays point into one
 * block of text, each array with the 8-byte count of its bytes before it. Sizes are known
 * beforehand, so everything is written once, in order. (The raw form would be a quarter smaller,
 * but it is no XML, and readers trip over it.)
 */
#include "fem/locate.h"
#include "io/source.h"

#include <errno.h>
#include <string.h>

enum { CHUNK = 4096 }; /* items converted at a time */

typedef struct writer {
    const cmgi_mesh *mesh;
    FILE *file;
    bool head;       /* arrays are declared, else written */
    uint64_t offset; /* of the next array, in characters */
    bool failed;
    int kept; /* bytes that wait for the rest of their group of three */
    unsigned char group[3];
} writer;

static void put(writer *w, const void *data, size_t bytes)
{
    w->failed = w->failed || fwrite(data, 1, bytes, w->file) != bytes;
}

static void put_text(writer *w, const char *text)
{
    put(w, text, strlen(text));
}

static void encode(const unsigned char group[3], char text[4])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    text[0] = digits[group[0] >> 2];
    text[1] = digits[(group[0] & 3) << 4 | group[1] >> 4];
    text[2] = digits[(group[1] & 15) << 2 | group[2] >> 6];
    text[3] = digits[group[2] & 63];
}

/* Bytes of an array in base64. */
static void put_bytes(writer *w, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    char text[4 * CHUNK];
    size_t used = 0;
    for (size_t k = 0; k < bytes; ++k) {
        w->group[w->kept++] = from[k];
        if (w->kept < 3) {
            continue;
        }
        encode(w->group, text + used);
        used += 4;
        w->kept = 0;
        if (used == sizeof text) {
            put(w, text, used);
            used = 0;
        }
    }
    put(w, text, used);
}

/* The last bytes of an array, padded. */
static void end_array(writer *w)
{
    char text[4];
    const size_t missing = 3 - (size_t)w->kept;
    if (w->kept == 0) {
        return;
    }
    memset(w->group + w->kept, 0, missing);
    encode(w->group, text);
    memset(text + 4 - missing, '=', missing);
    put(w, text, sizeof text);
    w->kept = 0;
}

/* Text with the characters that XML takes for its own replaced. */
static void put_escaped(writer *w, const char *text)
{
    static const char own[] = "<>&\"";
    static const char *const name[] = {"&lt;", "&gt;", "&amp;", "&quot;"};
    for (; *text != 0; ++text) {
        const char *at = strchr(own, *text);
        put(w, at != NULL ? name[at - own] : text, at != NULL ? strlen(name[at - own]) : 1);
    }
}

static void declare(writer *w, const char *type, const char *name, int components, uint64_t bytes)
{
    char line[160];
    (void)snprintf(line, sizeof line, "<DataArray type=\"%s\" Name=\"", type);
    put_text(w, line);
    put_escaped(w, name);
    if (components > 1) { /* readers take 1 for a vector of length 1 when it is said */
        (void)snprintf(line, sizeof line, "\" NumberOfComponents=\"%d", components);
        put_text(w, line);
    }
    (void)snprintf(line, sizeof line, "\" format=\"appended\" offset=\"%llu\"/>\n",
                   (unsigned long long)w->offset);
    put_text(w, line);
    w->offset += (sizeof bytes + bytes + 2) / 3 * 4;
}

/* Vectors of `components`, zeros after them up to `wide`. */
static void vectors(writer *w, const char *name, cmg_size items, int components, int wide,
                    const double *values)
{
    double buffer[CHUNK];
    const cmg_size chunk = CHUNK / wide;
    const uint64_t bytes = (uint64_t)items * (uint64_t)wide * sizeof(double);
    if (w->head) {
        declare(w, "Float64", name, wide, bytes);
        return;
    }
    put_bytes(w, &bytes, sizeof bytes);
    for (cmg_size first = 0; first < items; first += chunk) {
        const cmg_size many = items - first < chunk ? items - first : chunk;
        for (cmg_size k = 0; k < many * wide; ++k) {
            const cmg_size d = k % wide;
            buffer[k] = d < components ? values[(first + k / wide) * components + d] : 0;
        }
        put_bytes(w, buffer, (size_t)(many * wide) * sizeof(double));
    }
    end_array(w);
}

/* Fills items first .. first + many - 1 of an array that is made from the mesh. */
typedef void (*fill_fn)(const cmgi_mesh *mesh, cmg_size first, cmg_size many, void *to);

static void fill_connectivity(const cmgi_mesh *mesh, cmg_size first, cmg_size many, void *to)
{
    const int corners = cmgi_cell_table(mesh->cell)->corners;
    const unsigned char *corner =
        cmgi_vtk_order((cmgi_basis){cmgi_cell_simplex(mesh->cell), 1, mesh->dim});
    for (cmg_size k = 0; k < many * corners; ++k) {
        ((int32_t *)to)[k] =
            mesh->cell_nodes[(first + k / corners) * corners + corner[k % corners]];
    }
}

static void fill_offsets(const cmgi_mesh *mesh, cmg_size first, cmg_size many, void *to)
{
    for (cmg_size k = 0; k < many; ++k) {
        ((int64_t *)to)[k] = (first + k + 1) * cmgi_cell_table(mesh->cell)->corners;
    }
}

static void fill_types(const cmgi_mesh *mesh, cmg_size first, cmg_size many, void *to)
{
    static const unsigned char type[CMGI_CELL_KINDS] = {
        [CMGI_TRI] = 5, [CMGI_QUAD] = 9, [CMGI_TET] = 10, [CMGI_HEX] = 12};
    (void)first;
    memset(to, type[mesh->cell], (size_t)many);
}

/* The regions under the numbers that the mesh file gave them. */
static void fill_regions(const cmgi_mesh *mesh, cmg_size first, cmg_size many, void *to)
{
    for (cmg_size k = 0; k < many; ++k) {
        ((int32_t *)to)[k] = mesh->region[mesh->cell_label[first + k]].tag;
    }
}

/* An array of `each` bytes a cell. */
static void of_cells(writer *w, const char *type, const char *name, size_t each, fill_fn fill)
{
    int64_t buffer[CHUNK * CMGI_MAX_CORNERS / 2]; /* of int32_t */
    const cmg_size cells = w->mesh->cells;
    const uint64_t bytes = (uint64_t)cells * each;
    if (w->head) {
        declare(w, type, name, 1, bytes);
        return;
    }
    put_bytes(w, &bytes, sizeof bytes);
    for (cmg_size first = 0; first < cells; first += CHUNK) {
        const cmg_size many = cells - first < CHUNK ? cells - first : CHUNK;
        fill(w->mesh, first, many, buffer);
        put_bytes(w, buffer, (size_t)many * each);
    }
    end_array(w);
}

/* VTK has vectors of 3 alone. */
static void data(writer *w, bool on_cells, int fields, const cmg_fem_field *field)
{
    for (int k = 0; k < fields; ++k) {
        const int nc = field[k].components;
        if (field[k].on_cells == on_cells) {
            vectors(w, field[k].name, on_cells ? w->mesh->cells : w->mesh->nodes, nc,
                    nc == 2 ? 3 : nc, field[k].values);
        }
    }
}

static void tag(writer *w, const char *text)
{
    if (w->head) {
        put_text(w, text);
    }
}

/* All arrays in order, with the tags around their declarations. */
static void arrays(writer *w, int fields, const cmg_fem_field *field)
{
    const cmgi_mesh *mesh = w->mesh;
    const size_t corners = (size_t)cmgi_cell_table(mesh->cell)->corners;
    tag(w, "<Points>\n");
    vectors(w, "Points", mesh->nodes, mesh->dim, 3, mesh->x);
    tag(w, "</Points>\n<Cells>\n");
    of_cells(w, "Int32", "connectivity", corners * sizeof(int32_t), fill_connectivity);
    of_cells(w, "Int64", "offsets", sizeof(int64_t), fill_offsets);
    of_cells(w, "UInt8", "types", 1, fill_types);
    tag(w, "</Cells>\n<PointData>\n");
    data(w, false, fields, field);
    tag(w, "</PointData>\n<CellData>\n");
    if (mesh->cell_label != NULL) {
        of_cells(w, "Int32", "region", sizeof(int32_t), fill_regions);
    }
    data(w, true, fields, field);
    tag(w, "</CellData>\n");
}

static void write_all(writer *w, int fields, const cmg_fem_field *field)
{
    const uint16_t probe = 1;
    const bool little = *(const unsigned char *)&probe == 1;
    char line[300];
    (void)snprintf(line, sizeof line,
                   "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" "
                   "byte_order=\"%s\" header_type=\"UInt64\">\n<UnstructuredGrid>\n"
                   "<Piece NumberOfPoints=\"%lld\" NumberOfCells=\"%lld\">\n",
                   little ? "LittleEndian" : "BigEndian", (long long)w->mesh->nodes,
                   (long long)w->mesh->cells);
    put_text(w, line);
    w->head = true;
    arrays(w, fields, field);
    w->head = false;
    put_text(w, "</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"base64\">\n_");
    arrays(w, fields, field);
    put_text(w, "\n</AppendedData>\n</VTKFile>\n");
}

cmg_status cmgi_vtu_write(cmg_context *ctx, const char *path, const cmgi_mesh *mesh, int fields,
                          const cmg_fem_field *field)
{
    for (int k = 0; k < fields; ++k) {
        CMGI_CHECK(ctx,
                   field[k].name != NULL && field[k].values != NULL && field[k].components >= 1 &&
                       field[k].components <= 9,
                   CMG_ERR_ARG, "field %d has no name, no values or %d components", k,
                   field[k].components);
    }
    cmgi_output output = {0};
    CMGI_TRY(cmgi_output_open(ctx, path, CMGI_OUTPUT_FILE, &output));
    writer w = {.mesh = mesh, .file = output.file};
    write_all(&w, fields, field);
    const cmg_status status =
        w.failed ? cmgi_fail(ctx, CMG_ERR_IO, "%s: cannot be written to its end: %s", path,
                             strerror(errno))
                 : CMG_OK;
    return cmgi_output_finish(&output, status);
}
