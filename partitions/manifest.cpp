#include "partitions/manifest.hpp"

#include <algorithm>
#include <utility>

#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/npy.hpp"
#include "partitions/statistics.hpp"

namespace fedstride {
namespace {

// "[\n    [1, 2],\n    [3]\n  ]": one line per inner list.
void append_lists(std::string& text, const auto& lists) {
  text += '[';
  const char* before = "\n    [";
  for (const auto& list : lists) {
    text += std::exchange(before, ",\n    [");
    for (std::size_t j = 0; j < list.size(); ++j) {
      if (j > 0) text += ", ";
      text += number_text(list[j]);
    }
    text += ']';
  }
  text += "\n  ]";
}

}  // namespace

std::vector<std::vector<std::size_t>> rows_per_class(const ClientRows& assignment, std::span<const std::uint16_t> labels,
                                                     int classes) {
  std::vector<std::vector<std::size_t>> table;
  for (const auto& rows : assignment) {
    auto& counts = table.emplace_back(static_cast<std::size_t>(classes), 0);
    for (const std::uint32_t row : rows) ++counts[labels[row]];
  }
  return table;
}

std::string partition_hash(const ClientRows& assignment) {
  Hash hash;
  hash.value(std::uint64_t{assignment.size()});
  for (const auto& rows : assignment) hash.value(std::uint64_t{rows.size()}).values(rows);
  return hash.hex();
}

namespace {

// The lists, with rows numbered as in the data file.
ClientRows in_file(const ClientRows& assignment, std::span<const std::uint32_t> file_rows) {
  if (file_rows.empty()) return assignment;
  std::vector<std::uint32_t> rows;
  std::vector<std::size_t> sizes;
  rows.reserve(assignment.row_count());
  for (const auto& list : assignment) {
    sizes.push_back(list.size());
    for (const std::uint32_t row : list) rows.push_back(file_rows[row]);
  }
  return {std::move(rows), sizes};
}

// The entries at the start of every manifest.
std::string beginning(const Partitioner& partitioner, std::uint64_t seed, const ClientRows& assignment,
                      std::span<const std::uint16_t> labels, int classes, std::size_t unused, const char* format) {
  Json settings = Json::object();
  for (const SettingInfo& setting : partitioner.part().settings())
    std::visit([&](const auto& value) { settings[std::string(setting.name)] = value; }, partitioner.part().get(setting));
  std::string text = "{\n  \"format\": \"" + std::string(format) + "\",\n  \"partition\": \"";
  text += partitioner.name();
  // File names need not be UTF-8, but JSON must be.
  text += "\",\n  \"settings\": " + dump_json(settings);
  text += ",\n  \"seed\": " + number_text(seed);
  text += ",\n  \"hash\": \"" + partition_hash(assignment) + "\"";
  if (unused > 0) text += ",\n  \"unused\": " + number_text(unused);
  return text + ",\n  \"statistics\": " + statistics_json(partition_statistics(assignment, labels, classes));
}

// "{\"least\": 1, \"quartiles\": [1, 2, 2], \"most\": 3}".
std::string quantiles_json(std::vector<std::uint32_t> values) {
  std::ranges::sort(values);
  const auto at = [&](std::size_t quarter) { return number_text(values[(values.size() - 1) * quarter / 4]); };
  return "{\"least\": " + at(0) + ", \"quartiles\": [" + at(1) + ", " + at(2) + ", " + at(3) + "], \"most\": " + at(4) + "}";
}

std::vector<std::uint32_t> classes_per_client(const ClientRows& assignment, std::span<const std::uint16_t> labels, int classes) {
  std::vector<std::uint32_t> counts;
  counts.reserve(assignment.size());
  std::vector<std::size_t> last_seen(static_cast<std::size_t>(classes), 0);  // 1 + client
  std::size_t client = 0;
  for (const auto& rows : assignment) {
    ++client;
    std::uint32_t seen = 0;
    for (const std::uint32_t row : rows)
      if (std::exchange(last_seen[labels[row]], client) != client) ++seen;
    counts.push_back(seen);
  }
  return counts;
}

}  // namespace

std::string manifest_json(const Partitioner& partitioner, std::uint64_t seed, const ClientRows& assignment,
                          std::span<const std::uint16_t> labels, int classes, std::size_t unused,
                          std::span<const std::uint32_t> file_rows) {
  std::string text = beginning(partitioner, seed, assignment, labels, classes, unused, "fedstride partition 1");
  text += ",\n  \"rows_per_class\": ";
  append_lists(text, rows_per_class(assignment, labels, classes));
  text += ",\n  \"clients\": ";
  append_lists(text, in_file(assignment, file_rows));
  return text + "\n}\n";
}

void write_manifest(const std::filesystem::path& path, const Partitioner& partitioner, std::uint64_t seed,
                    const ClientRows& assignment, std::span<const std::uint16_t> labels, int classes, std::size_t most_listed,
                    std::size_t unused, std::span<const std::uint32_t> file_rows) {
  const bool has_a_folder = target_of(path).kind != FileTarget::Kind::written_into;
  if (!has_a_folder || (assignment.row_count() <= most_listed && assignment.size() <= most_listed / 10))
    return write_file(path, manifest_json(partitioner, seed, assignment, labels, classes, unused, file_rows));
  std::vector<std::uint32_t> sizes;
  sizes.reserve(assignment.size());
  for (const auto& rows : assignment) sizes.push_back(static_cast<std::uint32_t>(rows.size()));
  const std::string stem = path.stem().string();
  write_npy(path.parent_path() / (stem + ".rows.npy"), in_file(assignment, file_rows).all_rows());
  write_npy(path.parent_path() / (stem + ".sizes.npy"), sizes);
  std::string text = beginning(partitioner, seed, assignment, labels, classes, unused, "fedstride partition 2");
  text += ",\n  \"clients\": " + number_text(std::uint64_t{assignment.size()});
  text += ",\n  \"rows_per_client\": " + quantiles_json(sizes);
  text += ",\n  \"classes_per_client\": " + quantiles_json(classes_per_client(assignment, labels, classes));
  text += ",\n  \"rows\": " + dump_json(Json(stem + ".rows.npy"));
  text += ",\n  \"sizes\": " + dump_json(Json(stem + ".sizes.npy"));
  write_file(path, text + "\n}\n");  // written last: if a manifest exists, so do its lists
}

}  // namespace fedstride
