/*
 * Element data of a level: the matrices of its cells, as templates with a factor a cell where few
 * differ by more than that. Rows of fixed nodes have no elements, which makes them rows of the
 * identity.
 */
#pragma once
#include "csr/elements.h"
#include "fem/space.h"

/* Without `own`, *E stays empty where templates do not do. CMG_ERR_UNSUPPORTED with kept columns.
 */
cmg_status cmgi_fem_elements(const cmgi_space *space, const cmgi_cell_form *form, bool own,
                             cmgi_elements *E);
