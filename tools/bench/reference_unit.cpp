// The yardstick of tools/bench/compile_cost.py: a unit that uses only the standard library and never changes. The cost of a build
// can thus be given as a multiple of the unit's on any machine. The unit is compiled, never linked.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace reference_unit {

using Value = std::variant<long, double, std::string, std::vector<double>>;

std::map<std::string, Value> parse(const std::string& text) {
  static const std::regex line("([a-z-]+) *= *([^#]*)(#.*)?");
  std::map<std::string, Value> values;
  std::istringstream stream(text);
  for (std::string row; std::getline(stream, row);) {
    std::smatch match;
    if (!std::regex_match(row, match, line)) continue;
    const std::string word = match[2];
    if (std::regex_match(word, std::regex("[0-9]+")))
      values[match[1]] = std::stol(word);
    else if (std::regex_match(word, std::regex("[0-9.]+")))
      values[match[1]] = std::stod(word);
    else
      values[match[1]] = word;
  }
  return values;
}

std::unordered_map<std::string, std::function<double(const std::vector<double>&)>> summaries() {
  return {{"sum", [](const auto& x) { return std::accumulate(x.begin(), x.end(), 0.0); }},
          {"max", [](const auto& x) { return *std::max_element(x.begin(), x.end()); }},
          {"median", [](auto x) {
             std::sort(x.begin(), x.end());
             return x[x.size() / 2];
           }}};
}

std::string describe(const Value& value) {
  return std::visit(
      [](const auto& held) {
        std::ostringstream out;
        if constexpr (requires { held.begin(); })
          std::for_each(held.begin(), held.end(), [&](const auto& one) { out << one << ' '; });
        else
          out << held;
        return out.str();
      },
      value);
}

}  // namespace reference_unit
