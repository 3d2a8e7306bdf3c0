// The handlers of the verbs, one file each.
#pragma once

#include "tools/verb.h"

namespace ebla::tools {

Result<int> run_start(Call& call);
Result<int> run_stop(Call& call);
Result<int> run_status(Call& call);
Result<int> run_ping(Call& call);
Result<int> run_sessions(Call& call);
Result<int> run_evict(Call& call);
Result<int> run_prepare(Call& call);
Result<int> run_history(Call& call);
Result<int> run_events(Call& call);
Result<int> run_try(Call& call);
Result<int> run_read(Call& call);
Result<int> run_grep(Call& call);
Result<int> run_glob(Call& call);
Result<int> run_ls(Call& call);
Result<int> run_stat(Call& call);
Result<int> run_write(Call& call);
Result<int> run_edit(Call& call);
Result<int> run_rm(Call& call);
Result<int> run_mkdir(Call& call);
Result<int> run_mount(Call& call);
Result<int> run_mv(Call& call);
Result<int> run_stats(Call& call);
Result<int> run_fsck(Call& call);
int fsck_status(Code code);  // exit statuses of fsck(8)
Result<int> run_salvage(Call& call);
Result<int> run_help(Call& call);
Result<int> run_unmount(Call& call);
Result<int> run_version(Call& call);

}  // namespace ebla::tools
