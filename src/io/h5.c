/* Sessions, names and attributes of HDF5 files. */
#define _DEFAULT_SOURCE
#include "io/h5.h"

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
    *h5 = (cmgi_h5){.ctx = ctx, .path = path, .file = -1, .fd = -1};
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
    if (h5->group_access >= 0) {
        (void)H5Pclose(h5->group_access);
    }
    if (h5->data_access >= 0) {
        (void)H5Pclose(h5->data_access);
    }
    (void)H5Eclear2(H5E_DEFAULT);
    (void)H5Eset_auto2(H5E_DEFAULT, h5->error_print, h5->error_user);
    (void)pthread_mutex_unlock(&library);
    return good;
}

/* The descriptor below an open file, -1 unless it is a plain one without a user block. */
static int descriptor_of(hid_t file)
{
    hsize_t block = 1;
    int fd = -1;
    const hid_t creation = H5Fget_create_plist(file);
    const hid_t access = H5Fget_access_plist(file);
    void *handle = NULL;
    if (creation >= 0 && access >= 0 && H5Pget_userblock(creation, &block) >= 0 && block == 0 &&
        H5Pget_driver(access) == H5FD_SEC2 && H5Fget_vfd_handle(file, access, &handle) >= 0 &&
        handle != NULL) {
        fd = *(int *)handle;
    }
    if (creation >= 0) {
        (void)H5Pclose(creation);
    }
    if (access >= 0) {
        (void)H5Pclose(access);
    }
    return fd;
}

static hid_t file_access(void)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access >= 0 &&
        (H5Pset_fapl_sec2(access) < 0 || H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) < 0 ||
         H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_LATEST) < 0)) {
        (void)H5Pclose(access);
        return -1;
    }
    return access;
}

cmg_status cmgi_h5_open(cmg_context *ctx, const char *path, cmgi_h5 *h5)
{
    struct stat facts;
    CMGI_CHECK(ctx, stat(path, &facts) == 0, CMG_ERR_IO, "%s: cannot be opened", path);
    const bool begun = begin(ctx, path, h5);
    const hid_t access = begun ? file_access() : -1;
    if (access >= 0) {
        h5->file = H5Fopen(path, H5F_ACC_RDONLY, access);
        (void)H5Pclose(access);
    }
    if (h5->file < 0) {
        (void)cmgi_h5_close(h5);
        return cmgi_fail(ctx, CMG_ERR_FILE,
                         "%s: not a readable HDF5 file (truncated, damaged, or open for writing)",
                         path);
    }
    h5->size = (cmg_size)facts.st_size;
    h5->fd = descriptor_of(h5->file);
    return CMG_OK;
}

cmg_status cmgi_h5_create(cmg_context *ctx, const char *path, cmgi_h5 *h5)
{
    const bool begun = begin(ctx, path, h5);
    const hid_t access = begun ? file_access() : -1;
    const hid_t creation = begun ? H5Pcreate(H5P_FILE_CREATE) : -1;
    /* no times, and all attributes in the header, where cmgi_h5_long_text finds them */
    if (access >= 0 && creation >= 0 && H5Pset_obj_track_times(creation, false) >= 0 &&
        H5Pset_attr_phase_change(creation, 1000, 0) >= 0) {
        h5->file = H5Fcreate(path, H5F_ACC_EXCL, creation, access);
    }
    if (access >= 0) {
        (void)H5Pclose(access);
    }
    if (creation >= 0) {
        (void)H5Pclose(creation);
    }
    if (h5->file < 0) {
        (void)cmgi_h5_close(h5);
        return cmgi_fail(ctx, CMG_ERR_IO, "%s: cannot be created", path);
    }
    return CMG_OK;
}

bool cmgi_h5_exists(const cmgi_h5 *h5, const char *name)
{
    return H5Lexists(h5->file, name, h5->group_access) > 0;
}

