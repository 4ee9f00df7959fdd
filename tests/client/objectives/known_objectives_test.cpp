// Every local objective of the registry against the formulas of its paper.
#include "client/objectives/local_objective.hpp"
#include "tests/support/known_answers.hpp"

namespace fedstride::test::known_objectives_test {
namespace {

// One parameter. A client hears 0.5, keeps 0.3, had gradient 0.4 and loss 2 at the model received, and moved by -0.2 with rate 0.1 and
// reach 0.5; its weight is 3. Then the server takes a mean change of 0.6, with a mean of 0.1 of what was sent, a mean measure of 0.4,
// a share of 0.25 and a weight of 0.75. Settings have their defaults. 0 where the objective has nothing.
struct Known {
  double pull = 0, fixed = 0, sent = 0, kept = 0;
  double factor = 1, measure = 0;
  double change = 0.6, heard = 0;
};
const KnownAnswers<Known> kKnown = {
    {"plain", {}},
    {"prox", {.pull = 0.01}},
    {"scaffold", {.fixed = 0.2, .sent = -0.1, .kept = 0.2, .heard = 0.025}},
    {"dyn", {.pull = 0.01, .fixed = -0.3, .kept = 0.302, .change = 0.75}},
    {"nova", {.factor = 2, .measure = 0.5, .change = 0.24}},
    {"fair", {.factor = 2, .measure = 2.4, .change = 1.5}},
};

}  // namespace

TEST_CASE("every local objective corrects, scales and applies changes as its paper does") {
  for_each_known<LocalObjective>(kKnown, [](const LocalObjective& objective, const Known& expected) {
    const Vector heard(objective->hears() ? 1 : 0, 0.5F), change(1, -0.2F), start(1, 0.4F);
    Vector fixed(1), kept(objective->keeps() ? 1 : 0, 0.3F), sent(objective->sends() ? 1 : 0);
    if (objective->has_fixed()) objective->fixed(view(std::as_const(kept)), view(heard), view(fixed));
    const ObjectiveEnd end{.heard = view(heard),
                           .change = view(change),
                           .start = view(start),
                           .start_loss = 2,
                           .rate = 0.1,
                           .weight = 3,
                           .reach = 0.5,
                           .kept = view(kept),
                           .sent = view(sent)};
    objective->end(end);
    const ObjectiveScale scale = objective->scale(end);
    const auto server = objective->make_state();
    objective->start(*server, 1);
    Vector mean(1, 0.6F);
    const Vector others(1, 0.1F);
    if (objective->sends()) mean.append(view(others));
    objective->next(*server, {.share = 0.25, .weight = 0.75, .measure = 0.4}, mean);
    const auto first = [](std::span<const float> values) { return values.empty() ? 0.0 : values[0]; };
    check_close({objective->pull(), fixed[0], first(sent), first(kept), scale.factor, scale.measure, mean[0],
                 first(objective->heard(*server))},
                {expected.pull, expected.fixed, expected.sent, expected.kept, expected.factor, expected.measure, expected.change,
                 expected.heard});
  });
}

}  // namespace fedstride::test::known_objectives_test
