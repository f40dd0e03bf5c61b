/* Elements of gmsh: their types, in all versions of the file, and their nodes. */
#include "fem/read_raw.h"

static const struct {
    unsigned char type;
    unsigned char kind;
    unsigned char nodes;
} types[] = {
    {1, CMGI_RAW_LINE, 2},      {2, CMGI_RAW_TRI, 3},       {3, CMGI_RAW_QUAD, 4},
    {4, CMGI_RAW_TET, 4},       {5, CMGI_RAW_HEX, 8},       {6, CMGI_RAW_PRISM, 6},
    {7, CMGI_RAW_PYRAMID, 5},   {8, CMGI_RAW_LINE, 3},      {9, CMGI_RAW_TRI, 6},
    {10, CMGI_RAW_QUAD, 9},     {11, CMGI_RAW_TET, 10},     {12, CMGI_RAW_HEX, 27},
    {13, CMGI_RAW_PRISM, 18},   {14, CMGI_RAW_PYRAMID, 14}, {15, CMGI_RAW_POINT, 1},
    {16, CMGI_RAW_QUAD, 8},     {17, CMGI_RAW_HEX, 20},     {18, CMGI_RAW_PRISM, 15},
    {19, CMGI_RAW_PYRAMID, 13}, {20, CMGI_RAW_TRI, 9},      {21, CMGI_RAW_TRI, 10},
    {22, CMGI_RAW_TRI, 12},     {23, CMGI_RAW_TRI, 15},     {24, CMGI_RAW_TRI, 15},
    {25, CMGI_RAW_TRI, 21},     {26, CMGI_RAW_LINE, 4},     {27, CMGI_RAW_LINE, 5},
    {28, CMGI_RAW_LINE, 6},     {29, CMGI_RAW_TET, 20},     {30, CMGI_RAW_TET, 35},
    {31, CMGI_RAW_TET, 56},     {36, CMGI_RAW_QUAD, 16},    {37, CMGI_RAW_QUAD, 25},
    {38, CMGI_RAW_QUAD, 36},    {92, CMGI_RAW_HEX, 64},     {93, CMGI_RAW_HEX, 125},
};

int cmgi_gmsh_type(cmg_size type, cmgi_raw_kind *kind)
{
    for (size_t k = 0; k < sizeof types / sizeof types[0]; ++k) {
        if (types[k].type == type) {
            *kind = (cmgi_raw_kind)types[k].kind;
            return types[k].nodes;
        }
    }
    return 0;
}

cmg_status cmgi_gmsh_corners(cmgi_text *t, cmgi_raw *raw, int nodes, bool wide,
                             cmgi_raw_element *element)
{
    const int corners = cmgi_raw_corners(element->kind);
    for (int k = 0; k < nodes; ++k) {
        cmg_size node = 0;
        CMGI_TRY(wide ? cmgi_text_size(t, "a node number", 1, INT32_MAX, &node)
                      : cmgi_text_int(t, "a node number", 1, INT32_MAX, &node));
        if (k < corners) {
            element->node[k] = (cmg_index)node;
        }
    }
    raw->curved += nodes > corners;
    return CMG_OK;
}
