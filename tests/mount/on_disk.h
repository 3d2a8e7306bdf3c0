// A mount of a store on disk.
#pragma once

#include <string>
#include <utility>

#include "schema/sqlite/open.h"
#include "tests/kit/mounted_child.h"

namespace ebla::kit {

inline MountedChild::Plan on_disk(const std::string& store, const std::string& folder) {
  MountedChild::Plan plan;
  plan.mounts = {folder};
  plan.open = [store](const Clock& clock) {
    sqlite::OpenOptions options;
    options.path = store;
    options.clock = &clock;
    auto opened = sqlite::open_store(options);
    return opened ? std::move(*opened) : nullptr;
  };
  return plan;
}

}  // namespace ebla::kit
