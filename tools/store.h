/* Containers that are changed in place, and how a hierarchy is written. */
#pragma once
#include "cmg.h"

/* Whether a file of this name is written as a container unless something else is asked for. */
bool names_container(const char *path);
/*
 * Nobody else may work on the container in place meanwhile, or one result would be lost. The one
 * who had the lock before may have put another file under the name. *lock is for unlock_container,
 * -1 where there is none.
 */
int lock_container(const char *path, int *lock);
void unlock_container(int lock);
/* Writes the hierarchy; an interrupt leaves the old file and no other. */
cmg_status hierarchy_store(const cmg_hierarchy *h, const char *path);
