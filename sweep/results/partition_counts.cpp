#include "sweep/results/partition_counts.hpp"

#include <fstream>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxCounts = std::size_t{1} << 24;

/// Takes the events up to the end of rows_per_class, and then stops the parser.
struct Counts final : JsonEvents {
  std::vector<std::vector<std::uint64_t>> rows = {};
  std::size_t counts = 0;
  bool complete = false;
  bool summary = false;  // the lists of a large partition lie beside it
  bool inside = false;   // of rows_per_class
  int depth = 0;
  std::string last_key = {};

  bool null() override { return !inside; }
  bool boolean(bool) override { return !inside; }
  bool number_integer(std::int64_t) override { return !inside; }
  bool number_float(double) override { return !inside; }
  bool number_unsigned(std::uint64_t value) override {
    if (!inside) return true;
    if (depth != 3 || ++counts > kMaxCounts) return false;
    rows.back().push_back(value);
    return true;
  }
  bool string(std::string& value) override {
    summary = summary || (depth == 1 && last_key == "format" && value == "fedstride partition 2");
    return !inside && !summary;
  }
  bool key(std::string& name) override {
    last_key = name;
    return true;
  }
  bool start_object() override {
    ++depth;
    return !inside;
  }
  bool end_object() override {
    --depth;
    return true;
  }
  bool start_array() override {
    ++depth;
    if (depth == 2 && last_key == "rows_per_class") inside = true;
    if (inside && depth == 3) rows.emplace_back();
    return !inside || (depth <= 3 && ++counts <= kMaxCounts);
  }
  bool end_array() override {
    --depth;
    complete = inside && depth == 1;
    return !complete;
  }
  bool parse_error(const JsonError&) override { return false; }
};

}  // namespace

std::vector<std::vector<std::uint64_t>> read_partition_counts(const std::filesystem::path& path) {
  size_of_file(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw failure("cannot read '" + path.string() + "'");
  Counts counts;
  sax_parse_json(file, counts);
  if (counts.summary) return {};
  if (!counts.complete)
    throw failure("'" + path.string() + "' has no list rows_per_class of counts; remove the cell's folder to run it again");
  return std::move(counts.rows);
}

}  // namespace fedstride
