#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "core/error.hpp"
#include "sim/run/virtual_time.hpp"
#include "sim/time/work.hpp"

namespace fedstride {
namespace {

void show_devices(const RunFlags& arguments) {
  const Configuration configuration = resolve(merged(arguments.config, arguments.settings));
  if (!has_time(configuration)) throw usage_error("devices is 'none', which has no times to show; set --devices");
  const Setup setup = prepare(configuration);
  check_time(setup);
  const TimeTerms terms = make_time_terms(setup);
  std::fputs((arguments.json ? devices_json(terms) : devices_text(terms)).c_str(), stdout);
}

}  // namespace

void add_devices_command(CLI::App& app) {
  const auto [command, flags] =
      add_command<RunFlags>(app, "devices", "Show how fast the clients of a run would be, without training.",
                            "Example: fedstride devices --devices lognormal --upload-megabits 2 --clients 100", show_devices);
  add_run_flags(command, flags);
}

}  // namespace fedstride
