// More bytes at the end of a file, in place: whoever reads it on sees them come.
#pragma once

#include "daemon/content_source.h"
#include "daemon/write/put.h"

namespace ebla::daemon {

// Up to limits::kInlineContentBytes the bytes come whole; more come in pieces of that size, and
// after a failure those that were written stay, which the error says. A file that is not there is
// made. busy: a program has the file open for writing through a mount, whose kernel would not know
// its new end.
Result<PutOutcome> append(const MethodCall& call, Target& target, const PutOptions& options,
                          ContentSource& source);

}  // namespace ebla::daemon
