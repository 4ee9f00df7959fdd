#include "sim/time/csv_table.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride {

NumberTable read_number_table(const std::string& key, const std::string& path, const std::vector<std::string>& known) {
  constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 30;
  const std::string text = read_file(path, kMaxTableBytes);
  const auto wrong = [&](const std::string& what) { return usage_error(key + " '" + path + "'" + what); };
  if (text.starts_with("\x80")) throw wrong(" is a pickle, which is never read: loading one runs code; convert it to CSV");
  NumberTable table;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    const std::string where = ", line " + std::to_string(number) + ": ";
    line = trimmed(line);
    if (line.empty()) continue;
    const auto fields = split(line, ',');
    if (table.columns.empty()) {
      for (const std::string_view field : fields) {
        const std::string name(trimmed(field));
        if (std::ranges::find(known, name) == known.end() || std::ranges::find(table.columns, name) != table.columns.end())
          throw wrong(where + "column '" + one_line(name) +
                      "' is unknown or there twice; valid, with their units: " + joined(known));
        table.columns.push_back(name);
      }
      continue;
    }
    if (fields.size() != table.columns.size())
      throw wrong(where + counted(fields.size(), "field") + "; the header has " + std::to_string(table.columns.size()));
    std::vector<double>& numbers = table.lines.emplace_back();
    for (const std::string_view field : fields) {
      double value = 0;
      if (!parse_number(trimmed(field), value) || !std::isfinite(value) || value < 0)
        throw wrong(where + "'" + one_line(std::string(field)) + "'; it must be a number from 0");
      numbers.push_back(value);
    }
  }
  if (table.lines.empty()) throw wrong(" has no line after its header");
  return table;
}

}  // namespace fedstride
