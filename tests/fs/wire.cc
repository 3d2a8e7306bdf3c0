#include "tests/fs/wire.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "schema/path.h"
#include "tests/kit/model_store.h"

namespace ebla::fs {
namespace {

constexpr int kSocketBytes = 4 << 20;

}  // namespace

Wire::Wire(std::string_view subtree, std::optional<Owner> owner, View::Access access) {
  store_ = kit::make_model_store(clock_);
  kit::open_session(*store_, "default");
  shared_ = std::make_unique<Shared>(
      *store_, VirtualTree("/run/ebla.sock", "0.1.0", clock_.wall_ns()),
      [this](Ino ino) { return connection_->served().holds(ino); },
      [](std::move_only_function<void()> work) { work(); });
  shared_->publish = [this](const ChangeSet& changes) {
    published_.push_back(changes);
    shared_->orphanage.add(changes.orphaned);
  };
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    std::abort();
  }
  for (const int end : ends) {
    setsockopt(end, SOL_SOCKET, SO_SNDBUFFORCE, &kSocketBytes, sizeof(kSocketBytes));
  }
  kernel_ = UniqueFd(ends[0]);
  const auto root = resolve(*store_, subtree);
  auto connection =
      Connection::create(UniqueFd(ends[1]), *shared_, 1,
                         View(*store_, root->ino, shared_->virtual_tree, owner, access));
  if (!connection) std::abort();
  connection_ = std::move(*connection);
}

Wire::~Wire() {
  connection_.reset();
  shared_->sessions.wait_for_none();
}

void Wire::send_raw(const std::string& message) {
  EXPECT_EQ(send(kernel_.get(), message.data(), message.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(message.size()));
}

Channel::Outcome Wire::handle() {
  struct Alone final : Turn {
    void let_others_in() override {}
  } turn;
  return connection_->serve_one(buffer_, turn);
}

std::optional<Answer> Wire::receive() {
  std::string message(size_t{2} << 20, '\0');
  const ssize_t n = recv(kernel_.get(), message.data(), message.size(), 0);
  if (n < static_cast<ssize_t>(sizeof(fuse_out_header))) return std::nullopt;
  fuse_out_header header{};
  std::memcpy(&header, message.data(), sizeof(header));
  EXPECT_EQ(header.len, n);
  return Answer{-header.error, header.unique,
                message.substr(sizeof(header), static_cast<size_t>(n) - sizeof(header))};
}

std::optional<Answer> Wire::call(uint32_t opcode, uint64_t node, const std::string& body) {
  fuse_in_header header{};
  header.len = static_cast<uint32_t>(sizeof(header) + body.size());
  header.opcode = opcode;
  header.unique = next_unique_;
  header.nodeid = node;
  next_unique_ += 2;
  send_raw(bytes_of(header) + body);
  EXPECT_EQ(handle(), Channel::Outcome::served);
  auto answer = receive();
  if (answer) {
    EXPECT_EQ(answer->unique, header.unique);
  }
  return answer;
}

Answer Wire::init(uint32_t cannot) {
  fuse_init_in in{};
  in.major = FUSE_KERNEL_VERSION;
  in.minor = FUSE_KERNEL_MINOR_VERSION;
  in.max_readahead = 128 * 1024;
  in.flags = ~static_cast<uint32_t>(FUSE_INIT_EXT) & ~cannot;
  return call(FUSE_INIT, 0, bytes_of(in)).value_or(Answer{EIO, 0, ""});
}

Answer Wire::lookup(uint64_t parent, std::string_view name) {
  return call(FUSE_LOOKUP, parent, std::string(name) + '\0').value_or(Answer{EIO, 0, ""});
}

uint64_t Wire::find(std::string_view path) {
  uint64_t node = kRootNode;
  const auto elements = split_path(path);
  for (const std::string& element : *elements) {
    const Answer answer = lookup(node, element);
    if (answer.error != 0) return 0;
    node = answer.as<fuse_entry_out>().nodeid;
    if (node == 0) return 0;
  }
  return node;
}

std::vector<WireEntry> Wire::list(uint64_t node, uint64_t offset, uint32_t size, bool plus) {
  fuse_read_in in{};
  in.offset = offset;
  in.size = size;
  const auto answer = call(plus ? FUSE_READDIRPLUS : FUSE_READDIR, node, bytes_of(in));
  std::vector<WireEntry> out;
  EXPECT_TRUE(answer && answer->error == 0);
  if (!answer) return out;
  std::string_view rest = answer->body;
  while (!rest.empty()) {
    WireEntry one;
    size_t head = 0;
    if (plus) {
      std::memcpy(&one.entry, rest.data(), sizeof(one.entry));
      head = sizeof(one.entry);
    }
    fuse_dirent entry{};
    std::memcpy(&entry, rest.data() + head, FUSE_NAME_OFFSET);
    one.name = rest.substr(head + FUSE_NAME_OFFSET, entry.namelen);
    one.offset = entry.off;
    const size_t whole = FUSE_DIRENT_ALIGN(head + FUSE_NAME_OFFSET + entry.namelen);
    rest.remove_prefix(std::min(whole, rest.size()));
    out.push_back(one);
  }
  return out;
}

Answer Wire::read(uint64_t node, uint64_t offset, uint32_t size) {
  fuse_read_in in{};
  in.offset = offset;
  in.size = size;
  return call(FUSE_READ, node, bytes_of(in)).value_or(Answer{EIO, 0, ""});
}

void Wire::forget(uint64_t node, uint64_t count) {
  fuse_forget_in in{};
  in.nlookup = count;
  EXPECT_FALSE(call(FUSE_FORGET, node, bytes_of(in)));
}

Ino Wire::put(const std::string& name, const std::string& bytes) {
  const auto done = kit::put(*store_, "default", name, bytes);
  EXPECT_TRUE(done.result) << (done.result ? "" : done.result.error().text);
  ++shared_->epoch;
  return done.result ? done.result->ino : 0;
}

}  // namespace ebla::fs
