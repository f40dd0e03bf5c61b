/* Binary gmsh files made byte by byte: both versions, both byte orders, cut off and damaged. */
#include "fem/mesh.h"
#include "generated.h"
#include "temporary.h"

/* Bytes of numbers in either order. */
typedef struct bytes {
    char data[4096];
    size_t size;
    bool swap;
} bytes;

static void add(bytes *b, const void *value, size_t size)
{
    for (size_t k = 0; k < size; ++k) {
        b->data[b->size + k] = ((const char *)value)[b->swap ? size - 1 - k : k];
    }
    b->size += size;
}

static void add_int(bytes *b, int32_t value)
{
    add(b, &value, sizeof value);
}

static void add_size(bytes *b, int64_t value)
{
    add(b, &value, sizeof value);
}

static void add_text(bytes *b, const char *text)
{
    memcpy(b->data + b->size, text, strlen(text));
    b->size += strlen(text);
}

static const double places[6][3] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0},
                                    {0, 1, 0}, {1, 1, 0}, {2, 1, 0}};
static const int quads[2][4] = {{10, 20, 50, 40}, {20, 30, 60, 50}};

/* Two quads of region 6 (entity 1) and a line of group 4 (entity 2), version 2.2. */
static void make_binary_2(bytes *b)
{
    add_text(b, "$MeshFormat\n2.2 1 8\n");
    add_int(b, 1);
    add_text(b, "\n$EndMeshFormat\n$PhysicalNames\n1\n1 4 \"in flow\"\n$EndPhysicalNames\n");
    add_text(b, "$Nodes\n6\n");
    for (int v = 0; v < 6; ++v) {
        add_int(b, 10 * (v + 1));
        for (int d = 0; d < 3; ++d) {
            add(b, &places[v][d], sizeof(double));
        }
    }
    add_text(b, "\n$EndNodes\n$Elements\n3\n");
    const int line[8] = {1, 1, 2, 1, 4, 2, 40, 10};
    for (int k = 0; k < 8; ++k) {
        add_int(b, line[k]);
    }
    add_int(b, 3);
    add_int(b, 2);
    add_int(b, 2);
    for (int c = 0; c < 2; ++c) {
        add_int(b, 2 + c);
        add_int(b, 6);
        add_int(b, 1);
        for (int k = 0; k < 4; ++k) {
            add_int(b, quads[c][k]);
        }
    }
    add_text(b, "\n$EndElements\n");
}

static void add_entity(bytes *b, int dim, int tag, int group)
{
    const double zero = 0;
    add_int(b, tag);
    for (int k = 0; k < (dim == 0 ? 3 : 6); ++k) {
        add(b, &zero, sizeof zero);
    }
    add_size(b, 1);
    add_int(b, group);
    if (dim > 0) {
        add_size(b, 1);
        add_int(b, -tag);
    }
}

/* The same in version 4.1, with parametric nodes. */
static void make_binary_4(bytes *b)
{
    const double parameter = 0.5;
    add_text(b, "$MeshFormat\n4.1 1 8\n");
    add_int(b, 1);
    add_text(b, "\n$EndMeshFormat\n$PhysicalNames\n1\n1 4 \"in flow\"\n$EndPhysicalNames\n");
    add_text(b, "$Entities\n");
    const int counts[4] = {0, 1, 1, 0};
    for (int d = 0; d < 4; ++d) {
        add_size(b, counts[d]);
    }
    add_entity(b, 1, 2, 4);
    add_entity(b, 2, 1, 6);
    add_text(b, "\n$EndEntities\n$Nodes\n");
    const int head[4] = {1, 6, 10, 60};
    for (int k = 0; k < 4; ++k) {
        add_size(b, head[k]);
    }
    add_int(b, 2);
    add_int(b, 1);
    add_int(b, 1);
    add_size(b, 6);
    for (int v = 0; v < 6; ++v) {
        add_size(b, 10 * (v + 1));
    }
    for (int v = 0; v < 6; ++v) {
        for (int d = 0; d < 3; ++d) {
            add(b, &places[v][d], sizeof(double));
        }
        add(b, &parameter, sizeof parameter);
        add(b, &parameter, sizeof parameter);
    }
    add_text(b, "\n$EndNodes\n$Elements\n");
    const int elements[4] = {2, 3, 1, 3};
    for (int k = 0; k < 4; ++k) {
        add_size(b, elements[k]);
    }
    const int blocks[2][3] = {{1, 2, 1}, {2, 1, 3}};
    for (int block = 0; block < 2; ++block) {
        for (int k = 0; k < 3; ++k) {
            add_int(b, blocks[block][k]);
        }
        add_size(b, block + 1);
        for (int c = 0; c <= block; ++c) {
            add_size(b, 1 + block + c);
            for (int k = 0; k < (block == 0 ? 2 : 4); ++k) {
                add_size(b, block == 0 ? 40 - 30 * k : quads[c][k]);
            }
        }
    }
    add_text(b, "\n$EndElements\n");
}

/* Cut off or changed anywhere, a binary file gives a status and whole meshes only. */
static void damage_binary(const bytes *good_bytes, size_t first)
{
    const char *path = temporary("damaged.msh");
    for (size_t at = first; at < good_bytes->size; at += 4) {
        static bytes bad;
        scoped_mesh *mesh = NULL;
        put_file(path, good_bytes->data, at);
        const cmg_status status = cmgi_mesh_read(ctx, path, &mesh);
        CHECK(status != CMG_OK || at + 1 >= good_bytes->size);
        CHECK((status == CMG_OK) == (mesh != NULL));
        cmgi_mesh_destroy(&mesh);
        bad = *good_bytes;
        bad.data[at] = (char)(bad.data[at] ^ (at / 4 % 2 == 0 ? 0x80 : 0x11));
        put_file(path, bad.data, bad.size);
        if (cmgi_mesh_read(ctx, path, &mesh) == CMG_OK) {
            CHECK_OK(cmgi_mesh_check(mesh, NULL));
        }
    }
    remove_all(path);
}

TEST(binary_files_are_read_in_either_order)
{
    for (int c = 0; c < 4; ++c) {
        static bytes b;
        const char *path = temporary("binary.msh");
        scoped_mesh *mesh = NULL;
        b = (bytes){.swap = c % 2 == 1};
        (c < 2 ? make_binary_2 : make_binary_4)(&b);
        put_file(path, b.data, b.size);
        CHECK_OK(cmgi_mesh_read(ctx, path, &mesh));
        remove_all(path);
        if (mesh == NULL) {
            continue;
        }
        CHECK(mesh->nodes == 6 && mesh->cells == 2 && mesh->facets == 6);
        CHECK(memcmp(mesh->x + 2, &places[1][0], 2 * sizeof(double)) == 0);
        const cmg_index in = cmgi_mesh_find_label(mesh, "in flow");
        CHECK(in > 0 && mesh->label[in].count == 1 && mesh->label[in].tag == 4);
        CHECK(mesh->regions == 2 && mesh->region[1].tag == 6 && mesh->region[1].count == 2);
        damage_binary(&b, (size_t)c);
    }
}
