#include "schema/rpc.h"

#include <algorithm>
#include <array>

namespace ebla::rpc {
namespace {

constexpr std::array kHello = {
    Param{"client", Type::string, false},
    Param{"protocol", Type::integer, false},
    Param{"blobs", Type::boolean, false},
};
constexpr std::array kSessionOpen = {
    Param{"key", Type::string, false},          Param{"label", Type::string, false},
    Param{"parent", Type::session, false},      Param{"project", Type::string, false},
    Param{"model", Type::string, false},        Param{"window", Type::integer, false},
    Param{"settings", Type::object, false},     Param{"capabilities", Type::object, false},
    Param{"mount_prefix", Type::string, false},
};
constexpr std::array kSessionGet = {
    Param{"session", Type::session, true},
};
constexpr std::array kSessionList = {
    Param{"project", Type::string, false},
    Param{"after", Type::string, false},
    Param{"limit", Type::integer, false},
};
constexpr std::array kEvict = {
    Param{"session", Type::session, false},      Param{"id", Type::string, false},
    Param{"content", Type::content, true},       Param{"kind", Type::string, false},
    Param{"tool", Type::string, false},          Param{"path", Type::string, false},
    Param{"limit_tokens", Type::integer, false}, Param{"force", Type::boolean, false},
};
constexpr std::array kPrepare = {
    Param{"session", Type::session, true},  Param{"request", Type::body, false},
    Param{"messages", Type::body, false},   Param{"format", Type::string, false},
    Param{"window", Type::integer, false},  Param{"usage", Type::object, false},
    Param{"compact", Type::option, false},  Param{"overflow", Type::option, false},
    Param{"summary", Type::object, false},  Param{"put_away", Type::array, false},
    Param{"pinned", Type::array, false},    Param{"summariser", Type::string, false},
    Param{"dry_run", Type::boolean, false}, Param{"reply", Type::string, false},
    Param{"prefix", Type::object, false},   Param{"remember", Type::boolean, false},
};
constexpr std::array kHistoryAppend = {
    Param{"session", Type::session, true},
    Param{"messages", Type::body, true},
    Param{"format", Type::string, false},
};
constexpr std::array kEvents = {
    Param{"session", Type::session, false},
    Param{"after", Type::integer, false},
    Param{"limit", Type::integer, false},
    Param{"wait_ms", Type::integer, false},
};
constexpr std::array kFsLs = {
    Param{"path", Type::string, true},
    Param{"session", Type::session, false},
    Param{"after", Type::integer, false},
    Param{"limit", Type::integer, false},
};
constexpr std::array kFsStat = {
    Param{"path", Type::string, true},
    Param{"session", Type::session, false},
};
constexpr std::array kFsRead = {
    Param{"path", Type::string, true},     Param{"session", Type::session, false},
    Param{"offset", Type::integer, false}, Param{"limit", Type::integer, false},
    Param{"column", Type::integer, false}, Param{"numbered", Type::boolean, false},
};
constexpr std::array kFsReadBytes = {
    Param{"path", Type::string, true},
    Param{"session", Type::session, false},
    Param{"offset", Type::integer, false},
    Param{"size", Type::integer, false},
};
constexpr std::array kFsWrite = {
    Param{"path", Type::string, true},     Param{"session", Type::session, false},
    Param{"content", Type::content, true}, Param{"append", Type::boolean, false},
    Param{"if_etag", Type::string, false}, Param{"parents", Type::boolean, false},
    Param{"mode", Type::string, false},
};
constexpr std::array kFsEdit = {
    Param{"path", Type::string, true},  Param{"session", Type::session, false},
    Param{"old", Type::content, true},  Param{"new", Type::content, true},
    Param{"all", Type::boolean, false}, Param{"if_etag", Type::string, false},
};
constexpr std::array kFsDelete = {
    Param{"path", Type::string, true},
    Param{"session", Type::session, false},
};
constexpr std::array kFsMkdir = {
    Param{"path", Type::string, true},
    Param{"session", Type::session, false},
    Param{"parents", Type::boolean, false},
    Param{"mode", Type::string, false},
};
constexpr std::array kFsRename = {
    Param{"path", Type::string, true},
    Param{"new_path", Type::string, true},
    Param{"session", Type::session, false},
    Param{"replace", Type::boolean, false},
};
constexpr std::array kFsGrep = {
    Param{"pattern", Type::string, true},       Param{"path", Type::string, false},
    Param{"session", Type::session, false},     Param{"glob", Type::string, false},
    Param{"mode", Type::string, false},         Param{"context", Type::integer, false},
    Param{"max_count", Type::integer, false},   Param{"regex", Type::boolean, false},
    Param{"ignore_case", Type::boolean, false}, Param{"after", Type::string, false},
};
constexpr std::array kFsGlob = {
    Param{"pattern", Type::string, true},   Param{"path", Type::string, false},
    Param{"session", Type::session, false}, Param{"after", Type::string, false},
    Param{"limit", Type::integer, false},
};
constexpr std::array kMountAdd = {
    Param{"directory", Type::string, true},     Param{"subtree", Type::string, false},
    Param{"read_only", Type::boolean, false},   Param{"no_exec", Type::boolean, false},
    Param{"allow_other", Type::boolean, false},
};
constexpr std::array kMountRemove = {
    Param{"directory", Type::string, true},
};
constexpr std::array kToolsList = {
    Param{"session", Type::session, false},
    Param{"format", Type::string, true},
};
constexpr std::array kToolsCall = {
    Param{"session", Type::session, false},
    Param{"name", Type::string, true},
    Param{"arguments", Type::arguments, false},
};

constexpr std::array kMethods = {
    Method{"hello", kHello, Order::free},
    Method{"session.open", kSessionOpen, Order::session},
    Method{"session.get", kSessionGet, Order::session},
    Method{"session.list", kSessionList, Order::free},
    Method{"session.close", kSessionGet, Order::session},
    Method{"evict", kEvict, Order::session},
    Method{"prepare", kPrepare, Order::session},
    Method{"history.append", kHistoryAppend, Order::session},
    Method{"events", kEvents, Order::free},
    Method{"fs.ls", kFsLs, Order::free},
    Method{"fs.stat", kFsStat, Order::free},
    Method{"fs.read", kFsRead, Order::free},
    Method{"fs.read_bytes", kFsReadBytes, Order::free},
    Method{"fs.write", kFsWrite, Order::session},
    Method{"fs.edit", kFsEdit, Order::session},
    Method{"fs.delete", kFsDelete, Order::session},
    Method{"fs.mkdir", kFsMkdir, Order::session},
    Method{"fs.rename", kFsRename, Order::session},
    Method{"fs.grep", kFsGrep, Order::free},
    Method{"fs.glob", kFsGlob, Order::free},
    Method{"mount.add", kMountAdd, Order::free},
    Method{"mount.remove", kMountRemove, Order::free},
    Method{"tools.list", kToolsList, Order::free},
    Method{"tools.call", kToolsCall, Order::free},
    Method{"stats", {}, Order::free},
    Method{"status", {}, Order::free},
};

}  // namespace

std::span<const Method> methods() {
  return kMethods;
}

const Method* find_method(std::string_view name) {
  const auto* at = std::ranges::find(kMethods, name, &Method::name);
  return at == kMethods.end() ? nullptr : at;
}

}  // namespace ebla::rpc
