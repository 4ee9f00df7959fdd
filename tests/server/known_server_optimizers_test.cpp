// Every server optimizer of the registry against the formulas of its paper.
#include "server/server_optimizer.hpp"
#include "tests/support/known_answers.hpp"

namespace fedstride::test::known_server_optimizers_test {
namespace {

// One weight, from 1, after mean changes of 0.3, -0.4 and 0.2, made of the updates of two equal clients with norms 0.5 and 0.7; and the
// weight that is then evaluated. Settings have their defaults.
const KnownAnswers<std::vector<double>> kKnown = {
    {"average", {1.3, 0.9, 1.1, 1.1}},
    {"momentum", {1.3, 1.17, 1.253, 1.253}},
    {"adagrad", {1.0314948, 1.0062654, 1.0179795, 1.0179795}},
    {"adam", {1.0305644, 1.0224968, 1.0273053, 1.0273053}},
    {"yogi", {1.0305642, 1.0225109, 1.0272917, 1.0272917}},
    {"fedexp", {1.6098901, 1.1502628, 2.0527018, 1.6014823}},
    {"sign", {1.001, 1.0, 1.001, 1.001}},
    {"restore", {1.608276253, 1.145776253, 1.754052506, 1.44991438}},
};

}  // namespace

TEST_CASE("every server optimizer takes the steps of its paper") {
  for_each_known<ServerOptimizer>(kKnown, [](const ServerOptimizer& optimizer, const std::vector<double>& expected) {
    Server server(optimizer, 1);
    const std::vector<ClientReport> reports{{.client = 0, .update_norm = 0.5}, {.client = 1, .update_norm = 0.7}};
    Vector model(1, 1.0F);
    std::vector<double> path;
    for (const float change : {0.3F, -0.4F, 0.2F}) {
      server.take(1, reports, {.weights = {1, 1}});
      server.apply(model, Vector(1, change));
      path.push_back(model[0]);
    }
    path.push_back(server.answer(model)[0]);
    check_close(path, expected);
  });
}

}  // namespace fedstride::test::known_server_optimizers_test
