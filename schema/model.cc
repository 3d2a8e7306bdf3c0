#include "schema/model.h"

namespace ebla {

std::string_view artifact_kind_name(ArtifactKind kind) {
  switch (kind) {
    case ArtifactKind::tool_result:
      return "tool_result";
    case ArtifactKind::human:
      return "human";
  }
  return "";
}

}  // namespace ebla
