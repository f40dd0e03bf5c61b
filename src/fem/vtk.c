/*
 * VTK XML unstructured grid with appended data in base64: an XML head whose arrays point into one
 * block of text, each array with the 8-byte count of its bytes before it. Sizes are known
 * beforehand, so everything is written once, in order. (The raw form would be a quarter smaller,
 * but it is no XML, and readers trip over it.)
 */
#include "fem/vtk.h"

#include "core/memory.h"
#include "io/source.h"

#include <errno.h>
#include <string.h>

enum { CHUNK = 4096 }; /* items converted at a time */

typedef struct writer {
    const cmgi_mesh *mesh;
    FILE *file;
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
    if (w->kept == 0) {
        return;
    }
    for (int k = w->kept; k < 3; ++k) {
        w->group[k] = 0;
    }
    encode(w->group, text);
    for (int k = w->kept + 1; k < 4; ++k) {
        text[k] = '=';
    }
    put(w, text, sizeof text);
    w->kept = 0;
}

/* Text with the characters that XML takes for its own replaced. */
static void put_escaped(writer *w, const char *text)
{
    for (; *text != 0; ++text) {
        switch (*text) {
        case '<':
            put_text(w, "&lt;");
            break;
        case '>':
            put_text(w, "&gt;");
            break;
        case '&':
            put_text(w, "&amp;");
            break;
        case '"':
            put_text(w, "&quot;");
            break;
        default:
            put(w, text, 1);
        }
    }
}

/* VTK has vectors of 3 alone. */
static int padded(int components)
{
    return components == 2 ? 3 : components;
}

static void declare(writer *w, const char *type, const char *name, int components, cmg_size items,
                    size_t size)
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
    const uint64_t bytes = sizeof(uint64_t) + (uint64_t)items * (uint64_t)components * size;
    w->offset += (bytes + 2) / 3 * 4;
}

static cmg_size field_items(const cmgi_mesh *mesh, const cmgi_field *f)
{
    return f->on_cells ? mesh->cells : mesh->nodes;
}

static void declare_fields(writer *w, bool on_cells, int fields, const cmgi_field *field)
{
    for (int k = 0; k < fields; ++k) {
        if (field[k].on_cells == on_cells) {
            declare(w, "Float64", field[k].name, padded(field[k].components),
                    field_items(w->mesh, &field[k]), sizeof(double));
        }
    }
}

static void write_head(writer *w, int fields, const cmgi_field *field)
{
    const cmgi_mesh *mesh = w->mesh;
    const int corners = cmgi_cell_table(mesh->cell)->corners;
    const uint16_t probe = 1;
    const bool little = *(const unsigned char *)&probe == 1;
    char line[200];
    (void)snprintf(line, sizeof line,
                   "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" "
                   "byte_order=\"%s\" header_type=\"UInt64\">\n<UnstructuredGrid>\n",
                   little ? "LittleEndian" : "BigEndian");
    put_text(w, line);
    (void)snprintf(line, sizeof line, "<Piece NumberOfPoints=\"%lld\" NumberOfCells=\"%lld\">\n",
                   (long long)mesh->nodes, (long long)mesh->cells);
    put_text(w, line);
    put_text(w, "<Points>\n");
    declare(w, "Float64", "Points", 3, mesh->nodes, sizeof(double));
    put_text(w, "</Points>\n<Cells>\n");
    declare(w, "Int32", "connectivity", 1, mesh->cells * corners, sizeof(int32_t));
    declare(w, "Int64", "offsets", 1, mesh->cells, sizeof(int64_t));
    declare(w, "UInt8", "types", 1, mesh->cells, 1);
    put_text(w, "</Cells>\n<PointData>\n");
    declare_fields(w, false, fields, field);
    put_text(w, "</PointData>\n<CellData>\n");
    if (mesh->cell_label != NULL) {
        declare(w, "Int32", "region", 1, mesh->cells, sizeof(int32_t));
    }
    declare_fields(w, true, fields, field);
    put_text(w,
             "</CellData>\n</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"base64\">\n_");
}

static void put_count(writer *w, cmg_size items, size_t size)
{
    const uint64_t bytes = (uint64_t)items * size;
    put_bytes(w, &bytes, sizeof bytes);
}

/* Vectors of `components`, zeros after them up to three where `wide` asks for it. */
static void put_vectors(writer *w, cmg_size items, int components, int wide, const double *values)
{
    double buffer[CHUNK];
    const cmg_size chunk = CHUNK / wide;
    put_count(w, items * wide, sizeof(double));
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
    static const int ring[8] = {0, 1, 3, 2, 4, 5, 7, 6}; /* VTK goes around */
    const int corners = cmgi_cell_table(mesh->cell)->corners;
    const bool tensor = mesh->cell == CMGI_QUAD || mesh->cell == CMGI_HEX;
    for (cmg_size k = 0; k < many * corners; ++k) {
        const int c = (int)(k % corners);
        ((int32_t *)to)[k] =
            mesh->cell_nodes[(first + k / corners) * corners + (tensor ? ring[c] : c)];
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

/* An array of `bytes` a cell. */
static void put_cells(writer *w, size_t bytes, fill_fn fill)
{
    int64_t buffer[CHUNK * CMGI_MAX_CORNERS / 2]; /* of int32_t */
    put_count(w, w->mesh->cells, bytes);
    for (cmg_size first = 0; first < w->mesh->cells; first += CHUNK) {
        const cmg_size left = w->mesh->cells - first;
        const cmg_size many = left < CHUNK ? left : CHUNK;
        fill(w->mesh, first, many, buffer);
        put_bytes(w, buffer, (size_t)many * bytes);
    }
    end_array(w);
}

static void put_fields(writer *w, bool on_cells, int fields, const cmgi_field *field)
{
    for (int k = 0; k < fields; ++k) {
        if (field[k].on_cells == on_cells) {
            put_vectors(w, field_items(w->mesh, &field[k]), field[k].components,
                        padded(field[k].components), field[k].values);
        }
    }
}

cmg_status cmgi_vtu_write(cmg_context *ctx, const char *path, const cmgi_mesh *mesh, int fields,
                          const cmgi_field *field)
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
    write_head(&w, fields, field);
    put_vectors(&w, mesh->nodes, mesh->dim, 3, mesh->x);
    put_cells(&w, (size_t)cmgi_cell_table(mesh->cell)->corners * sizeof(int32_t),
              fill_connectivity);
    put_cells(&w, sizeof(int64_t), fill_offsets);
    put_cells(&w, 1, fill_types);
    put_fields(&w, false, fields, field);
    if (mesh->cell_label != NULL) {
        put_cells(&w, sizeof(int32_t), fill_regions);
    }
    put_fields(&w, true, fields, field);
    put_text(&w, "\n</AppendedData>\n</VTKFile>\n");
    const cmg_status status =
        w.failed ? cmgi_fail(ctx, CMG_ERR_IO, "%s: cannot be written to its end: %s", path,
                             strerror(errno))
                 : CMG_OK;
    return cmgi_output_finish(&output, status);
}
