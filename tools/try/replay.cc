#include "tools/try/replay.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>

#include "tools/verbs/common.h"
#include "tools/verbs/input.h"

namespace ebla::tools {
namespace {

constexpr std::string_view kSession = "try";

std::string quoted(std::string_view text) {
  return JsonWriter().string(text).take();
}

uint64_t count_at(const Json& object, std::string_view member) {
  return static_cast<uint64_t>(std::max<int64_t>(0, number_at(object, member).value_or(0)));
}

// The request that grows from call to call. It lies in a file in memory, which the daemon reads by
// its descriptor, so that a turn costs only what it adds.
class GrowingBody {
 public:
  static Result<GrowingBody> open(const Transcript& transcript, const std::string& model) {
    GrowingBody body;
    body.file_.reset(memfd_create("ebla-try", MFD_CLOEXEC));
    if (!body.file_) {
      return std::unexpected(errno_error(errno, "cannot keep the list in memory"));
    }
    body.whole_ = !transcript.list_name.empty();
    std::string start = "[";
    if (body.whole_) {
      const std::string named = model.empty() ? "" : fmt::format("\"model\":{},", quoted(model));
      start = fmt::format("{{{}{}{}:[", named, transcript.members, quoted(transcript.list_name));
      body.end_ = "]}";
    }
    auto written = pwrite_full(body.file_.get(), start, 0);
    if (!written) {
      return std::unexpected(written.error());
    }
    body.size_ = start.size();
    return body;
  }

  // Makes it hold the messages up to `count`.
  Result<void> grow(const std::vector<TranscriptMessage>& messages, size_t count) {
    std::string piece;
    for (; count_ < count; ++count_) {
      piece += count_ == 0 ? "" : ",";
      piece += messages[count_].json;
    }
    before_ = size_;
    added_ = piece + end_;
    auto written = pwrite_full(file_.get(), added_, size_);
    size_ += piece.size();
    return written;
  }

  std::string_view parameter() const { return whole_ ? "request" : "messages"; }
  int fd() const { return file_.get(); }
  // Bytes that were there before it grew, and all that came then.
  uint64_t before() const { return before_; }
  std::string_view added() const { return added_; }
  uint64_t size() const { return size_ + end_.size(); }

 private:
  UniqueFd file_;
  bool whole_ = false;
  std::string end_ = "]";
  uint64_t size_ = 0;  // without the end
  uint64_t before_ = 0;
  std::string added_;
  size_t count_ = 0;
};

class Replayer {
 public:
  Replayer(Client& client, const Transcript& transcript, const ReplayOptions& options)
      : client_(client), transcript_(transcript), options_(options) {
    out_.model = options.model.empty() ? transcript.model : options.model;
    out_.format = transcript.format;
  }

  Result<Replay> run() {
    if (auto opened = open_session(); !opened) {
      return std::unexpected(opened.error());
    }
    if (out_.format.empty()) {
      if (auto found = find_format(); !found) {
        return std::unexpected(found.error());
      }
    }
    auto body = GrowingBody::open(transcript_, out_.model);
    if (!body) {
      return std::unexpected(body.error());
    }
    const auto& messages = transcript_.messages;
    for (size_t i = 1; i <= messages.size(); ++i) {
      // The model is called where it goes on to speak, and at the end if something waits for it.
      const bool called =
          !messages[i - 1].by_model && (i == messages.size() || messages[i].by_model);
      if (!called) {
        continue;
      }
      if (auto made = take_turn(*body, i); !made) {
        made.error().text = fmt::format("call {}: {}", out_.turns.size() + 1, made.error().text);
        return std::unexpected(made.error());
      }
    }
    size_files();
    return std::move(out_);
  }

 private:
  Result<void> open_session() {
    JsonWriter params;
    params.begin_object().member("key", kSession).member("label", kSession);
    if (!out_.model.empty()) {
      params.member("model", out_.model);
    }
    auto reply = client_.call("session.open", params.end_object().take());
    if (!reply) {
      return std::unexpected(reply.error());
    }
    out_.folder = string_at(reply->result, "folder");
    out_.history = string_at(reply->result, "history");
    return {};
  }

