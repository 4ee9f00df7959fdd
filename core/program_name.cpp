#include "core/program_name.hpp"

#include <algorithm>
#include <vector>

namespace fedstride {
namespace {

constexpr std::string_view kFedstride = "fedstride";

struct Program {
  std::string name{kFedstride};
  std::vector<std::string> commands;
};

Program& program() {
  static Program one;
  return one;
}

}  // namespace

const std::string& program_name() { return program().name; }

void set_program_name(std::string_view called, std::span<const std::string> commands) {
  const std::string_view file = called.substr(called.rfind('/') + 1);
  const bool is_own = !file.empty() && !file.starts_with(kFedstride);
  program() = {std::string(is_own ? called : kFedstride), {commands.begin(), commands.end()}};
}

std::string in_own_name(std::string text) {
  if (program_name() == kFedstride) return text;
  for (std::size_t at = text.find(kFedstride); at != text.npos; at = text.find(kFedstride, at + 1)) {
    const std::size_t word = at + kFedstride.size() + 1;
    if (word >= text.size() || text[word - 1] != ' ') continue;
    const std::string command = text.substr(word, text.find_first_of(" '\n;", word) - word);
    if (std::ranges::find(program().commands, command) != program().commands.end())
      text.replace(at, kFedstride.size(), program_name());
  }
  return text;
}

}  // namespace fedstride
