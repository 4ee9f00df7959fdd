#include "sim/prepare/data_setup.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "data/named_facts.hpp"
#include "data/property.hpp"
#include "data/split.hpp"
#include "dp/noise/sampling.hpp"
#include "partitions/client_rows.hpp"
#include "partitions/manifest.hpp"
#include "partitions/natural.hpp"
#include "partitions/natural_grouped.hpp"
#include "partitions/outside_rows.hpp"
#include "partitions/own_rows.hpp"
#include "partitions/pathological.hpp"

namespace fedstride {
namespace {

RunData with_evaluation_rows(DataPair pair, const Configuration& configuration) {
  RunData data{std::move(pair)};
  if (configuration.evaluate_rows > 0)
    data.evaluation_rows =
        draw_evaluation_rows(data.test.size(), static_cast<std::size_t>(configuration.evaluate_rows), configuration.seed);
  return data;
}

RunData load(const Configuration& configuration) {
  return with_evaluation_rows(load_dataset(configuration.dataset, data_options(configuration)), configuration);
}

// Clients whose rows are elsewhere; only their row counts are known here.
RunClients remote_clients(std::vector<std::uint64_t> row_counts, std::string partition_hash) {
  ClientRows none{Assignment(row_counts.size())};
  return {.rows = std::move(none), .row_counts = std::move(row_counts), .partition_hash = std::move(partition_hash)};
}

// --- rows dealt here ---

// Refuses a partition that deals rows by class if the targets are not classes; the default partition then deals them at random.
void check_suits(const Configuration& configuration, const Dataset& train, std::vector<std::string>& notes) {
  const Partitioner& partition = configuration.partition;
  if (train.targets == Targets::classes || partition->dealing() != Dealing::labels) return;
  const std::string why =
      "data set '" + configuration.dataset + "' has " + std::string(choice_name(train.targets)) + ", not classes";
  const auto* standard = partition.as<Pathological>();
  if (standard != nullptr && standard->classes_per_client.is_auto && !configuration.partition_is_asked_for) {
    notes.push_back(auto_note("partition", why + ", so clients get equal numbers of random rows", "--partition"));
    return;
  }
  std::vector<std::string> others;
  for (const auto& part : PartitionPart::family().parts())
    if (static_cast<const PartitionPart&>(*part).dealing() != Dealing::labels) others.emplace_back(part->name());
  throw usage_error("partition is '" + std::string(partition.name()) + "', which deals rows by their classes; " + why +
                    "; valid: " + joined(others));
}

// For a partition by natural clients: takes all clients in the data, or only the first ones if fewer are wanted, and erases the
// others' rows from `rows`, the rows to deal, to which input.rows refers.
void choose_natural_clients(DataSetup& setup, PartitionInput& input, std::vector<Row>& rows) {
  const std::vector<std::uint32_t> present = natural_clients(input);
  std::size_t each = 1;
  if (const auto* grouped = setup.configuration.partition.as<NaturalGrouped>())
    each = static_cast<std::size_t>(grouped->natural_per_client);
  if (input.clients == 0) {
    input.clients = static_cast<int>((present.size() + each - 1) / each);
  } else if (const std::size_t wanted = each * static_cast<std::size_t>(input.clients); wanted < present.size()) {
    const std::size_t before = rows.size();
    std::erase_if(rows, [&](Row row) { return input.client_of_row[row] >= present[wanted]; });
    input.rows = rows;
    setup.notes.push_back("only the first " + std::to_string(wanted) + " of " + counted(present.size(), "client") +
                          " in the data take part; " + counted(before - rows.size(), "row") + " of the others " +
                          (before - rows.size() == 1 ? "is" : "are") + " not used");
  }
  setup.configuration.clients = input.clients;
  check_together(setup.configuration);
}

// Moves a share of each client's rows, drawn at random, from training to testing. At least one row is left to train on.
void set_client_test_aside(const Configuration& configuration, RunClients& clients) {
  const RandomSource source(configuration.seed);
  Assignment training(clients.rows.size()), test(clients.rows.size());
  for (ClientId client = 0; client < clients.rows.size(); ++client) {
    const std::span<const Row> rows = clients.rows[client];
    const auto wanted = static_cast<std::size_t>(std::round(configuration.client_test * static_cast<double>(rows.size())));
    const std::size_t count = rows.empty() ? 0 : std::min(wanted, rows.size() - 1);
    draw_without_replacement(source, {.purpose = Purpose::client_test, .client = client}, count, rows, test[client]);
    std::ranges::set_difference(rows, test[client], std::back_inserter(training[client]));
  }
  clients.rows = ClientRows(training);
  clients.test = ClientRows(test);
}

// Gives each client the test rows of its natural clients, if the test part names clients.
void find_client_test(const RunData& data, RunClients& clients) {
  const Dataset& test = data.test;
  if (test.clients.empty()) return;
  constexpr auto kNobody = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> holder(test.client_names.size(), kNobody);
  for (std::uint32_t client = 0; client < clients.rows.size(); ++client)
    for (const Row row : clients.rows[client]) holder[data.train.clients[row]] = client;
  std::vector<std::size_t> sizes(clients.rows.size(), 0);
  for (const std::uint32_t natural : test.clients)
    if (holder[natural] != kNobody) ++sizes[holder[natural]];
  std::vector<std::size_t> next(sizes.size(), 0);
  for (std::size_t i = 1; i < sizes.size(); ++i) next[i] = next[i - 1] + sizes[i - 1];
  std::vector<Row> rows(sizes.empty() ? 0 : next.back() + sizes.back());
  if (rows.empty()) return;
  for (Row row = 0; row < test.size(); ++row)
    if (const std::uint32_t client = holder[test.clients[row]]; client != kNobody) rows[next[client]++] = row;
  clients.test = ClientRows(std::move(rows), sizes);
  clients.test_is_of_test_part = true;
}

// --- rows elsewhere ---

// Only the clients' code knows their examples, so this process has no data set.
DataSetup outside_setup(const Configuration& configuration, const OutsideRows& outside) {
  std::vector<std::uint64_t> counts = outside.counts(static_cast<std::size_t>(configuration.clients));
  std::string hash = Hash().values(std::span<const std::uint64_t>(counts)).hex();
  DataSetup setup{.configuration = configuration, .clients = remote_clients(std::move(counts), std::move(hash))};
  setup.data.train.name = configuration.dataset;
  return setup;
}

// The clients have the rows; only the test part and the normalization of the coordinator's data set are used.
DataSetup roster_setup(const Configuration& configuration, const OwnRows& own) {
  DataSetup setup{.configuration = configuration, .data = load(configuration)};
  setup.notes = setup.data.notes;
  setup.data.has_public_test = true;  // the coordinator's rows belong to no client
  for (std::string& fact : setup.data.facts) fact += ", of the coordinator's rows, which are no client's";
  setup.data.validation_rows =
      split_validation(setup.data.train.size(), configuration.validation_fraction, configuration.seed).second;
  Hash hash;
  std::map<std::string, std::size_t> first_client;
  std::vector<std::uint64_t> counts;
  std::vector<std::string> hashes;
  std::vector<std::map<std::uint64_t, std::uint64_t>> users;
  for (const RosterLine& line : read_roster(own.roster, configuration.clients)) {
    const auto [other, fresh] = first_client.try_emplace(line.data_hash, counts.size());
    if (!fresh)
      setup.notes.push_back("clients " + std::to_string(other->second) + " and " + std::to_string(counts.size()) +
                            " bring the same rows");
    if (!line.columns.empty())
      for (const std::string& name : setup.data.columns.inputs)
        if (setup.data.columns.are_named && std::ranges::find(line.columns, name) == line.columns.end())
          throw failure("client " + std::to_string(counts.size()) + "'s rows have no column '" + name + "': they have " +
                        joined(line.columns) + "; the experiment has " + joined(setup.data.columns.inputs));
    if (user_level(configuration.privacy) != nullptr && line.users.empty())
      throw failure("client " + std::to_string(counts.size()) +
                    "'s line in the roster names no users; write it again: fedstride data roster with --user-column");
    users.push_back(line.users);
    for (const auto& [rows, many] : line.users) hash.value(rows).value(many);
    counts.push_back(line.rows);
    hashes.push_back(line.data_hash);
    hash.value(line.rows).text(line.data_hash);
  }
  setup.clients = remote_clients(std::move(counts), hash.hex());
  setup.clients.data_hashes = std::move(hashes);
  setup.clients.users = std::move(users);
  return setup;
}

// Throws Error (failure) unless these rows can belong to this client.
void check_assigned_rows(const ToldRows& told, ClientId client, std::size_t clients, std::size_t data_rows, bool has_tests) {
  const auto wrong = [](const std::string& what) { return failure("the coordinator's partition: " + what); };
  const std::string who = "client " + std::to_string(client);
  if (told.row_counts.size() != clients || client >= clients)
    throw wrong(std::to_string(told.row_counts.size()) + " clients have rows; the experiment has " + std::to_string(clients) +
                " clients, and this is " + who);
  const std::uint64_t count = told.row_counts[client];
  if (count == 0 || told.rows.size() < count || (told.rows.size() > count && !has_tests))
    throw wrong(who + " receives " + std::to_string(told.rows.size()) + " rows but should have " + std::to_string(count) +
                "; it needs at least one");
  std::vector<bool> taken(data_rows);
  for (const Row row : told.rows) {
    if (row >= taken.size())
      throw wrong(who + " receives row " + std::to_string(row) + "; the data set has rows 0 to " +
                  std::to_string(taken.size() - 1));
    if (taken[row]) throw wrong(who + " receives row " + std::to_string(row) + " twice");
    taken[row] = true;
  }
}

}  // namespace

DataSetup prepare_partition(const Configuration& given) {
  if (given.partition.as<OutsideRows>() != nullptr || given.partition.as<OwnRows>() != nullptr)
    given.partition->assign({});  // always throws
  DataSetup setup{.configuration = given, .data = load(given)};
  const Configuration& configuration = setup.configuration;
  const Dataset& train = setup.data.train;
  setup.notes = setup.data.notes;
  check_suits(configuration, train, setup.notes);
  std::vector<Row> training_rows;
  std::tie(training_rows, setup.data.validation_rows) =
      split_validation(train.size(), configuration.validation_fraction, configuration.seed);
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
  RunClients& clients = setup.clients;
  clients.rows = assign(configuration.partition, input);
  if (const std::size_t dealt = clients.rows.row_count(); dealt < training_rows.size())
    setup.notes.push_back("partition " + std::string(configuration.partition.name()) + " deals out " + std::to_string(dealt) +
                          " of " + counted(training_rows.size(), "training row") + "; the others are not used");
  if (const AutoWhole* asked = configuration.partition->classes_in_turn()) {
    std::vector<bool> is_there(static_cast<std::size_t>(train.label_classes()));
    for (const Row row : training_rows) is_there[train.labels[row]] = true;
    const auto classes = static_cast<std::size_t>(std::ranges::count(is_there, true));
    const std::string how =
        unevenly_held(clients.rows.size(), classes_per_client_of(*asked, clients.rows.size(), classes), classes);
    if (!how.empty()) setup.notes.push_back("partition " + std::string(configuration.partition.name()) + ": " + how);
  }
  if (configuration.limit_per_client > 0)
    clients.rows = limit_per_client(clients.rows, configuration.limit_per_client, configuration.seed);
  if (configuration.client_test > 0)
    set_client_test_aside(configuration, clients);
  else if (is_by_natural_clients(configuration))
    find_client_test(setup.data, clients);
  clients.unused_rows = all_rows - clients.rows.row_count();
  for (const auto& rows : clients.rows) clients.row_counts.push_back(rows.size());
  clients.partition_hash = partition_hash(clients.rows);
  return setup;
}

DataSetup prepare_data(const Configuration& configuration, RowsAre rows) {
  if (const auto* outside = configuration.partition.as<OutsideRows>()) return outside_setup(configuration, *outside);
  if (const auto* own = configuration.partition.as<OwnRows>(); own != nullptr && rows == RowsAre::with_clients)
    return roster_setup(configuration, *own);
  return prepare_partition(configuration);
}

namespace {

// The class names that serve as labels in a client's file, as in its roster line; empty if labels are numbers.
std::string names_of_words(const Schema& schema) {
  const auto is_number = [](const std::string& name) {
    std::int64_t number = 0;
    return parse_number(name, number);
  };
  return schema.labels_are_names && !std::ranges::all_of(schema.classes, is_number) ? joined(schema.classes, ",") : "";
}

}  // namespace

DataSetup prepare_own_data(const Configuration& configuration, ClientId client, const Schema& schema) {
  const auto clients = static_cast<std::size_t>(configuration.clients);
  if (client >= clients)
    throw usage_error("client is " + std::to_string(client) + "; this experiment has clients 0 to " +
                      std::to_string(configuration.clients - 1));
  DataOptions options = data_options(configuration);
  // As for the roster, hash the rows alone, without the facts that the experiment sets.
  DataOptions plain = options;
  plain.read = {
      .format = options.read.format,
      .label = options.read.label,
      .client_column = options.read.client_column,
      .targets = options.read.targets,
      .class_names = names_of_words(schema),
      .resize = options.read.resize,
      .inputs = options.read.inputs,
      .drop_columns = options.read.drop_columns,
      .categories = options.read.categories.empty() ? categories_text(schema.columns.categories) : options.read.categories,
      .missing = options.read.missing,
      .header = options.read.header,
      .decimal_mark = options.read.decimal_mark,
      .encoding = options.read.encoding,
      .numbers = options.read.numbers,
      .dates = options.read.dates,
      .offsets = options.read.offsets,
      .user_column = options.read.user_column};
  std::string hash = load_own_rows(configuration.dataset, plain).hash;
  options.read.rows_are_protected = configuration.privacy.as<NoPrivacy>() == nullptr;
  options.read.schema = std::make_shared<const Schema>(schema);
  DataSetup setup{.configuration = configuration, .data = {load_own_rows(configuration.dataset, options)}};
  setup.data.hash = std::move(hash);
  fit(setup.data.train, schema, options.read);
  std::vector<Row> rows(setup.data.train.size());
  std::iota(rows.begin(), rows.end(), Row{0});
  setup.clients = remote_clients(std::vector<std::uint64_t>(clients), {});
  setup.clients.row_counts[client] = rows.size();
  setup.clients.rows = ClientRows::only(client, clients, std::move(rows));
  // Every gradient depends on the schema, so noise drawn for one schema must not be used for another.
  setup.clients.partition_hash = Hash().text(partition_hash(setup.clients.rows)).text(schema_text(schema)).hex();
  return setup;
}

DataSetup prepare_told_data(const Configuration& configuration, ClientId client, ToldRows told) {
  DataSetup setup{.configuration = configuration, .data = load(configuration)};
  const auto clients = static_cast<std::size_t>(configuration.clients);
  const bool has_tests = configuration.personal->makes() && configuration.client_test > 0;
  check_assigned_rows(told, client, clients, setup.data.train.size(), has_tests);
  const auto tested = told.rows.begin() + static_cast<std::ptrdiff_t>(told.row_counts[client]);
  if (has_tests) setup.clients.test = ClientRows::only(client, clients, {tested, told.rows.end()});
  told.rows.erase(tested, told.rows.end());
  setup.clients.rows = ClientRows::only(client, clients, std::move(told.rows));
  setup.clients.row_counts = std::move(told.row_counts);
  setup.clients.partition_hash = std::move(told.partition_hash);
  return setup;
}

std::vector<std::uint64_t> client_weights(const DataSetup& setup) {
  if (weighs_examples(setup.configuration)) return setup.clients.row_counts;
  return std::vector<std::uint64_t>(setup.clients.size(), 1);
}

const Dataset& client_test_data(const DataSetup& setup) {
  return setup.clients.test_is_of_test_part ? setup.data.test : setup.data.train;
}

std::string partition_json(const DataSetup& setup) {
  const Dataset& train = setup.data.train;
  return manifest_json(setup.configuration.partition, setup.configuration.seed, setup.clients.rows, train.labels,
                       train.label_classes(), setup.clients.unused_rows, train.file_rows);
}

void write_partition(const DataSetup& setup, const std::filesystem::path& path) {
  const Dataset& train = setup.data.train;
  write_manifest(path, setup.configuration.partition, setup.configuration.seed, setup.clients.rows, train.labels,
                 train.label_classes(), kMaxListed, setup.clients.unused_rows, train.file_rows);
}

std::string partition_text(const DataSetup& setup) {
  const Dataset& train = setup.data.train;
  if (setup.clients.rows.row_count() == 0) {  // the clients have the rows
    constexpr std::size_t kMostShown = 20;
    const std::vector<std::uint64_t>& counts = setup.clients.row_counts;
    std::string text;
    for (std::size_t client = 0; client < std::min(counts.size(), kMostShown); ++client)
      text += "client " + std::to_string(client) + ": " + counted(counts[client], "row") + "\n";
    return text + (counts.size() > kMostShown ? "and " + std::to_string(counts.size() - kMostShown) + " more\n" : "");
  }
  return heat_map(rows_per_class(setup.clients.rows, train.labels, train.label_classes()), train.class_names);
}

}  // namespace fedstride
