#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/task.hpp"
#include "net/reception.hpp"
#include "server/accumulator.hpp"

namespace fedstride {

/// When a round is over.
struct RoundTerms {
  double deadline = 0;      ///< seconds; 0: when every client of the cohort has answered
  int minimum_clients = 1;  ///< a round past its deadline goes on until so many have answered
};

/// What a fleet tells while it works, beyond what each client does.
struct FleetStatus {
  std::vector<ClientStatus> clients;
  std::uint32_t round = 0;         ///< in hand; 0: none
  std::size_t asked = 0;           ///< clients of its cohort, or of the last round's
  std::size_t answered = 0;
  double seconds_in_round = 0;
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  std::uint64_t refused = 0;
};

/// Clients in processes of their own, reached over connections; a Fleet (server/round.hpp). Everything about connections
/// happens on one thread of its own, updates are judged and summed there as they come in; at most
/// ReceptionRules::updates_in_flight of them are in memory at once, and one copy of the model.
class NetworkedFleet {
 public:
  /// Why a report cannot be true under what the client was asked, or an empty text.
  using Judge = std::function<std::string(std::uint32_t round, const ClientReport& report, std::uint64_t releases)>;

  /// Listens from here on. Throws Error (failure) if it cannot.
  NetworkedFleet(FederationTerms terms, const ReceptionRules& rules, const RoundTerms& round, Judge judge, NetworkLog log);
  ~NetworkedFleet();
  NetworkedFleet(const NetworkedFleet&) = delete;
  NetworkedFleet& operator=(const NetworkedFleet&) = delete;

  /// A client that is not there is waited for, up to the deadline; one that comes back is asked again. Throws Interrupted
  /// if the run is stopped meanwhile.
  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates);

  /// The last round each client has answered, as bytes, and back; what clients carry they keep themselves. load throws
  /// Error (failure) if the bytes do not fit.
  std::string save() const;
  void load(const std::string& bytes);

  /// Gradient examples of finished updates so far, and of those in hand as far as clients have told.
  const std::atomic<std::uint64_t>& progress() const;
  void stop_when(const std::atomic<bool>* stop);

  /// Tells the clients that all is done, and takes no more.
  void finish(std::uint32_t rounds, const std::string& model_hash);

  std::uint16_t port() const;
  FleetStatus status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fedstride
