#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/settings_flags.hpp"
#include "core/files.hpp"
#include "partitions/statistics.hpp"
#include "run/setup.hpp"

namespace fedstride {
namespace {

struct PartitionFlags {
  Settings settings;
  std::string config;
  std::string manifest;
  bool json = false;
};

bool wanted(const KeyInfo& key) {
  for (const auto* name : {"dataset", "data", "data-dir", "format", "label", "client-column", "targets", "validation-fraction",
                           "clients", "limit-per-client", "seed"})
    if (key.name == name) return true;
  return key.group == "partition";
}

void show(const PartitionFlags& arguments) {
  Setup setup{.configuration = resolve(merged(arguments.config, arguments.settings))};
  prepare_partition(setup);
  if (!arguments.manifest.empty()) write_partition(setup, arguments.manifest);
  if (arguments.json) {
    std::fputs(partition_json(setup).c_str(), stdout);
    return;
  }
  std::printf("%s", partition_text(setup).c_str());
  const Dataset& train = setup.data.train;
  std::printf("%s", statistics_text(partition_statistics(setup.rows, train.labels, train.classes)).c_str());
  for (const auto& note : setup.notes) std::printf("note: %s\n", note.c_str());
  std::printf("partition hash: %s\n", setup.partition_hash.c_str());
}

}  // namespace

void add_partition_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("partition", "Show who would hold which rows, without training.");
  command.footer(
      "Rows are counted in examples.\nExample: fedstride partition --partition dirichlet --alpha 0.3 --clients 20 "
      "--manifest rows.json");
  auto arguments = std::make_shared<PartitionFlags>();
  add_config_flag(command, arguments->config);
  CLI::Option& manifest = *command.add_option("--manifest", arguments->manifest,
                                              "write who holds which rows to this file, which --partition file reads");
  takes(manifest, Place::file);
  manifest.group("Run");
  add_json_switch(command, arguments->json);
  command.get_option("--json")->group("Run");
  add_settings_flags(command, arguments->settings, wanted);
  when_called(command, [arguments] { show(*arguments); });
}

}  // namespace fedstride
