// The real eblad in a child process, and a blocking client of its socket. The child ends with its
// object; one that dies of a fault, or leaves a mount behind, fails the test.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/fd.h"
#include "schema/base/json.h"
#include "tests/kit/temp_dir.h"

namespace ebla::daemon {

class Eblad {
 public:
  struct Setup {
    std::string store;
    std::string socket;
    std::vector<std::string> arguments;  // the others
    std::map<std::string, std::string> environment;
    std::function<void()> in_child;  // before exec
    bool ready_fd = true;
  };

  explicit Eblad(Setup setup);
  ~Eblad();
  Eblad(const Eblad&) = delete;
  Eblad& operator=(const Eblad&) = delete;

  // False: it ended instead; wait() has its status.
  bool ready() const { return ready_; }
  pid_t pid() const { return pid_; }
  const std::string& socket() const { return setup_.socket; }
  void signal(int number) const;
  // Exit status, or 128 + signal. Fails the test after 20 s.
  int wait();
  int stop();  // SIGTERM, wait()
  void kill_hard();
  std::string log() const;

 private:
  void spawn();
  void wait_ready(int fd);

  Setup setup_;
  kit::TempDir folder_{"log"};
  pid_t pid_ = -1;
  bool ready_ = false;
  std::optional<int> status_;
};

// The answer to one call: a result, or an error's name and text.
struct CallAnswer {
  std::optional<Json> result;
  std::string error;  // name; "closed" when the connection ended
  std::string text;
  std::vector<std::string> blobs;
};

class Client {
 public:
  explicit Client(const std::string& socket);
  bool connected() const { return static_cast<bool>(fd_); }
  CallAnswer call(std::string_view method, std::string_view params,
                  const std::vector<std::string_view>& blobs = {}, int passed_fd = -1);
  // Half of call(), to have several under way.
  bool send(std::string_view method, std::string_view params,
            const std::vector<std::string_view>& blobs = {}, int passed_fd = -1);
  CallAnswer receive();
  // The result, which must be there.
  Json must(std::string_view method, std::string_view params,
            const std::vector<std::string_view>& blobs = {});

 private:
  bool fill();
  UniqueFd fd_;
  std::string buffer_;
  uint64_t id_ = 0;
};

// Runs `body` in a child as another user; its result is the child's exit status.
int as_user(uid_t uid, const std::function<int()>& body);
std::string whole_file(const std::string& path);

}  // namespace ebla::daemon
