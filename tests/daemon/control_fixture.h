// A control socket over a target that the test scripts, and a client that can be as rude as it
// likes. Every read of the client has a time limit, so a missing answer fails instead of hanging.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/control/control_server.h"
#include "daemon/control/control_target.h"
#include "schema/base/fd.h"
#include "schema/base/json.h"
#include "tests/kit/gate.h"

namespace ebla::daemon {

// A private folder that goes with everything in it.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What a call saw, as JSON: {method, params, blobs:[{size, xxh3, spooled}], fds:[text], client,
// wants_blobs, uid}.
Reply describe(const Request& request);

class ScriptedTarget final : public ControlTarget {
 public:
  using Handler = std::function<void(std::shared_ptr<Request>, Responder)>;

  // Before requests arrive. Without a handler a call is answered by describe().
  void on(std::string method, Handler handler) {
    handlers_[std::move(method)] = std::move(handler);
  }
  void name_sessions(std::map<std::string, std::string> names) { names_ = std::move(names); }

  void call(std::shared_ptr<Request> request, Responder respond) override;
  std::string canonical_session(const Peer& peer, std::string_view session) override;

 private:
  std::map<std::string, Handler> handlers_;
  std::map<std::string, std::string> names_;
};

struct Received {
  Json line;
  std::vector<std::string> blobs;

  std::string id() const;          // JSON text
  const Json& result() const;      // fails the test when there is none
  std::string error_name() const;  // "" for a result
  int64_t error_code() const;
  std::string error_text() const;
};

class Client {
 public:
  explicit Client(const std::string& path);  // connected, or fails the test

  // False when the server has closed.
  bool send(std::string_view bytes);
  bool send_with(std::string_view bytes, const std::vector<int>& descriptors);
  void shut_write();
  std::optional<Received> receive();  // nullopt: closed
  Received expect();                  // fails the test when closed
  Received call(std::string_view line);
  // True when the server closes without another byte.
  bool closed_silently();
  void close() { fd_.reset(); }
  int fd() const { return fd_.get(); }

 private:
  bool fill();

  UniqueFd fd_;
  std::string buffer_;
};

class ControlTest : public ::testing::Test {
 protected:
  // The server answers while this lives. Handlers run on the server's threads, so what they capture
  // is declared before. The end opens the gate: a test that fails meanwhile ends too.
  class [[nodiscard]] Running {
   public:
    explicit Running(ControlTest& test) : test_(test) {}
    ~Running() { stop(); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    void stop();  // before the end

   private:
    ControlTest& test_;
  };

  Running start(unsigned workers = 0);
  ControlServer& server() { return *server_; }
  std::string socket_path() const { return folder_.path() + "/ebla/test.sock"; }
  // A new client's request is answered: the server lives.
  void expect_alive();

  TempFolder folder_;
  ScriptedTarget target_;
  ControlServerOptions options_;
  kit::Gate gate_;  // where handlers may wait

 private:
  std::unique_ptr<ControlServer> server_;  // while a Running lives
};

// {"jsonrpc":"2.0","id":ID,"method":"M","params":P} and LF.
std::string request(std::string_view id, std::string_view method, std::string_view params = "{}");
// The same with a member "blobs", and the bytes.
std::string request_with_blobs(std::string_view id, std::string_view method,
                               std::string_view params, const std::vector<std::string>& blobs);
size_t open_descriptors();
size_t thread_count();
size_t resident_bytes();
// A sanitizer's own memory makes figures of the process meaningless.
bool sanitized();

}  // namespace ebla::daemon
