#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "core/text.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/json.hpp"
#include "tests/support/peer.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test {

/// Waits for a condition, for at most a minute: sanitized programs on a loaded machine are slow.
template <class Condition>
bool eventually(Condition&& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < until) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  return condition();
}

/// A coordinator or a client, as a process.
class Party {
 public:
  explicit Party(const Words& arguments, rlim_t largest_file = RLIM_INFINITY)
      : process_(std::make_unique<Process>(arguments, *output_, "", largest_file)) {}

  void signal(int number) const { process_->signal(number); }
  int wait() const { return process_->wait(); }
  int kill() const {
    signal(SIGKILL);
    return wait();
  }
  std::string out() const { return process_->out(); }
  std::string err() const {
    std::error_code error;
    return std::filesystem::exists(*output_ / "stderr.txt", error) ? process_->err() : "";
  }
  /// True if one of its lines names all of these (tests/support/refusal.hpp).
  template <class... Parts>
  bool has_said(const Parts&... parts) const {
    const std::string lines = err();
    return std::ranges::any_of(split(lines, '\n'),
                               [&](std::string_view line) { return names(line, {std::string_view(parts)...}); });
  }
  /// Waits until has_said is true.
  template <class... Parts>
  bool says(const Parts&... parts) const {
    const bool said = eventually([&] { return has_said(parts...); });
    if (!said) MESSAGE("it said: " << err());
    return said;
  }

 private:
  std::unique_ptr<TemporaryFolder> output_ = std::make_unique<TemporaryFolder>();
  std::unique_ptr<Process> process_;
};

/// A free port that the kernel does not assign to outgoing connections, so that a restarted coordinator finds it
/// free.
inline std::uint16_t quiet_port() {
  static std::uint64_t tries = 0;
  const auto seed = static_cast<std::uint64_t>(getpid());
  for (;;) {
    RandomStream random(seed, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(tries++)});
    const auto port = static_cast<std::uint16_t>(12'000 + random.below(16'000));
    if (listening(port).get() >= 0) return port;
  }
}

struct RoundLine {
  int round;
  std::string hash;
  std::string personal_loss = "null";
  bool operator==(const RoundLine&) const = default;
};

/// Rounds and models of a run, from the complete lines of its file.
inline std::vector<RoundLine> rounds_of(const std::string& out) {
  std::vector<RoundLine> lines;
  std::ifstream file(out + "/rounds.jsonl");
  for (std::string line; std::getline(file, line) && !file.eof();) {
    const auto json = Json::parse(line);
    lines.push_back({json["round"], json["model_hash"], json.value("personal_loss", Json()).dump()});
  }
  return lines;
}

/// A data set, folders for a coordinator and its clients, and one experiment for all of them.
class Federation {
 public:
  explicit Federation(Words settings, int clients = 3) : settings_(std::move(settings)), clients_(clients) {
    write_table(folder_ / "data");
  }

  std::uint16_t port() const { return port_; }
  std::string operator/(const std::string& name) const { return folder_ / name; }
  std::string out() const { return folder_ / "out"; }
  std::string client_folder(int client) const { return folder_ / ("client-" + std::to_string(client)); }
  int clients() const { return clients_; }
  /// Creates a folder with `fedstride certificates`; from now on all parties use it.
  void use_certificates() {
    certificates_ = folder_ / "certificates";
    REQUIRE(run_program({"certificates", "--clients", std::to_string(clients_), "--out", certificates_}).code == 0);
  }
  const std::string& certificates() const { return certificates_; }

  Words serve_words(const Words& more = {}) const {
    Words words = run_words("out");
    words[0] = "serve";
    words.insert(words.end(), {"--listen", "127.0.0.1:" + std::to_string(port_)});
    add_trust(words);
    words.insert(words.end(), {"--heartbeat", "0.5"});
    return with_flags(std::move(words), more);
  }
  /// Waits until it listens.
  Party serve(const Words& more = {}, rlim_t largest_file = RLIM_INFINITY) const {
    Party coordinator(serve_words(more), largest_file);
    CHECK(coordinator.says("listening at"));
    return coordinator;
  }

  Words join_words(int client, std::uint16_t port = 0) const {
    Words words{"join",
                "--connect",
                "127.0.0.1:" + std::to_string(port == 0 ? port_ : port),
                "--client",
                std::to_string(client),
                "--data",
                folder_ / "data",
                "--out",
                client_folder(client),
                "--threads",
                "1"};
    add_trust(words);
    return words;
  }
  Party join(int client, std::uint16_t port = 0) const { return Party(join_words(client, port)); }
  /// With other values for the given flags, or these in addition.
  Party join_with(int client, const Words& more) const {
    Words words = join_words(client);
    for (std::size_t i = 0; i + 1 < more.size(); i += 2) {
      const auto flag = std::ranges::find(words, more[i]);
      if (flag == words.end())
        words.insert(words.end(), {more[i], more[i + 1]});
      else
        *(flag + 1) = more[i + 1];
    }
    return Party(words);
  }
  std::vector<Party> join_all(std::uint16_t port = 0) const {
    std::vector<Party> all;
    for (int client = 0; client < clients_; ++client) all.push_back(join(client, port));
    return all;
  }

  /// Waits until the coordinator's run has this many rounds.
  bool reaches(std::size_t rounds) const {
    return eventually([&] { return rounds_of(out()).size() >= rounds; });
  }

  /// Checks that every round's model is that of `fedstride run` with the same settings.
  void check_undisturbed() const {
    REQUIRE(run_program(run_words("undisturbed")).code == 0);
    const auto expected = rounds_of(folder_ / "undisturbed");
    REQUIRE(!expected.empty());
    CHECK(rounds_of(out()) == expected);
    CHECK(read_file(out() + "/model.safetensors") == read_file(folder_ / "undisturbed/model.safetensors"));
  }

 private:
  Words run_words(const std::string& name) const {
    Words more = settings_;
    more.insert(more.end(), {"--clients", std::to_string(clients_), "--out", folder_ / name});
    return federation(folder_, more);
  }
  void add_trust(Words& words) const {
    if (certificates_.empty())
      words.push_back("--insecure-loopback");
    else
      words.insert(words.end(), {"--certificates", certificates_});
  }

  TemporaryFolder folder_;
  Words settings_;
  int clients_;
  std::uint16_t port_ = quiet_port();
  std::string certificates_;
};

/// Takes an honest client as far as ready, with the caller in the middle, and ends it.
inline Introduction introduce(const Federation& federation, int client) {
  const Socket listener = listening(0);
  const Party honest = federation.join(client, port_of(listener.get()));
  const Peer to_client(Socket(accept(listener.get(), nullptr, nullptr)));
  const Peer to_coordinator(calling(federation.port()));
  Introduction known;
  known.hello = to_client.hear<Hello>().value_or(Hello{});
  to_coordinator.say(known.hello);
  known.welcome = to_coordinator.hear<Welcome>().value_or(Welcome{});
  to_client.say(known.welcome);
  known.ready = to_client.hear<Ready>().value_or(Ready{});
  CHECK(known.ready.rows > 0);
  return known;
}

}  // namespace fedstride::test
