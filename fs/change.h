// How a change that a client asked for ends: the client gets its answer, then the other mounts are
// told. In this order, since they may wait for locks that their callers hold until an answer of
// their own.
#pragma once

#include <type_traits>
#include <utility>

#include "fs/request.h"
#include "schema/change_set.h"
#include "schema/store.h"

namespace ebla::fs {

// Takes the request over. `answer` is called with it, and with the value unless that is void, when
// the change was made.
template <class T, class F>
Completion<T> answered(Request& request, F answer) {
  return [request = std::move(request), answer = std::move(answer)](
             Result<T> result, const ChangeSet& changes) mutable {
    Shared& shared = request.served().shared;
    if (!result) {
      request.error(result.error());
    } else if constexpr (std::is_void_v<T>) {
      answer(request);
    } else {
      answer(request, *result);
    }
    if (!changes.empty()) shared.publish(changes);
  };
}

// For what is answered by success alone.
inline Completion<void> answered(Request& request) {
  return answered<void>(request, [](Request& done) { done.ok(); });
}

// Takes the request over. `go` is called with it when this mount may write the file, at once unless
// it grows by the socket; the file counts as open then (Growing::close).
template <class F>
void as_writer(Request& request, Ino ino, F go) {
  Served& served = request.served();
  served.shared.growing.open(
      served.id, ino,
      [request = std::move(request), go = std::move(go)](const Result<void>& ready) mutable {
        if (!ready) return request.error(ready.error());
        go(request);
      });
}

// What changes come with, but for syncs: they are durable later.
inline ChangeOptions ordered(const Served& served) {
  return {.durability = Durability::ordered, .origin = served.id, .here = true};
}

}  // namespace ebla::fs
