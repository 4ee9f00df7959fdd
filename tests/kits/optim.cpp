#include "tests/kits/conformance.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <sstream>

#include "core/random.hpp"
#include "tests/kits/promises.hpp"

namespace fedstride {
namespace {

Vector drawn_vector(std::size_t size, std::uint32_t row) {
  RandomStream random(7, {.purpose = Purpose::test, .row = row});
  Vector values(size);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

bool same_bits(const Vector& a, const Vector& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Reports a gradient in stretches of `length` numbers, and remembers what was asked of it and returned to it.
class ReportedGradient {
 public:
  std::size_t length = 1000;
  int calls = 0;
  bool sums = false;  ///< the sink returned something to be added up
  double loss = 1;    ///< at the weights of the last gradient

 protected:
  double report(std::span<const float> gradient, GradientSink sink) {
    ++calls;
    double sum = 0;
    for (std::size_t i = 0; i < gradient.size(); i += length)
      sum += sink(i, gradient.subspan(i, std::min(length, gradient.size() - i)));
    sums = sums || sum != 0;
    return sum;
  }
};

/// The same gradient wherever it is taken.
struct EqualGradients : ReportedGradient {
  explicit EqualGradients(Vector gradient) : values(std::move(gradient)) {}
  Vector values;
  double operator()(const float*, GradientSink sink) { return report(view(std::as_const(values)), sink); }
};

/// That of the bowl sum_i curvature_i (x_i - centre_i)^2 / 2.
struct BowlGradient : ReportedGradient {
  explicit BowlGradient(std::size_t size) : curvature(drawn_vector(size, 1)), centre(drawn_vector(size, 2)) {
    for (float& value : curvature) value = 0.05F + std::abs(value) * 0.1F;
  }
  Vector curvature, centre;

  double operator()(const float* weights, GradientSink sink) {
    Vector gradient(curvature.size());
    loss = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = curvature[i] * (weights[i] - centre[i]);
      loss += 0.5 * static_cast<double>(gradient[i]) * static_cast<double>(weights[i] - centre[i]);
    }
    return report(view(std::as_const(gradient)), sink);
  }
  double distance(const Vector& weights) const {
    double squares = 0;
    for (std::size_t i = 0; i < centre.size(); ++i) squares += std::pow(weights[i] - centre[i], 2);
    return std::sqrt(squares);
  }
};

/// A client: an optimizer with all that belongs to it.
struct TriedClient {
  explicit TriedClient(const Optimizer& kind, Vector start) : optimizer(kind), weights(std::move(start)) {
    optimizer->start(*state, weights.size());
  }
  Optimizer optimizer;
  std::unique_ptr<PartState> state = optimizer->make_state();
  Vector scratch;
  Vector weights;

  StepReport step(Gradient gradient, int epoch = 0) {
    return optimizer->step(*state, scratch, weights, gradient, {.epoch = epoch});
  }
  StepReport step(std::derived_from<ReportedGradient> auto& gradient, int epoch = 0) {
    return step(Gradient(gradient, gradient.loss), epoch);
  }
  std::string saved() const {
    std::ostringstream bytes;
    optimizer->save(*state, bytes);
    return bytes.str();
  }
  void load(const std::string& saved) {
    std::istringstream bytes(saved);
    optimizer->load(*state, bytes);
  }
};

bool refuses_bad_rates(const Optimizer& optimizer) {
  const SettingInfo* rate = optimizer.part().find("learning-rate");
  const auto refuses = [&](double value) {
    try {
      rate->check(value);
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  return rate == nullptr || (refuses(0) && refuses(-0.1) && refuses(std::numeric_limits<double>::quiet_NaN()));
}

bool starts_afresh(const Optimizer& optimizer) {
  BowlGradient gradient(33);
  TriedClient client(optimizer, drawn_vector(33, 3));
  const std::string fresh = client.saved();
  for (int i = 0; i < 3; ++i) client.step(gradient);
  client.optimizer->start(*client.state, 33);
  return client.saved() == fresh;
}

bool goes_on_after_load(const Optimizer& optimizer) {
  BowlGradient gradient(101);
  TriedClient one(optimizer, drawn_vector(101, 3));
  for (int i = 0; i < 3; ++i) one.step(gradient, i);
  TriedClient other(optimizer, one.weights);
  other.load(one.saved());
  for (int i = 0; i < 3; ++i) {
    const StepReport expected = one.step(gradient, i), report = other.step(gradient, i);
    if (report.learning_rate != expected.learning_rate || report.error != expected.error) return false;
    if (report.accepted != expected.accepted || !same_bits(other.weights, one.weights)) return false;
  }
  return true;
}

bool refuses_cut_bytes(const Optimizer& optimizer) {
  TriedClient client(optimizer, drawn_vector(8, 5));
  const std::string good = client.saved();
  client.load(good);
  if (good.empty()) return true;
  try {
    client.load(good.substr(0, good.size() - 1));
  } catch (const std::exception&) {
    return true;
  }
  return false;
}

bool refuses_another_size(const Optimizer& optimizer) {
  TriedClient client(optimizer, drawn_vector(8, 5));
  const std::size_t length = client.saved().size();
  client.optimizer->start(*client.state, 9);
  if (client.saved().size() == length) return true;  // the state holds no vector
  EqualGradients gradient(drawn_vector(8, 6));
  try {
    client.step(gradient);
  } catch (const Error&) {
    return true;
  }
  return false;
}

bool hides_scratch(const Optimizer& optimizer) {
  BowlGradient gradient(33);
  TriedClient clean(optimizer, drawn_vector(33, 4)), first(optimizer, drawn_vector(33, 3)), second(optimizer, clean.weights);
  first.step(gradient);
  second.scratch = std::move(first.scratch);
  clean.step(gradient);
  second.step(gradient);
  return same_bits(second.weights, clean.weights);
}

bool reads_what_it_says(const Optimizer& optimizer) {
  const int change = optimizer->epoch_of_change();
  if (optimizer->gradients_per_step({.epoch = 0}) != optimizer->gradients_per_step()) return false;
  if (change != kNoChange && optimizer->gradients_per_step({.epoch = change}) == optimizer->gradients_per_step()) return false;
  for (const int epoch : {0, 1, 7, change == kNoChange ? 1000 : change}) {
    TriedClient client(optimizer, drawn_vector(8, 5));
    EqualGradients gradient(drawn_vector(8, 6));
    client.step(gradient, epoch);
    client.step(gradient, epoch);
    const int expected = optimizer->gradients_per_step({.epoch = epoch});
    if (gradient.calls != 2 * expected) return false;
    if (epoch < change && expected != optimizer->gradients_per_step()) return false;
    if (expected % optimizer->gradients_per_batch() != 0) return false;
  }
  return true;
}

/// Before the step, or after it if its own gradient decides.
bool announces_its_rate(const Optimizer& optimizer) {
  BowlGradient gradient(33);
  TriedClient client(optimizer, drawn_vector(33, 3));
  for (int epoch = 0; epoch < 4; ++epoch) {
    const auto announced = [&] { return client.optimizer->learning_rate(*client.state, {.epoch = epoch}); };
    const double before = announced();
    const double taken = client.step(gradient, epoch).learning_rate;
    if (taken != (optimizer->rate_follows_gradient() ? announced() : before)) return false;
  }
  return true;
}

bool rests_without_gradient(const Optimizer& optimizer) {
  TriedClient client(optimizer, drawn_vector(50, 5));
  const Vector start = client.weights;
  EqualGradients zeros{Vector(50)};
  for (int i = 0; i < 3; ++i)
    if (!client.step(zeros).accepted) return false;
  return same_bits(client.weights, start);
}

bool undoes_wholly(const Optimizer& optimizer) {
  for (const float length : {1.0F, 1e3F, 1e20F}) {
    Vector gradient = drawn_vector(50, 6);
    for (float& value : gradient) value *= length;
    EqualGradients steep(gradient);
    TriedClient client(optimizer, drawn_vector(50, 5));
    const Vector start = client.weights;
    if (!client.step(steep).accepted && !same_bits(client.weights, start)) return false;
  }
  return true;
}

/// The sink's results are added in the order of the stretches, so whoever returns something may differ after that step.
bool does_not_see_the_cut(const Optimizer& optimizer) {
  for (const std::size_t length : {1, 7, 16, 33, 64}) {
    BowlGradient whole(203), cut(203);
    cut.length = length;
    TriedClient one(optimizer, drawn_vector(203, 3)), other(optimizer, one.weights);
    for (int i = 0; i < 4 && !whole.sums; ++i) {
      one.step(whole);
      other.step(cut);
      if (!same_bits(other.weights, one.weights)) return false;
    }
  }
  return true;
}

bool keeps_gaps(const Optimizer& optimizer) {
  const float start[] = {1, 2, 0, 0, 3};
  TriedClient client(optimizer, Vector(start));
  const float values[] = {0.1F, 0.2F, 0.3F};
  const auto with_gap = [&](const float*, GradientSink sink) {
    return sink(0, std::span(values).first(2)) + sink(4, std::span(values).last(1));
  };
  const double loss = 1;
  for (int i = 0; i < 3; ++i) {
    client.step(Gradient(with_gap, loss));
    if (client.weights[2] != 0 || client.weights[3] != 0 || !(client.weights[4] < 3)) return false;
  }
  return true;
}

bool descends(const Optimizer& optimizer) {
  Optimizer set = optimizer;
  if (const SettingInfo* rate = set.part().find("learning-rate")) set.part().set(*rate, 0.1);
  BowlGradient bowl(64);
  TriedClient client(set, drawn_vector(64, 3));
  const double before = bowl.distance(client.weights);
  for (int i = 0; i < 100; ++i) client.step(bowl);
  return bowl.distance(client.weights) < 0.8 * before;
}

/// A weight from 0 under gradients of -1 moves as far as the UnitWeight that takes the same steps.
bool follows_its_own_steps(const Optimizer& optimizer) {
  if (!optimizer->follows()) return true;
  TriedClient client(optimizer, Vector(1));
  UnitWeight unit;
  EqualGradients gradient(Vector(1, -1.0F));
  for (int i = 0; i < 5; ++i) optimizer->follow(unit, client.step(gradient));
  return std::abs(client.weights[0] - unit.moved) <= 1e-5 * std::abs(unit.moved);
}

constexpr Promise<Optimizer> kOptimizerPromises[] = {
    {"its settings are valid, each with a name of its own",
     [](const Optimizer& part) { return has_valid_settings(part.part()); }},
    {"a learning rate of 0, below 0 or not a number is refused", refuses_bad_rates},
    {"start makes a used state a fresh one", starts_afresh},
    {"save, load, step equals step", goes_on_after_load},
    {"bytes that end early are refused", refuses_cut_bytes},
    {"a state of another model's size is refused", refuses_another_size},
    {"a scratch used by one client does not show in another", hides_scratch},
    {"a step reads as many batches as it says, after the epoch of change too", reads_what_it_says},
    {"a step is taken with the rate that was announced, before it or, where its own gradient decides, after it",
     announces_its_rate},
    {"no gradient, no change", rests_without_gradient},
    {"a step that is not accepted leaves the weights as they were", undoes_wholly},
    {"how the gradient is cut changes no bit of a step", does_not_see_the_cut},
    {"what is never reported stays zero", keeps_gaps},
    {"it descends a bowl", descends},
    {"if it follows, a weight's gradients of 1 move it by its reach", follows_its_own_steps},
};

}  // namespace

std::vector<std::string> complaints(const Optimizer& optimizer) {
  return broken_promises<Optimizer>(optimizer, kOptimizerPromises);
}

}  // namespace fedstride
