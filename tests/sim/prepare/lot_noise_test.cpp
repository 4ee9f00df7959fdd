// The noise of lots as it is known before a run, against its formula and against what runs measure.
#include "sim/prepare/lot_noise.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "sim/run/run.hpp"
#include "tests/sim/run/csv_runs.hpp"

namespace fedstride::test::lot_noise_test {
namespace {

const std::string kPooled = "optimizer = 'pooled'\ndp = 'example'\nclip = 2\nnoise-multiplier = 30\nbatch = 4\n";

Setup setup_of(const TemporaryFolder& folder, const std::string& more) {
  return prepare(resolve(settings_for(folder, "unused", kPooled + more)));
}

/// d (C z)^2 / 2, averaged over clients of b records a lot.
double expected(const Setup& setup, double clip, double multiplier) {
  double mean = 0;
  for (const auto& plan : setup.training.privacy->plans) mean += std::pow(clip * multiplier / plan->denominator(), 2) / 2;
  return static_cast<double>(setup.model.parameter_count()) * mean / static_cast<double>(setup.clients.size());
}

}  // namespace

TEST_CASE("the noise of a round's lots is that of the formula, whatever their bound, schedule, size and frozen layers") {
  const TemporaryFolder folder;
  write_data(folder);
  CHECK_FALSE(lot_noise(prepare(resolve(settings_for(folder, "unused", "optimizer = 'pooled'\n")))));
  const Setup plain = setup_of(folder, "");
  const auto noise = lot_noise(plain);
  CHECK(noise(1, 0).noise == doctest::Approx(expected(plain, 2, 30)));
  CHECK(noise(1, 0).gradients == doctest::Approx(expected(plain, 2, 1) * plain.training.privacy->plans[0]->denominator() /
                                                 static_cast<double>(plain.model.parameter_count())));
  CHECK(noise(1, 0).directions == static_cast<double>(plain.model.parameter_count()));
  CHECK(noise(1000, 0).noise == noise(1, 0).noise);

  // A bound that falls leaves the noise as it is; a dynamic budget takes less of it from round to round.
  const auto falling = lot_noise(setup_of(folder, "clip-schedule = 'linear'\nrounds = 4\n"));
  CHECK(falling(4, 0).noise == doctest::Approx(noise(1, 0).noise));
  CHECK(falling(4, 0).gradients < falling(1, 0).gradients);
  const auto budget = lot_noise(setup_of(folder, "noise-schedule = 'dynamic'\nnoise-decay = 0.9\nrounds = 4\n"));
  CHECK(budget(4, 0).noise < budget(1, 0).noise);

  // A count released beside the sum costs it noise; the round's bound is the one that the counts gave.
  const Setup counted = setup_of(folder, "clip-rule = 'adaptive'\nclip-count-noise = 30\n");
  CHECK(lot_noise(counted)(1, 0).noise == doctest::Approx(expected(counted, 2, 30 / std::sqrt(0.75))));
  CHECK(lot_noise(counted)(3, 5).noise == doctest::Approx(expected(counted, 5, 30 / std::sqrt(0.75))));

  const Setup frozen = setup_of(folder, "model = 'dense 8 | relu | dense classes'\nfreeze = 'fc1'\n");
  const double trained = lot_noise(frozen)(1, 0).directions;
  CHECK(trained > 0);
  CHECK(trained < static_cast<double>(frozen.model.parameter_count()));
  CHECK(lot_noise(frozen)(1, 0).noise ==
        doctest::Approx(expected(frozen, 2, 30) * trained / static_cast<double>(frozen.model.parameter_count())));
}

TEST_CASE("runs measure the noise that is known, from round 1 on") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a", kPooled + "model = 'dense 64 | relu | dense classes'\nrounds = 3\nlocal-epochs = 3\n"));
  const std::vector<Json> rounds = lines(folder / "a/rounds.jsonl");
  for (const Json& round : rounds)
    CHECK(round.at("round_noise").get<double>() == doctest::Approx(round.at("pooled_noise").get<double>()).epsilon(0.1));
  CHECK(rounds.size() == 3);
}

}  // namespace fedstride::test::lot_noise_test
