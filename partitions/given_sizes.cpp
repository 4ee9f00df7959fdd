#include "partitions/given_sizes.hpp"

#include <cmath>
#include <numeric>

#include "core/elementary.hpp"
#include "core/text.hpp"
#include "partitions/dealing.hpp"

namespace fedstride {
namespace {

constexpr double kMaxRoundingError = 1e-9;  // for shares that should sum to 1

std::string shown(std::string_view list) { return std::string(list.substr(0, 40)) + (list.size() > 40 ? "..." : ""); }

double weight(std::string_view law, double client, double last) {
  if (law == "linear") return client + 1;
  return law == "square" ? (client + 1) * (client + 1) : portable::exp(client - last);
}

/// The numbers in a list: all above 0, and either all whole or all below 1.
std::vector<double> numbers_of(const std::string& list) {
  const auto wrong = [&](std::string_view piece) {
    return usage_error(
        "sizes is '" + shown(list) + "', with the invalid entry '" + shown(piece) +
        "'; valid: one whole number of rows (\"100,200,50\") or one share below 1 (\"0.5,0.25,0.25\") per client, or "
        "linear, square, exponential");
  };
  std::vector<double> numbers;
  for (const std::string_view piece : split(list, ',')) {
    double number = 0;
    if (!parse_number(trimmed(piece), number) || !(number > 0) || number > 1e10) throw wrong(piece);
    const bool whole = number == std::floor(number);
    if ((!whole && number > 1) || (!numbers.empty() && whole != (numbers.front() >= 1))) throw wrong(piece);
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

bool is_size_law(std::string_view sizes) { return sizes == "linear" || sizes == "square" || sizes == "exponential"; }

ClientRows GivenSizes::assign(const PartitionInput& input) const {
  check_input(input);
  if (is_size_law(sizes)) {
    std::vector<double> weights;
    for (int client = 0; client < input.clients; ++client) weights.push_back(weight(sizes, client, input.clients - 1));
    return dealt_by_size(input, sizes_in_proportion(weights, input.rows.size()));
  }
  const std::vector<double> numbers = numbers_of(sizes);
  if (numbers.size() != static_cast<std::size_t>(input.clients))
    throw usage_error("sizes is '" + shown(sizes) + "', which has " + counted(numbers.size(), "entry", "entries") +
                      "; it must have " + std::to_string(input.clients) + ", one per client");
  const auto rows = static_cast<double>(input.rows.size());
  const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  if (numbers.front() >= 1) {
    if (sum > rows)
      throw usage_error("sizes is '" + shown(sizes) + "', a total of " + number_text(sum) + " rows; there are " +
                        counted(input.rows.size(), "training row") + " to assign");
    return dealt_by_size(input, std::vector<std::size_t>(numbers.begin(), numbers.end()));
  }
  if (sum > 1 + kMaxRoundingError)
    throw usage_error("sizes is '" + shown(sizes) + "', whose shares sum to " + number_text(sum) + "; the sum must be at most 1");
  const bool all = sum > 1 - kMaxRoundingError;
  const auto dealt = all ? input.rows.size() : static_cast<std::size_t>(std::llround(sum * rows));
  if (dealt < numbers.size())
    throw usage_error("sizes is '" + shown(sizes) + "', which gives " + counted(dealt, "row") + " for " +
                      counted(numbers.size(), "client") + "; each needs at least one");
  return dealt_by_size(input, sizes_in_proportion(numbers, dealt));
}

}  // namespace fedstride
