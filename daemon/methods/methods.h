// One function a method: takes the call, answers it now or later. They run on workers of the
// control socket and must not wait.
#pragma once

#include "daemon/services.h"

namespace ebla::daemon::methods {

void hello(MethodCall call);
void session_open(MethodCall call);
void session_get(MethodCall call);
void session_list(MethodCall call);
void session_close(MethodCall call);
void evict(MethodCall call);
void prepare(MethodCall call);
void history_append(MethodCall call);
void events(MethodCall call);
void fs_ls(MethodCall call);
void fs_stat(MethodCall call);
void fs_read(MethodCall call);
void fs_read_bytes(MethodCall call);
void fs_write(MethodCall call);
void fs_edit(MethodCall call);
void fs_delete(MethodCall call);
void fs_mkdir(MethodCall call);
void fs_rename(MethodCall call);
void fs_grep(MethodCall call);
void fs_glob(MethodCall call);
void mount_add(MethodCall call);
void mount_remove(MethodCall call);
void tools_list(MethodCall call);
void tools_call(MethodCall call);
void stats(MethodCall call);
void status(MethodCall call);

}  // namespace ebla::daemon::methods