cmg_status cmgi_h5_name(const cmgi_h5 *h5, const char *group, cmg_size i, char *name, size_t room)
{
    name[0] = '\0';
    H5G_info_t info;
    CMGI_CHECK(h5->ctx, H5Gget_info_by_name(h5->file, group, &info, h5->group_access) >= 0,
               CMG_ERR_FILE, "%s: %s is not a group", h5->path, group);
    if ((hsize_t)i >= info.nlinks) {
        return CMG_OK;
    }
    const ssize_t length = H5Lget_name_by_idx(h5->file, group, H5_INDEX_NAME, H5_ITER_INC,
                                              (hsize_t)i, name, room, h5->group_access);
    CMGI_CHECK(h5->ctx, length > 0 && (size_t)length < room, CMG_ERR_FILE,
               "%s: %s: name %lld is unreadable or longer than %zu bytes", h5->path, group,
               (long long)i, room - 1);
    return CMG_OK;
}

/* ------------------------------------------------------------------ attributes */

/* Number of elements, 0 when it is not a plain array. */
static hssize_t attribute_count(hid_t attribute)
{
    const hid_t space = H5Aget_space(attribute);
    if (space < 0) {
        return 0;
    }
    const H5S_class_t class = H5Sget_simple_extent_type(space);
    const hssize_t count =
        class == H5S_SCALAR || class == H5S_SIMPLE ? H5Sget_simple_extent_npoints(space) : 0;
    (void)H5Sclose(space);
    return count;
}

static bool read_string(hid_t attribute, hid_t type, char *text, size_t room)
{
    const size_t size = H5Tget_size(type);
    if (size == 0 || size >= room || H5Aread(attribute, type, text) < 0) {
        return false;
    }
    text[size] = '\0';
    for (size_t n = strlen(text);
         H5Tget_strpad(type) == H5T_STR_SPACEPAD && n > 0 && text[n - 1] == ' '; --n) {
        text[n - 1] = '\0';
    }
    return true;
}

static bool read_number(hid_t attribute, H5T_class_t class, size_t size, char *text, size_t room)
{
    long long integer = 0;
    double real = 0;
    signed char flag = 0;
    if (class == H5T_INTEGER && H5Aread(attribute, H5T_NATIVE_LLONG, &integer) >= 0) {
        (void)snprintf(text, room, "%lld", integer);
        return true;
    }
    if (class == H5T_FLOAT && H5Aread(attribute, H5T_NATIVE_DOUBLE, &real) >= 0) {
        (void)snprintf(text, room, "%.17g", real);
        return true;
    }
    if (class != H5T_ENUM ||
        size != 1) { /* an enumeration of one byte is how h5py stores a boolean */
        return false;
    }
    const hid_t type = H5Aget_type(attribute);
    const bool good = type >= 0 && H5Aread(attribute, type, &flag) >= 0;
    if (type >= 0) {
        (void)H5Tclose(type);
    }
    (void)snprintf(text, room, "%d", flag);
    return good;
}

bool cmgi_h5_attribute_text(const cmgi_h5 *h5, hid_t object, const char *name, char *text,
                            size_t room)
{
    if (H5Aexists(object, name) <= 0) {
        return false;
    }
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    const hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    bool good = false;
    if (type >= 0 && attribute_count(attribute) == 1) {
        const H5T_class_t class = H5Tget_class(type);
        if (class != H5T_STRING) {
            good = read_number(attribute, class, H5Tget_size(type), text, room);
        } else if (H5Tis_variable_str(type) > 0) {
            good = cmgi_h5_long_text(h5, object, name, text, room);
        } else {
            good = read_string(attribute, type, text, room);
        }
    }
    if (type >= 0) {
        (void)H5Tclose(type);
    }
    if (attribute >= 0) {
        (void)H5Aclose(attribute);
    }
    return good;
}

bool cmgi_h5_attribute_ints(hid_t object, const char *name, int count, int64_t *values)
{
    if (H5Aexists(object, name) <= 0) {
        return false;
    }
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    const hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    const bool good = type >= 0 && H5Tget_class(type) == H5T_INTEGER &&
                      attribute_count(attribute) == count &&
                      H5Aread(attribute, H5T_NATIVE_INT64, values) >= 0;
    if (type >= 0) {
        (void)H5Tclose(type);
    }
    if (attribute >= 0) {
        (void)H5Aclose(attribute);
    }
    return good;
}
