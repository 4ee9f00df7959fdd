#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "cli/commands.hpp"
#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/floating_point.hpp"

namespace {

int complain(const std::string& message, int code) {
  std::string line = message;
  for (char& c : line)
    if (c == '\n') c = ' ';
  std::fprintf(stderr, "fedstride: %s\n", line.c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::string missing = fedstride::missing_instructions(); !missing.empty())
    return complain("this build needs " + missing + ", which this processor lacks; build the preset 'portable'", 1);
  const fedstride::FloatingPointMode mode;
  CLI::App app("Federated learning with adaptive steps: exact, reproducible, fast on a CPU.\n"
               "Example: fedstride run --dataset synthetic --clients 5 --rounds 10 --out runs/first",
               "fedstride");
  app.set_version_flag("--version", fedstride::build_info().version + " (" + fedstride::build_info().compiler + ", " +
                                        fedstride::build_info().instruction_set + ")");
  app.require_subcommand(1);
  fedstride::add_run_command(app);
  fedstride::add_evaluate_command(app);
  fedstride::add_partition_command(app);
  fedstride::add_data_command(app);
  fedstride::add_bench_command(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::RuntimeError& error) {  // what there is to say has been said
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return complain(std::string(error.what()) + "; see 'fedstride --help'", 2);
  } catch (const fedstride::Error& error) {
    return complain(error.what(), error.exit_code());
  } catch (const std::bad_alloc&) {
    return complain("out of memory", 1);
  } catch (const std::exception& error) {
    return complain(error.what(), 1);
  }
}
