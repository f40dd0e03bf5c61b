/* Sessions, names and attributes of HDF5 files. */
#define _DEFAULT_SOURCE
#include "io/h5.h"

#include "core/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Guards the HDF5 library, not anything of ours. */
static pthread_mutex_t library = PTHREAD_MUTEX_INITIALIZER;

static herr_t refuse_other_file(const char *parent, const char *group, const char *file,
                                const char *object, unsigned *flags, hid_t access, void *user)
{
    (void)parent;
    (void)group;
    (void)file;
    (void)object;
    (void)flags;
    (void)access;
    (void)user;
    return -1;
}

static bool begin(cmg_context *ctx, const char *path, cmgi_h5 *h5)
{
    (void)pthread_mutex_lock(&library);
    *h5 = (cmgi_h5){.ctx = ctx, .path = path, .file = -1, .driver = -1, .fd = -1};
    h5->faults = &h5->fault;
    (void)H5PLget_loading_state(&h5->plugins);
    (void)H5PLset_loading_state(0); /* a file does not make other files be loaded */
    (void)H5Eget_auto2(H5E_DEFAULT, &h5->error_print, &h5->error_user);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    h5->group_access = H5Pcreate(H5P_GROUP_ACCESS);
    h5->data_access = H5Pcreate(H5P_DATASET_ACCESS);
    return h5->group_access >= 0 && h5->data_access >= 0 &&
           H5Pset_elink_cb(h5->group_access, refuse_other_file, NULL) >= 0 &&
           H5Pset_elink_cb(h5->data_access, refuse_other_file, NULL) >= 0;
}

bool cmgi_h5_close(cmgi_h5 *h5)
{
    const bool good = h5->file < 0 || H5Fclose(h5->file) >= 0;
    if (h5->driver >= 0) {
        (void)H5FDunregister(h5->driver);
    }
    cmgi_h5_release(h5->group_access);
    cmgi_h5_release(h5->data_access);
    cmgi_free(h5->ctx, h5->buffer);
    (void)H5Eclear2(H5E_DEFAULT);
    (void)H5Eset_auto2(H5E_DEFAULT, h5->error_print, h5->error_user);
    (void)H5PLset_loading_state(h5->plugins);
    (void)pthread_mutex_unlock(&library);
    return good;
}

/* The descriptor below an open file, -1 unless it is a plain one: no user block, 64-bit addresses.
 */
static int descriptor_of(hid_t file)
{
    hsize_t block = 1;
    size_t sizes[2] = {0, 0};
    int fd = -1;
    const hid_t creation = H5Fget_create_plist(file);
    const hid_t access = H5Fget_access_plist(file);
    void *handle = NULL;
    if (creation >= 0 && access >= 0 && H5Pget_userblock(creation, &block) >= 0 && block == 0 &&
        H5Pget_sizes(creation, &sizes[0], &sizes[1]) >= 0 && sizes[0] == 8 && sizes[1] == 8 &&
        H5Fget_vfd_handle(file, access, &handle) >= 0 && handle != NULL) {
        fd = *(int *)handle;
    }
    cmgi_h5_release(creation);
    cmgi_h5_release(access);
    return fd;
}

static hid_t file_access(cmgi_h5 *h5, bool writes)
{
    h5->driver = cmgi_h5_register_driver(writes);
    const hid_t access = h5->driver >= 0 ? H5Pcreate(H5P_FILE_ACCESS) : -1;
    const bool good = access >= 0 && H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0 &&
                      H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_LATEST) >= 0 &&
                      cmgi_h5_set_driver(access, h5->driver, writes, h5->faults);
    if (access >= 0 && !good) {
        cmgi_h5_release(access);
    }
    return good ? access : -1;
}

cmg_status cmgi_h5_verdict(const cmgi_h5 *h5, cmg_status status)
{
    const int error = atomic_load(&h5->faults->error);
    CMGI_CHECK(h5->ctx, error != ENOMEM, CMG_ERR_MEMORY, "%s: %s", h5->path, strerror(error));
    CMGI_CHECK(h5->ctx, error == 0, CMG_ERR_IO, "%s: %s", h5->path, strerror(error));
    CMGI_IN_FILE(h5, status != CMG_OK || !h5->faults->unknown,
                 "damaged: the names in a group, or attributes, cannot be read");
    return status;
}