  // Of the whole list: its beginning may fit more than one.
  Result<void> find_format() {
    auto body = GrowingBody::open(transcript_, out_.model);
    if (!body) {
      return std::unexpected(body.error());
    }
    if (auto grown = body->grow(transcript_.messages, transcript_.messages.size()); !grown) {
      return grown;
    }
    auto reply = prepare(*body, true);
    if (!reply) {
      return std::unexpected(reply.error());
    }
    out_.format = string_at(reply->result, "format");
    return {};
  }

  Result<Reply> prepare(const GrowingBody& body, bool dry_run) {
    if (!body_name_.empty() && !dry_run) {
      auto reply = send(body, dry_run, true);
      if (reply || reply.error().code != Code::conflict) {
        return reply;
      }
    }
    return send(body, dry_run, false);
  }

  // The body, or what is new in it.
  Result<Reply> send(const GrowingBody& body, bool dry_run, bool new_alone) {
    JsonWriter params;
    params.begin_object().member("session", kSession);
    params.key(body.parameter()).raw(new_alone ? R"({"$blob":0})" : R"({"$fd":0})");
    if (!out_.format.empty()) {
      params.member("format", out_.format);
    }
    if (options_.window) {
      params.member("window", *options_.window);
    }
    Attachments attachments;
    if (new_alone) {
      attachments.blobs = {body.added()};
      params.key("prefix").begin_object();
      params.member("body", body_name_).member("bytes", body.before()).end_object();
    } else {
      attachments.fds = {body.fd()};
    }
    params.member(dry_run ? "dry_run" : "remember", true);
    // No model is there to be asked.
    params.member("summariser", "extract").end_object();
    auto reply = client_.call("prepare", params.take(), attachments, call_timeout(body.size()));
    if (reply && !dry_run) {
      body_name_ = string_at(reply->result, "body");
    }
    return reply;
  }

  Result<void> take_turn(GrowingBody& body, size_t count) {
    if (auto grown = body.grow(transcript_.messages, count); !grown) {
      return grown;
    }
    auto reply = prepare(body, false);
    if (!reply) {
      return std::unexpected(reply.error());
    }
    const Json* tokens = reply->result.find("tokens");
    if (tokens == nullptr) {
      return fail(Code::internal_error, "the daemon's answer lacks `tokens`");
    }
    Turn turn;
    turn.messages = count;
    turn.with = count_at(*tokens, "after");
    // Before this call's decisions the list has what earlier ones left of it, and what is new.
    const uint64_t left = out_.turns.empty() ? 0 : out_.turns.back().with;
    const uint64_t grown =
        count_at(*tokens, "before") - std::min(count_at(*tokens, "before"), left);
    turn.without = (out_.turns.empty() ? 0 : out_.turns.back().without) + grown;
    turn.cached = cached_tokens(reply->result, count, turn.with);
    turn.output = output_behind(count);
    const Json* fits = reply->result.find("fits");
    turn.fits = fits == nullptr || fits->boolean;
    turn.degraded = reply->result.find("degraded") != nullptr;
    out_.window = count_at(*tokens, "window");
    out_.trigger = count_at(*tokens, "trigger");
    if (const Json* actions = reply->result.find("actions"); actions != nullptr) {
      turn.actions = actions->items;
    }
    out_.turns.push_back(std::move(turn));
    note_files();
    return {};
  }

