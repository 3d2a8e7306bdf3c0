#include "daemon/content_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "schema/path.h"

namespace ebla::daemon {
namespace {

constexpr int kPollMs = 200;  // between two looks whether the peer is still there

// A parameter whose bytes are wanted.
struct Place {
  const MethodCall& call;
  std::string_view name;

  Error bad(std::string_view text) const {
    return {Code::invalid_params, fmt::format("{}: {}", name, text)};
  }
  std::unexpected<Error> no(Code code, std::string_view text) const {
    return fail(code, fmt::format("{}: {}", name, text));
  }
};

// ---- Blocks.

bool is_text_type(std::string_view type) {
  return type == "text" || type == "input_text" || type == "output_text";
}

// The text of a block; nullptr when it is not text.
const std::string* block_text(const Json& block) {
  if (block.is(Json::Kind::string)) return &block.text;
  const Json* type = block.find("type");
  if (type == nullptr || !is_text_type(type->text)) return nullptr;
  return &block.find("text")->text;
}

Result<void> check_block(const Place& place, const Json& block, size_t index) {
  if (block.is(Json::Kind::string)) return {};
  const Json* type = block.is(Json::Kind::object) ? block.find("type") : nullptr;
  if (type == nullptr || !type->is(Json::Kind::string)) {
    return std::unexpected(
        place.bad(fmt::format("block {} is no object with a string \"type\"", index)));
  }
  if (!is_text_type(type->text)) return {};
  const Json* text = block.find("text");
  if (text != nullptr && text->is(Json::Kind::string)) return {};
  return std::unexpected(place.bad(
      fmt::format("block {} of type {} has no string \"text\"", index, printable(type->text))));
}

Result<ContentSource> from_blocks(const Place& place, Json& content) {
  ContentSource source;
  bool first = true;
  for (size_t i = 0; i < content.items.size(); ++i) {
    if (auto fits = check_block(place, content.items[i], i); !fits)
      return std::unexpected(fits.error());
    const std::string* text = block_text(content.items[i]);
    if (text == nullptr) continue;
    if (!first) source.bytes += '\n';
    source.bytes += *text;
    first = false;
  }
  source.blocks = std::make_shared<std::vector<Json>>(std::move(content.items));
  return source;
}

// ---- Bytes of a file or a pipe.

using Cancelled = std::move_only_function<bool()>;

Cancelled cancelled_of(const MethodCall& call) {
  return [stopping = &call.services().stopping, gone = call.request().cancelled] {
    return *stopping || (gone && *gone);
  };
}

Error cut_short() {
  return {Code::unavailable, "the content was not read to its end: nothing was stored"};
}

ContentSource from_regular(UniqueFd file, Cancelled cancelled) {
  ContentSource source;
  source.pull = [file = std::move(file), cancelled = std::move(cancelled),
                 offset = uint64_t{0}](std::span<char> out) mutable -> Result<size_t> {
    if (cancelled()) return std::unexpected(cut_short());
    auto got = pread_full(file.get(), out.data(), out.size(), offset);
    if (got) offset += *got;
    return got;
  };
  return source;
}

ContentSource from_pipe(UniqueFd pipe, Cancelled cancelled) {
  ContentSource source;
  source.endless = true;
  source.pull = [pipe = std::move(pipe),
                 cancelled = std::move(cancelled)](std::span<char> out) mutable -> Result<size_t> {
    for (;;) {
      if (cancelled()) return std::unexpected(cut_short());
      pollfd wait{.fd = pipe.get(), .events = POLLIN, .revents = 0};
      if (poll(&wait, 1, kPollMs) == 0) continue;
      const ssize_t got = ::read(pipe.get(), out.data(), out.size());
      if (got >= 0) return static_cast<size_t>(got);
      if (errno == EINTR || errno == EAGAIN) continue;
      return std::unexpected(errno_error(errno, "read: the descriptor passed"));
    }
  };
  return source;
}

// As long as it is now: it may grow by what is done with it.
ContentSource from_store(Store& store, const Attr& file, Cancelled cancelled) {
  ContentSource source;
  source.pull = [&store, ino = file.ino, size = file.size, cancelled = std::move(cancelled),
                 offset = uint64_t{0}](std::span<char> out) mutable -> Result<size_t> {
    if (cancelled()) return std::unexpected(cut_short());
    auto got = store.read(ino, offset, out.first(std::min<uint64_t>(out.size(), size - offset)));
    if (got) offset += *got;
    return got;
  };
  return source;
}

// Where the kernel says that an open file lies; empty when it can not tell.
std::string real_path(int fd) {
  std::string path(limits::kPathBytes, '\0');
  const std::string link = fmt::format("/proc/self/fd/{}", fd);
  const ssize_t size = readlink(link.c_str(), path.data(), path.size());
  path.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return path;
}

// A file on our own mount is read from the store: never through FUSE, which waits for us.
std::optional<Result<ContentSource>> on_own_mount(const Place& place, int fd) {
  const MethodCall& call = place.call;
  Services& services = call.services();
  const std::string path = services.mounts.tree_path_of(real_path(fd));
  if (path.empty()) return std::nullopt;
  auto attr = resolve(services.store, path);
  if (!attr) return std::unexpected(attr.error());
  if (attr->kind == NodeKind::directory) {
    return place.no(Code::is_directory, "a folder; a regular file is needed");
  }
  if (!call.owner() && attr->uid != call.uid()) {
    return place.no(Code::permission_denied, "the file belongs to another user");
  }
  return from_store(services.store, *attr, cancelled_of(call));
}

Result<ContentSource> from_descriptor(const Place& place, UniqueFd file, bool pipes) {
  struct stat info{};
  if (fstat(file.get(), &info) != 0) {
    return std::unexpected(
        errno_error(errno, fmt::format("stat: the file given as {}", place.name)));
  }
  if (S_ISDIR(info.st_mode)) {
    return place.no(Code::is_directory, "a folder; a regular file is needed");
  }
  if (S_ISREG(info.st_mode)) {
    if (auto own = on_own_mount(place, file.get())) return *std::move(own);
    const int flags = fcntl(file.get(), F_GETFL);
    if ((flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH) != 0) {
      return std::unexpected(place.bad("the descriptor is not open for reading"));
    }
    return from_regular(std::move(file), cancelled_of(place.call));
  }
  if (pipes && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))) {
    return from_pipe(std::move(file), cancelled_of(place.call));
  }
  return std::unexpected(place.bad(pipes ? "a regular file, a pipe or a socket is needed"
                                         : "a regular file is needed"));
}

