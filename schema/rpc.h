// The public ABI of the control socket: methods, parameters, protocol version. ebla-control(7) says
// what each does; a test compares the two. Error numbers and names: schema/base/result.h.
#pragma once

#include <span>
#include <string_view>

namespace ebla::rpc {

inline constexpr int kProtocol = 1;

enum class Type {
  string,
  integer,
  boolean,
  object,
  array,
  arguments,  // an object, or its JSON text in a string
  content,    // string, blocks or a reference to bytes
  session,
  body,    // JSON as its source bytes, or a reference to bytes
  option,  // true, false or an object that says more
};

struct Param {
  std::string_view name;
  Type type;
  bool required;
};

// What a peer may count on when it calls in parallel.
enum class Order { free, session };  // session: calls that name one session run in their order

struct Method {
  std::string_view name;
  std::span<const Param> params;
  Order order;
};

std::span<const Method> methods();
const Method* find_method(std::string_view name);

}  // namespace ebla::rpc
