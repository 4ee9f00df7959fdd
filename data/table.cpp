#include "data/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/parse_number.hpp"
#include "core/text.hpp"
#include "data/input_file.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxFeatures = std::size_t{1} << 30;  // 4 GiB of floats
constexpr int kMaxLabel = std::numeric_limits<Label>::max();

std::optional<double> number(std::string_view text) {
  text = trimmed(text);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double value = 0;
  if (!parse_number(text, value)) return std::nullopt;
  return value;
}

char separator_of(std::string_view line) {
  for (const char candidate : {';', ',', '\t'})
    if (line.find(candidate) != std::string_view::npos) return candidate;
  return ',';
}

bool is_number(std::string_view field) { return number(field).has_value(); }

class TableReader {
 public:
  TableReader(const std::filesystem::path& path, const TableFormat& format) : file_(path), format_(format) {}

  Dataset read() {
    std::string line;
    for (bool first = true; file_.read_line(line);) {
      ++line_number_;
      if (trimmed(line).empty()) continue;
      if (first) {
        first = false;
        begin(line);
        if (is_header(line)) continue;
      }
      add(line);
    }
    if (data_.labels.empty()) throw failure(file_.name() + " holds no record");
    data_.shape = {1, 1, static_cast<int>(columns_)};
    data_.classes = format_.classes > 0 ? format_.classes : 1 + *std::max_element(data_.labels.begin(), data_.labels.end());
    return std::move(data_);
  }

 private:
  Error wrong(const std::string& what) const {
    return failure(file_.name() + ", line " + std::to_string(line_number_) + ": " + what);
  }

  void begin(std::string_view line) {
    separator_ = separator_of(line);
    const std::size_t fields = split(line, separator_).size();
    if (fields < 2) throw wrong("one column; valid: numbers separated by commas, the label last");
    columns_ = format_.columns > 0 ? static_cast<std::size_t>(format_.columns) : fields - 1;
  }

  // A record with a gap ("5.1,?,3,0") must not be lost as a header, nor a header be read as a record.
  bool is_header(std::string_view line) const {
    const auto fields = split(line, separator_);
    const auto numbers = static_cast<std::size_t>(std::ranges::count_if(fields, is_number));
    if (numbers == 0) return true;
    if (numbers == fields.size()) return false;
    const auto gap = static_cast<std::size_t>(std::ranges::find_if_not(fields, is_number) - fields.begin());
    const auto value = static_cast<std::size_t>(std::ranges::find_if(fields, is_number) - fields.begin());
    throw wrong("field " + std::to_string(gap + 1) + " is '" + shown(fields[gap]) + "', which is no number, and field " +
                std::to_string(value + 1) + " is '" + shown(fields[value]) +
                "', which is one; valid: a record, all numbers, or a header without a number");
  }

  void add(std::string_view line) {
    std::size_t column = 0;
    for (std::size_t begin = 0; begin <= line.size(); ++column) {
      const std::size_t end = std::min(line.find(separator_, begin), line.size());
      const std::string_view field = line.substr(begin, end - begin);
      begin = end + 1;
      if (column > columns_) continue;
      const auto value = number(field);
      if (!value || !std::isfinite(static_cast<float>(*value)))
        throw wrong("field " + std::to_string(column + 1) + " is '" + shown(field) + "', which is no number");
      if (column < columns_)
        data_.features.push_back(static_cast<float>(*value));
      else
        add_label(*value, field);
    }
    if (column != columns_ + 1)
      throw wrong(counted(column, "field") + "; there must be " + std::to_string(columns_ + 1) + ", the label last");
    if (data_.features.size() > kMaxFeatures)
      throw wrong("more than " + std::to_string(kMaxFeatures) + " numbers; no more are read");
  }

  void add_label(double value, std::string_view field) {
    const int last = format_.classes > 0 ? format_.first_label + format_.classes - 1 : kMaxLabel;
    if (!(value >= format_.first_label && value <= last) || value != std::floor(value))
      throw wrong("label '" + shown(field) + "' is out of range; valid: whole numbers from " +
                  std::to_string(format_.first_label) + " to " + std::to_string(last));
    data_.labels.push_back(static_cast<Label>(static_cast<int>(value) - format_.first_label));
  }

  /// A field as it may stand in one line of an error.
  static std::string shown(std::string_view field) {
    std::string text(trimmed(field).substr(0, 40));
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    return text;
  }

  InputFile file_;
  TableFormat format_;
  Dataset data_;
  std::size_t columns_ = 0;
  std::size_t line_number_ = 0;
  char separator_ = ',';
};

}  // namespace

Dataset read_table(const std::filesystem::path& path, const TableFormat& format) { return TableReader(path, format).read(); }

namespace {

/// Mean and deviation of each channel of pictures, in units of 255, from the counts of their values.
void standardise_pictures(Dataset& train) {
  const auto channels = static_cast<std::size_t>(train.shape.channels);
  const std::size_t plane = train.shape.size() / channels;
  std::vector<std::array<std::uint64_t, 256>> counts(channels);
  const Borrowable<std::uint8_t>& pixels = train.pixels;
  for (std::size_t i = 0; i < pixels.size(); i += plane)
    for (std::size_t k = 0; k < plane; ++k) ++counts[i / plane % channels][pixels[i + k]];
  for (const auto& count : counts) {
    double sum = 0;
    double squares = 0;
    double all = 0;
    for (std::size_t value = 0; value < count.size(); ++value) {
      const auto many = static_cast<double>(count[value]);
      const double number = static_cast<double>(value) / 255;
      all += many;
      sum += many * number;
      squares += many * number * number;
    }
    const double mean = sum / all;
    const double variance = std::max(0.0, squares / all - mean * mean);
    train.mean.push_back(static_cast<float>(mean));
    train.deviation.push_back(variance > 1e-10 ? static_cast<float>(std::sqrt(variance)) : 1);
  }
}

}  // namespace

void standardise(Dataset& train) {
  if (train.vocabulary > 0) return;
  if (train.is_pictures()) return standardise_pictures(train);
  const auto columns = static_cast<std::size_t>(train.shape.channels);
  std::vector<double> sum(columns, 0);
  std::vector<double> squares(columns, 0);
  const Borrowable<float>& features = train.features;
  const std::size_t count = features.size() / columns;
  const auto rows = static_cast<double>(count);
  for (std::size_t i = 0; i < features.size(); ++i) sum[i % columns] += features[i];
  for (std::size_t i = 0; i < features.size(); ++i) {
    const double difference = features[i] - sum[i % columns] / rows;
    squares[i % columns] += difference * difference;
  }
  train.mean.resize(columns);
  train.deviation.resize(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    train.mean[c] = static_cast<float>(sum[c] / rows);
    const auto deviation = static_cast<float>(std::sqrt(squares[c] / rows));
    train.deviation[c] = std::isnormal(deviation) && std::isnormal(1 / deviation) ? deviation : 1;
  }
}

}  // namespace fedstride
