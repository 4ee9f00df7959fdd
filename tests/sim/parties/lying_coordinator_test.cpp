// What a client does with the frames of a coordinator that has the right certificate and lies: mutated, cut, repeated and in another
// order. A tenth of them, unless under ./run-tests --all: there 10,000, which takes 60 s of processor time.
#include <doctest/doctest.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "sim/parties/join.hpp"
#include "sim/parties/terms.hpp"
#include "sim/prepare/setup.hpp"
#include "tests/sim/net/mutator.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/tls_peer.hpp"

namespace fedstride::test::lying_coordinator_test {
namespace {

using std::chrono::seconds;

constexpr int kClients = 48;  // at once, since each waits 0.2 s before it calls again
constexpr std::uint64_t kMaxGrowth = std::uint64_t{512} << 20;

int frames() { return every_check() ? 10'000 : is_sanitized() ? 500 : 1'000; }

/// The valid frames of an experiment, of which the coordinator's are made.
struct Scene {
  TemporaryFolder folder;
  Welcome welcome;
  Packing packing;

  Scene() {
    write_data(folder);
    const Settings settings =
        settings_for(folder, "out", "clients = " + std::to_string(kClients) + "\noptimizer = 'sgd'\nlearning-rate = 0.1\n");
    const Setup setup = prepare(resolve(settings));
    welcome = welcome_to(setup);
    welcome.heartbeat_ms = 60'000;
    packing = packings_of(setup).model;
    make_certificates(certificates(), {.clients = kClients});
  }
  std::filesystem::path certificates() const { return folder / "certificates"; }
  ModelMessage model(std::uint32_t round) const {
    ModelMessage message{.round = round, .model_hash = {}, .model = Vector(packing.size(), 0.125F)};
    Vector whole = message.model;
    packing.unpack(whole);
    message.model_hash = model_hash(whole);
    return message;
  }
};

/// The lines and ends of all clients.
struct Account {
  std::mutex mutex;
  std::set<std::string> lines;
  int ended = 0;
  int sent = 0;
  int survived = 0;  ///< answered the next round on the same connection
  int hung = 0;      ///< neither called again nor ended within half a minute
  int deaf = 0;      ///< kept a connection open that was closed to it
};

/// One client and the coordinator that only it knows.
class Pair {
 public:
  Pair(const Scene& scene, ClientId client, int frames, Account& account)
      : scene_(scene), client_(client), frames_(frames), account_(account), mutator_(977 + client) {
    honest_ = std::thread([this] { take_part(); });
    lie();
    stop_ = true;
    listener_ = Socket();
    honest_.join();
  }

 private:
  void take_part() {
    for (int session = 0; !stop_; ++session) {
      const JoinOptions options{.client = client_,
                                .connect = {"127.0.0.1", port_},
                                .certificates = scene_.certificates(),
                                .folder = scene_.folder / ("client-" + std::to_string(client_) + "/" + std::to_string(session)),
                                .data = scene_.folder.path().string(),
                                .data_dir = "",
                                .threads = 1,
                                .patience = 60,
                                .log = [this](const std::string& line) { note(line); }};
      try {
        join_federation(options, &stop_);
      } catch (const Error& error) {
        note(error.what());
      }
      const std::lock_guard lock(account_.mutex);
      ++account_.ended;
    }
  }
  void note(const std::string& line) {
    const std::lock_guard lock(account_.mutex);
    account_.lines.insert(line);
  }

