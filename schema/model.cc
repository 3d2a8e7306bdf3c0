#include "schema/model.h"

namespace ebla {

std::string_view artifact_kind_name(ArtifactKind kind) {
  switch (kind) {
    case ArtifactKind::tool_result:
      return "tool_result";
    case ArtifactKind::human:
      return "human";
    case ArtifactKind::argument:
      return "argument";
    case ArtifactKind::old_result:
      return "old_result";
    case ArtifactKind::media:
      return "media";
  }
  return "";
}

std::string_view summary_source_name(SummarySource source) {
  switch (source) {
    case SummarySource::client:
      return "client";
    case SummarySource::daemon:
      return "daemon";
    case SummarySource::extract:
      return "extract";
  }
  return "";
}

}  // namespace ebla
