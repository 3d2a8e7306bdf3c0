#include "context/windows.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "context/text/ascii.h"

namespace ebla::context {
namespace {

// Input and output together, and what is reserved for the answer where a request does not say it.
// Gemini's window is the input alone: nothing is reserved there.
constexpr std::string_view kShipped = R"(
claude-                 200000    8192
claude-2                100000    4096
claude-2.1              200000    4096
claude-3                200000    4096
claude-3-5              200000    8192
claude-3-7              200000   64000
claude-haiku-4          200000   64000
claude-sonnet-4         200000   64000
claude-opus-4           200000   32000
claude-opus-4-5         200000   64000

gpt-3.5                  16385    4096
gpt-4                     8192    4096
gpt-4-32k                32768    4096
gpt-4-turbo             128000    4096
gpt-4-1106              128000    4096
gpt-4-0125              128000    4096
gpt-4o                  128000   16384
gpt-4.1                1047576   32768
gpt-4.5                 128000   16384
gpt-5                   400000  128000
gpt-5-chat              128000   16384
gpt-oss                 131072   32768
chatgpt-4o              128000   16384
codex-mini              200000  100000
computer-use-preview      8192    1024
o1                      200000  100000
o1-mini                 128000   65536
o1-preview              128000   32768
o3                      200000  100000
o4                      200000  100000

gemini-                1048576
gemini-1.5-pro         2097152
gemini-1.0               32760    2048
gemma-2                   8192    2048
gemma-3                 131072    8192

deepseek-               128000    8192
qwen                    131072    8192
qwen2.5                 131072    8192
qwen3                   131072    8192
qwen3-coder             262144   65536
qwen3-max               262144   65536
qwen-plus              1000000   32768
qwen-turbo             1000000   16384
qwq                     131072   32768
llama-2                   4096    1024
llama-3                   8192    2048
llama-3.1               131072    8192
llama-3.2               131072    8192
llama-3.3               131072    8192
llama3                    8192    2048
llama3.1                131072    8192
llama3.2                131072    8192
llama3.3                131072    8192
llama-4                1048576   16384
llama4                 1048576   16384
mistral                  32768    4096
mistral-large           131072   16384
mistral-medium          131072   16384
mistral-small           131072   16384
mistral-nemo            131072   16384
magistral               131072   40960
ministral               131072   16384
codestral               262144   16384
devstral                131072   16384
mixtral                  32768    4096
mixtral-8x22b            65536    4096
kimi-                   262144   32768
kimi-k2-0711            131072   32768
moonshot-v1-8k            8192    2048
moonshot-v1-32k          32768    4096
moonshot-v1-128k        131072    8192
glm-4                   131072    8192
glm-4.5                 131072   98304
glm-4.6                 202752  131072
minimax                 204800   65536
grok-2                  131072    8192
grok-3                  131072   16384
grok-4                  262144   32768
grok-4-fast            2000000   32768
grok-code               262144   32768
command-r               131072    4096
command-a               262144    8192
nova-                   300000    5120
nova-micro              131072    5120
nova-premier           1000000   32768
phi-3                   131072    4096
phi-4                    16384    4096
)";

// Takes the next word off the front of a line; "" at its end.
std::string_view next_word(std::string_view& line) {
  constexpr std::string_view kBlank = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlank));
  line.remove_prefix(word.size());
  return word;
}

std::optional<uint64_t> number_of(std::string_view word) {
  uint64_t value = 0;
  const auto [at, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || at != word.data() + word.size()) return std::nullopt;
  return value;
}

constexpr char kRow[] = "a row is PREFIX WINDOW [MAX_OUTPUT], in tokens";

// The fault in words; nothing for a good row.
std::string read_row(std::string_view line, ModelWindow& row) {
  row.prefix = lowered(next_word(line));
  const std::optional<uint64_t> window = number_of(next_word(line));
  if (!window || *window == 0) return kRow;
  row.window = *window;
  if (const std::string_view word = next_word(line); !word.empty()) {
    const std::optional<uint64_t> most = number_of(word);
    if (!most) return kRow;
    row.max_output = *most;
  }
  if (!next_word(line).empty()) return kRow;
  if (row.max_output >= row.window) return "the window must be larger than the answer";
  return {};
}

}  // namespace

WindowTable WindowTable::shipped() {
  WindowTable table;
  // A test reads the table: it has no fault.
  static_cast<void>(table.add(kShipped));
  return table;
}

Result<void> WindowTable::add(std::string_view text) {
  std::vector<ModelWindow> rows;
  for (size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    std::string_view rest = line;
    if (next_word(rest).empty()) continue;
    ModelWindow row;
    const std::string fault = read_row(line, row);
    if (!fault.empty()) {
      return fail(Code::bad_configuration, "line " + std::to_string(number) + ": " + fault);
    }
    rows.push_back(std::move(row));
  }
  for (ModelWindow& row : rows) {
    std::erase_if(rows_, [&row](const ModelWindow& old) { return old.prefix == row.prefix; });
    rows_.push_back(std::move(row));
  }
  return {};
}

const ModelWindow* WindowTable::find(std::string_view model) const {
  const std::string name = lowered(model);
  // Gateways put a vendor's or a region's name in front: "openai/gpt-5", "us.anthropic.claude-…".
  for (size_t begin = 0; begin < name.size();) {
    const std::string_view rest = std::string_view(name).substr(begin);
    const ModelWindow* best = nullptr;
    for (const ModelWindow& row : rows_) {
      const bool longer = best == nullptr || row.prefix.size() > best->prefix.size();
      if (longer && rest.starts_with(row.prefix)) best = &row;
    }
    if (best != nullptr) return best;
    begin = name.find_first_of("/.:", begin);
    begin = begin == std::string::npos ? name.size() : begin + 1;
  }
  return nullptr;
}

}  // namespace ebla::context