  void lie() {
    for (int sent = 0; sent < frames_;) {
      pollfd one{listener_.get(), POLLIN, 0};
      if (poll(&one, 1, 30'000) <= 0) {
        const std::lock_guard lock(account_.mutex);
        ++account_.hung;
        return;
      }
      const TlsPeer peer(Socket(accept(listener_.get(), nullptr, nullptr)),
                         {.side = TlsPeer::Side::server, .files = coordinator_files(scene_.certificates())});
      if (!peer.hear(FrameKind::hello)) continue;
      converse(peer, sent);
      peer.end_sending();
      const auto begun = std::chrono::steady_clock::now();
      peer.rest();
      const std::lock_guard lock(account_.mutex);
      if (std::chrono::steady_clock::now() - begun > seconds(8)) ++account_.deaf;
    }
  }

  /// Speaks until the client ends the connection.
  void converse(const TlsPeer& peer, int& sent) {
    const auto throw_one = [&](const std::string& likely) {
      ++sent;
      const std::lock_guard lock(account_.mutex);
      ++account_.sent;
      return peer.send(mutator_.mutated(mutator_.some_frame(likely)));
    };
    // Not twice in a row before the client is ready, since its pause grows until then.
    early_ = !early_ && mutator_.below(4) == 0;
    if (early_) {
      throw_one(*encode(scene_.welcome));
      return;
    }
    peer.say(scene_.welcome);
    if (!peer.hear(FrameKind::ready)) return;
    while (sent < frames_) {
      const ModelMessage model = scene_.model(++round_);
      const Train train{.round = round_, .model_hash = model.model_hash};
      // Valid frames in any order, some of them twice, and one that is none.
      const std::string valid[] = {*encode(model),
                                   *encode(train),
                                   *encode(Received{round_}),
                                   *encode(Heartbeat{}),
                                   *encode(Finished{round_, model.model_hash}),
                                   *encode(Refused{"for a while", false})};
      const bool in_order = mutator_.below(2) == 0;
      if (in_order) {
        peer.say(model);
        peer.say(train);
        if (!peer.hear(FrameKind::update)) return;
        peer.say(Received{round_});
      } else {
        for (std::size_t i = mutator_.below(4); i > 0; --i) peer.send(valid[mutator_.below(4)]);
      }
      throw_one(valid[mutator_.below(std::size(valid))]);
      if (mutator_.below(4) == 0) return;  // closed while the client may still read
      const ModelMessage next = scene_.model(++round_);
      peer.say(next);
      peer.say(Train{.round = round_, .model_hash = next.model_hash});
      if (!peer.hear(FrameKind::update)) return;
      const std::lock_guard lock(account_.mutex);
      ++account_.survived;
    }
  }

  const Scene& scene_;
  ClientId client_;
  int frames_;
  Account& account_;
  Mutator mutator_;
  Socket listener_ = listening(0);
  std::uint16_t port_ = port_of(listener_.get());
  std::atomic<bool> stop_{false};
  bool early_ = false;
  std::uint32_t round_ = 0;
  std::thread honest_;
};

}  // namespace

TEST_CASE("mutated, repeated and reordered frames of a coordinator over TLS: a client survives each or ends in one line") {
  const auto pipe = std::signal(SIGPIPE, SIG_IGN);  // of OpenSSL's writes here
  const Scene scene;
  Account account;
  const std::uint64_t memory = peak_memory();
  const auto begun = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> pairs;
    for (int client = 0; client < kClients; ++client)
      pairs.emplace_back([&, client] { Pair(scene, static_cast<ClientId>(client), frames() / kClients + 1, account); });
  }
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::signal(SIGPIPE, pipe);
  MESSAGE(account.sent << " frames in " << took << " s: " << account.survived << " survived, " << account.ended
                       << " clients ended, " << account.lines.size() << " different lines");
  CHECK(account.sent >= frames());
  CHECK(account.hung == 0);
  CHECK(account.deaf == 0);
  CHECK(account.survived > 0);
  CHECK(account.ended > kClients);
  if (!is_sanitized()) CHECK(peak_memory() - memory < kMaxGrowth);
  for (const std::string& line : account.lines) {
    CAPTURE(line);
    CHECK(line.size() < 4096);
    CHECK(line.find('\n') == line.npos);
  }
  // Few frames need not meet every reason.
  const std::string reasons[] = {"fedstride frame", "damaged in transit", "unexpected", "at most", "hash", "it has not sent"};
  const auto met = std::ranges::count_if(reasons, [&](const std::string& reason) {
    return std::ranges::any_of(account.lines, [&](const std::string& line) { return line.find(reason) != line.npos; });
  });
  CHECK(met >= (frames() < 10'000 ? 4 : 6));
}

}  // namespace fedstride::test::lying_coordinator_test
