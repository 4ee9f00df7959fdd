#include "tests/kits/conformance.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "core/random.hpp"
#include "tests/kits/promises.hpp"

namespace fedstride {
namespace {

/// Rows with drawn labels, all of them to be dealt out unless `rows` is made shorter.
struct TriedInput {
  std::vector<std::uint16_t> labels;
  std::vector<std::uint32_t> rows;
  std::vector<float> property;
  int classes = 0;
  std::vector<std::uint32_t> natural;  ///< each row's natural client; each of `clients` has one of the first rows
  int clients = 0;
  std::uint64_t seed = 1;

  TriedInput(std::size_t count, int classes_, int clients_, std::uint64_t seed_ = 1)
      : labels(count), rows(count), property(count), classes(classes_), clients(clients_), seed(seed_) {
    RandomStream random(seed, {.purpose = Purpose::test, .round = 1});
    for (auto& label : labels) label = static_cast<std::uint16_t>(random.below(static_cast<std::uint64_t>(classes)));
    std::iota(rows.begin(), rows.end(), 0U);
    for (float& value : property) value = random.uniform_float();
    for (std::uint32_t row = 0; row < count && clients > 0; ++row)
      natural.push_back(row < static_cast<std::uint32_t>(clients)
                            ? row
                            : static_cast<std::uint32_t>(random.below(static_cast<std::uint64_t>(clients))));
  }

  ClientRows dealt_by(const Partitioner& partitioner) const {
    return partitioner->assign({.labels = labels,
                                .rows = rows,
                                .classes = classes,
                                .class_order = {},
                                .clients = clients,
                                .seed = seed,
                                .property = property,
                                .client_of_row = natural,
                                .natural_clients = static_cast<std::size_t>(std::max(clients, 0))});
  }
};

const std::vector<TriedInput>& tried_inputs() {
  static const std::vector<TriedInput> inputs = [] {
    std::vector<TriedInput> all;
    RandomStream random(7, {.purpose = Purpose::test, .round = 1});
    for (int i = 0; i < 40; ++i) {
      const auto count = 1 + random.below(400);
      const auto classes = static_cast<int>(1 + random.below(15));
      const auto clients = static_cast<int>(1 + random.below(std::min<std::uint64_t>(count, 60)));
      all.emplace_back(count, classes, clients, random.bits64());
    }
    all.emplace_back(50, 3, 1);       // one client
    all.emplace_back(60, 1, 6);       // one class
    all.emplace_back(30, 4, 30);      // one row each
    TriedInput held_out(500, 10, 7);  // as a validation split leaves it, and no row of class 4
    std::erase_if(held_out.rows, [&](std::uint32_t row) { return row % 5 == 2 || held_out.labels[row] == 4; });
    all.push_back(held_out);
    return all;
  }();
  return inputs;
}

/// The assignment, or nothing for an input that is refused.
std::optional<ClientRows> dealt_or_refused(const Partitioner& partitioner, const TriedInput& input) {
  try {
    return input.dealt_by(partitioner);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::usage) throw;
    return std::nullopt;
  }
}

/// True if every assignment is good.
bool always(const Partitioner& partitioner, const std::function<bool(const TriedInput&, const ClientRows&)>& good) {
  return std::ranges::all_of(tried_inputs(), [&](const TriedInput& input) {
    const auto assignment = dealt_or_refused(partitioner, input);
    return !assignment || good(input, *assignment);
  });
}

bool deals_something_out(const Partitioner& partitioner) {
  return std::ranges::any_of(tried_inputs(),
                             [&](const TriedInput& input) { return dealt_or_refused(partitioner, input).has_value(); });
}

bool makes_a_list_for_each(const Partitioner& partitioner) {
  return always(partitioner, [](const TriedInput& input, const ClientRows& assignment) {
    return assignment.size() == static_cast<std::size_t>(input.clients);
  });
}

bool deals_every_row_once(const Partitioner& partitioner) {
  return always(partitioner, [](const TriedInput& input, const ClientRows& assignment) {
    std::vector<std::uint32_t> dealt;
    for (const auto& rows : assignment) dealt.insert(dealt.end(), rows.begin(), rows.end());
    std::ranges::sort(dealt);
    return dealt == input.rows;
  });
}

bool lists_ascend(const Partitioner& partitioner) {
  return always(partitioner, [](const TriedInput&, const ClientRows& assignment) {
    return std::ranges::all_of(assignment, [](const auto& rows) { return std::ranges::is_sorted(rows); });
  });
}

bool leaves_no_client_empty(const Partitioner& partitioner) {
  return always(partitioner, [](const TriedInput&, const ClientRows& assignment) {
    return std::ranges::none_of(assignment, [](const auto& rows) { return rows.empty(); });
  });
}

bool deals_the_same_again(const Partitioner& partitioner) {
  return always(partitioner,
                [&](const TriedInput& input, const ClientRows& assignment) { return input.dealt_by(partitioner) == assignment; });
}

bool refuses_client_counts(const Partitioner& partitioner) {
  for (const int clients : {-1, 0, 21})
    if (dealt_or_refused(partitioner, TriedInput(20, 3, clients))) return false;
  return true;
}

constexpr Promise<Partitioner> kPartitionPromises[] = {
    {"its settings are valid, each with a name of its own",
     [](const Partitioner& part) { return has_valid_settings(part.part()); }},
    {"some of the inputs it is tried on are dealt out", deals_something_out},
    {"there is a list for each client", makes_a_list_for_each},
    {"every row is in exactly one list", deals_every_row_once},
    {"every list ascends", lists_ascend},
    {"no list is empty", leaves_no_client_empty},
    {"the same input gives the same lists", deals_the_same_again},
    {"no clients, and more clients than rows, are refused", refuses_client_counts},
};

}  // namespace

std::vector<std::string> complaints(const Partitioner& partitioner) {
  return broken_promises<Partitioner>(partitioner, kPartitionPromises);
}

}  // namespace fedstride
