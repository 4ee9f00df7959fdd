#pragma once

#include "partitions/dealing.hpp"
#include "partitions/partitions.hpp"

namespace fedstride {

struct PathologicalSettings {
  AutoWhole classes_per_client = {.is_auto = true};  ///< K

  static constexpr auto kFields =
      fields(Field{"classes-per-client", &PathologicalSettings::classes_per_client, kClassesPerClientHelp, kNonNegative}.often());
};

/// Each client holds only a few classes (Koskela & Honkela, section "Federated learning experiments": client 1 has cars and
/// trucks, client 2 planes and ships, ...).
///
/// The classes that have rows, in the data set's class order, fill the clients x K places cyclically: client c gets places c K
/// ... c K + K - 1, modulo the number of classes. Thus, consecutive classes share a client, a client's classes differ, and the
/// numbers of holders of any two classes differ by at most one. The shuffled rows of a class are split among its holders into
/// pieces whose sizes differ by at most one. (A client left without rows, which happens only if a class has fewer rows than
/// holders, takes one from the largest client.)
struct Pathological final : PartBase<PartitionPart, Pathological, PathologicalSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "pathological";
  static constexpr std::string_view kSummary =
      "a few classes per client; with CIFAR-10 and five clients, Koskela & Honkela's pairs";

  Dealing dealing() const override { return Dealing::labels; }
  const AutoWhole* classes_in_turn() const override { return &classes_per_client; }
  ClientRows assign(const PartitionInput& input) const override { return dealt(input, classes_per_client); }

  /// The same assignment as lists, from which `interpolated` starts.
  static Assignment dealt(const PartitionInput& input, const AutoWhole& classes_per_client) {
    check_input(input);
    const auto clients = static_cast<std::size_t>(input.clients);
    const auto by_class = shuffled_rows_by_class(input);
    const auto present = classes_with_rows(input, by_class);
    const std::size_t places = clients * classes_per_client_of(classes_per_client, clients, present.size());

    Assignment assignment(clients);
    for (std::size_t i = 0; i < present.size(); ++i) {
      const auto& rows = by_class[present[i]];
      const std::size_t holders = (places - i + present.size() - 1) / present.size();  // places i, i + classes, ...
      for (std::size_t holder = 0; holder < holders; ++holder) {
        auto& list = assignment[(i + holder * present.size()) / (places / clients)];
        const auto piece = even_piece(rows, holder, holders);
        list.insert(list.end(), piece.begin(), piece.end());
      }
    }
    finish(assignment);
    return assignment;
  }
};

}  // namespace fedstride
