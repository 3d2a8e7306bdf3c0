#include "schema/rpc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace ebla::rpc {
namespace {

TEST(Rpc, EveryMethodIsFoundByItsName) {
  std::set<std::string_view> names;
  for (const Method& method : methods()) {
    EXPECT_EQ(find_method(method.name), &method);
    EXPECT_TRUE(names.insert(method.name).second) << method.name << " is listed twice";
  }
  for (const char* name :
       {"hello", "session.open", "session.get", "session.list", "session.close", "evict", "prepare",
        "history.append", "events", "fs.ls", "fs.stat", "fs.read", "fs.read_bytes", "fs.grep",
        "fs.glob", "tools.list", "tools.call", "stats", "status"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Rpc, UnknownNamesAreNotFound) {
  for (const char* name : {"", "hell", "helloo", "Hello", "session", "session.open ", "evict\n"}) {
    EXPECT_EQ(find_method(name), nullptr) << name;
  }
}

TEST(Rpc, ParametersAreNamedOnce) {
  for (const Method& method : methods()) {
    std::set<std::string_view> names;
    for (const Param& param : method.params) {
      EXPECT_FALSE(param.name.empty());
      EXPECT_TRUE(names.insert(param.name).second) << method.name << " " << param.name;
    }
  }
}

TEST(Rpc, WhatEveryCallOfOneKindMayRelyOn) {
  // A file verb is told where, an eviction what, and a session parameter has the session type.
  for (const Method& method : methods()) {
    for (const Param& param : method.params) {
      if (param.name == "session" || param.name == "parent") {
        EXPECT_EQ(param.type, Type::session) << method.name;
      }
      const bool search = method.name == "fs.grep" || method.name == "fs.glob";
      if (method.name.starts_with("fs.") && param.name == "path") {
        EXPECT_EQ(param.required, !search) << method.name;
      }
      if (param.type == Type::content) {
        EXPECT_TRUE(param.required) << method.name;
      }
    }
  }
  // What one session changes runs in the order it was sent.
  EXPECT_EQ(find_method("evict")->order, Order::session);
  EXPECT_EQ(find_method("session.open")->order, Order::session);
  EXPECT_EQ(find_method("fs.read")->order, Order::free);
  EXPECT_EQ(kProtocol, 1);
}

}  // namespace
}  // namespace ebla::rpc
