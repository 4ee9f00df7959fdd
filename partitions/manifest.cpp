#include "partitions/manifest.hpp"

#include "core/hash.hpp"
#include "core/json.hpp"

namespace fedstride {
namespace {

// "[\n  [1, 2],\n  [3]\n ]": one line an inner list.
template <class Number>
void append_lists(std::string& text, const std::vector<std::vector<Number>>& lists) {
  text += '[';
  for (std::size_t i = 0; i < lists.size(); ++i) {
    text += i == 0 ? "\n  [" : ",\n  [";
    for (std::size_t j = 0; j < lists[i].size(); ++j) {
      if (j > 0) text += ", ";
      text += number_text(lists[i][j]);
    }
    text += ']';
  }
  text += "\n ]";
}

}  // namespace

std::vector<std::vector<std::size_t>> rows_per_class(const Assignment& assignment, std::span<const std::uint16_t> labels,
                                                     int classes) {
  std::vector<std::vector<std::size_t>> table;
  for (const auto& rows : assignment) {
    auto& counts = table.emplace_back(static_cast<std::size_t>(classes), 0);
    for (const std::uint32_t row : rows) ++counts[labels[row]];
  }
  return table;
}

std::string partition_hash(const Assignment& assignment) {
  Hash hash;
  hash.value(std::uint64_t{assignment.size()});
  for (const auto& rows : assignment) hash.value(std::uint64_t{rows.size()}).values(std::span(rows));
  return hash.hex();
}

std::string manifest_json(const Partitioner& partitioner, std::uint64_t seed, const Assignment& assignment,
                          std::span<const std::uint16_t> labels, int classes) {
  OrderedJson settings = OrderedJson::object();
  for (const SettingInfo& setting : partitioner.part().settings())
    std::visit([&](const auto& value) { settings[std::string(setting.name)] = value; }, partitioner.part().get(setting));
  std::string text = "{\n \"format\": \"fedstride partition 1\",\n \"partition\": \"";
  text += partitioner.name();
  // A file's name need not be UTF-8; JSON must be.
  text += "\",\n \"settings\": " + dump_json(settings);
  text += ",\n \"seed\": " + number_text(seed);
  text += ",\n \"hash\": \"" + partition_hash(assignment) + "\"";
  text += ",\n \"rows_per_class\": ";
  append_lists(text, rows_per_class(assignment, labels, classes));
  text += ",\n \"clients\": ";
  append_lists(text, assignment);
  return text + "\n}\n";
}

}  // namespace fedstride
