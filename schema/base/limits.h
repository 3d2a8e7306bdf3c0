// Every input has a limit, named here with its unit. A test compares this list with
// ebla-control(7).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ebla::limits {

inline constexpr size_t kKiB = 1024;
inline constexpr size_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;

// Control socket.
inline constexpr size_t kRequestLineBytes = 1 * kMiB;
inline constexpr size_t kBlobsPerRequest = 64;
inline constexpr size_t kBlobMemoryBytes = 1 * kMiB;        // a larger blob is spooled to a file
inline constexpr size_t kBlobMemoryTotalBytes = 64 * kMiB;  // all blobs, then they are spooled too
inline constexpr uint64_t kBlobBytes = 64 * kGiB;           // one blob; the disk is the real limit
inline constexpr size_t kLineTotalBytes = 128 * kMiB;       // all unfinished lines, then `busy`
inline constexpr size_t kFdsPerRequest = 16;
inline constexpr size_t kParsedRequestBytes = 64 * kMiB;  // one request, parsed
inline constexpr size_t kParsedTotalBytes = 128 * kMiB;   // all requests together, then `busy`
inline constexpr size_t kJsonDepth = 64;
inline constexpr size_t kPipelinedRequests = 64;      // per connection, then reading pauses
inline constexpr size_t kReplyQueueBytes = 8 * kMiB;  // per connection, then reading pauses
inline constexpr size_t kConnections = 4096;
inline constexpr int kListenBacklog = 4096;

// Names.
inline constexpr size_t kNameBytes = 255;  // one element of a path
inline constexpr size_t kPathBytes = 4096;
inline constexpr size_t kSessionKeyBytes = 256;
inline constexpr size_t kSessionLabelBytes = 1024;
inline constexpr size_t kSessionProjectBytes = 4096;
inline constexpr size_t kCallIdBytes = 64 * kKiB;
inline constexpr size_t kToolNameBytes = 256;
inline constexpr size_t kSessionDepth = 32;     // parents above a session
inline constexpr size_t kPlainIdBytes = 40;     // an id up to here is the name as it is
inline constexpr size_t kReadableIdBytes = 24;  // readable part of a cleaned id
inline constexpr size_t kReadableSessionBytes = 12;
inline constexpr size_t kNoticePathBytes = 80;  // without the mount prefix

// Content.
inline constexpr size_t kChunkBytes = 128 * kKiB;
inline constexpr size_t kInlineContentBytes = 1 * kMiB;  // more is staged in slices
inline constexpr size_t kStageSliceBytes = 1 * kMiB;
inline constexpr uint64_t kFileBytes = uint64_t{1} << 41;  // 2 TiB: 24 bits of chunk index

// Texts.
inline constexpr uint64_t kToolResultTokens = 20'000;
inline constexpr uint64_t kHumanMessageTokens = 50'000;
inline constexpr size_t kPreviewLines = 5;  // each of head and tail
inline constexpr size_t kPreviewErrorLines = 3;
inline constexpr size_t kPreviewLineChars = 1'000;
inline constexpr uint64_t kPreviewTokens = 1'000;
inline constexpr size_t kNoticeChars = 400;  // without the preview
inline constexpr size_t kHumanTailChars = 1'500;
inline constexpr uint64_t kPromptTokens = 120;

// Reading verbs.
inline constexpr uint64_t kReadLines = 100;
inline constexpr uint64_t kPageTokens = 8'000;
inline constexpr size_t kReadBytes = 1 * kMiB;  // one fs.read_bytes reply
inline constexpr size_t kListEntries = 1'000;   // one fs.ls or session.list page

// Waits.
inline constexpr int kDeliveryWaitMs = 1'000;  // a control write for the kernel's caches
inline constexpr int kRequestDeadlineMs = 120'000;

}  // namespace ebla::limits
