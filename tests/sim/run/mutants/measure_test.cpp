#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dp/accountants/score_fit.hpp"
#include "dp/noise/client_release.hpp"
#include "dp/noise/sampling.hpp"
#include "nn/network.hpp"
#include "sim/run/measure.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/bounds.hpp"
#include "tests/support/refusal.hpp"

// The linker calls these in place of the program's own functions (--wrap in tests/CMakeLists.txt), so that the program is wrong where
// a test says so and otherwise as it is.
namespace fedstride::test::measure_test {
namespace {

double factor_on_noise = 1;
enum class Wrong { nothing, noise_less, noise_halved, layer_not_clipped, layer_not_in_norm, always_in };
Wrong wrong = Wrong::nothing;
constexpr std::size_t kLayer = 168;  // end of the first layer: 40 x 3 weights, padding, 40 biases

}  // namespace

// Every Gaussian release draws its noise here.
void real_draw(const RandomSource&, const Address&, std::uint64_t, unsigned, std::span<double>) asm(
    "__real__ZN9fedstride15draw_grid_noiseERKNS_12RandomSourceERKNS_7AddressEmjSt4spanIdLm18446744073709551615EE");
void wrapped_draw(const RandomSource&, const Address&, std::uint64_t, unsigned, std::span<double>) asm(
    "__wrap__ZN9fedstride15draw_grid_noiseERKNS_12RandomSourceERKNS_7AddressEmjSt4spanIdLm18446744073709551615EE");
void wrapped_draw(const RandomSource& source, const Address& address, std::uint64_t first, unsigned bits, std::span<double> out) {
  real_draw(source, address, first, bits, out);
  for (double& number : out) number *= factor_on_noise;
}

void real_draw_poisson(const RandomSource&, const Address&, double, std::span<const std::uint32_t>, std::vector<std::uint32_t>&, DrawWidth) asm(
    "__real__ZN9fedstride12draw_poissonERKNS_12RandomSourceERKNS_"
    "7AddressEdSt4spanIKjLm18446744073709551615EERSt6vectorIjSaIjEENS_"
    "9DrawWidthE");
void wrapped_draw_poisson(const RandomSource&, const Address&, double, std::span<const std::uint32_t>, std::vector<std::uint32_t>&, DrawWidth) asm(
    "__wrap__ZN9fedstride12draw_poissonERKNS_12RandomSourceERKNS_7AddressE"
    "dSt4spanIKjLm18446744073709551615EERSt6vectorIjSaIjEENS_9DrawWidthE");
void wrapped_draw_poisson(const RandomSource& source, const Address& address, double rate, std::span<const std::uint32_t> ids,
                          std::vector<std::uint32_t>& drawn, DrawWidth width) {
  real_draw_poisson(source, address, rate, ids, drawn, width);
  if (wrong == Wrong::always_in && (drawn.empty() || drawn.back() != ids.back())) drawn.push_back(ids.back());
}

double real_clip(const UpdateClip*, std::span<const float>,
                 Vector&) asm("__real__ZNK9fedstride10UpdateClip4clipESt4spanIKfLm18446744073709551615EERNS_6VectorE");
double wrapped_clip(const UpdateClip*, std::span<const float>,
                    Vector&) asm("__wrap__ZNK9fedstride10UpdateClip4clipESt4spanIKfLm18446744073709551615EERNS_6VectorE");
double wrapped_clip(const UpdateClip* clip, std::span<const float> change, Vector& out) {
  const double norm = real_clip(clip, change, out);
  if (wrong == Wrong::layer_not_clipped) std::copy_n(change.begin(), kLayer, out.begin());
  return norm;
}

BatchLoss real_per_example(Network*, const float*, const Batch&, std::span<double>, ForEachPiece) asm(
    "__real__ZN9fedstride7Network11per_exampleEPKfRKNS_5BatchESt4spanIdLm18446744073709551615EENS_12function_refIFviNS8_"
    "IFviEEEEEE");
BatchLoss wrapped_per_example(Network*, const float*, const Batch&, std::span<double>, ForEachPiece) asm(
    "__wrap__ZN9fedstride7Network11per_exampleEPKfRKNS_5BatchESt4spanIdLm18446744073709551615EENS_12function_refIFviNS8_"
    "IFviEEEEEE");
BatchLoss wrapped_per_example(Network* network, const float* weights, const Batch& batch, std::span<double> norms,
                              ForEachPiece for_each_piece) {
  const BatchLoss loss = real_per_example(network, weights, batch, norms, for_each_piece);
  if (wrong != Wrong::layer_not_in_norm) return loss;
  for (std::size_t i = 0; i < norms.size(); ++i) {
    std::vector<float> one(norms.size(), 0);
    one[i] = 1;
    double squares = 0;
    network->weighted_sum(one, [&](std::size_t offset, std::span<const double> part) {
      for (std::size_t j = 0; j < part.size(); ++j)
        if (offset + j >= kLayer) squares += part[j] * part[j];
      return 0.0;
    });
    norms[i] = std::sqrt(squares) * (1 + 1e-6);
  }
  return loss;
}

namespace {

const std::string kModel = "model = 'dense 40 | relu | dense classes'\noptimizer = 'sgd'\nlearning-rate = 0.05\nthreads = 1\n";
const std::string kExample = kModel + "dp = 'example'\nnoise-multiplier = 1\nclip = 0.3\nbatch = 6\nrounds = 4\n";
const std::string kClient = kModel + "dp = 'client'\nnoise-multiplier = 1\nclip = 0.2\nrounds = 30\n";
const std::string kPoisson = kClient + "cohort = 'poisson'\ncohort-rate = 0.3\n";

Measurement measured(const std::string& settings, int seed, Wrong as = Wrong::nothing, std::uint64_t canaries = 100) {
  static const TemporaryFolder folder;
  static const bool written = (write_data(folder), true);
  (void)written;
  wrong = as;
  factor_on_noise = as == Wrong::noise_halved ? 0.5 : as == Wrong::noise_less ? MeasuredLevel::kLessNoise : 1;
  const Configuration configuration = resolve(settings_for(folder, "none", settings + "seed = " + std::to_string(seed) + "\n"));
  const Measurement found = measure_privacy(configuration, {.canaries = canaries});
  wrong = Wrong::nothing;
  factor_on_noise = 1;
  return found;
}

int accused(const std::string& settings, Wrong as, int runs) {
  int count = 0;
  for (int seed = 1; seed <= runs; ++seed) count += measured(settings, seed, as).levels.at(0).contradiction.empty() ? 0 : 1;
  return count;
}

}  // namespace

TEST_CASE("halved noise, a clip that skips a layer and a record that is always in are measured in 19 of 20 runs") {
  CHECK(accused(kExample, Wrong::noise_halved, 20) >= 19);
  CHECK(accused(kExample, Wrong::layer_not_in_norm, 20) >= 19);
  CHECK(accused(kExample, Wrong::always_in, 20) >= 19);
  CHECK(accused(kPoisson, Wrong::noise_halved, 20) >= 19);
  CHECK(accused(kPoisson, Wrong::layer_not_clipped, 20) >= 19);
  CHECK(accused(kPoisson + "clip-per = 'layer'\n", Wrong::layer_not_clipped, 20) >= 19);
  CHECK(accused(kPoisson, Wrong::always_in, 20) >= 19);
}

TEST_CASE(
    "noise 0.8 times as large is found with the default canaries, as often as the measurement says, with every place and "
    "correlation") {
  const std::string lots = kModel + "dp = 'example'\nnoise-multiplier = 1\nclip = 0.3\nbatch = 20\nrounds = 60\n";
  const std::string updates = kModel + "dp = 'client'\nnoise-multiplier = 1\nclip = 0.2\n";
  const std::string separated = updates + "rounds = 24\nminimum-separation = 2\nnoise-mechanism = ";
  for (const std::string& settings :
       {lots, updates + "rounds = 30\n", updates + "rounds = 90\ncohort = 'poisson'\ncohort-rate = 0.3\n",
        updates + "rounds = 30\nclient-noise = 'local'\n", updates + "rounds = 30\nclient-noise = 'discrete'\n",
        separated + "'banded'\n", separated + "'blt'\n", separated + "'tree'\n"}) {
    CAPTURE(settings);
    const bool is_discrete = settings.find("discrete") != settings.npos;  // has a sampler of its own, which is not wrong here
    int found = 0;
    for (int seed = 1; seed <= 3; ++seed) {
      const MeasuredLevel honest = measured(settings, seed, Wrong::nothing, 0).levels.at(0);
      CHECK(honest.contradiction.empty());
      CHECK(honest.ratio == doctest::Approx(1).epsilon(0.1));
      CHECK(honest.power >= 0.95);
      const MeasuredLevel level = measured(settings, seed, Wrong::noise_less, 0).levels.at(0);
      found += level.contradiction.empty() ? 0 : 1;
      if (!is_discrete) CHECK(level.ratio == doctest::Approx(1 / MeasuredLevel::kLessNoise).epsilon(0.1));
    }
    CHECK(found == (is_discrete ? 0 : 3));
  }
  // With few canaries it says that it would have missed it.
  CHECK(measured(updates + "rounds = 1\n", 1, Wrong::nothing, 10).levels.at(0).power < 0.5);
}

TEST_CASE("an honest program is not accused, and its bounds come near the ledger's") {
  CHECK(accused(kExample, Wrong::nothing, 20) == 0);
  CHECK(accused(kPoisson, Wrong::nothing, 20) == 0);
  std::vector<std::string> honest{kExample, kPoisson};
  for (const std::string& rule : bounds_on_updates()) honest.push_back(kClient + "clip-rule = '" + rule + "'\n");
  for (const std::string& settings : honest) {
    const MeasuredLevel level = measured(settings, 1).levels.at(0);
    CAPTURE(settings);
    // Within three standard errors: at example level, where few contributions are in the scores, a run's ratio deviates by 0.1.
    double ratio = level.ratio / 4;
    for (int seed = 2; seed <= 4; ++seed) ratio += measured(settings, seed).levels.at(0).ratio / 4;
    CHECK(ratio == doctest::Approx(1).epsilon(0.15));
    CHECK(level.bounds.at(0).epsilon > 0.2 * level.ledger.epsilon);
    CHECK(level.bounds.at(0).epsilon <= level.ledger.epsilon);
  }
  // Cohorts of three rounds a pass: counted a round each, bounds would be 1.1 times the ledger's epsilon.
  for (const auto& part : CohortPart::family().parts()) {
    if (!has_passes(static_cast<const CohortPart&>(*part).sampling())) continue;
    const std::string passes = kModel + "dp = 'client'\nnoise-multiplier = 1\nclip = 0.2\ncohort-bins = 3\ncohort = '" +
                               std::string(part->name()) + "'\n";
    CHECK(accused(passes + "rounds = 9\n", Wrong::nothing, 6) == 0);
    CHECK(accused(passes + "rounds = 9\n", Wrong::noise_halved, 6) == 6);
    const MeasuredLevel begun = measured(passes + "rounds = 8\n", 1).levels.at(0);
    CHECK(begun.bounds.at(0).epsilon > 0.25 * begun.ledger.epsilon);
  }
  // With counts of lots, here of 6 on average, the sum alone has a little more noise than the release.
  for (const std::string& rule : bounds_on_lots()) {
    const MeasuredLevel lots = measured(kExample + "clip-rule = '" + rule + "'\n", 1, Wrong::nothing, 0).levels.at(0);
    const double count = bound_named(rule)->count_noise(1, 6);
    CHECK(lots.contradiction.empty());
    CHECK(lots.ratio == doctest::Approx(count > 0 ? 1 / noise_beside_count(1, count) : 1).epsilon(0.1));
  }
  const Measurement both = measured(kModel +
                                        "dp = 'both'\nnoise-multiplier = 1\nclip = 0.3\nbatch = 6\nrounds = "
                                        "4\nclient-noise-multiplier = 1\nclient-clip = 0.2\n",
                                    1);
  REQUIRE(both.levels.size() == 2);
  for (const MeasuredLevel& level : both.levels) {
    CHECK(level.contradiction.empty());
    CHECK(level.bounds.at(0).epsilon > 0.2 * level.ledger.epsilon);
  }
}

TEST_CASE("the client with canaries among its rows is one that is drawn, also where canaries are clients in its cohort") {
  for (int seed = 1; seed <= 4; ++seed) {
    const Measurement both = measured(kModel +
                                          "dp = 'both'\nnoise-multiplier = 1\nclip = 0.3\nbatch = 3\nrounds = 4\nclients = 20\n"
                                          "client-noise-multiplier = 1\nclient-clip = 0.2\ncohort = 'fixed'\ncohort-size = 10\n",
                                      seed);
    for (const MeasuredLevel& level : both.levels) CHECK(level.releases > 0);
  }
}

TEST_CASE("what cannot be measured is refused") {
  CHECK_USAGE_ERROR(measured("", 1), "dp is 'none'", "valid: example, client, both");
  CHECK_USAGE_ERROR(measured(kClient + "client-noise = 'local'\ncohort = 'fixed'\ncohort-size = 2\n", 1),
                    "client-noise is 'local'", "cohort all");
  CHECK_USAGE_ERROR(measured(kClient + "devices = 'uniform'\n", 1), "devices");
}

}  // namespace fedstride::test::measure_test
