#include "schema/sqlite/rescue/export.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "schema/base/limits.h"
#include "schema/model.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/rescue/export_bytes.h"
#include "schema/sqlite/rows.h"

namespace ebla::sqlite {
namespace {

// Each level holds one descriptor. What lies deeper goes to lost+found, where it begins anew.
constexpr int kDepth = 200;
constexpr const char* kLost = "lost+found";

struct Entry {
  std::string name;
  SavedNode node;
  int64_t mode = 0;
  int64_t uid = 0;
  int64_t gid = 0;
  int64_t rdev = 0;
  int64_t mtime_ns = 0;
  int64_t atime_ns = 0;
  std::string target;
};

timespec time_of(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  int64_t seconds = ns / kSecond;
  int64_t rest = ns % kSecond;
  if (rest < 0) {
    --seconds;
    rest += kSecond;
  }
  return {.tv_sec = seconds, .tv_nsec = rest};
}

std::string host_name(const std::string& name, int64_t ino) {
  const bool good = !name.empty() && name.size() <= limits::kNameBytes && name != "." &&
                    name != ".." &&
                    name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
  return good ? name : fmt::format("unreadable-name-{}", ino);
}

class Exporter {
 public:
  Exporter(PageFile& pages, Database& db, int tree, SalvageReport& report,
           const std::function<void(const std::string&)>& lost,
           const std::function<void(uint64_t)>& progress)
      : pages_(pages), db_(db), tree_(tree), report_(report), lost_(lost), progress_(progress) {}

  Result<void> run() {
    auto made = db_.exec(
        "CREATE TEMP TABLE written(ino INTEGER PRIMARY KEY, path BLOB, damaged INTEGER DEFAULT 0);"
        "INSERT INTO temp.written(ino, path) VALUES(1, x'')");
    if (!made) return made;
    if (auto done = folder(tree_, kRootIno, "", 0); !done) return done;
    UniqueFd lost;
    if (auto done = nodes_left(lost); !done) return done;
    return contents_left(lost);
  }

 private:
  static constexpr const char* kColumns =
      "i.ino, i.kind, i.size, i.content, i.hash, i.session, i.raw, i.flags, i.mode, i.uid, i.gid, "
      "i.rdev, i.mtime_ns, i.atime_ns, i.target";

  static Entry entry_of(const Statement& row, std::string name) {
    Entry entry;
    entry.node = {.ino = row.int64(0),
                  .kind = row.int64(1),
                  .size = row.uint64(2),
                  .content = row.int64(3),
                  .hash = row.string(4),
                  .session = row.int64(5),
                  .raw = row.uint64(6),
                  .flags = row.int64(7)};
    entry.name = host_name(name, entry.node.ino);
    entry.mode = row.int64(8) & 07777;
    entry.uid = row.int64(9);
    entry.gid = row.int64(10);
    entry.rdev = row.int64(11);
    entry.mtime_ns = row.int64(12);
    entry.atime_ns = row.int64(13);
    entry.target = row.string(14);
    return entry;
  }

  // One entry after the other: the folder may have millions.
  Result<std::optional<Entry>> next_entry(int64_t parent, int64_t& seq) {
    static const std::string sql = fmt::format(
        "SELECT {}, d.seq, d.name FROM dentries d JOIN inodes i ON i.ino = d.ino "
        "WHERE d.parent = ? AND d.seq > ? ORDER BY d.seq LIMIT 1",
        kColumns);
    auto row = query(db_, sql.c_str(), parent, seq);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found) return std::unexpected(std::move(found.error()));
    if (!*found) return std::nullopt;
    seq = row->int64(15);
    return entry_of(*row, row->string(16));
  }

  Result<void> folder(int at, int64_t ino, const std::string& path, int depth) {
    int64_t seq = std::numeric_limits<int64_t>::min();
    while (true) {
      auto entry = next_entry(ino, seq);
      if (!entry) return std::unexpected(std::move(entry.error()));
      if (!*entry) return {};
      if (auto done = one(at, **entry, path + "/" + (*entry)->name, depth); !done) return done;
    }
  }

