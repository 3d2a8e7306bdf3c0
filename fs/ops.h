// The handlers by family. Each decodes, calls what knows no libfuse, and answers: reads at once,
// changes by the completion that they hand over. ops.cc puts them into the one table.
#pragma once

#include <fuse_lowlevel.h>

#include "fs/request.h"

namespace ebla::fs::ops {

const fuse_lowlevel_ops& table();

// ops_lookup.cc
void lookup(Request& request, fuse_ino_t parent, const char* name);
void forget(Request& request, fuse_ino_t node, uint64_t count);
void forget_multi(Request& request, size_t count, fuse_forget_data* forgets);
void getattr(Request& request, fuse_ino_t node, fuse_file_info* info);
void readlink(Request& request, fuse_ino_t node);

// ops_dir.cc
void opendir(Request& request, fuse_ino_t node, fuse_file_info* info);
void readdir(Request& request, fuse_ino_t node, size_t size, off_t offset, fuse_file_info* info);
void readdirplus(Request& request, fuse_ino_t node, size_t size, off_t offset,
                 fuse_file_info* info);
void releasedir(Request& request, fuse_ino_t node, fuse_file_info* info);

// ops_read.cc
void open(Request& request, fuse_ino_t node, fuse_file_info* info);
void read(Request& request, fuse_ino_t node, size_t size, off_t offset, fuse_file_info* info);
void lseek(Request& request, fuse_ino_t node, off_t offset, int whence, fuse_file_info* info);

// ops_write.cc
void write(Request& request, fuse_ino_t node, const char* bytes, size_t size, off_t offset,
           fuse_file_info* info);
void flush(Request& request, fuse_ino_t node, fuse_file_info* info);
void release(Request& request, fuse_ino_t node, fuse_file_info* info);
void fsync(Request& request, fuse_ino_t node, int data_only, fuse_file_info* info);
void fsyncdir(Request& request, fuse_ino_t node, int data_only, fuse_file_info* info);
void fallocate(Request& request, fuse_ino_t node, int mode, off_t offset, off_t length,
               fuse_file_info* info);
void copy_file_range(Request& request, fuse_ino_t from, off_t from_offset,
                     fuse_file_info* from_info, fuse_ino_t to, off_t to_offset,
                     fuse_file_info* to_info, size_t size, int flags);

// ops_attr.cc
void setattr(Request& request, fuse_ino_t node, struct stat* attr, int to_set,
             fuse_file_info* info);
void access(Request& request, fuse_ino_t node, int mask);
void statfs(Request& request, fuse_ino_t node);
void getxattr(Request& request, fuse_ino_t node, const char* name, size_t size);
void setxattr(Request& request, fuse_ino_t node, const char* name, const char* value, size_t size,
              int flags);
void listxattr(Request& request, fuse_ino_t node, size_t size);
void removexattr(Request& request, fuse_ino_t node, const char* name);

// ops_name.cc
void create(Request& request, fuse_ino_t parent, const char* name, mode_t mode,
            fuse_file_info* info);
void mknod(Request& request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device);
void mkdir(Request& request, fuse_ino_t parent, const char* name, mode_t mode);
void symlink(Request& request, const char* target, fuse_ino_t parent, const char* name);
void rename(Request& request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
            const char* new_name, unsigned flags);
void link(Request& request, fuse_ino_t node, fuse_ino_t new_parent, const char* new_name);
void unlink(Request& request, fuse_ino_t parent, const char* name);
void rmdir(Request& request, fuse_ino_t parent, const char* name);

}  // namespace ebla::fs::ops