/* Closes what could not be opened. */
static cmg_status give_up(cmgi_h5 *h5, cmg_status status)
{
    (void)cmgi_h5_close(h5);
    return cmgi_h5_verdict(h5, status);
}

cmg_status cmgi_h5_open(cmg_context *ctx, const char *path, cmgi_h5 *h5)
{
    struct stat facts;
    CMGI_CHECK(ctx, stat(path, &facts) == 0, CMG_ERR_IO, "%s: cannot be opened", path);
    const hid_t access = begin(ctx, path, h5) ? file_access(h5, false) : -1;
    if (access >= 0) {
        h5->file = H5Fopen(path, H5F_ACC_RDONLY, access);
        cmgi_h5_release(access);
    }
    if (h5->file < 0) {
        return give_up(h5, cmgi_fail_in(ctx, path, NULL,
                                        "not a readable HDF5 file (truncated, damaged, or open for "
                                        "writing)"));
    }
    h5->size = (cmg_size)facts.st_size;
    h5->fd = descriptor_of(h5->file);
    if (h5->fd < 0) {
        return give_up(h5, cmgi_fail_in(ctx, path, NULL,
                                        "HDF5 files with a user block or with addresses of other "
                                        "than 8 bytes are not read"));
    }
    const cmg_status status = cmgi_alloc(ctx, CMGI_H5_BUFFER, 1, &h5->buffer);
    return status == CMG_OK ? CMG_OK : give_up(h5, status);
}

cmg_status cmgi_h5_create(cmg_context *ctx, const char *path, cmgi_h5 *h5)
{
    const bool begun = begin(ctx, path, h5);
    const hid_t access = begun ? file_access(h5, true) : -1;
    const hid_t creation = begun ? H5Pcreate(H5P_FILE_CREATE) : -1;
    /* no times, and all attributes in the header, where cmgi_h5_long_text finds them */
    if (access >= 0 && creation >= 0 && H5Pset_obj_track_times(creation, false) >= 0 &&
        H5Pset_attr_phase_change(creation, 1000, 0) >= 0) {
        h5->file = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
    }
    cmgi_h5_release(access);
    cmgi_h5_release(creation);
    return h5->file >= 0 ? CMG_OK
                         : give_up(h5, cmgi_fail(ctx, CMG_ERR_IO, "%s: cannot be created", path));
}

bool cmgi_h5_exists(const cmgi_h5 *h5, const char *name)
{
    char part[CMGI_H5_NAME];
    htri_t there = 1;
    /* the library fails where a group above the object is missing: ask for them one by one */
    for (size_t n = 1; there > 0 && name[n - 1] != '\0'; ++n) {
        if (name[n] == '/' || name[n] == '\0') {
            (void)snprintf(part, sizeof part, "%.*s", (int)n, name);
            there = n < sizeof part ? H5Lexists(h5->file, part, h5->group_access) : -1;
        }
    }
    h5->faults->unknown = h5->faults->unknown || there < 0;
    return there > 0;
}

cmg_status cmgi_h5_name(const cmgi_h5 *h5, const char *group, cmg_size i, char *name, size_t room)
{
    name[0] = '\0';
    H5G_info_t info = {.nlinks = 0};
    CMGI_TRY(cmgi_h5_inspect(h5, group, false));
    const hid_t object = H5Gopen2(h5->file, group, h5->group_access);
    const bool known = object >= 0 && H5Gget_info(object, &info) >= 0;
    ssize_t length = 0;
    if (known && (hsize_t)i < info.nlinks) {
        length = H5Lget_name_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t)i, name, room,
                                    h5->group_access);
    }
    cmgi_h5_release(object);
    CMGI_IN_FILE(h5, known, "%s is not a readable group", group);
    CMGI_IN_DATA(h5, group, (hsize_t)i >= info.nlinks || (length > 0 && (size_t)length < room),
                 "name %lld is unreadable or longer than %zu bytes", (long long)i, room - 1);
    return CMG_OK;
}
