#include "partitions/label_distribution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "partitions/dealing.hpp"

namespace fedstride {
namespace {

constexpr const char* kDistributionForm =
    "valid: one row per client and one number per class, as CSV or as JSON [[0.5, 0.5], ...]";

using Mixes = std::vector<std::vector<double>>;

std::optional<Mixes> mixes_in_json(const std::string& text) {
  const Json document = parse_json(text);
  if (!document.is_array()) return std::nullopt;
  Mixes mixes;
  for (const Json& line : document) {
    if (!line.is_array()) return std::nullopt;
    auto& mix = mixes.emplace_back();
    for (const Json& entry : line) {
      if (!entry.is_number()) return std::nullopt;
      mix.push_back(entry.get<double>());
    }
  }
  return mixes;
}

std::optional<Mixes> mixes_in_csv(const std::string& text) {
  Mixes mixes;
  for (const std::string_view line : split(text, '\n')) {
    if (trimmed(line).empty()) continue;
    auto& mix = mixes.emplace_back();
    for (const std::string_view field : split(line, ',')) {
      double number = 0;
      if (!parse_number(trimmed(field), number)) return std::nullopt;
      mix.push_back(number);
    }
  }
  return mixes;
}

/// The clients' class shares; each client's shares sum to 1.
Mixes mixes_of(const std::string& path, const PartitionInput& input) {
  constexpr std::uint64_t kMaxEntryBytes = 32;
  const std::string text =
      read_text_file(path, (std::uint64_t{1} << 20) + kMaxEntryBytes * static_cast<std::uint64_t>(input.clients) *
                                                          static_cast<std::uint64_t>(input.classes));
  auto found = trimmed(text).starts_with('[') ? mixes_in_json(text) : mixes_in_csv(text);
  if (!found) throw failure("'" + path + "' is not a table of numbers; " + kDistributionForm);
  if (found->size() != static_cast<std::size_t>(input.clients))
    throw usage_error("clients is " + std::to_string(input.clients) + "; '" + path + "' has " + std::to_string(found->size()));
  for (std::size_t client = 0; client < found->size(); ++client) {
    auto& mix = (*found)[client];
    const std::string who = "'" + path + "': client " + std::to_string(client);
    if (mix.size() != static_cast<std::size_t>(input.classes))
      throw usage_error(who + " has " + counted(mix.size(), "number") + "; the data set has " +
                        counted(static_cast<std::uint64_t>(input.classes), "class", "classes"));
    double sum = 0;
    for (const double share : mix) {
      if (!(share >= 0) || share > 1e15)
        throw failure(who + " has the share " + number_text(share) + "; a share must be a number from 0 to 1e15");
      sum += share;
    }
    if (!(sum > 0)) throw failure(who + " has only zeros; at least one share must be above 0");
    for (double& share : mix) share /= sum;
  }
  return std::move(*found);
}

}  // namespace

ClientRows LabelDistribution::assign(const PartitionInput& input) const {
  check_input(input);
  if (distribution_file.empty()) throw usage_error(std::string("distribution-file is empty; ") + kDistributionForm);
  const Mixes mixes = mixes_of(distribution_file, input);
  const auto by_class = shuffled_rows_by_class(input);

  double size = std::numeric_limits<double>::infinity();
  std::size_t scarcest = 0;
  for (std::size_t label = 0; label < by_class.size(); ++label) {
    double asked = 0;
    for (const auto& mix : mixes) asked += mix[label];
    if (asked == 0 || static_cast<double>(by_class[label].size()) / asked >= size) continue;
    size = static_cast<double>(by_class[label].size()) / asked;
    scarcest = label;
  }

  Assignment assignment(mixes.size());
  for (std::size_t label = 0; label < by_class.size(); ++label) {
    const auto& rows = by_class[label];
    double cumulative = 0;
    std::size_t begin = 0;
    for (std::size_t client = 0; client < mixes.size(); ++client) {
      cumulative += mixes[client][label];
      // Cumulative shares may round up or down by an ulp: 3 x 0.1 is 0.30000000000000004, and 0.7 + 0.1 is less than 0.8. Such
      // sums still count as reaching the next whole row.
      const double cut = std::floor(cumulative * size + 1e-6);
      const std::size_t end = std::clamp(static_cast<std::size_t>(cut), begin, rows.size());
      assignment[client].insert(assignment[client].end(), rows.begin() + static_cast<std::ptrdiff_t>(begin),
                                rows.begin() + static_cast<std::ptrdiff_t>(end));
      begin = end;
    }
  }
  for (std::size_t client = 0; client < assignment.size(); ++client) {
    if (assignment[client].empty())
      throw failure("'" + distribution_file + "': client " + std::to_string(client) + " would have no rows, because class " +
                    std::to_string(scarcest) + " has " + counted(by_class[scarcest].size(), "row") +
                    " in all; each client needs at least one row");
    std::sort(assignment[client].begin(), assignment[client].end());
  }
  return assignment;
}

}  // namespace fedstride
