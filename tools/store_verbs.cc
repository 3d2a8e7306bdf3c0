#include "tools/store_verbs.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "schema/default_paths.h"

namespace ebla::tools {
namespace {

constexpr std::chrono::milliseconds kProgressPause{200};

}  // namespace

Result<std::string> store_of(const Call& call) {
  std::string path;
  if (!call.args.operands.empty()) {
    path = call.args.operands.front();
  } else if (auto named = call.env("EBLA_STORE"); named && !named->empty()) {
    path = *named;
  } else {
    return default_store_path(call.env);
  }
  if (path.empty()) return fail(Code::usage, "the path of the store is empty");
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

std::string counted(uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

void Progress::show(const std::string& what, uint64_t done, uint64_t total) {
  if (!out_.terminal()) return;
  const auto now = std::chrono::steady_clock::now();
  if (what == last_ && now < next_) return;
  last_ = what;
  next_ = now + kProgressPause;
  shown_ = true;
  out_.note(total == 0 ? fmt::format("\r\x1b[K{} ...", what)
                       : fmt::format("\r\x1b[K{} {} %", what, done * 100 / total));
}

void Progress::clear() {
  if (shown_) out_.note("\r\x1b[K");
  shown_ = false;
}

}  // namespace ebla::tools
