// One pass over a content: looked at and, when it is large, staged in the store on the way, in
// bounded memory.
#pragma once

#include <cstdint>
#include <string>

#include "context/item/scan.h"
#include "daemon/content_source.h"
#include "schema/model.h"
#include "schema/store.h"

namespace ebla::daemon {

struct Intake {
  context::ContentScan scan;
  ContentRef content;
};

// Reads the source to its end. Up to kInlineContentBytes stay in memory; more is staged in slices,
// four at a time on their way. Fails with nothing left behind. Waits: for the source, and when it
// is staged for the store, as long as that goes on.
Result<Intake> take_in(Store& store, ContentSource& source, context::ScanOptions options);

// The next bytes of a source with `pull`; fewer than `size` only at its end.
Result<std::string> next_slice(ContentSource& source, size_t size);
// Makes a source of bytes in memory one that is pulled.
void pull_from_memory(ContentSource& source);

// Gives up what was staged.
void discard(Store& store, const ContentRef& content);

}  // namespace ebla::daemon
