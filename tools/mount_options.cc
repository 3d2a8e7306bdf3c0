#include "tools/mount_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "schema/base/suggest.h"

namespace ebla::tools {
namespace {

enum class Meaning {
  subtree,
  socket,
  config,
  read_only,
  writable,
  no_exec,
  exec,
  allow_other,
  nothing,  // so anyway, or mount(8)'s own business
  refused,
};

struct MountOption {
  std::string_view name;
  Meaning meaning;
  bool with_value = false;
};

constexpr std::array kOptions = {
    MountOption{"subtree", Meaning::subtree, true},
    MountOption{"socket", Meaning::socket, true},
    MountOption{"config", Meaning::config, true},
    MountOption{"allow_other", Meaning::allow_other},
    MountOption{"ro", Meaning::read_only},
    MountOption{"rw", Meaning::writable},
    MountOption{"noexec", Meaning::no_exec},
    MountOption{"exec", Meaning::exec},
    // Every mount of Ebla is so.
    MountOption{"nosuid", Meaning::nothing},
    MountOption{"nodev", Meaning::nothing},
    MountOption{"noatime", Meaning::nothing},
    MountOption{"nodiratime", Meaning::nothing},
    MountOption{"default_permissions", Meaning::nothing},
    // What "defaults" stands for, and what asks for no more than is done.
    MountOption{"defaults", Meaning::nothing},
    MountOption{"suid", Meaning::nothing},
    MountOption{"dev", Meaning::nothing},
    MountOption{"async", Meaning::nothing},
    MountOption{"atime", Meaning::nothing},
    MountOption{"diratime", Meaning::nothing},
    MountOption{"relatime", Meaning::nothing},
    MountOption{"norelatime", Meaning::nothing},
    MountOption{"nostrictatime", Meaning::nothing},
    MountOption{"lazytime", Meaning::nothing},
    MountOption{"nolazytime", Meaning::nothing},
    MountOption{"nomand", Meaning::nothing},
    MountOption{"silent", Meaning::nothing},
    MountOption{"loud", Meaning::nothing},
    // For mount(8), systemd and whoever else reads fstab.
    MountOption{"auto", Meaning::nothing},
    MountOption{"noauto", Meaning::nothing},
    MountOption{"user", Meaning::nothing, true},
    MountOption{"nouser", Meaning::nothing},
    MountOption{"users", Meaning::nothing},
    MountOption{"nousers", Meaning::nothing},
    MountOption{"owner", Meaning::nothing},
    MountOption{"noowner", Meaning::nothing},
    MountOption{"group", Meaning::nothing},
    MountOption{"nogroup", Meaning::nothing},
    MountOption{"nofail", Meaning::nothing},
    MountOption{"_netdev", Meaning::nothing},
    MountOption{"comment", Meaning::nothing, true},
    MountOption{"remount", Meaning::refused},
    MountOption{"bind", Meaning::refused},
    MountOption{"rbind", Meaning::refused},
    MountOption{"move", Meaning::refused},
    MountOption{"sync", Meaning::refused},
    MountOption{"dirsync", Meaning::refused},
    MountOption{"strictatime", Meaning::refused},
    MountOption{"mand", Meaning::refused},
};

std::unexpected<Error> unknown(std::string_view name) {
  std::vector<std::string_view> names;
  for (const MountOption& option : kOptions) {
    names.push_back(option.name);
  }
  const std::string_view near = nearest(name, names);
  return fail(Code::usage,
              fmt::format("the mount option '{}' is not known{}; Ebla's own are subtree=PATH, "
                          "socket=PATH, config=FILE and allow_other",
                          name, near.empty() ? "" : fmt::format(", is '{}' meant?", near)));
}

Result<void> apply(HelperCall& call, const MountOption& option, std::string value) {
  switch (option.meaning) {
    case Meaning::subtree:
      if (!value.starts_with('/')) {
        return fail(Code::usage,
                    fmt::format("subtree={}: a path in the tree begins with '/'", value));
      }
      call.wish.subtree = std::move(value);
      return {};
    case Meaning::socket:
      call.socket = absolute_directory(value);
      return {};
    case Meaning::config:
      call.config = absolute_directory(value);
      return {};
    case Meaning::read_only:
    case Meaning::writable:
      call.wish.read_only = option.meaning == Meaning::read_only;
      return {};
    case Meaning::no_exec:
    case Meaning::exec:
      call.wish.no_exec = option.meaning == Meaning::no_exec;
      return {};
    case Meaning::allow_other:
      call.wish.allow_other = true;
      return {};
    case Meaning::nothing:
      return {};
    case Meaning::refused:
      break;
  }
  return fail(Code::usage, fmt::format("the mount option '{}' can not be had from Ebla: leave it "
                                       "out; to change a mount, unmount it and mount it again",
                                       option.name));
}

// For people and programs beside mount(8).
bool is_for_others(std::string_view name) {
  return name.starts_with("x-") || name.starts_with("X-");
}

Result<void> apply_option(HelperCall& call, std::string_view text, bool sloppy) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (name.empty() || is_for_others(name)) {
    return {};
  }
  const auto* option = std::ranges::find(kOptions, name, &MountOption::name);
  if (option == kOptions.end()) {
    return sloppy ? Result<void>() : unknown(name);
  }
  const bool valued = equals != std::string_view::npos;
  std::string value(valued ? text.substr(equals + 1) : "");
  const bool may_lack = option->meaning == Meaning::nothing;
  if (option->with_value && value.empty() && !may_lack) {
    return fail(Code::usage, fmt::format("the mount option '{0}' needs a value: {0}=PATH", name));
  }
  if (!option->with_value && valued) {
    return fail(Code::usage, fmt::format("the mount option '{}' takes no value", name));
  }
  return apply(call, *option, std::move(value));
}

// Separated by commas; one that belongs to a value is written "\,".
std::vector<std::string> split_options(std::string_view text) {
  std::vector<std::string> out(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',') {
      out.back() += text[++i];
    } else if (text[i] == ',') {
      out.emplace_back();
    } else {
      out.back() += text[i];
    }
  }
  return out;
}

