#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sweep/results/results.hpp"

namespace fedstride {

/// The result of an export.
struct TensorBoardExport {
  std::vector<std::string> runs = {};  ///< their folders' names, below the one given
  std::size_t without_rounds = 0;      ///< cells of which there is nothing yet
  std::size_t clients_left_out = 0;    ///< clients beyond kMaxExportedClients, of the cell that has most
};

/// The clients of a run that have curves of their own; each has a handful.
inline constexpr std::uint32_t kMaxExportedClients = 32;

/// Writes FOLDER/RUN/events.out.tfevents.fedstride for every run that has a round, a step a round; a file from before is
/// replaced. A cell of a sweep is called by the settings that vary, "optimizer=adadp,seed=1", a lone run by its folder. Times
/// are those at which a round would have ended if the run had gone on without a break until its last. Throws Error (usage) for
/// results of another command than run, failure if something cannot be written.
TensorBoardExport export_tensorboard(const SweepResults& results, const std::filesystem::path& folder);

/// The tag of a metric of the federation: "accuracy/test", "privacy/epsilon".
std::string tensorboard_tag(std::string_view metric);

}  // namespace fedstride
