#pragma once

#include <map>
#include <set>

#include "server/round.hpp"
#include "sim/time/round_time.hpp"
#include "sim/time/work.hpp"

namespace fedstride {

/// A version of the server's model as clients receive it.
struct ModelVersion {
  Vector model = {};
  std::vector<double> told = {};  ///< Task::told
};

/// A run in virtual time: its rounds, or the versions of its model, in sequence (ModePart::begin).
class TimedRun {
 public:
  virtual ~TimedRun() = default;

  /// Carries out the next round or version. Takes the same arguments as run_round, and returns and throws like it.
  virtual std::vector<ClientReport> advance(std::uint32_t round, const RoundRules& rules, Fleet& fleet, Server& server,
                                            Vector& model, std::span<const std::uint64_t> releases = {},
                                            ForEachPiece for_each_piece = serially) = 0;
  /// The time of the last round or version.
  const RoundTime& last() const { return last_; }

  /// Convert the state at the end of the last round to bytes and back. load throws Error (failure) if the bytes are not such a
  /// state. The models of versions() belong to the state but are stored in files.
  virtual std::string save() const = 0;
  virtual void load(const std::string& bytes, Nanoseconds now) = 0;
  /// Versions older than the current model from which running tasks began.
  const std::map<std::uint32_t, std::shared_ptr<const ModelVersion>>& versions() const { return versions_; }
  virtual std::set<std::uint32_t> needed_versions() const { return {}; }
  void put_version(std::uint32_t number, ModelVersion version) {
    versions_[number] = std::make_shared<const ModelVersion>(std::move(version));
  }

 protected:
  RoundTime last_ = {};
  std::map<std::uint32_t, std::shared_ptr<const ModelVersion>> versions_ = {};
};

}  // namespace fedstride
