/* Files that a fuzz target hands to the readers without a disk: `input`, or `input/NAME` of
 * several. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_FILE "input"

enum { MOST_MEMORY_FILES = 12 };

/* `input` is a file with these bytes, which are borrowed. */
void memory_file_set(const uint8_t *data, size_t size);
/*
 * `input` is a directory: a file a record, which begins with its name and a line end; records end
 * with byte 30. Names with a slash and records beyond MOST_MEMORY_FILES are left out.
 */
void memory_folder_set(const uint8_t *data, size_t size);
/* True when a file or the directory is still open. */
bool memory_files_open(void);
