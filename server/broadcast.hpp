#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/model_coding.hpp"
#include "core/task.hpp"

namespace fedstride {

/// The model that clients hold where the server compresses: w^ <- w^ + C(w - w^) each round, the first w^ being the first model as it
/// is. What C loses is part of the next difference, so nothing is lost for good. A client that holds an earlier w^ is sent the changes
/// since, or w^ whole, whichever is shorter; all come to the same bits.
class Broadcast {
 public:
  /// `whole` is the bytes of w^ on a network, which no list of changes that is kept exceeds.
  Broadcast(ModelCoding coding, std::uint64_t whole) : coding_(std::move(coding)), whole_(whole) {}

  /// The model that the clients of this round, the next one, train from.
  const Vector& advance(std::uint32_t round, const Vector& model);
  /// The last changes, one a round, up to the last round's.
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

/// Those of the changes, up to round `to`, that take a client from the model of round `from` there; empty if there are not all or they
/// are not shorter than `whole`, so that the model is sent. A change has 8 bytes of length before it.
std::span<const ModelChange> changes_since(std::span<const ModelChange> changes, std::uint32_t from, std::uint32_t to,
                                           std::uint64_t whole);
std::uint64_t change_bytes(std::span<const ModelChange> changes);

}  // namespace fedstride
