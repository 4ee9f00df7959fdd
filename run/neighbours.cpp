#include "run/neighbours.hpp"

#include <optional>
#include <string>

#include "core/error.hpp"
#include "partitions/iid.hpp"

namespace fedstride {
namespace {

std::optional<Neighbours> named(NeighboursChoice choice) {
  if (choice == NeighboursChoice::automatic) return std::nullopt;
  return make_choice<Neighbours>("neighbours", choice_name(choice));
}

/// The setting that makes one more row move others; empty if none does.
std::string moves_others(const Configuration& configuration) {
  const bool all_to_one = configuration.clients == 1 && configuration.partition.as<Iid>() != nullptr;
  if (configuration.partition->dealing() != Dealing::given && !all_to_one)
    return "partition '" + std::string(configuration.partition.name()) + "' deals the rows out";
  if (configuration.limit_per_client > 0) return "limit-per-client keeps a fixed number of rows";
  if (configuration.client_test > 0) return "client-test leaves each client a row to train on";
  return {};
}

/// The reason for which a client that is there moves others; empty if none does.
std::string moves_other_clients(const Configuration& configuration) {
  if (!configuration.cohort->is_independent())
    return "in cohort '" + std::string(configuration.cohort.name()) + "' a client that is there displaces another";
  if (configuration.attack->attackers() > 0)
    return "who carries out attack '" + std::string(configuration.attack.name()) +
           "' is drawn from how many clients there are, so that one more makes an attacker of another";
  return {};
}

void refuse_replaced(const Configuration& configuration, const std::string& setting) {
  const Dealing dealing = configuration.partition->dealing();
  if (dealing != Dealing::labels && dealing != Dealing::features) return;
  throw usage_error(setting + " is 'replace-one'; partition '" + std::string(configuration.partition.name()) +
                    "' deals rows out by their " + (dealing == Dealing::labels ? "labels" : "inputs") +
                    ", so that a replaced row moves others: valid is zero-out, or fix who holds which rows beforehand "
                    "(fedstride partition --out FILE, then --partition file)");
}

}  // namespace

Neighbours example_neighbours(const Configuration& configuration) {
  const ExampleSettings& settings = *example_level(configuration.privacy);
  const std::string moves = moves_others(configuration);
  const bool fixed_lots = settings.sampling != LotSampling::poisson;
  const auto choice = named(settings.neighbours);
  if (!choice && settings.sampling == LotSampling::without_replacement) {
    refuse_replaced(configuration, "neighbours");
    return Neighbours::replace_one;
  }
  if (!choice) return moves.empty() && !fixed_lots ? Neighbours::add_remove : Neighbours::zero_out;
  if (*choice == Neighbours::replace_one) refuse_replaced(configuration, "neighbours");
  if (*choice == Neighbours::add_remove && !(moves.empty() && !fixed_lots))
    throw usage_error(
        "neighbours is 'add-remove'; " +
        (moves.empty() ? "sampling '" + std::string(choice_name(settings.sampling)) + "' has lots of a fixed size" : moves) +
        ", so that one row more moves others: valid is zero-out, where sizes are public" +
        (configuration.partition->dealing() == Dealing::labels || configuration.partition->dealing() == Dealing::features
             ? ""
             : ", or replace-one"));
  return *choice;
}

Neighbours client_neighbours(const Configuration& configuration) {
  const ClientSettings& settings = *client_level(configuration.privacy);
  if (settings.client_noise == ClientNoiseBy::local) return Neighbours::replace_one;
  const std::string setting = example_level(configuration.privacy) != nullptr ? "client-neighbours" : "neighbours";
  const auto choice = named(settings.client_neighbours);
  const std::string moves = moves_other_clients(configuration);
  if (!choice) return moves.empty() ? Neighbours::add_remove : Neighbours::zero_out;
  if (*choice == Neighbours::replace_one) refuse_replaced(configuration, setting);
  if (*choice == Neighbours::add_remove && !moves.empty())
    throw usage_error(setting + " is 'add-remove'; " + moves +
                      ": valid are zero-out and replace-one, or cohort all or poisson and no attack");
  return *choice;
}

}  // namespace fedstride
