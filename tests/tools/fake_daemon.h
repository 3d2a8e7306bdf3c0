// A daemon of a few lines: listens on a Unix socket and answers what the test tells it to.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "schema/base/fd.h"
#include "schema/base/json.h"

namespace ebla::tools {

struct FakeRequest {
  std::string method;
  Json params;
  std::vector<std::string> blobs;
  std::vector<std::string> files;  // content of each descriptor that came along, from offset 0
};

struct FakeAnswer {
  std::string result;              // one JSON value
  std::string error;               // or an error object
  std::vector<std::string> blobs;  // with the result
  std::string raw;                 // or these bytes as they are
  bool hang_up = false;            // close in place of answering, or after `raw`
  bool keep_silent = false;        // neither answer nor close
  bool byte_by_byte = false;
};

inline FakeAnswer result(std::string json, std::vector<std::string> blobs = {}) {
  FakeAnswer answer;
  answer.result = std::move(json);
  answer.blobs = std::move(blobs);
  return answer;
}
FakeAnswer error(std::string_view name, std::string_view message);

// `hello` is answered by itself unless the handler is asked for it.
class FakeDaemon {
 public:
  using Handler = std::function<FakeAnswer(const FakeRequest&)>;

  FakeDaemon(std::string path, Handler handler, bool handler_says_hello = false);
  ~FakeDaemon();
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;

  const std::string& path() const { return path_; }
  std::vector<FakeRequest> requests() const;  // all but hello
  // Closes each connection without a byte from now on.
  void refuse();

 private:
  void accept_all();
  void serve(UniqueFd connection);

  std::string path_;
  Handler handler_;
  bool handler_says_hello_;
  UniqueFd listener_;
  UniqueFd wake_;
  mutable std::mutex mutex_;
  std::vector<FakeRequest> requests_;
  bool refusing_ = false;
  std::thread thread_;
};

}  // namespace ebla::tools