Result<ContentSource> from_path(const Place& place, const std::string& path) {
  if (!place.call.owner()) {
    return place.no(Code::permission_denied,
                    "$path is for the daemon's own user; pass the bytes or a descriptor");
  }
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos ||
      path.size() > limits::kPathBytes) {
    return std::unexpected(place.bad("$path is no absolute path of the host"));
  }
  // O_PATH first: a device or a pipe is not opened for a look.
  auto seen = open_file(path, O_PATH | O_CLOEXEC);
  if (!seen) return std::unexpected(seen.error());
  struct stat info{};
  if (fstat(seen->get(), &info) != 0) {
    return std::unexpected(errno_error(errno, "stat: " + printable(path)));
  }
  if (S_ISDIR(info.st_mode)) {
    return fail(Code::is_directory,
                fmt::format("{}: a folder; a regular file is needed", printable(path)));
  }
  if (!S_ISREG(info.st_mode)) {
    return std::unexpected(place.bad(printable(path) + " is not a regular file"));
  }
  if (auto own = on_own_mount(place, seen->get())) return *std::move(own);
  auto file = open_file(fmt::format("/proc/self/fd/{}", seen->get()), O_RDONLY | O_CLOEXEC);
  if (!file) {
    file.error().text = fmt::format("{}: the daemon may not read it", printable(path));
    return std::unexpected(file.error());
  }
  return from_descriptor(place, *std::move(file), false);
}

// ---- References.

template <class T>
Result<T*> referred(const Place& place, std::vector<T>& all, const Json& index,
                    std::string_view what) {
  const auto number = index.as_uint64();
  if (number && *number < all.size()) return &all[*number];
  return std::unexpected(place.bad(fmt::format("{} {} is not among the {} of this message", what,
                                               printable(to_json(index)), all.size())));
}

Result<ContentSource> from_reference(const Place& place, const Json& content) {
  const auto& [kind, value] = content.members.front();
  Request& request = place.call.request();
  if (kind == "$blob") {
    auto blob = referred(place, request.blobs, value, kind);
    if (!blob) return std::unexpected(blob.error());
    if ((*blob)->file) return from_regular(std::move((*blob)->file), cancelled_of(place.call));
    ContentSource source;
    source.bytes = std::move((*blob)->bytes);
    return source;
  }
  if (kind == "$fd") {
    auto file = referred(place, request.fds, value, kind);
    if (!file) return std::unexpected(file.error());
    return from_descriptor(place, std::move(**file), true);
  }
  if (!value.is(Json::Kind::string)) return std::unexpected(place.bad("$path takes a string"));
  return from_path(place, value.text);
}