  // What the last reply's list had at its front is read from the cache. Where the list changed in
  // its middle nobody tells the tokens before that place: they are taken by their share of the
  // bytes.
  uint64_t cached_tokens(const Json& reply, size_t count, uint64_t with) {
    const size_t now = new_count(reply, count);
    const size_t before = std::exchange(replied_, now);
    const size_t stable = std::min<size_t>(count_at(reply, "stable_until"), now);
    if (stable == before) {
      return out_.turns.empty() ? 0 : std::min(out_.turns.back().with, with);
    }
    const std::vector<uint64_t> sizes = new_sizes(reply, count);
    const auto bytes = [&](size_t messages) {
      const auto end =
          sizes.begin() + static_cast<std::ptrdiff_t>(std::min(messages, sizes.size()));
      return static_cast<double>(std::accumulate(sizes.begin(), end, uint64_t{0}));
    };
    const double total = bytes(sizes.size());
    return total <= 0 ? 0
                      : static_cast<uint64_t>(static_cast<double>(with) * bytes(stable) / total);
  }

  // Messages of the new list.
  static size_t new_count(const Json& reply, size_t count) {
    const Json* splices = reply.find("splices");
    if (splices == nullptr) {
      return count;
    }
    for (const Json& splice : splices->items) {
      const Json* insert = splice.find("insert");
      count += insert == nullptr ? 0 : insert->items.size();
      count -= std::min<size_t>(count_at(splice, "remove"), count);
    }
    return count;
  }

  // Bytes of each message of the new list.
  std::vector<uint64_t> new_sizes(const Json& reply, size_t count) const {
    std::vector<uint64_t> sizes;
    size_t at = 0;
    const auto keep_until = [&](size_t end) {
      for (; at < std::min(end, count); ++at) {
        sizes.push_back(transcript_.messages[at].json.size());
      }
    };
    if (const Json* splices = reply.find("splices"); splices != nullptr) {
      for (const Json& splice : splices->items) {
        keep_until(count_at(splice, "index"));
        at += count_at(splice, "remove");
        if (const Json* insert = splice.find("insert"); insert != nullptr) {
          for (const Json& message : insert->items) {
            sizes.push_back(to_json(message).size());
          }
        }
      }
    }
    keep_until(count);
    return sizes;
  }

  uint64_t output_behind(size_t count) const {
    uint64_t tokens = 0;
    for (size_t i = count; i < transcript_.messages.size(); ++i) {
      const TranscriptMessage& message = transcript_.messages[i];
      if (!message.by_model) {
        break;
      }
      tokens += message.reported > 0 ? message.reported : message.json.size() / kBytesPerToken;
    }
    return tokens;
  }

  void note_files() {
    const Turn& turn = out_.turns.back();
    for (const Json& action : turn.actions) {
      std::string path = string_at(action, "path");
      if (path.empty() || path == out_.history) {
        continue;
      }
      KeptFile file;
      file.call = out_.turns.size();
      file.what = string_at(action, "what");
      file.tool = string_at(action, "tool");
      file.path = std::move(path);
      file.tokens_before = count_at(action, "tokens_before");
      file.tokens_after = count_at(action, "tokens_after");
      out_.files.push_back(std::move(file));
    }
  }

  Result<uint64_t> size_of(const std::string& path) {
    JsonWriter params;
    params.begin_object().member("path", path).end_object();
    auto reply = client_.call("fs.stat", params.take());
    if (!reply) {
      return std::unexpected(reply.error());
    }
    return count_at(reply->result, "size");
  }

  void size_files() {
    // The path of an argument may be that of the file which the tool wrote, outside of the tree.
    std::erase_if(out_.files, [this](KeptFile& file) {
      const auto size = size_of(file.path);
      file.bytes = size.value_or(0);
      return !size && size.error().code == Code::file_not_found;
    });
    // There is none before something was said to it.
    if (auto size = size_of(out_.history)) {
      out_.history_bytes = *size;
    }
  }

  Client& client_;
  const Transcript& transcript_;
  const ReplayOptions& options_;
  std::string body_name_;  // of what the daemon remembers
  Replay out_;
  size_t replied_ = 0;  // messages of the last reply's list
};

}  // namespace

Result<Replay> replay(Client& client, const Transcript& transcript, const ReplayOptions& options) {
  return Replayer(client, transcript, options).run();
}

}  // namespace ebla::tools
