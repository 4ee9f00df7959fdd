#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/descriptor.hpp"

namespace fedstride {

/// The event file of a run in progress, DIR/NAME/events.out.tfevents.fedstride: NAME is the name of the run's folder, and each
/// round is a step, written as soon as the round is done. Under privacy the file has only numbers that the guarantee covers, even
/// if rounds.jsonl has more.
class LiveBoard {
 public:
  /// Begins a new file or continues the file of the run's earlier sessions: steps up to `rounds_done` stay, and steps that are
  /// missing or differ are written from rounds.jsonl in `run`.
  LiveBoard(const std::filesystem::path& board, const std::filesystem::path& run, std::uint32_t rounds_done);

  /// Adds a round, given its line of rounds.jsonl.
  void add(std::string_view line);

  /// Why the file could not be written; empty if it could. The run then continues without its board.
  const std::string& failure() const { return failure_; }

 private:
  void begin(const std::filesystem::path& run, std::uint32_t rounds_done);
  void write(std::string_view bytes);

  std::filesystem::path path_;
  Descriptor file_;
  std::string failure_;
};

/// The name of the event files.
inline constexpr std::string_view kEventFile = "events.out.tfevents.fedstride";
/// Only clients with numbers below this get their own curves.
inline constexpr std::uint32_t kMaxExportedClients = 32;

/// The tag of a metric of the federation, such as "accuracy/test" or "privacy/epsilon".
std::string tensorboard_tag(std::string_view metric);

}  // namespace fedstride
