#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/fleet.hpp"
#include "sim/net/reception.hpp"

namespace fedstride {

/// The rules of a round.
struct RoundTerms {
  double deadline = 0;                   ///< seconds; 0: none, so a round waits for every client of the cohort
  int minimum_clients = 1;               ///< a round past its deadline waits for at least this many answers
  double stage_deadline = 60;            ///< seconds allowed for each message of secure aggregation before its sender is dropped
  std::filesystem::path survivors = {};  ///< file that lists the clients in a round's secure sum; written before unmasking
  bool clients_evaluate = false;         ///< the model has no layers, so only clients can evaluate it
};

/// The status of a fleet and its clients.
struct FleetStatus {
  std::vector<ClientStatus> clients;
  std::uint32_t round = 0;  ///< the current round; 0: none
  std::size_t asked = 0;    ///< clients in the cohort of the current or last round
  std::size_t answered = 0;
  double seconds_in_round = 0;
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  std::uint64_t refused = 0;
};

/// Clients in other processes, reached over connections. A separate thread handles all connections, and checks and sums
/// updates as they arrive; at most ReceptionRules::updates_in_flight updates and one copy of the model are in memory at once.
class NetworkedFleet : public Fleet {
 public:
  /// Returns why a report contradicts the request to the client; empty if it is consistent.
  using ReportCheck = std::function<std::string(std::uint32_t round, const ClientReport& report, std::uint64_t releases,
                                                std::span<const double> told)>;

  /// Starts listening. Throws Error (failure) if it cannot.
  NetworkedFleet(FederationTerms terms, const ReceptionRules& rules, const RoundTerms& round, ReportCheck check, NetworkLog log);
  ~NetworkedFleet() override;

  /// Waits for absent clients until the deadline; a client that reconnects is asked again. progress() includes the examples that
  /// clients have reported for the current round.
  void collect(const Task& task, const std::vector<ClientId>& cohort, Accumulator& updates) override;

  /// Asks a client that offers evaluation to evaluate the model produced by the last round. Returns nullopt if no such client
  /// is connected, if it does not answer in time (the round's deadline, or ten minutes), if it reports impossible numbers, or
  /// if the run is stopped. The coordinator cannot verify the numbers further.
  std::optional<Evaluation> test_by_client(const Vector& model);
  /// Calls test_by_client if only clients can evaluate the model; the evaluation is unknown if no client has reported one.
  std::optional<Evaluation> evaluate(const Vector& model, EvaluatedOn examples) override;

  bool secures() const override { return true; }
  std::uint64_t absent() override;
  std::optional<RoundBytes> bytes() override;
  /// Serializes the last round that each client answered; clients keep their own states.
  std::string save() override;
  void load(const std::string& bytes) override;

  void stop_when(const std::atomic<bool>* stop);

  /// Informs the clients that the federation is finished and stops accepting connections.
  void finish(std::uint32_t rounds, const std::string& model_hash) override;

  /// Replaces the deny list. A round does not wait for a client whose name is denied if enough others answer
  /// (RoundTerms::minimum_clients).
  void deny(DenyList list);
  /// From now on connections use this transport, and signing keys are checked with this function (FederationTerms).
  void renew(Transport transport, FederationTerms::KeyObjection key_objection);
  /// Returns once the network thread has answered.
  void ping() const;
  /// Tells the clients that the coordinator will continue later, and stops accepting connections.
  void pause();

  std::uint16_t port() const;
  FleetStatus status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fedstride
