#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/task.hpp"
#include "sim/net/endpoint.hpp"

namespace fedstride {

/// The status of one client as known to the coordinator.
struct ClientStatus {
  ClientId client = 0;
  bool connected = false;
  std::string address = {};    ///< "127.0.0.1:41234"; its last address if it is not connected
  bool in_cohort = false;      ///< asked for an update in the current round
  bool answered = false;       ///< its update for the current round has arrived
  double seconds_waiting = 0;  ///< since the round began, if it is in the cohort and has not answered
  double seconds_silent = std::numeric_limits<double>::quiet_NaN();  ///< since its last byte; NaN: none in this session
  std::uint32_t last_round = 0;                                      ///< the last round it answered; 0: none
  std::uint64_t received = 0;                                        ///< bytes from it over all its connections
  std::uint64_t sent = 0;
  std::uint64_t missed = 0;              ///< rounds closed without it in this session
  std::int64_t certificate_expires = 0;  ///< expiry of its last certificate, in seconds since 1970; 0: none presented
  std::string trouble = {};              ///< why its last connection ended; empty if it ended normally
};

/// Privacy spent at one level.
struct PrivacySpent {
  std::string level;  ///< "example", "client"
  double epsilon = 0;
  double delta = 0;
  double budget = 0;    ///< limit on epsilon; 0: none
  bool seeded = false;  ///< epsilon describes the mechanism and would hold only if the seed were secret
};

/// One round: a point on the curves.
struct RoundPoint {
  std::uint32_t round = 0;
  std::string_view metric = "accuracy";  ///< "R2" for numeric targets
  std::optional<double> accuracy = {};   ///< value of the metric on the test part, if the round was evaluated
  double train_loss = 0;                 ///< NaN if no client finished
  double seconds = 0;
  std::uint32_t answered = 0;            ///< clients in the sum
  std::uint32_t missing = 0;             ///< clients that were asked but are not in the sum
  std::array<char, 64> model_hash = {};  ///< hexadecimal digits, stored inline so that kept rounds allocate nothing
  std::string_view hash() const { return {model_hash.data(), model_hash.front() == 0 ? 0 : model_hash.size()}; }
};

/// The contents of the status page.
struct FederationStatus {
  std::string version;
  std::string title;  ///< "cifar10, adadp-cnn, adadp, interpolated"
  std::string folder;
  std::string state;         ///< "waiting for clients", "round 7", "evaluating", "finished", "halted: ..."
  std::uint32_t rounds = 0;  ///< total number of rounds
  std::uint32_t done = 0;
  double seconds_running = 0;  ///< in this session
  double seconds_in_round = 0;
  double deadline = 0;         ///< of a round, in seconds; 0: none
  std::uint64_t examples = 0;  ///< gradient examples over all rounds
  std::uint64_t received = 0;  ///< bytes over all connections, including refused ones
  std::uint64_t sent = 0;
  std::uint64_t refused = 0;             ///< connections that were refused or ended with a reason
  std::uint64_t memory = 0;              ///< current memory of this process in bytes
  std::uint64_t disk_free = 0;           ///< bytes free for the folder
  std::int64_t now = 0;                  ///< seconds since 1970
  std::int64_t certificate_expires = 0;  ///< expiry of the coordinator's certificate or, if earlier, of its authority
  std::vector<PrivacySpent> privacy = {};
  std::vector<RoundPoint> points = {};
  std::vector<ClientStatus> clients = {};
};

/// `/status`: one JSON object whose keys are the member names above; NaN and absent numbers are null.
std::string status_json(const FederationStatus& status);
/// `/metrics`: Prometheus text format 0.0.4; each metric has HELP and TYPE, a name fedstride_... and base units (seconds,
/// bytes); the client is a label.
std::string status_metrics(const FederationStatus& status);
/// `/`: a self-contained, self-reloading page without scripts, with an accuracy curve as SVG, a table of clients (late clients
/// first, at most 200 rows), privacy and bytes. All text is escaped.
std::string status_page(const FederationStatus& status);

/// What a client tells of itself.
struct MemberReport {
  std::string version;
  ClientId client = 0;
  bool joined = false;           ///< the coordinator can ask it to train
  std::uint32_t last_round = 0;  ///< the last round it answered; 0: none
  double seconds_silent = 0;     ///< since the last request of a coordinator or, without one, since it started
  std::uint64_t memory = 0;      ///< as in FederationStatus, like the next two
  std::uint64_t disk_free = 0;
  std::int64_t certificate_expires = 0;
};
/// `/metrics` of a client, in the same form and with the same names.
std::string member_metrics(const MemberReport& report);

/// Why a party is not well, in a word such as "disk-full"; empty: it is.
struct Health {
  std::string alive;  ///< its network thread
  std::string ready;  ///< whether it can do its part now
};
/// The health of a party whose network thread last ran at `ran` and may pause for `longest`. It is not ready if a certificate has
/// expired, if the disk has no room for the next version of its state, `state`, or for a reason of its own, `other`.
Health health_of(std::chrono::steady_clock::time_point ran, std::chrono::steady_clock::duration longest,
                 std::time_t certificate_expires, const std::filesystem::path& state, const std::string& other);
/// Free bytes for files beside this one; 0 if unknown.
std::uint64_t free_bytes(const std::filesystem::path& file);

/// A path of the server, such as "/metrics", and what it shows.
struct StatusPath {
  std::string_view path;
  std::string_view type;  ///< of its content
  std::function<std::string()> text;
};
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4";
/// A coordinator's paths: /, /status and /metrics.
std::vector<StatusPath> federation_paths(const std::function<FederationStatus()>& status);

/// Reads the token, 16 to 256 printable characters, from the file, which must be accessible only to this user. If the file is
/// missing, creates it with a new token of 256 random bits. Throws Error (failure).
std::string load_or_create_status_token(const std::filesystem::path& path);
std::string new_status_token();
/// Throws Error (usage) if other machines can reach the address and there is no token.
void require_status_token(const Endpoint& address, const std::string& token);

/// Serves these paths over HTTP from its own threads, read-only, until destroyed. Other paths return 404; methods other
/// than GET and HEAD return 405. On a loopback address, a Host header that specifies neither a loopback address nor localhost is
/// refused, so that other sites cannot read the page through a visitor's browser (DNS rebinding). With a token, requests must
/// present it as "Authorization: Bearer TOKEN" or as the password of Basic authentication; others receive 401. /healthz and
/// /readyz need no token: they return 200 and "ok", or 503 and the word of Health. Requests are limited in size, time and number;
/// at the limit, the address with the most connections loses its oldest (sim/net/places.hpp).
class StatusServer {
 public:
  /// Port 0: any free port. Throws Error (failure) if it cannot listen on the address, for example because the port is in use.
  /// The paths' texts are asked for on threads of the server, one at a time; if one throws, the response is 500. `health` is called
  /// on any of these threads and must not wait for the network thread; empty: all is well.
  StatusServer(const Endpoint& address, std::vector<StatusPath> paths, const std::string& token = {},
               std::function<Health()> health = {});
  StatusServer(const Endpoint& address, const std::function<FederationStatus()>& status, const std::string& token = {},
               std::function<Health()> health = {})
      : StatusServer(address, federation_paths(status), token, std::move(health)) {}
  ~StatusServer();
  StatusServer& operator=(StatusServer&&) = delete;

  std::uint16_t port() const;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace fedstride
