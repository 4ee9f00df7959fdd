#include "partitions/outside_rows.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::uint64_t kMaxExamples = 1'000'000'000;

}  // namespace

ClientRows OutsideRows::assign(const PartitionInput& /*input*/) const {
  throw usage_error(
      "partition is 'outside': only the clients' code knows their examples, so no rows are assigned; use any other "
      "partition here");
}

std::vector<std::uint64_t> OutsideRows::counts(std::size_t clients) const {
  std::vector<std::uint64_t> numbers;
  for (const std::string_view word : split(client_examples, ',')) {
    std::uint64_t number = 0;
    if (!parse_number(trimmed(word), number) || number < 1 || number > kMaxExamples)
      throw usage_error("client-examples has '" + std::string(trimmed(word)) + "'; valid: whole numbers from 1 to " +
                        std::to_string(kMaxExamples) + ", separated by commas");
    numbers.push_back(number);
  }
  if (numbers.size() == 1) numbers.resize(clients, numbers.front());
  if (numbers.size() != clients)
    throw usage_error("client-examples has " + std::to_string(numbers.size()) + " numbers; with clients " +
                      std::to_string(clients) + " it must have one for each, or one for all");
  return numbers;
}

}  // namespace fedstride
