#include "sim/time/number_table.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "data/files/npz_arrays.hpp"

namespace fedstride {
namespace {

bool is_table_number(double value) { return std::isfinite(value) && value >= 0; }

NumberTable read_npz_table(const std::string& key, const std::string& path, const std::vector<std::string>& known) {
  const auto wrong = [&](const std::string& what) { return usage_error(key + " '" + path + "' " + what); };
  std::vector<std::string> others;
  const std::map<std::string, Array> arrays = npz_arrays(path, known, others);
  if (!others.empty()) throw wrong("has the unknown array '" + others.front() + "'; valid: " + joined(known));
  NumberTable table;
  for (const auto& [name, array] : arrays) {
    if (array.is_text() || array.shape.size() != 1 || (!table.columns.empty() && array.rows() != table.lines.size()))
      throw wrong("has '" + name + "' as " + array.type_text() +
                  "; all arrays must be one-dimensional, numeric and equally long");
    if (table.columns.empty()) table.lines.resize(array.rows());
    table.columns.push_back(name);
    for (std::size_t i = 0; i < array.rows(); ++i) {
      const double value = array.number(i);
      if (!is_table_number(value))
        throw wrong("has '" + name + "' " + number_text(value) + " at index " + std::to_string(i) +
                    "; it must be finite and at least 0");
      table.lines[i].push_back(value);
    }
  }
  if (table.lines.empty()) throw wrong("has no numbers; valid arrays: " + joined(known));
  return table;
}

}  // namespace

NumberTable read_number_table(const std::string& key, const std::string& path, const std::vector<std::string>& known) {
  constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 30;
  const std::string text = read_text_file(path, kMaxTableBytes);
  const auto wrong = [&](const std::string& what) { return usage_error(key + " '" + path + "'" + what); };
  if (text.starts_with("\x80"))
    throw wrong(" is a pickle, which is never read, since loading one can run code; convert it to CSV");
  if (text.starts_with("PK")) return read_npz_table(key, path, known);
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
          throw wrong(where + "column '" + one_line(name) + "' is unknown or occurs twice; valid: " + joined(known));
        table.columns.push_back(name);
      }
      continue;
    }
    if (fields.size() != table.columns.size())
      throw wrong(where + counted(fields.size(), "field") + "; the header has " + std::to_string(table.columns.size()));
    std::vector<double>& numbers = table.lines.emplace_back();
    for (const std::string_view field : fields) {
      double value = 0;
      if (!parse_number(trimmed(field), value) || !is_table_number(value))
        throw wrong(where + "'" + one_line(std::string(field)) + "'; it must be a finite number of at least 0");
      numbers.push_back(value);
    }
  }
  if (table.lines.empty()) throw wrong(" has no line after its header");
  return table;
}

}  // namespace fedstride
