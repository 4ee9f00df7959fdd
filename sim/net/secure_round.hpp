#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/task.hpp"
#include "core/text.hpp"
#include "server/secure_sum.hpp"
#include "sim/net/reception.hpp"
#include "sim/net/secure_attempt.hpp"

namespace fedstride {

/// "client 2", "clients 2, 5, 7, ... (31 in all)"
inline std::string clients_text(const std::vector<ClientId>& clients) {
  constexpr std::size_t kMaxNamed = 10;
  std::vector<std::string> names;
  for (const ClientId client : clients)
    if (names.size() < kMaxNamed) names.push_back(std::to_string(client));
  if (clients.size() == 1) return "client " + names.front();
  return "clients " + joined(names) + (clients.size() > kMaxNamed ? ", ... (" + std::to_string(clients.size()) + " in all)" : "");
}

/// The long-term keys announced by clients.
class SigningKeys {
 public:
  SigningKeys(const FederationTerms& terms, std::size_t clients) : terms_(terms), keys_(clients) {}

  /// Returns why a client's announced signing key is refused (not its own, changed, or missing); empty if it is accepted.
  std::string objection(ClientId client, const Ready& ready);
  /// Returns the invitation's entry for a client that has announced its key.
  secagg::Invitation::Invited invited(ClientId client) const { return {{client, keys_[client].key}, keys_[client].proof}; }

 private:
  struct Known {
    bool is_known = false;
    secagg::Bytes32 key = {};
    std::string proof = {};
  };
  const FederationTerms& terms_;
  std::vector<Known> keys_;  ///< indexed by client
};

/// The coordinator's side of one round of secure aggregation over the network: tracks whose update is ready, and makes attempts
/// at the sum until one succeeds or none can. Used only by the io thread.
class SecureRound {
 public:
  struct Terms {
    std::uint32_t number = 0;
    std::string model_hash = {};
    std::vector<double> told = {};
    double stage_deadline = 60;            ///< RoundTerms
    std::filesystem::path survivors = {};  ///< RoundTerms
  };
  /// Callbacks to the fleet.
  struct Calls {
    std::function<bool()> is_over;      ///< no further update is expected
    std::function<bool()> is_overdue;   ///< the round is past its deadline
    std::function<void(ClientId)> ask;  ///< requests the client's lost update again
    std::function<void(const std::vector<ClientReport>& reports, const std::vector<ClientId>& missing)>
        end;  ///< the sum is done or has failed; it excludes the updates of clients in `missing`
    std::function<void(std::uint64_t sent, std::uint64_t received)> count;  ///< bytes
  };

  SecureRound(asio::io_context& io, Terms terms, SecureSum& sum, const SigningKeys& keys, Reception& reception, NetworkLog log,
              Calls calls);
  ~SecureRound();

  /// Must be called first. Returns the clients that take part, in ascending order: the whole cohort, unless an earlier attempt
  /// was unmasked.
  std::vector<ClientId> take_part(const std::vector<ClientId>& cohort);
  /// Returns the minimum number of updates that can be unmasked, for which the round waits; 0 if no number suffices.
  std::size_t fewest() const { return minimum_; }
  /// Called when the client's update is ready, or has failed.
  void trained(ClientId client, ClientReport report, bool failed);
  /// Called when no more updates will become ready. Begins an attempt unless one is in progress.
  void begin();
  bool is_attempting() const { return attempt_ != nullptr; }
  /// Called for a client's message in an attempt.
  void take(ClientId client, std::uint32_t attempt, std::uint32_t stage, const std::string& message);
  /// Called when a client's connection has ended.
  void lost(ClientId client);
  /// Ends the current attempt, if any.
  void close();

 private:
  void arm();
  void advance();
  void forget(ClientId client);
  void failed(const std::string& why);
  void finish();
  void keep_survivors(const std::vector<ClientId>& clients);
  void say(const std::string& what) const { log_.warn("round " + std::to_string(terms_.number) + ": " + what); }

  Terms terms_;
  SecureSum& sum_;
  const SigningKeys& keys_;
  Reception& reception_;
  NetworkLog log_;
  Calls calls_;
  std::uint32_t planned_ = 0;                 ///< clients in the cohort
  std::size_t minimum_ = 0;                   ///< Plan::minimum
  std::map<ClientId, ClientReport> trained_;  ///< reports of clients whose update is ready or has failed
  std::set<ClientId> silent_;                 ///< clients that missed a stage deadline in the attempt
  std::vector<ClientId> kept_;                ///< clients in the sum of an earlier attempt that was unmasked; empty: none
  std::unique_ptr<SecureAttempt> attempt_;
  std::uint32_t attempts_ = 0;
  struct Timer;
  std::shared_ptr<Timer> timer_;  ///< for the stage's deadline
};

}  // namespace fedstride
