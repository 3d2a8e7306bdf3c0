#include "tests/kit/file_calls.h"

#include <gtest/gtest.h>

namespace ebla::kit {

Ended<Attr> create(Store& store, CreatePlan plan, ChangeOptions options) {
  return wait_for<Attr>(
      [&](Completion<Attr> done) { store.create(std::move(plan), options, std::move(done)); });
}

Ended<Attr> link(Store& store, LinkPlan plan, ChangeOptions options) {
  return wait_for<Attr>(
      [&](Completion<Attr> done) { store.link(std::move(plan), options, std::move(done)); });
}

Ended<void> rename(Store& store, RenamePlan plan, ChangeOptions options) {
  return wait_for<void>(
      [&](Completion<void> done) { store.rename(std::move(plan), options, std::move(done)); });
}

Ended<void> remove_folder(Store& store, RemovePlan plan, ChangeOptions options) {
  return wait_for<void>([&](Completion<void> done) {
    store.remove_folder(std::move(plan), options, std::move(done));
  });
}

Ended<Attr> replace(Store& store, ReplacePlan plan, ChangeOptions options) {
  return wait_for<Attr>(
      [&](Completion<Attr> done) { store.replace(std::move(plan), options, std::move(done)); });
}

Ended<Attr> setattr(Store& store, SetAttrPlan plan, ChangeOptions options) {
  return wait_for<Attr>(
      [&](Completion<Attr> done) { store.setattr(plan, options, std::move(done)); });
}

Ended<void> set_xattr(Store& store, XattrPlan plan, ChangeOptions options) {
  return wait_for<void>(
      [&](Completion<void> done) { store.set_xattr(std::move(plan), options, std::move(done)); });
}

Ended<void> remove_xattr(Store& store, Ino ino, std::string name, ChangeOptions options) {
  return wait_for<void>([&](Completion<void> done) {
    store.remove_xattr(ino, std::move(name), options, std::move(done));
  });
}

Ended<WriteOutcome> write(Store& store, WritePlan plan, std::string_view bytes,
                          ChangeOptions options) {
  return wait_for<WriteOutcome>(
      [&](Completion<WriteOutcome> done) { store.write(plan, bytes, options, std::move(done)); });
}

Ended<void> allocate(Store& store, AllocatePlan plan, ChangeOptions options) {
  return wait_for<void>(
      [&](Completion<void> done) { store.allocate(plan, options, std::move(done)); });
}

Ended<uint64_t> copy_range(Store& store, CopyPlan plan, ChangeOptions options) {
  return wait_for<uint64_t>(
      [&](Completion<uint64_t> done) { store.copy_range(plan, options, std::move(done)); });
}

Ended<void> flush(Store& store, Ino ino, ChangeOptions options) {
  return wait_for<void>([&](Completion<void> done) { store.flush(ino, options, std::move(done)); });
}

Ino make_file(Store& store, Ino parent, std::string_view name, std::string_view bytes) {
  CreatePlan plan;
  plan.parent = parent;
  plan.name = name;
  plan.mode = 0644;
  plan.uid = 1000;
  plan.gid = 1001;
  const auto made = create(store, std::move(plan), {.durability = Durability::ordered});
  if (!made.ok()) {
    ADD_FAILURE() << "create " << name << ": " << made.result.error().text;
    return 0;
  }
  if (bytes.empty()) return made->ino;
  const auto written = write(store, {.ino = made->ino}, bytes);
  EXPECT_TRUE(written.ok()) << written.result.error().text;
  return made->ino;
}

Ino make_folder(Store& store, Ino parent, std::string_view name) {
  CreatePlan plan;
  plan.parent = parent;
  plan.name = name;
  plan.kind = NodeKind::directory;
  plan.mode = 0755;
  plan.uid = 1000;
  plan.gid = 1001;
  const auto made = create(store, std::move(plan), {.durability = Durability::ordered});
  if (made.ok()) return made->ino;
  ADD_FAILURE() << "create " << name << ": " << made.result.error().text;
  return 0;
}

}  // namespace ebla::kit