  Result<void> one(int at, const Entry& entry, const std::string& path, int depth) {
    auto before =
        query(db_, "SELECT path, damaged FROM temp.written WHERE ino = ?", entry.node.ino);
    if (!before) return std::unexpected(std::move(before.error()));
    auto known = before->step();
    if (!known) return std::unexpected(std::move(known.error()));
    if (*known) return again(at, entry, path, before->string(0), before->int64(1) != 0);
    if (entry.node.kind == 1 && depth >= kDepth) return {};
    auto noted = execute(db_, "INSERT INTO temp.written(ino, path) VALUES(?, ?)", entry.node.ino,
                         std::string_view(path).substr(1));
    if (!noted) return noted;
    return make(at, entry, path, depth);
  }

  // A second name of a file, or a folder that leads to itself.
  Result<void> again(int at, const Entry& entry, const std::string& path, const std::string& first,
                     bool damaged) {
    if (entry.node.kind == 1) return {};
    if (linkat(tree_, first.c_str(), at, entry.name.c_str(), 0) == 0) {
      ++report_.files;
      if (damaged) tell(path, fmt::format("is a name of /{}, which is damaged", first));
      return {};
    }
    tell(path, fmt::format("could not be linked to /{}: {}", first, std::strerror(errno)));
    return {};
  }

