#include <doctest/doctest.h>

#include <cmath>
#include <future>
#include <limits>
#include <mutex>

#include "client/report.hpp"
#include "client/told_evaluation.hpp"
#include "core/text.hpp"
#include "sim/net/networked_fleet.hpp"
#include "tests/support/peer.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::evaluation_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A coordinator with one client that offers to evaluate its models.
struct Tested {
  explicit Tested(Targets targets) : terms{.welcome = {build_identity(), "", "x"}, .data_hash = "data", .roster = {}} {
    terms.metric = metric_of(targets);
    terms.packings = {Packing(3), Packing(3)};
    terms.roster = {{5, "rows"}};
    fleet.emplace(
        terms, ReceptionRules{.listen = {"127.0.0.1", 0}, .transport = Transport::plain(), .authenticated = false}, RoundTerms{},
        [](auto&&...) { return std::string(); },
        [this](const std::string& line) {
          const std::lock_guard lock(mutex);
          log += line + '\n';
        });
  }

  /// The coordinator's evaluation after a client has claimed these numbers, or its reason to refuse them.
  std::pair<std::optional<Evaluation>, std::string> claimed(std::uint64_t examples, double loss, double accuracy) {
    while (fleet->status().clients[0].connected) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Peer peer(calling(fleet->port()));
    peer.say(Hello{0, build_identity()});
    peer.hear<Welcome>();
    peer.say(Ready{"data", "rows", 5, 0, true});
    while (!fleet->status().clients[0].connected) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto result = std::async(std::launch::async, [&] { return fleet->test_by_client(Vector(3)); });
    const auto model = peer.hear<ModelMessage>();
    REQUIRE(model);
    REQUIRE(peer.hear<Evaluate>());
    peer.say(EvaluationMessage{model->round, model->model_hash, examples, loss, accuracy});
    const std::optional<Evaluation> known = result.get();
    if (known) return {known, ""};
    const auto refused = peer.hear<Refused>();
    REQUIRE(refused);
    const std::lock_guard lock(mutex);
    CHECK(log.find("client 0 (127.0.0.1:") != std::string::npos);
    CHECK(log.find(refused->reason + '\n') != std::string::npos);
    return {known, refused->reason};
  }

  std::string refusal(std::uint64_t examples, double loss, double accuracy) { return claimed(examples, loss, accuracy).second; }

  FederationTerms terms;
  std::mutex mutex;
  std::string log;
  std::optional<NetworkedFleet> fleet;
};

}  // namespace

TEST_CASE("impossible numbers in an evaluation end the client's connection and are named") {
  Tested tested(Targets::classes);
  CHECK(names(tested.refusal(10, 0.5, 2), {"accuracy", "2", "0", "1"}));
  CHECK(names(tested.refusal(10, 0.5, -1e-300), {"accuracy", "-1e-300", "0", "1"}));
  CHECK(names(tested.refusal(10, 0.5, kInfinity), {"accuracy", "inf", "0", "1"}));
  CHECK(names(tested.refusal(10, -0.25, 0.5), {"loss", "-0.25", "0", "1e+06"}));
  CHECK(names(tested.refusal(10, 1e7, 0.5), {"loss", "1e+07", "0", "1e+06"}));
  CHECK(names(tested.refusal(10, -kInfinity, 0.5), {"loss", "-inf", "0", "1e+06"}));
  CHECK(names(tested.refusal(std::uint64_t{1} << 32, 0.5, 0.5), {"examples", "4294967296", "0", "4294967295"}));
  const auto [known, why] = tested.claimed(0, kNan, 1);
  REQUIRE(known);
  CHECK(known->accuracy == 1);
  CHECK(std::isnan(known->loss));
  CHECK(known->is_told);
  CHECK(known->metric == "accuracy");
}

TEST_CASE("an evaluation of a regression reports R2, which may be negative") {
  Tested tested(Targets::values);
  const std::string least = number_text(-kMaxRate);
  CHECK(names(tested.refusal(10, 0.5, 1.5), {"R2", "1.5", least, "1"}));
  CHECK(names(tested.refusal(10, 0.5, -kInfinity), {"R2", "-inf", least, "1"}));
  const auto [known, why] = tested.claimed(4294967295U, 1e6, -12.5);
  REQUIRE(known);
  CHECK(known->accuracy == -12.5);
  CHECK(known->examples == 4294967295U);
  CHECK(known->metric == "R2");
}

}  // namespace fedstride::test::evaluation_test
