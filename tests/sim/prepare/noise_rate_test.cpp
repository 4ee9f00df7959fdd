// Updates that are scaled to their bound, and the server's rate that follows from the noise on them.
#include "sim/prepare/noise_rate.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "dp/bounds/scaled.hpp"
#include "dp/correlations/correlation.hpp"
#include "nn/safetensors.hpp"
#include "server/cohorts.hpp"
#include "server/round.hpp"
#include "sim/fleet/threads.hpp"
#include "sim/run/fleets.hpp"
#include "sim/run/run.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::noise_rate_test {
namespace {

const std::string kScaled = "dp = 'client'\nclip-rule = 'scaled'\nserver-schedule = 'noise'\n";

const std::string kNoise = "noise-multiplier = 20\n";

// The norm as an ExactSum holds the vector.
double rounded_norm(const Vector& vector) {
  double squares = 0;
  for (const float value : vector) squares += std::pow(std::nearbyint(double{value} * 0x1p40) * 0x1p-40, 2);
  return std::sqrt(squares);
}

Setup setup_of(const TemporaryFolder& folder, const std::string& more) {
  return prepare(resolve(settings_for(folder, "unused", kScaled + more)));
}

/// The model after `rounds` rounds whose draws are those of this seed, whatever the settings.
Vector trained(Setup setup, std::uint32_t rounds) {
  use_source(setup, RandomSource(std::uint64_t{7}));
  Threads threads(1);
  const TemporaryFolder folder;
  const auto fleet = in_process_fleet({setup, threads, nullptr, folder.path(), "a test", 0});
  Server server = make_server(setup);
  Vector model = setup.initial;
  for (std::uint32_t round = 1; round <= rounds; ++round) run_round(round, setup.rules, *fleet, server, model);
  return model;
}

}  // namespace

TEST_CASE("scaled updates are as long as the bound and never longer, as a sum holds them; only 0 stays 0") {
  RandomStream random = RandomSource(std::uint64_t{3}).at({Purpose::initial_weights});
  for (const std::size_t size : {1, 7, 1000, 100'000})
    for (const double length : {1e-30, 1e-6, 0.5, 1.0, 40.0})
      for (const double bound : {1e-3, 1.0, 25.0})
        for (const bool in_layers : {false, true}) {
          CAPTURE(size);
          CAPTURE(length);
          CAPTURE(bound);
          CAPTURE(in_layers);
          Vector change(size);
          for (float& value : change) value = static_cast<float>(random.normal() * length / std::sqrt(static_cast<double>(size)));
          std::vector<ParameterRange> layers;
          if (in_layers) layers = {{0, (size + 1) / 2}, {(size + 1) / 2, size / 2}};
          const UpdateClip clip(bound, layers, ScaledBound{});
          Vector scaled;
          CHECK(clip.clip(view(std::as_const(change)), scaled) == l2_norm(view(std::as_const(change))));
          CHECK(rounded_norm(scaled) <= bound);
          if (size > 1) CHECK(rounded_norm(scaled) >= bound * (1 - 1e-6));
          Vector zero(size), nothing;
          clip.clip(view(std::as_const(zero)), nothing);
          CHECK(nothing == zero);
        }
}

TEST_CASE("from learned weights the rate is a third of that from drawn ones, whatever the learned ones' norm") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string noise = "clip = 2.0\nnoise-multiplier = 40\n";
  const Setup drawn = setup_of(folder, noise);
  Vector longer = drawn.initial;
  for (float& value : longer) value *= 5;
  for (const bool is_of_run : {false, true}) {
    const std::string file = folder / "model.safetensors", init = "init = '" + file + "'\n";
    write_file(file, write_safetensors(
                         drawn.model, longer,
                         is_of_run ? std::map<std::string, std::string>{{"rounds", "9"}} : std::map<std::string, std::string>{}));
    const Setup learned = setup_of(folder, noise + init + "start = 'learned'\n");
    CHECK(learned.initial == longer);
    CHECK(noise_rate(learned) == doctest::Approx(noise_rate(drawn) / 3));
    CHECK(noise_rate(setup_of(folder, noise + init + "start = 'learned'\nserver-noise-factor = 6\n")) ==
          doctest::Approx(2 * noise_rate(drawn) / 3));
    // Weights that somebody drew elsewhere are not told from learned ones, but those of a run are, in a note.
    const Setup given = setup_of(folder, noise + init);
    CHECK(noise_rate(given) == doctest::Approx(5 * noise_rate(drawn)));
    CHECK((joined(given.notes).find("--start learned") != std::string::npos) == is_of_run);
  }
  CHECK_USAGE_ERROR(setup_of(folder, noise + "start = 'learned'\n"), "start", "'learned'", "init ''");
}

TEST_CASE("the first rate is that of the formula: central, local and growing noise; bounded where there is little of it") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto expected = [](const Setup& setup, double factor, double tau) {
    double squares = 0;
    for (const float value : setup.initial) squares += double{value} * double{value};
    const auto d = static_cast<double>(setup.model.parameter_count());
    return factor * std::sqrt(squares) * std::sqrt(3.0 / (2 * setup.configuration.rounds)) / (tau * std::sqrt(d));
  };
  const Setup central = setup_of(folder, "clip = 2.0\nnoise-multiplier = 40\n");
  const double clients = static_cast<double>(central.clients.size());
  CHECK(noise_rate(central) == doctest::Approx(expected(central, 3, 40 * 2 / clients)).epsilon(1e-3));
  const Setup local = setup_of(folder, "clip = 2.0\nnoise-multiplier = 40\nclient-noise = 'local'\nserver-noise-factor = 2\n");
  CHECK(noise_rate(local) == doctest::Approx(expected(local, 2, 40 * 2 / std::sqrt(clients))).epsilon(1e-3));
  Setup pooled = prepare(resolve(settings_for(
      folder, "unused",
      "dp = 'client'\nclip-rule = 'scaled'\nserver-schedule = 'noise'\noptimizer = 'pooled'\nnoise-multiplier = 40\n")));
  CHECK(noise_rate(pooled) == doctest::Approx(expected(pooled, 3, 40 * std::sqrt(1.01) / clients)).epsilon(1e-3));
  const auto d = static_cast<double>(central.model.parameter_count());
  for (const char* noise : {"noise-multiplier = 1e-6\n", "noise-multiplier = 1e-3\n"})
    CHECK(noise_rate(setup_of(folder, std::string("clip = 0.5\n") + noise)) ==
          doctest::Approx(0.21 * std::pow(d, 0.25) / 0.5).epsilon(1e-9));
  std::vector<double> course;
  double course_squared = 0;
  for (int round = 1; round <= central.configuration.rounds; ++round) {
    course.push_back(1 - (round - 1.0) / central.configuration.rounds);
    course_squared += course.back() * course.back();
  }
  for (const std::string mechanism : {"blt", "banded", "tree"}) {
    CAPTURE(mechanism);
    const Setup setup =
        setup_of(folder, "noise-multiplier = 40\nminimum-separation = 2\nnoise-mechanism = '" + mechanism + "'\n");
    const Correlation& noise = setup.privacy.client_release.correlation;
    const double share = combined_deviation(noise, course) / std::sqrt(course_squared);
    CHECK(share < 0.95);  // a round asks half of the clients
    CHECK(noise_rate(setup) == doctest::Approx(expected(setup, 3, 40 * share / (clients / 2))).epsilon(1e-3));
  }
  Setup zero = central;
  zero.initial = Vector(zero.initial.size());
  CHECK_USAGE_ERROR(noise_rate(zero), "norm 0", "server-schedule 'noise'");
}

