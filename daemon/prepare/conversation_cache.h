// The last list of each session, read: the next one mostly begins with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "context/formats/format.h"
#include "daemon/prepare/list_body.h"
#include "schema/base/result.h"
#include "schema/model.h"

namespace ebla::daemon {

struct SeenList {
  ListBody list;
  const context::Format* format = nullptr;
  std::vector<uint64_t> replied = {};  // hash of each message of the reply
  std::string name = {};               // by which its client refers to it; "": it does not
};

// Least recently used ones go when all together take more than limits::kSeenListBytes; one that
// alone takes more is not kept. Thread safe.
class ConversationCache {
 public:
  std::shared_ptr<const SeenList> find(SessionId session);
  // Out of the cache: whoever takes it puts back what became of it.
  std::shared_ptr<const SeenList> take(SessionId session);
  void keep(SessionId session, std::shared_ptr<const SeenList> seen);
  void forget(SessionId session);

 private:
  struct Entry {
    SessionId session = 0;
    std::shared_ptr<const SeenList> seen;
    size_t bytes = 0;
  };
  void drop(SessionId session);

  std::mutex mutex_;
  std::list<Entry> entries_;  // newest first
  std::unordered_map<SessionId, std::list<Entry>::iterator> places_;
  size_t bytes_ = 0;
};

// Reads the list, or takes over what was read before. `format` nullptr: it is detected.
// invalid_params with the place of the first fault.
struct ReadList {
  ListBody list;
  const context::Format* format = nullptr;
};
// `same`: bytes at its beginning that are known to be those of the list seen; nullopt: they are
// compared. `seen` is of no more use then, where nobody else has its conversation.
Result<ReadList> read_list(const SeenList* seen, const context::Format* format,
                           std::shared_ptr<const std::string> body, std::optional<size_t> same);
// Its first `bytes` bytes, all of which it has, and `rest` behind them. `seen` has no text then,
// where nobody else has it.
std::shared_ptr<const std::string> continued(const SeenList& seen, size_t bytes,
                                             std::string_view rest);

}  // namespace ebla::daemon
