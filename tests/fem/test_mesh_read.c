/* Mesh files: the shared ones read, checked and refined; malformed ones refused with line and
 * reason. */
#include "fem/mesh.h"
#include "meshes.h"
#include "temporary.h"

#include <dirent.h>

static void check_refinement(const cmgi_mesh *mesh)
{
    const int children = 1 << mesh->dim;
    scoped_mesh *fine = NULL;
    cmgi_mesh_report before;
    cmgi_mesh_report after;
    CHECK_OK(cmgi_mesh_check(mesh, &before));
    CHECK_OK(cmgi_mesh_refine(mesh, NULL, &fine));
    CHECK_OK(cmgi_mesh_check(fine, &after));
    CHECK_NEAR(after.volume, before.volume, 1e-12 * before.volume);
    CHECK(fine->cells == mesh->cells * children);
    CHECK(fine->facets == mesh->facets * children / 2);
    CHECK(euler(fine) == euler(mesh));
}

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name);
    const size_t m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* Not gmsh or MFEM for all their endings, or of several cell types. */
static bool is_foreign(const char *name)
{
    static const char *const foreign[] = {"freefem_lac-leman-v4.msh", "hermes_cylinder5.mesh",
                                          "mfem_square-mixed.mesh"};
    for (size_t k = 0; k < sizeof foreign / sizeof foreign[0]; ++k) {
        if (strcmp(name, foreign[k]) == 0) {
            return true;
        }
    }
    return false;
}

