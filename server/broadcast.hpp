#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/model_coding.hpp"
#include "core/task.hpp"

namespace fedstride {

/// The model that clients hold if the server compresses: w^ <- w^ + C(w - w^) each round; the first w^ is the uncompressed first
/// model. The next difference includes all that C loses, so nothing is lost for good. A client that holds an earlier w^ receives
/// the changes since then or w^ itself, whichever is shorter; the resulting bits are the same.
class Broadcast {
 public:
  /// `whole` is the number of bytes of w^ on a network; the list of changes kept is always shorter.
  Broadcast(ModelCoding coding, std::uint64_t whole) : coding_(std::move(coding)), whole_(whole) {}

  /// Encodes the change from w^ to `model`; returns the model from which clients train in this round.
  const Vector& advance(std::uint32_t round, const Vector& model);
  /// The most recent changes, one per round.
  std::span<const ModelChange> changes() const { return changes_; }

  std::string save() const;
  /// Throws Error (failure) if the bytes are not a valid state.
  void load(const std::string& bytes);

 private:
  ModelCoding coding_;
  std::uint64_t whole_;
  Vector held_;
  std::vector<ModelChange> changes_;
};

/// The changes that turn the model of round `from` into the model of round `to`. Empty if some are missing or they are not
/// shorter in total than `whole` bytes; the model is then sent instead. Each change is preceded by its length in 8 bytes.
std::span<const ModelChange> changes_since(std::span<const ModelChange> changes, std::uint32_t from, std::uint32_t to,
                                           std::uint64_t whole);
std::uint64_t change_bytes(std::span<const ModelChange> changes);

}  // namespace fedstride
