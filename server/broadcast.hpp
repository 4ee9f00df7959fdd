#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/model_coding.hpp"
#include "core/task.hpp"

namespace fedstride {

/// The model that clients hold if the server compresses: w^ <- w^ + C(w - w^) each round; the first w^ is the uncompressed first
/// model. What C loses is part of the next difference, so nothing is lost for good. A client that holds an earlier w^ receives
/// the changes since, or w^ itself, whichever is shorter; the bits are the same.
class Broadcast {
 public:
  /// `whole` is the bytes of w^ on a network, which no kept list of changes exceeds.
  Broadcast(ModelCoding coding, std::uint64_t whole) : coding_(std::move(coding)), whole_(whole) {}

  /// The model that the clients of this next round train from.
  const Vector& advance(std::uint32_t round, const Vector& model);
  /// The last changes, one per round, up to the last round.
  std::span<const ModelChange> changes() const { return changes_; }

  std::string save() const;
  /// Throws Error (failure) if the bytes are not a state.
  void load(const std::string& bytes);

 private:
  ModelCoding coding_;
  std::uint64_t whole_;
  Vector held_;
  std::vector<ModelChange> changes_;
};

/// The changes up to round `to` that turn the model of round `from` into it; empty if some are missing or they are not shorter
/// than `whole`, so that the model is sent. A change is preceded by 8 bytes of length.
std::span<const ModelChange> changes_since(std::span<const ModelChange> changes, std::uint32_t from, std::uint32_t to,
                                           std::uint64_t whole);
std::uint64_t change_bytes(std::span<const ModelChange> changes);

}  // namespace fedstride
