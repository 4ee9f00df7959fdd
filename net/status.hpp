#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/task.hpp"
#include "net/endpoint.hpp"

namespace fedstride {

/// One client's status at the coordinator.
struct ClientStatus {
  ClientId client = 0;
  bool connected = false;
  std::string address = {};      ///< "127.0.0.1:41234"; where it was last, if it is not connected
  bool in_cohort = false;        ///< asked for an update in the current round
  bool answered = false;         ///< its update of the current round has arrived
  double seconds_waiting = 0;    ///< in the cohort and not answered: since it was asked, or since the round began
  double seconds_silent = 0;     ///< since its last byte; 0 if it was never there
  std::uint32_t last_round = 0;  ///< the last it answered; 0: none
  std::uint64_t received = 0;    ///< bytes from it, all its connections
  std::uint64_t sent = 0;
  std::uint64_t missed = 0;              ///< rounds closed without it, this session
  std::int64_t certificate_expires = 0;  ///< seconds since 1970, as it showed it last; 0: it has shown none
  std::string trouble = {};              ///< why its last connection ended, if not regularly
};

/// Privacy spent at one level.
struct PrivacySpent {
  std::string level;  ///< "example", "client"
  double epsilon = 0;
  double delta = 0;
  double budget = 0;    ///< limit on epsilon; 0: none
  bool seeded = false;  ///< epsilon holds for the mechanism, if the seed were secret
};

/// One point of the curves.
struct RoundPoint {
  std::uint32_t round = 0;
  std::optional<double> accuracy = {};  ///< test accuracy, in rounds that evaluate
  double train_loss = 0;                ///< NaN: no client finished
  double seconds = 0;
  std::uint32_t answered = 0;  ///< clients in the sum
  std::uint32_t missing = 0;   ///< clients asked that are not in the sum
  std::string model_hash = {};
};

/// The contents of the page.
struct FederationStatus {
  std::string version;
  std::string title;  ///< "cifar10, adadp-cnn, adadp, interpolated"
  std::string folder;
  std::string state;         ///< "waiting for clients", "round 7", "evaluating", "finished", "halted: ..."
  std::uint32_t rounds = 0;  ///< to do in all
  std::uint32_t done = 0;
  double seconds_running = 0;  ///< this session
  double seconds_in_round = 0;
  double deadline = 0;         ///< of a round, seconds; 0: none
  std::uint64_t examples = 0;  ///< gradient examples, all rounds
  std::uint64_t received = 0;  ///< bytes, all connections, refused ones included
  std::uint64_t sent = 0;
  std::uint64_t refused = 0;             ///< connections that were ended for a reason
  std::uint64_t memory = 0;              ///< of this process, bytes, now
  std::int64_t now = 0;                  ///< seconds since 1970
  std::int64_t certificate_expires = 0;  ///< likewise: the coordinator's, or the authority behind it; 0: there is none
  std::vector<PrivacySpent> privacy = {};
  std::vector<RoundPoint> points = {};
  std::vector<ClientStatus> clients = {};
};

/// `/status`: one JSON object, its keys the names above; NaN and absent numbers are null.
std::string status_json(const FederationStatus& status);
/// `/metrics`: Prometheus text format 0.0.4, each metric with HELP and TYPE, names fedstride_..., base units (seconds,
/// bytes), clients as a label.
std::string status_metrics(const FederationStatus& status);
/// `/`: one self-contained page without scripts, which reloads itself; an accuracy curve as SVG, a table of clients (those
/// that are late first, at most 200 rows), privacy, bytes. Everything in it is escaped.
std::string status_page(const FederationStatus& status);

/// The token in the file, 16 to 256 printable characters that only this user can read; if there is no such file, a new one
/// of 256 random bits is made and kept there. Throws Error (failure).
std::string load_or_create_status_token(const std::filesystem::path& path);
std::string new_status_token();

/// Serves the three over HTTP from its own threads, read-only, until it is destroyed. Only GET and HEAD; another path is
/// 404, another method 405. On a loopback address, a Host header that names neither this address nor localhost is refused (a
/// page elsewhere must not read it through a visitor's browser). With a token only who shows it is answered, others with 401:
/// "Authorization: Bearer TOKEN", or Basic with it as the password, which browsers ask for. Requests are bounded in size, time
/// and number; where there are more, the address that holds most connections gives up its oldest (net/places.hpp).
class StatusServer {
 public:
  /// Port 0: a free one. Throws Error (failure) if the port is in use ("status address '127.0.0.1:80' ...").
  /// `status` is called from threads of the server, one call at a time; if it throws, that request is answered with 500.
  StatusServer(const Endpoint& address, std::function<FederationStatus()> status, const std::string& token = {});
  ~StatusServer();
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;

  std::uint16_t port() const;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace fedstride
