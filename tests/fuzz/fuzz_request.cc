// What a connection does with bytes, without descriptors and threads: the first byte says how the
// rest is sliced, the frame reader cuts it, the request parser reads each line.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/control/reply.h"
#include "daemon/control/request_parser.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"
#include "schema/frame.h"

namespace {

using namespace ebla;

void require(bool holds) {
  if (!holds) std::abort();
}

class Sink final : public FrameSink {
 public:
  Result<std::vector<uint64_t>> on_line(std::string_view line) override {
    daemon::ParsedRequest parsed = daemon::parse_request(line);
    require(parse_json(parsed.id).has_value());
    if (parsed.refusal) {
      const std::string answer = daemon::encode_error(parsed.id, *parsed.refusal);
      require(answer.ends_with('\n') && utf8::is_valid(answer));
      require(parse_json(std::string_view(answer).substr(0, answer.size() - 1)).has_value());
      require(parsed.refusal->text.size() < 1024);
    } else {
      require(parsed.method != nullptr && parsed.params.is(Json::Kind::object));
      require(parsed.blobs.size() <= limits::kBlobsPerRequest);
      require(parsed.fds_needed <= limits::kFdsPerRequest);
      require(parsed.cost_bytes > 0 && !parsed.framing_lost);
      for (const rpc::Param& param : parsed.method->params) {
        require(!param.required || parsed.params.find(param.name) != nullptr);
      }
    }
    if (parsed.framing_lost) return std::unexpected(*parsed.refusal);
    sizes_ = parsed.blobs;
    got_.assign(sizes_.size(), 0);
    return parsed.blobs;
  }

  Result<void> on_blob(size_t index, std::string_view piece) override {
    require(index < sizes_.size() && !piece.empty());
    got_[index] += piece.size();
    require(got_[index] <= sizes_[index]);
    return {};
  }

  Result<void> on_frame() override {
    require(got_ == sizes_);
    return {};
  }

 private:
  std::vector<uint64_t> sizes_;
  std::vector<uint64_t> got_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t slice = data[0] == 0 ? size : data[0];
  std::string_view left(reinterpret_cast<const char*>(data) + 1, size - 1);
  Sink sink;
  FrameReader reader(sink, 4096);
  while (!left.empty()) {
    const size_t count = std::min(slice, left.size());
    if (!reader.feed(left.substr(0, count))) break;
    left.remove_prefix(count);
  }
  return 0;
}
