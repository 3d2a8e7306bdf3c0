// Changes of clients' files.
#include "schema/sqlite/sqlite_store.h"

namespace ebla::sqlite {
namespace {

template <class T>
void refuse(Completion<T>& done) {
  done(fail(Code::not_supported, "the engine does not keep clients' files yet"), {});
}

}  // namespace

void SqliteStore::remove_folder(RemovePlan, ChangeOptions, Completion<void> done) {
  refuse(done);
}
void SqliteStore::create(CreatePlan, ChangeOptions, Completion<Attr> done) {
  refuse(done);
}
void SqliteStore::link(LinkPlan, ChangeOptions, Completion<Attr> done) {
  refuse(done);
}
void SqliteStore::rename(RenamePlan, ChangeOptions, Completion<void> done) {
  refuse(done);
}
void SqliteStore::setattr(SetAttrPlan, ChangeOptions, Completion<Attr> done) {
  refuse(done);
}
void SqliteStore::set_xattr(XattrPlan, ChangeOptions, Completion<void> done) {
  refuse(done);
}
void SqliteStore::remove_xattr(Ino, std::string, ChangeOptions, Completion<void> done) {
  refuse(done);
}
void SqliteStore::write(WritePlan, std::string_view, ChangeOptions, Completion<WriteOutcome> done) {
  refuse(done);
}
void SqliteStore::allocate(AllocatePlan, ChangeOptions, Completion<void> done) {
  refuse(done);
}
void SqliteStore::copy_range(CopyPlan, ChangeOptions, Completion<uint64_t> done) {
  refuse(done);
}
Result<uint64_t> SqliteStore::seek(Ino, uint64_t, SeekTo) {
  return fail(Code::not_supported, "the engine does not keep clients' files yet");
}
void SqliteStore::flush(Ino, ChangeOptions, Completion<void> done) {
  refuse(done);
}

}  // namespace ebla::sqlite
