#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/task.hpp"
#include "net/reception.hpp"
#include "nn/evaluation.hpp"
#include "server/accumulator.hpp"

namespace fedstride {

/// The rule for the end of a round.
struct RoundTerms {
  double deadline = 0;      ///< seconds; 0: when every client of the cohort has answered
  int minimum_clients = 1;  ///< a round past its deadline continues until this many have answered
};

/// A fleet's status, besides that of each client.
struct FleetStatus {
  std::vector<ClientStatus> clients;
  std::uint32_t round = 0;  ///< the current one; 0: none
  std::size_t asked = 0;    ///< clients of its cohort, or of the last round's
  std::size_t answered = 0;
  double seconds_in_round = 0;
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  std::uint64_t refused = 0;
};

/// Clients in other processes, reached over connections; a Fleet (server/round.hpp). One separate thread handles all
/// connections, and checks and sums updates as they arrive; at most ReceptionRules::updates_in_flight of them are in memory
/// at once, and one copy of the model.
class NetworkedFleet {
 public:
  /// The reason why a report contradicts the request to the client; empty if it does not.
  using Judge = std::function<std::string(std::uint32_t round, const ClientReport& report, std::uint64_t releases)>;

  /// Begins to listen. Throws Error (failure) if it cannot.
  NetworkedFleet(FederationTerms terms, const ReceptionRules& rules, const RoundTerms& round, Judge judge, NetworkLog log);
  ~NetworkedFleet();
  NetworkedFleet(const NetworkedFleet&) = delete;
  NetworkedFleet& operator=(const NetworkedFleet&) = delete;

  /// Waits for absent clients, up to the deadline; asks a client that comes back again. Throws Interrupted if the run is
  /// stopped meanwhile.
  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates);

  /// Has a client that offers it test the model that has come out of the last round; no evaluation if none is there, if it is not back in
  /// time (the round's deadline, or ten minutes), if it claims what no test can have given, or if the run is stopped. The numbers are
  /// that client's own; nothing here can check them further.
  std::optional<Evaluation> evaluate(const Vector& model);

  /// The last round each client has answered, as bytes, and back; clients keep their own state. load throws Error (failure)
  /// if the bytes do not fit.
  std::string save() const;
  void load(const std::string& bytes);

  /// Gradient examples of finished updates so far, and of current ones as far as clients have reported.
  const std::atomic<std::uint64_t>& progress() const;
  void stop_when(const std::atomic<bool>* stop);

  /// Tells the clients that the federation is finished, and accepts no more.
  void finish(std::uint32_t rounds, const std::string& model_hash);

  /// From now on these certificates are denied. A client whose name is denied is not waited for, as long as enough others
  /// answer (RoundTerms::minimum_clients).
  void deny(DenyList list);

  std::uint16_t port() const;
  FleetStatus status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fedstride
