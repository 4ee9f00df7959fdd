#include "sim/settings/neighbours.hpp"

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

}  // namespace

std::string moves_others(const Configuration& configuration) {
  const bool all_to_one = configuration.clients == 1 && configuration.partition.as<Iid>() != nullptr;
  if (configuration.partition->dealing() != Dealing::given && !all_to_one)
    return "partition '" + std::string(configuration.partition.name()) + "' deals out all rows together";
  if (has_time(configuration)) return "with devices, the times of tasks depend on numbers of rows";
  if (configuration.limit_per_client > 0) return "limit-per-client keeps a fixed number of rows";
  if (configuration.client_test > 0) return "client-test always leaves each client a row to train on";
  if (const LotSampling sampling = example_level(configuration.privacy)->sampling;
      !draw_of(sampling_of(sampling)).is_independent())
    return "sampling '" + std::string(choice_name(sampling)) + "' draws lots of a fixed size";
  return {};
}

std::string moves_other_clients(const Configuration& configuration) {
  if (has_time(configuration)) return "with devices, one client's presence shifts the times of the others";
  if (!configuration.cohort->is_independent())
    return "in cohort '" + std::string(configuration.cohort.name()) + "' one client's presence displaces another";
  if (configuration.attack->attackers() > 0)
    return "the clients that carry out attack '" + std::string(configuration.attack.name()) +
           "' are drawn from all clients, so one more changes the draw";
  const auto* settings = client_level(configuration.privacy);
  return settings == nullptr ? std::string() : std::string(settings->place().mover);
}

bool is_dealt_by_contents(const Configuration& configuration) {
  const Dealing dealing = configuration.partition->dealing();
  return dealing == Dealing::labels || dealing == Dealing::features;
}

Neighbours example_neighbours(const Configuration& configuration) {
  const ExampleSettings& settings = *example_level(configuration.privacy);
  if (user_level(configuration.privacy) != nullptr) return Neighbours::zero_out;  // a user's number of rows is public
  if (const auto choice = named(settings.neighbours)) return *choice;
  if (!draw_of(sampling_of(settings.sampling)).has_bound(Neighbours::zero_out)) return Neighbours::replace_one;
  return moves_others(configuration).empty() ? Neighbours::add_remove : Neighbours::zero_out;
}

Neighbours client_neighbours(const Configuration& configuration) {
  const ClientSettings& settings = *client_level(configuration.privacy);
  if (const auto only = settings.place().neighbours) return *only;
  if (const auto choice = named(settings.neighbours)) return *choice;
  return moves_other_clients(configuration).empty() ? Neighbours::add_remove : Neighbours::zero_out;
}

Sampling cohort_sampling(const Configuration& configuration) {
  const ClientSettings* settings = client_level(configuration.privacy);
  if (settings == nullptr || has_time(configuration) || !settings->place().is_trusted ||
      !is_amplified_in_groups(settings->unplanned()))
    return Sampling::full;
  return configuration.cohort->sampling();
}

}  // namespace fedstride
