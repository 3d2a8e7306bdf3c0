// Values as text and ids, and their comparison. Included by the two halves of RandomWorld.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "schema/base/json.h"
#include "tests/schema/random_world.h"

namespace ebla {

inline Described describe_value(const EvictionOutcome& o) {
  return {.text = fmt::format("path {} replacement {} size {} lines {} tokens {} known {} same {}",
                              printable(o.path), printable(o.replacement), o.size, o.lines,
                              o.tokens, o.known, printable(o.same_as)),
          .inos = {o.ino},
          .sessions = {},
          .contents = {}};
}

inline Described describe_value(const Session& s) {
  std::string settings;
  for (const auto& [name, value] : s.settings) settings += fmt::format("{}={};", name, value);
  return {.text = fmt::format("id {} key {} label {} uid {} project {} model {} window {} settings "
                              "{} capabilities {} prefix {} created {} closed {}",
                              s.id, printable(s.key), printable(s.label), s.uid, s.project, s.model,
                              s.window, settings, s.capabilities.value_or("(none)"), s.mount_prefix,
                              s.created_ns, s.closed_ns),
          .inos = {s.folder, s.history},
          .sessions = {s.serial, s.parent, s.tree},
          .contents = {}};
}

inline Described describe_value(const SessionOutcome& o) {
  Described described = describe_value(o.session);
  described.text += o.created ? " created" : " resumed";
  return described;
}

// What a client's file holds is not the same in every engine.
inline uint64_t comparable_raw_bytes(const Attr& a) {
  return (a.flags & kNodeProtected) != 0 ? a.raw_bytes : 0;
}

inline Described describe_value(const Attr& a) {
  return {.text = fmt::format(
              "kind {} mode {:o} nlink {} owner {}:{} rdev {} size {} raw {} times {} {} {} "
              "flags {}",
              static_cast<int>(a.kind), a.mode, a.nlink, a.uid, a.gid, a.rdev, a.size,
              comparable_raw_bytes(a), a.atime_ns, a.mtime_ns, a.ctime_ns, a.flags),
          .inos = {a.ino},
          .sessions = {},
          .contents = {}};
}

inline Described text_only(std::string text) {
  return {.text = std::move(text), .inos = {}, .sessions = {}, .contents = {}};
}

inline Described describe_value(const Tombstone& t) {
  return text_only(fmt::format("path {} at {} uid {} reason {} size {}", printable(t.path),
                               t.removed_ns, t.uid, t.reason, t.size));
}

inline Described describe_value(const Usage& u) {
  return text_only(fmt::format(
      "files {} directories {} logical {} content {} sessions {} "
      "evictions {}",
      u.files, u.directories, u.logical_bytes, u.content_bytes, u.sessions, u.evictions));
}

inline Described describe_value(const WriteOutcome& o) {
  return text_only(fmt::format("{} bytes at {}", o.count, o.offset));
}

inline Described describe_value(bool value) {
  return text_only(value ? "true" : "false");
}
inline Described describe_value(const std::string& value) {
  return text_only(printable(value));
}
// The only plain number that a Store answers is a content.
inline Described describe_value(uint64_t content) {
  return {.text = "content", .inos = {}, .sessions = {}, .contents = {content}};
}

inline Described describe_value(const std::vector<Xattr>& all) {
  std::string text;
  for (const Xattr& x : all) text += fmt::format("{}={};", x.name, printable(x.value));
  return text_only(std::move(text));
}

inline Described describe_value(const HistoryState& h) {
  return text_only(fmt::format("bytes {} lines {} sections {} messages {}", h.bytes, h.lines,
                               h.sections, h.messages));
}

inline Described describe_value(const Pass& p) {
  return {.text = fmt::format("prefix {} messages {} pinned {} identity {} tokens {} known {}",
                              p.prefix.hex(), p.messages, fmt::join(p.pinned, ","),
                              p.message_identity.hex(), p.tokens_after, p.known),
          .inos = {},
          .sessions = {p.session},
          .contents = {}};
}

inline Described describe_value(const std::vector<Pass>& all) {
  Described out;
  for (const Pass& pass : all) {
    Described one = describe_value(pass);
    out.text += one.text + ";";
    out.sessions.push_back(pass.session);
  }
  return out;
}

inline Described describe_value(const std::vector<Event>& all) {
  Described out;
  for (const Event& e : all) {
    out.text += fmt::format("{} at {} {} {} to {} {};", e.what, e.at_ns, e.detail, e.tokens_before,
                            e.tokens_after, printable(e.path));
    out.sessions.push_back(e.session);
  }
  return out;
}

inline Described describe_value(const std::vector<ItemAnswer>& all) {
  Described out;
  for (const ItemAnswer& answer : all) {
    if (answer.decision) {
      Described one = describe_value(*answer.decision);
      out.text += one.text;
      out.inos.push_back(answer.decision->ino);
    }
    if (answer.original) {
      const Original& o = *answer.original;
      out.text +=
          fmt::format(" stands for {} {} {} size {} tokens {} {}", artifact_kind_name(o.kind),
                      printable(o.call_id), o.hash.hex(), o.size, o.tokens, printable(o.path));
    }
    out.text += ";";
  }
  return out;
}

inline Described describe_value(const std::vector<bool>& all) {
  std::string text;
  for (const bool one : all) text += one ? '1' : '0';
  return text_only(std::move(text));
}

template <class T>
Described describe_value(const std::optional<T>& value) {
  return value ? describe_value(*value) : text_only("(none)");
}

template <class T>
Described describe_result(const Result<T>& result) {
  if (!result)
    return text_only(fmt::format("error {} {}", code_info(result.error().code).name,
                                 code_info(result.error().code).errno_value));
  if constexpr (std::is_void_v<T>) {
    return text_only("done");
  } else {
    return describe_value(*result);
  }
}

template <class T>
std::string RandomWorld::compare(const char* what, const Both<Result<T>>& results) {
  auto difference = compare(
      what, Both<Described>{describe_result(results[kLeft]), describe_result(results[kRight])});
  if (!difference.empty()) {
    for (const auto& result : results) {
      if (!result) difference += "\n  says: " + result.error().text;
    }
  }
  return difference;
}

template <class T>
std::string RandomWorld::compare(const char* what, const Both<kit::Ended<T>>& ended) {
  auto difference = compare(what, Both<Result<T>>{ended[kLeft].result, ended[kRight].result});
  if (!difference.empty()) return difference;
  difference = compare(Both<ChangeSet>{ended[kLeft].changes, ended[kRight].changes});
  return difference.empty() ? "" : std::string(what) + " " + difference;
}

}  // namespace ebla
