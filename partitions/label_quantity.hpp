#pragma once

#include <utility>

#include "partitions/dealing.hpp"
#include "partitions/partitions.hpp"

namespace fedstride {

struct LabelQuantitySettings {
  AutoWhole classes_per_client = {.is_auto = true};  ///< K

  static constexpr auto kFields =
      fields(Field{"classes-per-client", &LabelQuantitySettings::classes_per_client, kClassesPerClientHelp, kNonNegative});
};

/// Each client holds K classes, most of them drawn at random, so classes differ in their number of holders and clients in size
/// (the quantity-based label imbalance "C = K" of NIID-Bench: Li et al. 2022, section IV-A).
///
/// The classes that have rows are numbered in the data set's class order. Client c holds class c modulo the number of classes
/// and, if there are fewer clients than classes, also c + clients, c + 2 clients, ..., so that each class has a holder if K allows. Its other
/// classes are drawn without replacement. The shuffled rows of a class are split among its holders into pieces whose sizes differ
/// by at most one. (A client left without rows takes one from the largest client.)
struct LabelQuantity final : PartBase<PartitionPart, LabelQuantity, LabelQuantitySettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "label-quantity";
  static constexpr std::string_view kSummary = "a few random classes per client, client sizes unequal (NIID-Bench's #C = K)";

  Dealing dealing() const override { return Dealing::labels; }
  ClientRows assign(const PartitionInput& input) const override {
    check_input(input);
    const auto clients = static_cast<std::size_t>(input.clients);
    const auto by_class = shuffled_rows_by_class(input);
    const auto present = classes_with_rows(input, by_class);
    const std::size_t held = classes_per_client_of(classes_per_client, clients, present.size());

    std::vector<std::vector<std::size_t>> holders(present.size());
    std::vector<std::size_t> order(present.size());
    for (std::size_t client = 0; client < clients; ++client) {
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::size_t taken = 0;
      for (std::size_t own = client % order.size(); own < order.size() && taken < held; own += clients)
        std::swap(order[taken++], order[own]);
      RandomStream random = partition_stream(input.seed, PartitionDraw::held_classes, client);
      for (; taken < held; ++taken) std::swap(order[taken], order[taken + random.below(order.size() - taken)]);
      for (std::size_t i = 0; i < held; ++i) holders[order[i]].push_back(client);
    }

    Assignment assignment(clients);
    for (std::size_t i = 0; i < present.size(); ++i)
      for (std::size_t holder = 0; holder < holders[i].size(); ++holder) {
        auto& list = assignment[holders[i][holder]];
        const auto piece = even_piece(by_class[present[i]], holder, holders[i].size());
        list.insert(list.end(), piece.begin(), piece.end());
      }
    finish(assignment);
    return assignment;
  }
};

}  // namespace fedstride
