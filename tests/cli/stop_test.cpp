#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "tests/cli/program.hpp"
#include "tests/support/json.hpp"

namespace fedstride::test::stop_test {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_from(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr double kMaxSeconds = 2;
constexpr double kBusy = 2;  // allowed a machine that does other things as well

/// The program gets SIGTERM while it is at work, and must end soon: by itself with 130, or by the signal if it had nothing to
/// finish.
void check_stops(const std::string& what, const Words& words, std::chrono::milliseconds after = std::chrono::milliseconds(700),
                 int signal = SIGTERM) {
  CAPTURE(what);
  const TemporaryFolder output;
  const Process process(words, output);
  std::this_thread::sleep_for(after);
  const auto start = Clock::now();
  process.signal(signal);
  const int code = process.wait();
  INFO("standard error: ", process.err());
  CHECK(seconds_from(start) < kMaxSeconds + kBusy);
  CHECK((code == 130 || code == -signal));
}

// Clients of many sizes, for each of which the noise is calibrated: a second before the first round, and more.
Words long_preparation(const TemporaryFolder& folder) {
  return federation(folder, {"--clients", "150", "--partition", "dirichlet", "--dp", "example", "--epsilon", "3", "--rounds",
                             "100", "--batch", "3", "--quiet", "--out", folder / "prepared"});
}

}  // namespace

TEST_CASE("SIGTERM ends a run while it trains, and while it prepares") {
  const TemporaryFolder folder;
  write_table(folder / "data", 9000);
  // One round, one client: nothing but steps for hours.
  check_stops("training", federation(folder, {"--model", "dense 64 | relu | dense 64 | relu | dense classes", "--local-epochs",
                                              "1000000", "--clients", "1", "--quiet"}));
  // A scheduler's warning before a preemption.
  Words warned = federation(folder, {"--rounds", "1000000", "--quiet", "--out", folder / "warned"});
  check_stops("preempted", warned, std::chrono::milliseconds(700), SIGUSR1);
  const std::string left = fedstride::read_file(folder / "warned/rounds.jsonl");
  CHECK(std::ranges::count(left, '\n') > 0);
  CHECK(run_program({"run", "--resume", folder / "warned", "--rounds", "1000000", "--stop-at", "test loss <= 1000", "--quiet"})
            .code == 0);
  check_stops("calibrating", long_preparation(folder), std::chrono::milliseconds(400));
}

TEST_CASE("SIGTERM ends a verification, a replay and a list of absences while they train") {
  const TemporaryFolder folder;
  write_table(folder / "data", 9000);
  const std::string run = folder / "out";
  REQUIRE(run_program(federation(folder, {"--model", "dense 64 | relu | dense 64 | relu | dense classes", "--local-epochs", "400",
                                          "--clients", "2", "--rounds", "1", "--quiet"}))
              .code == 0);
  REQUIRE(run_program({"certify", run}).code == 0);
  check_stops("verify", {"verify", run + "/run.cert", "--data", folder / "data", "--threads", "1"});
  check_stops("absences", {"replay", run, "--each-client-of-round", "1"});
  check_stops("replay", {"replay", run, "--out", folder / "again", "--quiet"});
  CHECK(run_program({"run", "--resume", folder / "again", "--quiet"}).code == 0);
  CHECK(fedstride::read_file(folder / "again/model.safetensors") == fedstride::read_file(run + "/model.safetensors"));
}

TEST_CASE("A run whose noise is small ends, and its statement says that its epsilon is a bound") {
  const TemporaryFolder folder;
  write_table(folder / "data", 600);
  for (const auto* noise : {"0.01", "1e-6"}) {
    CAPTURE(noise);
    const auto start = Clock::now();
    const Outcome outcome = run_program(federation(
        folder, {"--dp", "example", "--noise-multiplier", noise, "--out", folder / (std::string("small-") + noise), "--quiet"}));
    INFO("standard error: ", outcome.err);
    CHECK(outcome.code == 0);
    CHECK(seconds_from(start) < 30);
    const auto summary = Json::parse(fedstride::read_file(folder / ("small-" + std::string(noise) + "/summary.json")));
    const std::string statements = summary.dump();
    CHECK(statements.find("an upper bound, not the exact value") != std::string::npos);
  }
}

TEST_CASE("SIGTERM ends what waits for others, and what other processes work for") {
  const TemporaryFolder folder;
  write_table(folder / "data", 600);
  Words serving = federation(folder, {"--out", folder / "served", "--listen", "127.0.0.1:0", "--insecure-loopback", "--quiet"});
  serving[0] = "serve";
  check_stops("serve", serving);
  check_stops("join", {"join", "--connect", "127.0.0.1:1", "--client", "0", "--insecure-loopback", "--out", folder / "client",
                       "--data", folder / "data"});
  Words launching = federation(folder, {"--out", folder / "launched", "--local-epochs", "1000000", "--quiet"});
  launching[0] = "launch";
  check_stops("launch", launching, std::chrono::milliseconds(2500));
  std::ofstream(folder / "long.toml") << "data = '" << (folder / "data")
                                      << "'\nmodel = 'logistic'\nclients = 3\nrounds = 1000\nlocal-epochs = 100000\n"
                                         "[sweep]\nseed = [1, 2]\n";
  check_stops("sweep", {"sweep", folder / "long.toml", "--out", folder / "swept", "--jobs", "2", "--quiet"});
}

TEST_CASE("SIGTERM ends questions about privacy") {
  check_stops("privacy calibrate", {"privacy", "calibrate", "--sampling", "balls-in-bins", "--sampling-rate", "1e-6", "--epochs",
                                    "1000000000", "--epsilon", "3", "--delta", "1e-9"});
  check_stops("bench", {"bench", "--seconds", "60"}, std::chrono::milliseconds(1500));
}

TEST_CASE("Questions about extreme noise are answered at once") {
  for (const auto* accountant : {"tight", "rdp", "moments", "strong", "basic"}) {
    CAPTURE(accountant);
    for (const auto* noise : {"1e-4", "1e-12", "1e12"}) {
      CAPTURE(noise);
      const auto start = Clock::now();
      const Outcome outcome = run_program({"privacy", "epsilon", "--accountant", accountant, "--sampling-rate", "0.01",
                                           "--noise-multiplier", noise, "--steps", "10000", "--delta", "1e-5", "--json"});
      CHECK(outcome.code == 0);
      CHECK(seconds_from(start) < 5);
      const auto json = Json::parse(outcome.out);
      const bool bounded =
          std::string(noise) != "1e12" && (accountant == std::string("tight") || accountant == std::string("rdp"));
      CHECK(json.value("warning", "").starts_with("an upper bound") == bounded);
      if (bounded) CHECK(outcome.err.starts_with("fedstride: note: an upper bound"));
    }
  }
}

}  // namespace fedstride::test::stop_test
