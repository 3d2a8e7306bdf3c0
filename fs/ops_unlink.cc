#include <utility>

#include "fs/ops.h"

namespace ebla::fs::ops {

void unlink(Request& request, fuse_ino_t parent, const char* name) {
  Served& served = request.served();
  const auto allowed = served.view.may_unlink(parent, name);
  if (!allowed) return request.error(allowed.error());
  const uint32_t uid = request.uid();
  served.view.unlink(
      parent, name, uid, served.id,
      [request = std::move(request)](const Result<void>& result, const ChangeSet& changes) mutable {
        if (!result) return request.error(result.error());
        Shared& shared = request.served().shared;
        // Entries that were read ahead for an open directory are old now.
        ++shared.epoch;
        // Answered first: the other mounts may wait for locks that their callers
        // hold until an unlink of their own is answered.
        request.ok();
        shared.publish(changes);
      });
}

// No folder can be removed: those of Ebla's stay, and there are no others.
void rmdir(Request& request, fuse_ino_t parent, const char* name) {
  request.error(request.served().view.name_refusal(parent, name));
}

}  // namespace ebla::fs::ops
