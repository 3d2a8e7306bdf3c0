// Comparing what both stores hold.
#include "tests/schema/random_compare.h"

#include <algorithm>

namespace ebla {
namespace {

constexpr uint64_t kReadEachTime = 4096;  // longer files are read whole once and at the end

// Dentries in an order that does not depend on ids.
std::vector<DentryChange> sorted(std::vector<DentryChange> dentries) {
  std::ranges::sort(dentries, {}, [](const DentryChange& d) { return std::pair(d.name, d.kind); });
  return dentries;
}

Described describe_dentries(const ChangeSet& changes) {
  Described out;
  for (const DentryChange& d : sorted(changes.dentries)) {
    out.text += fmt::format("{} {};", static_cast<int>(d.kind), printable(d.name));
    out.inos.push_back(d.parent);
    out.inos.push_back(d.child);
  }
  for (const RangeChange& range : changes.ranges) {
    out.text += fmt::format(" {}+{}", range.offset, range.length);
    out.inos.push_back(range.ino);
  }
  out.text += fmt::format(" whole {} everything {}", changes.whole_tree, changes.everything);
  if (changes.empty()) return out;
  out.text += fmt::format(" origin {}", changes.origin);
  out.sessions = {changes.tree, changes.session};
  return out;
}

}  // namespace

bool RandomWorld::IdPairs::match(uint64_t left, uint64_t right) {
  const auto [at, is_new] = to_right_.try_emplace(left, right);
  const auto [back, back_is_new] = to_left_.try_emplace(right, left);
  return at->second == right && back->second == left;
}

std::optional<uint64_t> RandomWorld::IdPairs::right_of(uint64_t left) const {
  const auto at = to_right_.find(left);
  if (at == to_right_.end()) return std::nullopt;
  return at->second;
}

std::string RandomWorld::compare(const char* what, const Both<Described>& values) {
  const auto& [left, right] = values;
  if (left.text != right.text) {
    return fmt::format("{} differs\n  left:  {}\n  right: {}", what, left.text, right.text);
  }
  const auto pair_up = [](IdPairs& pairs, const std::vector<uint64_t>& a,
                          const std::vector<uint64_t>& b) {
    bool good = a.size() == b.size();
    for (size_t i = 0; good && i < a.size(); ++i) good = pairs.match(a[i], b[i]);
    return good;
  };
  if (!pair_up(inos_, left.inos, right.inos)) {
    return fmt::format("{}: nodes {} and {} are not the same ones ({})", what,
                       fmt::join(left.inos, " "), fmt::join(right.inos, " "), left.text);
  }
  if (!pair_up(session_ids_, left.sessions, right.sessions)) {
    return fmt::format("{}: sessions {} and {} are not the same ones ({})", what,
                       fmt::join(left.sessions, " "), fmt::join(right.sessions, " "), left.text);
  }
  if (!pair_up(contents_, left.contents, right.contents)) {
    return fmt::format("{}: contents {} and {} are not the same ones", what,
                       fmt::join(left.contents, " "), fmt::join(right.contents, " "));
  }
  return "";
}

std::string RandomWorld::compare(const Both<ChangeSet>& changes) {
  auto difference = compare("change set", Both<Described>{describe_dentries(changes[kLeft]),
                                                          describe_dentries(changes[kRight])});
  if (!difference.empty()) return difference;
  const auto same_nodes = [&](std::vector<Ino> left, std::vector<Ino> right) {
    for (Ino& ino : left) ino = inos_.right_of(ino).value_or(0);
    for (auto* all : {&left, &right}) {
      std::ranges::sort(*all);
      const auto rest = std::ranges::unique(*all);
      all->erase(rest.begin(), rest.end());
    }
    return left == right;
  };
  if (!same_nodes(changes[kLeft].attributes, changes[kRight].attributes)) {
    return fmt::format(
        "change set: attributes {} and {} ({})", fmt::join(changes[kLeft].attributes, " "),
        fmt::join(changes[kRight].attributes, " "), describe_dentries(changes[kLeft]).text);
  }
  if (!same_nodes(changes[kLeft].orphaned, changes[kRight].orphaned)) {
    return fmt::format("change set: orphans {} and {}", fmt::join(changes[kLeft].orphaned, " "),
                       fmt::join(changes[kRight].orphaned, " "));
  }
  for (const Side side : {kLeft, kRight}) {
    if (changes[side].empty() || changes[kLeft].revision == 0) continue;
    if (changes[side].revision <= revisions_[side]) {
      return fmt::format("change set: revision {} after {}", changes[side].revision,
                         revisions_[side]);
    }
    revisions_[side] = changes[side].revision;
  }
  return "";
}

std::string RandomWorld::compare_all(bool thorough) {
  auto difference = compare_folder({store(kLeft).root(), store(kRight).root()}, "", thorough);
  if (difference.empty()) difference = compare_sessions();
  if (difference.empty()) difference = compare_memory();
  if (difference.empty()) {
    difference =
        compare("usage", on_both([&](Side side) { return describe_value(store(side).usage()); }));
  }
  for (size_t i = 0; difference.empty() && i < orphans_.size(); ++i) {
    // Readable until reaped, gone in both or in neither.
    difference = compare(
        "orphan", on_both([&](Side side) { return store(side).getattr(orphans_[i][side]); }));
    if (difference.empty() && store(kLeft).getattr(orphans_[i][kLeft])) {
      difference = compare_node(orphans_[i], fmt::format("orphan {}", i), thorough);
    }
  }
  for (size_t i = 0; difference.empty() && i < names_.size(); ++i) {
    difference = compare("tombstone", on_both([&](Side side) {
                           return store(side).tombstone(names_[i].folder[side], names_[i].name);
                         }));
  }
  if (!difference.empty()) return difference;
  return compare("path_aliases", on_both([&](Side side) {
                   std::vector<std::string> lines;
                   const auto aliases = store(side).path_aliases();
                   if (!aliases) return text_only(aliases.error().text);
                   for (const PathAlias& a : *aliases) lines.push_back(a.prefix + "=" + a.subtree);
                   std::ranges::sort(lines);
                   return text_only(fmt::format("{}", fmt::join(lines, " ")));
                 }));
}

std::string RandomWorld::compare_folder(const Both<Ino>& dir, const std::string& path,
                                        bool thorough) {
  if (auto difference = compare_node(dir, path + "/", thorough); !difference.empty()) {
    return difference;
  }
  // Pages of different sizes give the same list.
  const auto entries = Both<std::vector<DirEntry>>{kit::list(store(kLeft), dir[kLeft], 100),
                                                   kit::list(store(kRight), dir[kRight], 7)};
  const auto count =
      on_both([&](Side side) { return store(side).entry_count(dir[side]).value_or(0); });
  if (entries[kLeft].size() != entries[kRight].size() || count[kLeft] != count[kRight] ||
      count[kLeft] != entries[kLeft].size()) {
    return fmt::format("{}/: {} and {} entries, counted {} and {}", path, entries[kLeft].size(),
                       entries[kRight].size(), count[kLeft], count[kRight]);
  }
  for (size_t i = 0; i < entries[kLeft].size(); ++i) {
    const DirEntry& left = entries[kLeft][i];
    const DirEntry& right = entries[kRight][i];
    if (left.name != right.name) {
      return fmt::format("{}/: entry {} is {} and {}", path, i, printable(left.name),
                         printable(right.name));
    }
    const std::string child = path + "/" + left.name;
    const Both<Ino> ino = {left.attr.ino, right.attr.ino};
    auto difference =
        compare("entry", Both<Described>{describe_value(left.attr), describe_value(right.attr)});
    if (difference.empty()) {
      difference = compare(
          "lookup", on_both([&](Side side) { return store(side).lookup(dir[side], left.name); }));
    }
    if (difference.empty()) {
      difference = left.attr.kind == NodeKind::directory ? compare_folder(ino, child, thorough)
                                                         : compare_node(ino, child, thorough);
    }
    if (!difference.empty()) return printable(child) + ": " + difference;
  }
  return "";
}

std::string RandomWorld::compare_node(const Both<Ino>& ino, const std::string& path,
                                      bool thorough) {
  const auto attr = on_both([&](Side side) { return store(side).getattr(ino[side]); });
  if (auto difference = compare("getattr", attr); !difference.empty()) return difference;
  for (const Side side : {kLeft, kRight}) {
    if (auto difference = check_growth(side, *attr[side], path); !difference.empty()) {
      return difference;
    }
  }
  auto difference =
      compare("path_of", on_both([&](Side side) { return store(side).path_of(ino[side]); }));
  if (difference.empty()) {
    difference =
        compare("xattrs", on_both([&](Side side) { return store(side).xattrs(ino[side]); }));
  }
  if (difference.empty() && attr[kLeft]->kind == NodeKind::symlink) {
    difference =
        compare("readlink", on_both([&](Side side) { return store(side).readlink(ino[side]); }));
  }
  if (!difference.empty() || attr[kLeft]->kind != NodeKind::file) return difference;
  return compare_bytes(ino, attr[kLeft]->size, path, thorough);
}

std::string RandomWorld::compare_bytes(const Both<Ino>& ino, uint64_t size, const std::string& path,
                                       bool thorough) {
  bool& read_whole = read_whole_[ino[kLeft]];
  if (size <= kReadEachTime || thorough || !read_whole) {
    read_whole = true;
    const auto bytes =
        on_both([&](Side side) { return kit::read_file(store(side), ino[side], 100'000); });
    return bytes[kLeft] == bytes[kRight] ? "" : printable(path) + ": other bytes";
  }
  Both<std::array<char, 16>> tail{};
  const auto count = on_both(
      [&](Side side) { return store(side).read(ino[side], size - 9, tail[side]).value_or(0); });
  return count[kLeft] == 9 && count[kRight] == 9 && tail[kLeft] == tail[kRight]
             ? ""
             : printable(path) + ": another tail";
}

std::string RandomWorld::check_growth(Side side, const Attr& attr, const std::string& path) {
  auto [at, is_new] = last_[side].try_emplace(attr.ino, attr);
  const Attr before = std::exchange(at->second, attr);
  const bool changed = describe_value(before).text != describe_value(attr).text;
  if (is_new || (changed ? attr.change > before.change : attr.change >= before.change)) return "";
  return fmt::format("{}: change {} after {} on side {}", printable(path), attr.change,
                     before.change, static_cast<size_t>(side));
}

std::string RandomWorld::compare_sessions() {
  const auto all = on_both([&](Side side) { return store(side).list_sessions("", "", 1000); });
  if (!all[kLeft] || !all[kRight] || all[kLeft]->size() != all[kRight]->size()) {
    return "list_sessions differs";
  }
  for (size_t i = 0; i < all[kLeft]->size(); ++i) {
    const Both<Session> listed = {all[kLeft]->at(i), all[kRight]->at(i)};
    auto difference = compare("list_sessions", Both<Described>{describe_value(listed[kLeft]),
                                                               describe_value(listed[kRight])});
    if (!difference.empty()) return difference;
    for (const Side side : {kLeft, kRight}) {
      const auto found = store(side).find_session(0, listed[side].id);
      const auto by_serial = store(side).session(listed[side].serial);
      if (!found || !by_serial || *found != listed[side] || *by_serial != listed[side]) {
        return fmt::format("session {} differs from itself", listed[side].id);
      }
    }
  }
  return "";
}

}  // namespace ebla
