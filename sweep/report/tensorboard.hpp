#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/run/live_board.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {

/// The result of export_tensorboard().
struct TensorBoardExport {
  std::vector<std::string> runs = {};  ///< names of the folders written
  std::size_t without_rounds = 0;      ///< number of cells without a round yet
  std::size_t clients_left_out = 0;    ///< number of clients beyond kMaxExportedClients, in the cell with the most clients
};

/// Writes FOLDER/RUN/events.out.tfevents.fedstride, one step per round, for every run that has a round; replaces existing files.
/// A sweep's cell is named after the settings that vary ("optimizer=adadp,seed=1"), a single run after its folder. Wall times are
/// those of an uninterrupted run that ended when the last round was written. Throws Error: usage for results of commands other
/// than run; failure if a file cannot be written.
TensorBoardExport export_tensorboard(const SweepResults& results, const std::filesystem::path& folder);

}  // namespace fedstride
