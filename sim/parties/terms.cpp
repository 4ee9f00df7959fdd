#include "sim/parties/terms.hpp"

#include <algorithm>
#include <type_traits>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "partitions/own_rows.hpp"

namespace fedstride {
namespace {

// Clients with their own rows do not know the other clients' sizes, which determine the noise and the accountant, so the settings
// sent to clients fix both.
std::string settings_for_clients(const Setup& setup) {
  Configuration configuration = lasting_configuration(setup);
  if (!setup.clients.data_hashes.empty() && setup.privacy.example)
    if (ExampleSettings* example = configuration.privacy->example()) {
      example->noise_multiplier = setup.privacy.example->noise_multiplier;
      example->accountant = make_choice<AccountantChoice>("accountant", part_name(setup.privacy.example->accountant));
      if (user_level(configuration.privacy) != nullptr && !setup.privacy.plans.empty())
        static_cast<UserSettings*>(example)->user_sampling =
            setup.privacy.plans.begin()->second->unit() == LotUnit::users ? UserSampling::users : UserSampling::examples;
    }
  return write_settings(configuration, {});
}

}  // namespace

std::string experiment_digest(const Setup& setup) {
  return Hash().text(lasting_settings(setup)).text(setup.data.hash).text(setup.clients.partition_hash).hex();
}

Welcome welcome_to(const Setup& setup) {
  Welcome welcome{.build = build_identity(), .settings = settings_for_clients(setup), .experiment = experiment_digest(setup)};
  welcome.model = setup.model.line();
  if (setup.data.train.classes > 0) welcome.schema = schema_text(schema_of(setup.data));
  Welcome longest = welcome;
  if (const auto most = std::ranges::max_element(setup.clients.row_counts); most != setup.clients.row_counts.end())
    tell_rows(setup, static_cast<ClientId>(most - setup.clients.row_counts.begin()), longest);
  if (const std::string why = too_long(longest); !why.empty()) throw usage_error(why);
  return welcome;
}

void tell_rows(const Setup& setup, ClientId client, Welcome& welcome) {
  if (setup.configuration.partition->reads() == nullptr) return;
  welcome.partition_hash = setup.clients.partition_hash;
  welcome.row_counts = setup.clients.row_counts;
  welcome.rows.assign(setup.clients.rows[client].begin(), setup.clients.rows[client].end());
  if (!setup.training.test_rows) return;
  const std::span<const Row> tested = setup.training.test_rows(client);
  welcome.rows.insert(welcome.rows.end(), tested.begin(), tested.end());
}

Setup prepare_member(const Configuration& configuration, ClientId client, const Welcome& welcome) {
  if (configuration.partition->reads() != nullptr)
    return prepare_client(prepare_told_data(configuration, client, {welcome.partition_hash, welcome.row_counts, welcome.rows}));
  if (configuration.partition.as<OwnRows>() == nullptr) return prepare(configuration, FirstWeights::elsewhere);
  return prepare_client(prepare_own_data(configuration, client, read_schema(welcome.schema, "the coordinator")));
}

Packings packings_of(const Setup& setup) {
  const LocalObjective& objective = setup.training.objective;
  return {.model = Packing(setup.model, objective->hears() ? 2 : 1),
          .update = Packing(setup.model, objective->sends() ? 2 : 1),
          .model_coding = setup.broadcast,
          .update_coding = setup.training.coding};
}

std::string rows_hash(std::span<const Row> rows) { return Hash().values(rows).hex(); }

std::string rows_hash(std::uint64_t first_rows) {
  Hash hash;
  for (std::uint64_t row = 0; row < first_rows; ++row) hash.value(static_cast<Row>(row));
  return hash.hex();
}

}  // namespace fedstride
