// fedstride with a custom optimizer, partition and data set. docs/library.md has the details.
//   own-parts run --dataset spirals --optimizer sign --partition staircase --clients 4 --model "dense 16 | tanh | dense classes"
#include <cmath>
#include <fedstride/fedstride.hpp>
#include <numeric>

using namespace fedstride;

struct SignSettings {
  double rate = 0.001;
  double beta = 0.9;
  static constexpr auto kFields =
      fields(Field{"learning-rate", &SignSettings::rate, "how far each weight moves in a step", kPositive},
             Field{"sign-beta", &SignSettings::beta, "fraction of the gradient average kept in each step",
                   Valid{.low = 0, .high = 1, .high_included = false}});
};

/// signSGD with momentum (Bernstein et al. 2018, "Signum"): m <- beta m + (1 - beta) g, weights -= rate sign(m).
struct Sign final : OptimizerBase<Sign, SignSettings, Vector> {  // its state is m
  static constexpr std::string_view kName = "sign";
  static constexpr std::string_view kSummary = "steps of fixed size by the sign of the averaged gradient (Signum)";

  int gradients_per_step(Progress) const override { return 1; }
  bool keeps_state() const override { return true; }  // from round to round, in checkpoints too
  double learning_rate(const Vector&, Progress) const override { return rate; }
  StepReport step(Vector& average, Vector& /*scratch*/, Vector& weights, Gradient gradient, Progress) const override {
    check_state_size(kName, average, weights);
    const auto stays = static_cast<float>(beta), eta = static_cast<float>(rate);
    gradient(weights.data(), [&](std::size_t offset, std::span<const float> stretch) {
      for (std::size_t i = 0; i < stretch.size(); ++i) {
        float& m = average[offset + i];
        m = stays * m + (1 - stays) * stretch[i];
        weights[offset + i] -= eta * static_cast<float>((m > 0) - (m < 0));
      }
      return 0.0;
    });
    return {.learning_rate = rate};
  }
};

/// Client c gets a share of the rows that grows with c: c + 1 parts of 1 + 2 + ... + clients.
struct Staircase final : PartBase<PartitionPart, Staircase> {
  static constexpr std::string_view kName = "staircase";
  static constexpr std::string_view kSummary = "client sizes that grow linearly from the first client to the last";

  Dealing dealing() const override { return Dealing::counts; }  // the inputs that the assignment depends on
  ClientRows assign(const PartitionInput& input) const override {
    check_input(input);
    const auto clients = static_cast<std::size_t>(input.clients), rows = input.rows.size();
    std::vector<std::uint32_t> order(input.rows.begin(), input.rows.end());
    RandomStream random(input.seed, {.purpose = Purpose::partition});
    shuffle(std::span(order), random);
    Assignment assignment(clients);
    std::size_t begin = 0;
    for (std::size_t c = 0; c < clients; ++c) {  // one row for each client, the rest by the staircase
      const std::size_t end = c + 1 + (rows - clients) * ((c + 1) * (c + 2)) / (clients * (clients + 1));
      assignment[c].assign(order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end));
      std::ranges::sort(assignment[c]);
      begin = end;
    }
    return assignment;
  }
};

/// Two interleaved spirals of 600 points each.
DataPair spirals(const std::filesystem::path&) {
  Dataset data{.shape = {1, 1, 2}, .classes = 2, .class_names = {"left", "right"}};
  for (int i = 0; i < 1200; ++i) {
    const double turn = 0.5 + 2.5 * (i / 2) / 600.0, side = i % 2 == 0 ? 1 : -1;
    data.features.push_back(static_cast<float>(side * turn * std::cos(4 * turn)));
    data.features.push_back(static_cast<float>(side * turn * std::sin(4 * turn)));
    data.labels.push_back(static_cast<Label>(i % 2));
  }
  return {.train = data};  // since there is no test part, a sixth of the rows is held out as one
}

int main(int argc, char** argv) {
  add_part<Optimizer>(Sign{});
  add_part<Partitioner>(Staircase{});
  add_dataset({.name = "spirals", .summary = "two interleaved spirals", .files = "none", .place = {}, .load = spirals});
  return command_line(argc, argv);
}
