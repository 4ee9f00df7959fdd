#include "cli/data_show.hpp"

#include <algorithm>
#include <iostream>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/one_line.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "data/png.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxShownClasses = 100;
constexpr std::size_t kMaxShownClients = 10;

std::string type_of(const Dataset& data) {
  if (data.vocabulary > 0) return "tokens";
  return data.is_pictures() ? "pictures of 8 bits" : "numbers";
}

std::vector<std::uint64_t> class_counts(const Dataset& data) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(std::max(data.classes, 0)), 0);
  if (data.targets == Targets::classes)
    for (const Label label : data.labels) ++counts[label];
  if (data.targets == Targets::positions)
    for (const Label label : data.position_labels)
      if (label != kNoLabel) ++counts[label];
  if (data.targets == Targets::flags)
    for (std::size_t i = 0; i < data.values.size(); ++i) counts[i % counts.size()] += data.values[i] == 1 ? 1 : 0;
  return counts;
}

std::vector<std::uint64_t> client_sizes(const Dataset& data) {
  std::vector<std::uint64_t> sizes(data.client_names.size(), 0);
  for (const std::uint32_t client : data.clients) ++sizes[client];
  return sizes;
}

std::string class_name(const Dataset& data, std::size_t label) {
  return label < data.class_names.size() ? one_line(data.class_names[label]) : "";
}

struct Clients {
  std::vector<std::uint64_t> train;
  std::vector<std::uint64_t> test;
  std::vector<std::uint64_t> sorted;  ///< of those that have training rows
  std::size_t tested = 0;
};

Clients clients_of(const DataPair& pair) {
  Clients clients{client_sizes(pair.train), client_sizes(pair.test), {}, 0};
  for (std::size_t i = 0; i < clients.train.size(); ++i) {
    if (clients.train[i] == 0) continue;
    clients.sorted.push_back(clients.train[i]);
    if (clients.test[i] > 0) ++clients.tested;
  }
  std::ranges::sort(clients.sorted);
  return clients;
}

Json as_json(const DataPair& pair) {
  const Dataset& train = pair.train;
  Json json{{"form", train.form().text()},
            {"type", type_of(train)},
            {"shape", {train.shape.height, train.shape.width, train.shape.channels}},
            {"targets", choice_name(train.targets)},
            {"outputs", train.classes},
            {"vocabulary", train.vocabulary},
            {"training_rows", train.size()},
            {"test_rows", pair.test.size()},
            {"hash", pair.hash},
            {"class_names", train.class_names},
            {"class_rows", class_counts(train)},
            {"class_test_rows", class_counts(pair.test)},
            {"notes", pair.notes}};
  Json& clients = json["clients"] = Json::array();
  const Clients sizes = clients_of(pair);
  for (std::size_t i = 0; i < sizes.train.size(); ++i)
    clients.push_back({{"name", train.client_names[i]}, {"rows", sizes.train[i]}, {"test_rows", sizes.test[i]}});
  return json;
}

void print_classes(const DataPair& pair) {
  if (pair.train.targets == Targets::values) return;
  const std::vector<std::uint64_t> train = class_counts(pair.train);
  const std::vector<std::uint64_t> test = class_counts(pair.test);
  const std::size_t shown = std::min(train.size(), kMaxShownClasses);
  const char* what = pair.train.targets == Targets::flags ? "  flag " : "  class ";
  for (std::size_t label = 0; label < shown; ++label) {
    const std::string name = class_name(pair.train, label);
    std::cout << what << label << (name.empty() ? "" : " '" + name + "'") << ": " << train[label] << " training, " << test[label]
              << " test\n";
  }
  if (shown < train.size()) std::cout << "  and " << train.size() - shown << " more\n";
}

void print_clients(const DataPair& pair) {
  const Clients clients = clients_of(pair);
  if (clients.sorted.empty()) {
    std::cout << "clients: the data name none\n";
    return;
  }
  const auto at = [&](std::size_t quarter) { return clients.sorted[(clients.sorted.size() - 1) * quarter / 4]; };
  std::cout << "clients: " << clients.sorted.size() << ", with " << at(0) << " to " << at(4) << " training rows (quartiles "
            << at(1) << ", " << at(2) << ", " << at(3) << "); " << clients.tested << " have test rows of their own\n";
  std::size_t shown = 0;
  for (std::size_t i = 0; i < clients.train.size() && shown < kMaxShownClients; ++i) {
    if (clients.train[i] == 0) continue;
    ++shown;
    std::cout << "  '" << one_line(pair.train.client_names[i]) << "': " << clients.train[i] << " training, " << clients.test[i]
              << " test\n";
  }
  if (shown < clients.sorted.size()) std::cout << "  and " << clients.sorted.size() - shown << " more\n";
}

}  // namespace

void show_data(const std::string& path, const std::string& name, DataOptions options, const std::string& sheet, bool json) {
  if (!path.empty() && !name.empty())
    throw usage_error("dataset is '" + name + "' and data is '" + path + "'; valid is one of them");
  if (path.empty() && name.empty()) throw usage_error("'fedstride data show' needs a file or a folder, or --dataset NAME");
  if (!path.empty()) options.data = path;
  const DataPair pair = load_dataset(path.empty() ? std::string_view(name) : kOwnFile, options);
  if (!sheet.empty()) write_file(sheet, contact_sheet(pair.train));
  if (json) {
    std::cout << dump_json(as_json(pair), 2) << "\n";
    return;
  }
  std::cout << one_line(path.empty() ? name : path) << ": " << counted(pair.train.size(), "training row") << ", "
            << counted(pair.test.size(), "test row") << "\n"
            << "form: " << pair.train.form().text() << " (" << type_of(pair.train) << ")\n";
  print_classes(pair);
  print_clients(pair);
  for (const std::string& note : pair.notes) std::cout << "note: " << one_line(note) << "\n";
  if (!sheet.empty()) std::cout << "pictures: " << one_line(sheet) << "\n";
}

}  // namespace fedstride
