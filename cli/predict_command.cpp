#include <iostream>
#include <optional>
#include <span>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/terminal/host.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "sim/run/evaluate.hpp"

namespace fedstride {
namespace {

struct PredictFlags {
  std::string model;
  DataOptions options;
  Settings reading;
  std::string out;
  int client = -1;
  int threads = 0;
  bool json = false;
};

void predict(const PredictFlags& arguments) {
  stop_on_signals();  // while data are converted
  DataOptions options = arguments.options;
  options.read = reading_settings(arguments.reading);
  const Predictions predictions = predict_file(
      arguments.model, options, arguments.client < 0 ? std::nullopt : std::optional(static_cast<ClientId>(arguments.client)),
      arguments.threads);
  for (const std::string& note : predictions.notes) std::cerr << "note: " << note << "\n";
  const std::size_t rows = predictions.numbers.size() / predictions.names.size();
  std::string text = predictions_csv(predictions);
  if (arguments.json) {
    Json json{{"targets", choice_name(predictions.targets)}, {"names", predictions.names}, {"rows", Json::array()}};
    for (std::size_t row = 0; row < rows; ++row)
      json["rows"].push_back(std::span(predictions.numbers).subspan(row * predictions.names.size(), predictions.names.size()));
    text = dump_json(json) + "\n";
  }
  if (arguments.out.empty()) {
    std::cout << text;
    return;
  }
  write_file(arguments.out, text);
  std::cout << counted(rows, "row") << " in " << arguments.out << "\n";
}

}  // namespace

void add_predict_command(CLI::App& app) {
  const auto [command, flags] = add_command<PredictFlags>(
      app, "predict", "Write a model's predictions for the rows of a file.",
      "A line for each row, in the file's order: its class and the probability of each class, or its values. Columns are\n"
      "found by their names; the file needs no label and no client.\n"
      "Example: fedstride predict runs/hospital --data new.csv --out predictions.csv",
      predict);
  add_flag(command, "MODEL", flags.model, Place::file, "a .safetensors file written by fedstride, or the folder of a run",
           Needed::yes);
  add_data_flag(command, flags.options.data);
  add_reading_flags(command, flags.reading);
  add_flag(command, "--out", flags.out, Place::file, "file to write; empty: standard output");
  add_number_flag(command, "--client", flags.client, {.low = -1, .high = 4294967295.0},
                  "predict with this client's personal model, from the run's folder; -1: the run's model");
  add_number_flag(command, "--threads", flags.threads, {.low = 0, .high = 1024}, "threads; 0: one for each processor");
  add_json_switch(command, flags.json);
}

}  // namespace fedstride
