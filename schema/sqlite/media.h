// Images and documents: one file for equal bytes in the whole store, which belongs to no session.
// Private to this folder.
#pragma once

#include <optional>
#include <string>

#include "schema/change_set.h"
#include "schema/model.h"
#include "schema/sqlite/database.h"

namespace ebla::sqlite {

// /conversation_history/media; nullopt: not made yet. conflict: somebody else has the name.
Result<std::optional<Attr>> find_media_folder(Database& db);
Result<Attr> make_media_folder(Database& db, int64_t now_ns, ChangeSet& changes);

struct MediaFile {
  Ino ino = 0;
  std::string name;
};
// The file in the folder that has this content, whatever its extension.
Result<std::optional<MediaFile>> find_media(Database& db, Ino folder, Hash128 hash,
                                            ContentId content);

}  // namespace ebla::sqlite