Error too_long(const Place& place, size_t limit_bytes) {
  return {Code::too_large,
          fmt::format("{}: longer than {} bytes, the most that is taken", place.name, limit_bytes)};
}

Result<std::string> read_reference(const Place& place, const Json& reference, size_t limit_bytes) {
  auto source = from_reference(place, reference);
  if (!source) return std::unexpected(source.error());
  std::string body = std::move(source->bytes);
  constexpr size_t kSlice = limits::kMiB;
  for (size_t got = source->pull ? 1 : 0; got > 0 && body.size() <= limit_bytes;) {
    const size_t at = body.size();
    body.resize(at + kSlice);
    auto read = source->pull(std::span(body).subspan(at));
    if (!read) return std::unexpected(read.error());
    got = *read;
    body.resize(at + got);
  }
  if (body.size() <= limit_bytes) return body;
  return std::unexpected(too_long(place, limit_bytes));
}

bool is_reference(const Json& content) {
  if (!content.is(Json::Kind::object) || content.members.size() != 1) return false;
  const std::string& kind = content.members.front().first;
  return kind == "$blob" || kind == "$fd" || kind == "$path";
}

}  // namespace

Result<ContentSource> open_content(const MethodCall& call) {
  const Place place{call, "content"};
  for (auto& [name, value] : call.request().params.members) {
    if (name != "content") continue;
    if (value.is(Json::Kind::string)) {
      ContentSource source;
      source.bytes = std::move(value.text);
      return source;
    }
    if (value.is(Json::Kind::array)) return from_blocks(place, value);
    if (is_reference(value)) return from_reference(place, value);
  }
  return std::unexpected(place.bad(
      "a string, an array of blocks, or one of {\"$blob\":i}, {\"$fd\":i}, {\"$path\":\"/abs\"}"));
}

Result<std::string> read_body(const MethodCall& call, std::string_view name) {
  const Place place{call, name};
  const Json* value = call.param(name);
  if (value == nullptr) return std::unexpected(place.bad("it is missing"));
  if (!is_reference(*value)) return value->text;
  return read_reference(place, *value, limits::kBodyBytes);
}

Result<std::string> read_text(const MethodCall& call, std::string_view name, size_t limit_bytes) {
  const Place place{call, name};
  const Json* value = call.param(name);
  if (value == nullptr) return std::unexpected(place.bad("it is missing"));
  if (is_reference(*value)) return read_reference(place, *value, limit_bytes);
  if (!value->is(Json::Kind::string)) {
    return std::unexpected(place.bad("a string or a reference to bytes is needed"));
  }
  if (value->text.size() <= limit_bytes) return value->text;
  return std::unexpected(too_long(place, limit_bytes));
}

bool opening_waits(const MethodCall& call) {
  const Json* content = call.param("content");
  if (content == nullptr || !is_reference(*content)) return false;
  if (content->members.front().first != "$blob") return true;
  const auto index = content->members.front().second.as_uint64();
  const std::vector<Blob>& blobs = call.request().blobs;
  return index && *index < blobs.size() && blobs[*index].file;
}

std::string shaped_like(const std::vector<Json>* blocks, std::string_view text) {
  JsonWriter out;
  if (blocks == nullptr) return out.string(text).take();
  Json stand_in;
  stand_in.kind = Json::Kind::object;
  std::string type = "text";
  for (const Json& block : *blocks) {
    if (block_text(block) == nullptr || !block.is(Json::Kind::object)) continue;
    if (stand_in.members.empty()) type = block.find("type")->text;
    for (const auto& [name, value] : block.members) {
      if (name == "type" || name == "text" || stand_in.find(name) != nullptr) continue;
      stand_in.members.emplace_back(name, value);
    }
  }
  out.begin_array();
  bool placed = false;
  for (const Json& block : *blocks) {
    if (block_text(block) == nullptr) {
      out.raw(to_json(block));
      continue;
    }
    if (std::exchange(placed, true)) continue;
    out.begin_object().member("type", type).member("text", text);
    for (const auto& [name, value] : stand_in.members) out.key(name).raw(to_json(value));
    out.end_object();
  }
  return out.end_array().take();
}

}  // namespace ebla::daemon