struct Words {
  std::vector<std::string> operands;
  std::vector<std::string> options;  // the values of -o
  bool sloppy = false;
};

// One word of flags: "-sv", "-o", "-oro". `at` moves on over a value in the next word.
Result<void> read_flags(std::span<const std::string> words, size_t& at, Words& out,
                        HelperCall& call) {
  const std::string& word = words[at];
  for (size_t i = 1; i < word.size(); ++i) {
    switch (word[i]) {
      case 'f':
        call.fake = true;
        continue;
      case 'v':
        call.verbose = true;
        continue;
      case 's':
        out.sloppy = true;
        continue;
      case 'n':
        continue;  // there is no mtab
      case 'h':
        call.help = true;
        continue;
      case 'V':
        call.version = true;
        continue;
      case 'o':
      case 't':
        break;
      default:
        return fail(Code::usage, fmt::format("-{} is not known", word[i]));
    }
    const bool in_word = i + 1 < word.size();
    if (!in_word && at + 1 >= words.size()) {
      return fail(Code::usage, fmt::format("-{} needs a value", word[i]));
    }
    std::string value = in_word ? word.substr(i + 1) : words[++at];
    if (word[i] == 'o') {
      out.options.push_back(std::move(value));
    }
    return {};
  }
  return {};
}

}  // namespace

Result<HelperCall> parse_helper_words(std::span<const std::string> words) {
  HelperCall call;
  Words read;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "--version") {
      (word == "--help" ? call.help : call.version) = true;
    } else if (word.size() > 1 && word.starts_with('-')) {
      if (auto good = read_flags(words, i, read, call); !good) {
        return std::unexpected(good.error());
      }
    } else {
      read.operands.push_back(word);
    }
  }
  if (call.help || call.version) {
    return call;
  }
  if (read.operands.size() != 2 || read.operands[0].empty() || read.operands[1].empty()) {
    return fail(Code::usage, "a store and a folder are needed: mount.fuse.ebla STORE DIR");
  }
  call.store = absolute_directory(read.operands[0]);
  call.wish.directory = absolute_directory(read.operands[1]);
  for (const std::string& text : read.options) {
    for (const std::string& option : split_options(text)) {
      if (auto good = apply_option(call, option, read.sloppy); !good) {
        return std::unexpected(good.error());
      }
    }
  }
  return call;
}

}  // namespace ebla::tools