TEST_CASE("the bound need not be chosen: another one gives the same model") {
  const TemporaryFolder folder;
  write_data(folder);
  for (const std::string more :
       {"0.5\noptimizer = 'sgd'\nlearning-rate = 0.1\n", "20\noptimizer = 'sgd'\nclient-noise = 'local'\n",
        "0.5\noptimizer = 'adadp'\n", "0.5\noptimizer = 'pooled'\ntolerance-schedule = 'constant'\n"}) {
    CAPTURE(more);
    const Vector one = trained(setup_of(folder, std::string("clip = 1.0\nnoise-multiplier = ") + more), 6);
    const Vector two = trained(setup_of(folder, std::string("clip = 2.0\nnoise-multiplier = ") + more), 6);
    REQUIRE(one.size() == two.size());
    double largest = 0;
    for (std::size_t i = 0; i < one.size(); ++i) largest = std::max(largest, std::abs(double{one[i]} - double{two[i]}));
    CHECK(largest < 1e-5);
    CHECK(largest < 1e-3 * l2_norm(view(one)));
  }
}

TEST_CASE("a run goes on with the first rate, says it among what is public, and refuses what has another length or course") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a", kScaled + kNoise));
  start(settings_for(folder, "b", kScaled + kNoise + "threads = 1\nrounds = 2\n"));
  CHECK(read_file(folder / "a/ledger.jsonl").find("the server's rate ") != std::string::npos);
  // Stopped after two of six rounds; another number of rounds is another rate.
  RunObserver observer;
  observer.pause_after = 2;
  const Settings settings = settings_for(folder, "c", kScaled + kNoise);
  run(resolve(settings), settings, observer);
  resume(folder / "c", {});
  CHECK(hashes(folder / "a") == hashes(folder / "c"));
  CHECK(hashes(folder / "a")[0] != hashes(folder / "b")[0]);
  const auto refused = [&](const std::string& more) { resolve(settings_for(folder, "x", kScaled + kNoise + more)); };
  CHECK_USAGE_ERROR(refused("server-optimizer = 'restore'\n"), "server-optimizer", "restore");
  CHECK_USAGE_ERROR(refused("server-optimizer = 'momentum'\n"), "server-schedule", "momentum");
  CHECK_USAGE_ERROR(refused("local-objective = 'scaffold'\n"), "clip-rule", "scaffold");
  CHECK_USAGE_ERROR(resolve(settings_for(folder, "x", "dp = 'example'\nclip-rule = 'scaled'\n" + kNoise)), "scaled", "example");
}

}  // namespace fedstride::test::noise_rate_test