TEST(shared_meshes_are_read)
{
    NEEDS(test_shared_data() != NULL, "the shared meshes are not here");
    char path[2048];
    (void)snprintf(path, sizeof path, "%s/meshes", test_shared_data());
    DIR *dir = opendir(path);
    int read = 0;
    for (struct dirent *entry = dir != NULL ? readdir(dir) : NULL; entry != NULL;
         entry = readdir(dir)) {
        const char *name = entry->d_name;
        if (!ends_with(name, ".msh") && !ends_with(name, ".mesh")) {
            continue;
        }
        scoped_mesh *mesh = NULL;
        (void)snprintf(path, sizeof path, "%s/meshes/%s", test_shared_data(), name);
        if (is_foreign(name)) {
            CHECK_STATUS(cmgi_mesh_read(ctx, path, &mesh), CMG_ERR_UNSUPPORTED);
            CHECK(mesh == NULL && strstr(cmg_context_message(ctx), name) != NULL);
            continue;
        }
        CHECK_OK(cmgi_mesh_read(ctx, path, &mesh));
        if (mesh != NULL) {
            check_refinement(mesh);
            ++read;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    CHECK(read >= 20);
}

/* What is known of some files from their own comments and sections. */
TEST(shared_meshes_have_their_labels)
{
    static const struct {
        const char *name;
        cmgi_cell cell;
        cmg_size nodes;
        cmg_size cells;
        const char *label;
        cmg_size count;
    } known[] = {
        {"paranumal_cubeHex.msh", CMGI_HEX, 343, 216, "Inflow", 216},
        {"paranumal_squareQuad.msh", CMGI_QUAD, 121, 100, "Inflow", 40},
        {"mfem_fichera-q2.mesh", CMGI_HEX, 26, 7, "1", 1},
        {"mfem_star-q2.mesh", CMGI_QUAD, 31, 20, "1", 20},
        {"mfem_l-shape.mesh", CMGI_QUAD, 8, 3, "1", 8},
        {"mfem_beam-tet.mesh", CMGI_TET, 36, 48, "1", 2},
    };
    NEEDS(test_shared_data() != NULL, "the shared meshes are not here");
    for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k) {
        scoped_mesh *mesh = NULL;
        const char *path = sprint("%s/meshes/%s", test_shared_data(), known[k].name);
        CHECK_OK(cmgi_mesh_read(ctx, path, &mesh));
        if (mesh == NULL) {
            continue;
        }
        CHECK(mesh->cell == known[k].cell && mesh->nodes == known[k].nodes &&
              mesh->cells == known[k].cells);
        const cmg_index label =
            known[k].label != NULL ? cmgi_mesh_find_label(mesh, known[k].label) : -1;
        CHECK((label < 0) == (known[k].label == NULL));
        if (label >= 0) {
            CHECK(mesh->label[label].count == known[k].count);
        }
        CHECK((strstr(mesh->note, "higher order") != NULL) ==
              (strstr(known[k].name, "q2") != NULL));
    }
}

#define GMSH "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
#define SQUARE_NODES "$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n$EndNodes\n"

typedef struct malformed {
    const char *text;
    cmg_status status;
    const char *reason; /* part of the message: line and what is wrong */
} malformed;

static const malformed gmsh_cases[] = {
    {"", CMG_ERR_UNSUPPORTED, ":1: begins with"},
    {"$MeshFormat\n1.0 0 8\n", CMG_ERR_UNSUPPORTED, ":2: gmsh version 1"},
    {"$MeshFormat\n4.0 0 8\n", CMG_ERR_UNSUPPORTED, ":2: gmsh version 4"},
    {"$MeshFormat\n2.2 0 4\n", CMG_ERR_FILE, ":2: the size of numbers is 4"},
    {"$MeshFormat\n2.2 0 8\n$Nodes\n", CMG_ERR_FILE, ":3: '$Nodes' where $EndMeshFormat"},
    {GMSH, CMG_ERR_FILE, "ends without $Nodes"},
    {GMSH "$Nodes\n4\n1 0 0 0\n", CMG_ERR_FILE, ":5: the number of nodes is 4, not in"},
    {GMSH "$Nodes\n2\n1 0 0 0.000000000000\n", CMG_ERR_FILE, ":7: '' where a node number"},
    {GMSH "$Nodes\n1\n1 0 0 0 7\n$EndNodes\n", CMG_ERR_FILE, ":6: '7' is left over"},
    {GMSH "$Nodes\n1\n1 0 x 0\n$EndNodes\n", CMG_ERR_FILE, ":6: 'x' where a coordinate"},
    {GMSH "$Nodes\n1\n1 0 nan 0\n$EndNodes\n", CMG_ERR_FILE, ":6: a coordinate is not a finite"},
    {GMSH "$Nodes\n99999999\n1 0 0 0\n$EndNodes\n", CMG_ERR_FILE, ":5: the number of nodes is 99"},
    {GMSH "$Nodes\n-1\n$EndNodes\n", CMG_ERR_FILE, ":5: the number of nodes is -1"},
    {GMSH "$Other\n1 2 3\n", CMG_ERR_FILE, "ends before $EndOther"},
    {GMSH SQUARE_NODES "$Elements\n1\n1 3 0 1 2 3 9\n$EndElements\n", CMG_ERR_FILE,
     ":13: quadrilateral with node 9"},
    {GMSH SQUARE_NODES "$Elements\n1\n1 77 0 1 2 3 4\n$EndElements\n", CMG_ERR_UNSUPPORTED,
     ":13: element type 77"},
    {GMSH SQUARE_NODES "$Elements\n2\n1 3 0 1 2 3 4\n$EndElements\n", CMG_ERR_FILE,
     ":14: '$EndElements' where an element number"},
    {GMSH SQUARE_NODES "$Elements\n1\n1 1 0 1 2\n$EndElements\n", CMG_ERR_FILE,
     "no cells of dimension 2 or 3"},
    {GMSH SQUARE_NODES "$Elements\n2\n1 3 0 1 2 3 4\n2 2 0 1 2 3\n$EndElements\n",
     CMG_ERR_UNSUPPORTED, "a mixed mesh"},
    {GMSH SQUARE_NODES "$Elements\n1\n1 3 0 1 3 2 4\n$EndElements\n", CMG_ERR_SHAPE,
     ":13: cell 0 (quad) is inverted: determinant -1"},
    {GMSH SQUARE_NODES "$Elements\n1\n1 3 0 1 2 3 3\n$EndElements\n", CMG_ERR_SHAPE,
     ":13: cell 0 is degenerate: it has node 3 twice"},
    {GMSH SQUARE_NODES "$Elements\n2\n1 3 0 1 1 1 1\n2 3 0 1 1 1 1\n$EndElements\n", CMG_ERR_SHAPE,
     ":13: cell 0 is degenerate: it has node 1 twice"},
    {GMSH SQUARE_NODES "$Elements\n2\n1 4 0 1 2 3 4\n2 4 0 2 4 4 2\n$EndElements\n", CMG_ERR_SHAPE,
     ":14: cell 1 is degenerate: it has node 4 twice"},
    {GMSH SQUARE_NODES "$Elements\n1\n1 5 0 1 2 3 4 1 2 3 4\n$EndElements\n", CMG_ERR_SHAPE,
     ":13: cell 0 is degenerate: it has node 1 twice"},
    {"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 3 7 9\n2 1 0 3\n7\n8\n9\n0 0 0\n1 0 0\n"
     "0 1 0\n$EndNodes\n$Elements\n1 2 1 2\n2 1 2 2\n1 7 8 9\n2 8 8 8\n$EndElements\n",
     CMG_ERR_SHAPE, ":18: cell 1 is degenerate: it has node 8 twice"},
    {GMSH "$Nodes\n3\n1 0 0 0\n2 1 0 0\n3 2 0 0\n$EndNodes\n$Elements\n1\n1 2 0 1 2 "
          "3\n$EndElements\n",
     CMG_ERR_SHAPE, ":12: cell 0 (tri) is degenerate: determinant 0"},
    {GMSH SQUARE_NODES "$Elements\n2\n1 2 0 1 2 3\n2 2 0 1 2 4\n$EndElements\n", CMG_ERR_SHAPE,
     "cells 0 and 1 overlap"},
    {GMSH "$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 1 1 5\n4 0 1 0\n$EndNodes\n$Elements\n1\n1 3 0 1 2 3 "
          "4\n$EndElements\n",
     CMG_ERR_UNSUPPORTED, "a surface in space"},
    {GMSH "$Nodes\n2\n7 0 0 0\n7 1 0 0\n$EndNodes\n$Elements\n1\n1 1 0 7 7\n$EndElements\n",
     CMG_ERR_FILE, "node number 7 is given twice"},
    /* two triangles that touch along x = 1 with nodes of their own */
    {GMSH "$Nodes\n6\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 1 0 0\n5 2 0 0\n6 1 1 0\n$EndNodes\n$Elements\n"
          "2\n1 2 0 1 2 3\n2 2 0 4 5 6\n$EndElements\n",
     CMG_ERR_SHAPE, "nodes 1 and 3 are at one place; 2 duplicate nodes"},
    /* a long side against two short ones */
    {GMSH "$Nodes\n6\n1 0 0 0\n2 1 0 0\n3 1 2 0\n4 2 0 0\n5 2 2 0\n6 1 1 0\n$EndNodes\n$Elements\n"
          "3\n1 2 0 1 2 3\n2 2 0 2 4 6\n3 2 0 6 5 3\n$EndElements\n",
     CMG_ERR_SHAPE, "node 5 hangs in the side from node 1 to node 2"},
    {GMSH "$PhysicalNames\n1\n1 2 left\n$EndPhysicalNames\n", CMG_ERR_FILE,
     ":6: group 2 has no name in quotes"},
};

static const malformed other_cases[] = {
    {"MFEM mesh v1.9\n", CMG_ERR_UNSUPPORTED, ":1: MFEM mesh v1.9"},
    {"MFEM mesh v1.0\n# note\nsize\n", CMG_ERR_FILE, ":3: 'size' where a section"},
    {"MFEM mesh v1.0\ndimension\n1\n", CMG_ERR_FILE, ":3: the dimension is 1"},
    {"MFEM mesh v1.0\nelements\n1\n1 9 0 1 2\n", CMG_ERR_FILE, ":4: a geometry type is 9"},
    {"MFEM mesh v1.0\nelements\n1\n1 2 0 1 2 3\n", CMG_ERR_FILE, ":4: '3' is left over"},
    {"MFEM mesh v1.0\nelements\n1\n1 2 0 1 2\nvertices\n3\n2\n0 0\n1 0\n", CMG_ERR_FILE,
     "'' where a coordinate"},
    {"MFEM mesh v1.0\nelements\n1\n1 2 0 1 2\n", CMG_ERR_FILE, "ends without vertices"},
    {"MFEM mesh v1.0\nelements\n1\n1 2 0 1 1\nvertices\n2\n2\n0 0\n1 0\n", CMG_ERR_SHAPE,
     ":4: cell 0 is degenerate: it has node 1 twice"},
    {"MFEM mesh v1.0\nelements\n1\n1 2 0 1 2\nvertices\n3\nnodes\nFiniteElementSpace\n"
     "FiniteElementCollection: L2_T1_2D_P1\nVDim: 2\nOrdering: 1\n0 0 1 0 0 1\n",
     CMG_ERR_UNSUPPORTED, ":9: nodes in the space L2_T1_2D_P1"},
    {"MFEM mesh v1.0\nelements\n1\n1 2 0 1 2\nvertices\n3\nnodes\nFiniteElementSpace\n"
     "FiniteElementCollection: H1_2D_P2\nVDim: 2\nOrdering: 1\n0 0 1 0\n",
     CMG_ERR_FILE, "4 coordinates for 3 vertices"},
    {"# vtk DataFile Version 3.0\nt\nASCII\n", CMG_ERR_UNSUPPORTED,
     ":1: begins with '#': neither gmsh"},
    {"4 2 0 0\n1 0 0\n", CMG_ERR_UNSUPPORTED, "cascademg.read_mesh(file)"},
};

static void check_malformed(const malformed *cases, size_t count)
{
    for (size_t k = 0; k < count; ++k) {
        const char *path = put_text("mesh.msh", cases[k].text);
        scoped_mesh *mesh = NULL;
        CHECK_STATUS(cmgi_mesh_read(ctx, path, &mesh), cases[k].status);
        const char *message = cmg_context_message(ctx);
        CHECK(strncmp(message, path, strlen(path)) == 0);
        CHECK_SAY(strstr(message, cases[k].reason) != NULL, "got '%s' instead of '%s'", message,
                  cases[k].reason);
        CHECK(mesh == NULL);
    }
}

TEST(malformed_files_are_refused)
{
    check_malformed(gmsh_cases, sizeof gmsh_cases / sizeof gmsh_cases[0]);
    check_malformed(other_cases, sizeof other_cases / sizeof other_cases[0]);
    cmgi_mesh *mesh = NULL;
    CHECK_STATUS(cmgi_mesh_read(ctx, "/nonexistent/mesh.msh", &mesh), CMG_ERR_IO);
}

static const char good[] =
    GMSH "$PhysicalNames\n2\n1 4 \"in flow\"\n2 6 \"steel\"\n$EndPhysicalNames\n"
         "$Nodes\n7\n10 0 0 0\n20 1 0 0\n30 2 0 0\n40 0 1 0\n50 1 1 0\n60 2 1 0\n70 9 9 "
         "9\n$EndNodes\n$Comments\nanything\n$EndComments\n"
         "$Elements\n6\n1 15 2 1 1 10\n2 1 2 4 1 10 40\n3 1 2 5 1 20 50\n4 1 2 3 1 30 20\n"
         "5 3 2 6 1 10 20 50 40\n6 3 2 7 1 20 50 60 30\n$EndElements\n";

/* Every byte cut off: never a crash, never a half-read mesh; every byte changed: checked meshes
 * only. */
TEST(damaged_files_do_no_harm)
{
    static char text[sizeof good];
    for (size_t cut = 0; cut < sizeof good - 1; ++cut) {
        scoped_mesh *mesh = NULL;
        memcpy(text, good, sizeof good);
        text[cut] = 0;
        const char *path = put_text("mesh.msh", text);
        const cmg_status status = cmgi_mesh_read(ctx, path, &mesh);
        CHECK(status != CMG_OK || cut >= sizeof good - 2);
        CHECK((status == CMG_OK) == (mesh != NULL));
        cmgi_mesh_destroy(&mesh);
        memcpy(text, good, sizeof good);
        text[cut] = text[cut] == '7' ? '-' : '7';
        put_file(path, text, strlen(text));
        if (cmgi_mesh_read(ctx, path, &mesh) == CMG_OK) {
            CHECK_OK(cmgi_mesh_check(mesh, NULL));
        }
    }
}

static cmgi_mesh *read_good(void)
{
    cmgi_mesh *mesh = NULL;
    CHECK_OK(cmgi_mesh_read(ctx, put_text("mesh.msh", good), &mesh));
    return mesh;
}

TEST(labels_and_regions_are_kept)
{
    scoped_mesh *mesh = read_good();
    if (mesh == NULL) {
        return;
    }
    CHECK(mesh->nodes == 6 && mesh->cells == 2 && mesh->facets == 6);
    const cmg_index in = cmgi_mesh_find_label(mesh, "in flow");
    CHECK(in > 0 && mesh->label[in].tag == 4 && mesh->label[in].count == 1);
    CHECK(cmgi_mesh_find_label(mesh, "4") == in);
    CHECK(mesh->label[cmgi_mesh_find_label(mesh, "3")].count == 1);
    CHECK(mesh->label[cmgi_mesh_find_label(mesh, "5")].count == 0);
    CHECK(mesh->regions == 3 && mesh->cell_label[0] == 1 && mesh->cell_label[1] == 2);
    CHECK(strcmp(mesh->region[1].name, "steel") == 0 && strcmp(mesh->region[2].name, "7") == 0);
    CHECK(strstr(mesh->note, "1 cells were numbered the other way round") != NULL);
    CHECK(strstr(mesh->note, "1 labelled facets are not on the boundary") != NULL);
    CHECK(strstr(mesh->note, "1 nodes belong to no cell") != NULL);
    scoped_mesh *fine = NULL;
    CHECK_OK(cmgi_mesh_refine(mesh, NULL, &fine));
    CHECK(cmgi_mesh_find_label(fine, "in flow") == in && fine->label[in].count == 2);
    CHECK(fine->region[1].count == 4 && fine->cell_label[3] == 1 && fine->cell_label[4] == 2);
}

TEST(every_allocation_may_fail)
{
    const char *path = put_text("mesh.msh", good);
    for (failing f = {.most = 200}; failing_next(&f);) {
        scoped_mesh *mesh = NULL;
        failing_done(&f, cmgi_mesh_read(ctx, path, &mesh));
    }
}

TEST(vtu_that_cannot_be_written_is_an_error)
{
    scoped_mesh *mesh = read_good();
    if (mesh == NULL) {
        return;
    }
    const cmg_fem_field wrong = {"u", 0, false, mesh->x};
    CHECK_STATUS(cmgi_vtu_write(ctx, "/nonexistent/a.vtu", mesh, 0, NULL), CMG_ERR_IO);
    CHECK_STATUS(cmgi_vtu_write(ctx, temporary("a.vtu"), mesh, 1, &wrong), CMG_ERR_ARG);
}

AFTER_TESTS
{
    remove_all(temporary("mesh.msh"));
}