  Result<void> make(int at, const Entry& entry, const std::string& path, int depth) {
    switch (static_cast<NodeKind>(entry.node.kind)) {
      case NodeKind::directory:
        return make_folder(at, entry, path, depth);
      case NodeKind::symlink:
        if (symlinkat(entry.target.c_str(), at, entry.name.c_str()) != 0) return failed(path);
        break;
      case NodeKind::file:
        return make_file(at, entry, path);
      default:
        if (mknodat(at, entry.name.c_str(), node_mode(entry), static_cast<dev_t>(entry.rdev)) !=
            0) {
          tell(path, fmt::format("a special file could not be made: {}", std::strerror(errno)));
          return {};
        }
    }
    ++report_.files;
    (void)fchownat(at, entry.name.c_str(), static_cast<uid_t>(entry.uid),
                   static_cast<gid_t>(entry.gid), AT_SYMLINK_NOFOLLOW);
    const std::array times{time_of(entry.atime_ns), time_of(entry.mtime_ns)};
    (void)utimensat(at, entry.name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
    return {};
  }

  static mode_t node_mode(const Entry& entry) {
    constexpr mode_t kTypes[] = {S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK};
    const auto kind = static_cast<size_t>(entry.node.kind);
    return (kind < std::size(kTypes) ? kTypes[kind] : mode_t{S_IFREG}) |
           static_cast<mode_t>(entry.mode);
  }

  Result<void> make_folder(int at, const Entry& entry, const std::string& path, int depth) {
    if (mkdirat(at, entry.name.c_str(), 0700) != 0 && errno != EEXIST) return failed(path);
    const UniqueFd folder_fd(
        openat(at, entry.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder_fd) return failed(path);
    ++report_.folders;
    if (auto done = folder(folder_fd.get(), entry.node.ino, path, depth + 1); !done) return done;
    finish(folder_fd.get(), entry);
    return {};
  }

  Result<void> make_file(int at, const Entry& entry, const std::string& path) {
    const UniqueFd out(
        openat(at, entry.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!out) return failed(path);
    auto saved = save_bytes(pages_, db_, entry.node, out.get());
    if (!saved) return std::unexpected(std::move(saved.error()));
    account(path, *saved);
    finish(out.get(), entry);
    if (saved->losses.empty()) return {};
    return execute(db_, "UPDATE temp.written SET damaged = 1 WHERE ino = ?", entry.node.ino);
  }

  void account(const std::string& path, const SavedBytes& saved) {
    ++report_.files;
    report_.bytes += saved.bytes;
    report_.damaged += saved.losses.empty() ? 0u : 1u;
    for (const std::string& loss : saved.losses) tell(path, loss);
    progress_(report_.files);
  }

  // Whatever the host refuses of these is no loss of bytes.
  void finish(int fd, const Entry& entry) {
    auto rows = query(db_, "SELECT name, value FROM xattrs WHERE ino = ?", entry.node.ino);
    while (rows && rows->step().value_or(false)) {
      const std::string name = rows->string(0);
      const std::string_view value = rows->bytes(1);
      (void)fsetxattr(fd, name.c_str(), value.data(), value.size(), 0);
    }
    (void)fchown(fd, static_cast<uid_t>(entry.uid), static_cast<gid_t>(entry.gid));
    (void)fchmod(fd, static_cast<mode_t>(entry.mode));
    const std::array times{time_of(entry.atime_ns), time_of(entry.mtime_ns)};
    (void)futimens(fd, times.data());
  }

  Result<void> failed(const std::string& path) {
    return std::unexpected(errno_error(errno, "write the salvaged " + path));
  }

  void tell(const std::string& path, const std::string& loss) { lost_(path + ": " + loss); }

  Result<void> open_lost(UniqueFd& lost) {
    if (lost) return {};
    if (mkdirat(tree_, kLost, 0700) != 0 && errno != EEXIST) return failed("lost+found");
    lost.reset(openat(tree_, kLost, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return lost ? Result<void>{} : failed("lost+found");
  }

  // What no folder led to.
  Result<void> nodes_left(UniqueFd& lost) {
    static const std::string sql = fmt::format(
        "SELECT {} FROM inodes i LEFT JOIN temp.written w ON w.ino = i.ino WHERE w.ino IS NULL "
        "AND i.ino > ? AND (i.kind <> 0 OR i.size > 0) AND i.ino NOT IN (SELECT ino FROM orphans) "
        "ORDER BY i.ino LIMIT 1",
        kColumns);
    int64_t last = 0;
    while (true) {
      Entry entry;
      {
        auto row = query(db_, sql.c_str(), last);
        if (!row) return std::unexpected(std::move(row.error()));
        auto found = row->step();
        if (!found) return std::unexpected(std::move(found.error()));
        if (!*found) return {};
        entry = entry_of(*row, fmt::format("node-{}", row->int64(0)));
      }
      last = entry.node.ino;
      if (auto opened = open_lost(lost); !opened) return opened;
      const std::string path = fmt::format("/{}/{}", kLost, entry.name);
      if (auto done = one(lost.get(), entry, path, 1); !done) return done;
    }
  }

  // What no node leads to.
  Result<void> contents_left(UniqueFd& lost) {
    auto rows = db_.prepare(
        "SELECT DISTINCT key >> 24 FROM chunks WHERE key >> 24 NOT IN (SELECT content FROM inodes "
        "UNION SELECT content FROM sections UNION SELECT content FROM freed UNION SELECT content "
        "FROM staged) ORDER BY 1");
    if (!rows) return std::unexpected(std::move(rows.error()));
    while (true) {
      auto row = rows->step();
      if (!row) return std::unexpected(std::move(row.error()));
      if (!*row) return {};
      if (auto opened = open_lost(lost); !opened) return opened;
      const std::string name = fmt::format("content-{}", rows->int64(0));
      const std::string path = fmt::format("/{}/{}", kLost, name);
      const UniqueFd out(openat(lost.get(), name.c_str(),
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
      if (!out) return failed(path);
      auto saved = save_content(pages_, db_, rows->int64(0), out.get());
      if (!saved) return std::unexpected(std::move(saved.error()));
      tell(path, fmt::format("{} bytes without a name", saved->bytes));
      account(path, *saved);
    }
  }

  PageFile& pages_;
  Database& db_;
  const int tree_;
  SalvageReport& report_;
  const std::function<void(const std::string&)>& lost_;
  const std::function<void(uint64_t)>& progress_;
};

}  // namespace

Result<void> export_tree(PageFile& pages, Database& db, int tree, SalvageReport& report,
                         const std::function<void(const std::string& line)>& lost,
                         const std::function<void(uint64_t files)>& progress) {
  return Exporter(pages, db, tree, report, lost, progress).run();
}

}  // namespace ebla::sqlite
