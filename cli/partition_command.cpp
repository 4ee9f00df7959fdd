#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/terminal/host.hpp"
#include "core/files.hpp"
#include "partitions/statistics.hpp"
#include "sim/prepare/data_setup.hpp"

namespace fedstride {
namespace {

struct PartitionFlags {
  Settings settings;
  std::string config;
  std::string manifest;
  bool json = false;
};

bool wanted(const KeyInfo& key) {
  for (const auto* name : {"dataset", "data", "data-dir", "validation-fraction", "clients", "limit-per-client", "seed"})
    if (key.name == name) return true;
  return is_about_reading(key.name) || key.group == "partition";
}

void show(const PartitionFlags& arguments) {
  stop_on_signals();  // while data are converted
  const DataSetup setup = prepare_partition(resolve(merged(arguments.config, arguments.settings)));
  if (!arguments.manifest.empty()) write_partition(setup, arguments.manifest);
  if (arguments.json) {
    std::fputs(partition_json(setup).c_str(), stdout);
    return;
  }
  std::printf("%s", partition_text(setup).c_str());
  const Dataset& train = setup.data.train;
  std::printf("%s", statistics_text(partition_statistics(setup.clients.rows, train.labels, train.classes)).c_str());
  for (const auto& note : setup.notes) std::printf("note: %s\n", note.c_str());
  std::printf("partition hash: %s\n", setup.clients.partition_hash.c_str());
}

}  // namespace

void add_partition_command(CLI::App& app) {
  const auto [command, flags] =
      add_command<PartitionFlags>(app, "partition", "Show which client would hold which rows, without training.",
                                  "Example: fedstride partition --partition dirichlet --alpha 0.3 --clients 20 "
                                  "--manifest rows.json",
                                  show);
  add_config_flag(command, flags.config);
  add_flag(command, "--manifest", flags.manifest, Place::output,
           "write the assignment to this file, which --partition file reads")
      .group(title_of(Question::output));
  add_json_switch(command, flags.json).group(title_of(Question::output));
  add_settings_flags(command, flags.settings, wanted);
}

}  // namespace fedstride
