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
inline constexpr size_t kBlobMemoryBytes = 8 * kMiB;        // a larger blob is spooled to a file
inline constexpr size_t kBlobMemoryTotalBytes = 64 * kMiB;  // all blobs, then they are spooled too
inline constexpr uint64_t kBlobBytes = 64 * kGiB;           // one blob; the disk is the real limit
inline constexpr size_t kLineTotalBytes = 128 * kMiB;       // all unfinished lines, then `busy`
inline constexpr size_t kFdsPerRequest = 16;
inline constexpr size_t kParsedRequestBytes = 64 * kMiB;  // one request, parsed
inline constexpr size_t kParsedTotalBytes = 128 * kMiB;   // all requests together, then `busy`
inline constexpr size_t kBodyBytes = 160 * kMiB;          // one list of messages, media included
inline constexpr size_t kBodiesBytes = 256 * kMiB;        // all that are prepared, then `busy`
inline constexpr size_t kJsonDepth = 64;
inline constexpr size_t kJsonValues = 4'000'000;      // of one request body
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

// Clients' files.
inline constexpr uint32_t kLinks = 65'000;            // names of one node
inline constexpr size_t kLinkTargetBytes = 4095;      // of a symbolic link
inline constexpr size_t kXattrBytes = 64 * kKiB;      // one value
inline constexpr size_t kXattrListBytes = 64 * kKiB;  // names of one node, a NUL after each
inline constexpr size_t kDirtyFileBytes = 8 * kMiB;   // written to one file and not committed
inline constexpr size_t kDirtyBytes = 64 * kMiB;      // to all files
inline constexpr int kDirtyAgeMs = 1'000;
inline constexpr uint64_t kCopyBytes = 4 * kMiB;  // one call of copy_range

inline constexpr size_t kWriteAttempts = 32;          // of one call while others change the file
inline constexpr size_t kEditTextBytes = 1 * kMiB;    // each of the old and the new text of an edit
inline constexpr uint64_t kEditFileBytes = 4 * kGiB;  // a file that is edited

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

// The pass.
inline constexpr uint64_t kTriggerTokens = 170'000;
inline constexpr uint64_t kKeepMessages = 6;       // tail of a summary, window unknown
inline constexpr uint64_t kKeepOldMessages = 20;   // that old steps leave alone, window unknown
inline constexpr uint64_t kArgumentChars = 2'000;  // a string argument over it may be shortened
inline constexpr uint64_t kOldResultTokens = 500;  // a result over it may become one line
inline constexpr size_t kItemBytes = 64;           // a shorter text is never put away
inline constexpr double kRelief = 0.05;            // of the window, below the trigger: at least
inline constexpr double kPassGoal = 0.30;          // of the trigger: where old items stop to yield
inline constexpr double kClipTarget = 0.70;
inline constexpr double kMustShare = 0.95;    // of the window: from here a summary is due now
inline constexpr double kUsableShare = 0.25;  // of the window: less beside the reserve is refused
inline constexpr uint64_t kWindowTokens = 1'000;     // a smaller window is refused
inline constexpr double kPinShare = 0.25;            // of the window: pins over it are refused
inline constexpr uint64_t kFirstTaskTokens = 4'000;  // pinned up to here
inline constexpr uint64_t kSummaryTokens = 4'000;    // and 5 % of the window
inline constexpr double kSummaryShare = 0.05;
inline constexpr double kUserWordsShare = 0.05;
inline constexpr uint64_t kWhereToLookTokens = 1'000;
inline constexpr size_t kReaderClipChars = 4'000;
inline constexpr size_t kStubChars = 120;
inline constexpr size_t kOwnFileBytes = 256;  // path of a tool's own file in a mark
inline constexpr size_t kCacheMarks = 4;      // of one Anthropic request
inline constexpr size_t kMessages = 100'000;  // of one list
inline constexpr uint64_t kImageTokens = 1'600;
inline constexpr size_t kImageHeadBytes = 64 * kKiB;    // decoded to find an image's size
inline constexpr uint64_t kDocumentBytesPerToken = 20;  // PDF, audio; never under kImageTokens
inline constexpr uint64_t kSealedBytesPerToken = 5;     // encrypted reasoning
inline constexpr size_t kImages = 20;
inline constexpr uint64_t kAnthropicMediaBytes = 30 * kMiB;
inline constexpr uint64_t kOpenAiMediaBytes = 48 * kMiB;
inline constexpr uint64_t kGeminiMediaBytes = 18 * kMiB;
inline constexpr size_t kSeenListBytes = 32 * kMiB;  // lists kept read, of all sessions
inline constexpr uint64_t kAnsweredLists = 8192;     // remembered, of one session tree
inline constexpr double kRatioLow = 0.5;             // reported over counted tokens
inline constexpr double kRatioHigh = 3;

// Summaries.
inline constexpr int kSummariserMs = 120'000;    // one run of a command
inline constexpr size_t kSummarisers = 2;        // at a time
inline constexpr int kSummaryWaitMs = 600'000;   // a prepare for summaries, then it is the extract
inline constexpr size_t kSummariesWaiting = 64;  // for a turn, then the extract is taken
inline constexpr int kSummaryOffers = 3;         // a request that nobody answers
inline constexpr int kBreakerFailures = 3;
inline constexpr int64_t kBreakerFirstS = 600;
inline constexpr int64_t kBreakerLastS = 21'600;
inline constexpr size_t kFactNameBytes = 512;
inline constexpr size_t kFactBytes = 4 * kKiB;
inline constexpr size_t kEvents = 1'000;      // one events page
inline constexpr int kEventWaitMs = 60'000;   // longest wait for one
inline constexpr size_t kEventWaiters = 256;  // at once, then `busy`

// Reading verbs.
inline constexpr uint64_t kReadLines = 100;
inline constexpr uint64_t kPageTokens = 8'000;
inline constexpr size_t kReadBytes = 1 * kMiB;      // one fs.read_bytes reply
inline constexpr size_t kListEntries = 1'000;       // one page of fs.ls, fs.glob or session.list
inline constexpr size_t kPatternBytes = 64 * kKiB;  // what a search looks for
inline constexpr uint64_t kGrepMaxCount = 1'000;
inline constexpr size_t kHitBytes = 400;                 // text of one hit
inline constexpr size_t kContextLines = 50;              // each before and after a hit
inline constexpr size_t kContextReachBytes = 64 * kKiB;  // how far they may lie
inline constexpr size_t kRegexLineBytes = 1 * kMiB;      // a longer line is matched in pieces
inline constexpr size_t kSkippedNames = 10;              // files named that a search could not read
inline constexpr size_t kNearestLines = 3;
inline constexpr uint64_t kToolTokens = 500;  // definitions of all tools together

// Waits.
inline constexpr int kDeliveryWaitMs = 1'000;  // a control write for the kernel's caches
inline constexpr int kGrowthWaitMs = 5'000;    // to open a file while it grows by the socket
inline constexpr int kRequestDeadlineMs = 120'000;
inline constexpr int kStoreWaitMs = 10'000;     // a prepare for a store that says nothing
inline constexpr int kStoreRetryMs = 150;       // between two questions whether it is well again
inline constexpr int kSearchBudgetMs = 20'000;  // then a search answers with what it has
inline constexpr int kNearestBudgetMs = 300;    // for the nearest lines, when there is no hit

}  // namespace ebla::limits
