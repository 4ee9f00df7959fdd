// Who holds which rows: data and assignment of a setup, and both written down.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "data/property.hpp"
#include "data/split.hpp"
#include "dp/noise/sampling.hpp"
#include "partitions/heat_map.hpp"
#include "partitions/limit.hpp"
#include "partitions/manifest.hpp"
#include "partitions/outside_rows.hpp"
#include "run/natural_clients.hpp"
#include "run/setup.hpp"

namespace fedstride {
namespace {

void note_rows_left_out(Setup& setup, std::size_t training_rows) {
  const std::size_t dealt = setup.rows.row_count();
  if (dealt < training_rows)
    setup.notes.push_back("partition " + std::string(setup.configuration.partition.name()) + " deals out " +
                          std::to_string(dealt) + " of " + counted(training_rows, "training row") + "; the others are not used");
}

// Takes a share of each client's rows, drawn for it, out of those it trains on. One row at least is left to train on.
void set_client_test_aside(Setup& setup) {
  const double share = setup.configuration.client_test;
  const RandomSource source(setup.configuration.seed);
  Assignment training(setup.rows.size()), test(setup.rows.size());
  for (ClientId client = 0; client < setup.rows.size(); ++client) {
    const std::span<const Row> rows = setup.rows[client];
    const auto wanted = static_cast<std::size_t>(std::round(share * static_cast<double>(rows.size())));
    const std::size_t count = rows.empty() ? 0 : std::min(wanted, rows.size() - 1);
    draw_without_replacement(source, {.purpose = Purpose::client_test, .client = client}, count, rows, test[client]);
    std::ranges::set_difference(rows, test[client], std::back_inserter(training[client]));
  }
  setup.rows = ClientRows(training);
  setup.client_test = ClientRows(test);
}

}  // namespace

void prepare_partition(Setup& setup) {
  const Configuration& configuration = setup.configuration;
  if (const auto* outside = configuration.partition.as<OutsideRows>()) outside->assign({});  // throws
  setup.data = load_dataset(configuration.dataset, data_options(configuration));
  const Dataset& train = setup.data.train;
  setup.notes.insert(setup.notes.end(), setup.data.notes.begin(), setup.data.notes.end());
  auto [training_rows, validation_rows] = split_validation(train.size(), configuration.validation_fraction, configuration.seed);
  setup.validation_rows = std::move(validation_rows);
  PartitionInput input{.labels = train.labels,
                       .rows = training_rows,
                       .classes = train.label_classes(),
                       .class_order = train.class_order,
                       .clients = configuration.clients,
                       .seed = configuration.seed,
                       .client_of_row = train.clients,
                       .natural_clients = train.client_names.size(),
                       .file_rows = train.file_rows,
                       .rows_in_file = train.file_rows.empty() ? 0 : train.size() + setup.data.test.size()};
  const std::size_t all_rows = training_rows.size();
  if (is_by_natural_clients(configuration)) choose_natural_clients(setup, input, training_rows);
  std::vector<float> property;
  if (const std::string_view wanted = configuration.partition->needs_property(); !wanted.empty())
    input.property = property = property_of_rows(train, wanted);
  setup.rows = assign(configuration.partition, input);
  note_rows_left_out(setup, training_rows.size());
  if (configuration.limit_per_client > 0)
    setup.rows = limit_per_client(setup.rows, configuration.limit_per_client, configuration.seed);
  if (configuration.client_test > 0)
    set_client_test_aside(setup);
  else if (is_by_natural_clients(configuration))
    find_client_test(setup);
  setup.unused_rows = all_rows - setup.rows.row_count();
  setup.row_counts.reserve(setup.rows.size());
  for (const auto& rows : setup.rows) setup.row_counts.push_back(rows.size());
  setup.partition_hash = partition_hash(setup.rows);
}

std::string partition_json(const Setup& setup) {
  const Configuration& configuration = setup.configuration;
  return manifest_json(configuration.partition, configuration.seed, setup.rows, setup.data.train.labels,
                       setup.data.train.label_classes(), setup.unused_rows, setup.data.train.file_rows);
}

void write_partition(const Setup& setup, const std::filesystem::path& path) {
  const Configuration& configuration = setup.configuration;
  write_manifest(path, configuration.partition, configuration.seed, setup.rows, setup.data.train.labels,
                 setup.data.train.label_classes(), kMaxListed, setup.unused_rows, setup.data.train.file_rows);
}

std::string partition_text(const Setup& setup) {
  const Dataset& train = setup.data.train;
  return heat_map(rows_per_class(setup.rows, train.labels, train.label_classes()), train.class_names);
}

}  // namespace fedstride
