#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "sim/run/certificate.hpp"

namespace fedstride {
namespace {

struct CertifyFlags {
  std::string run;
  std::string out;
  std::vector<std::string> claims;
  std::string key;
  bool json = false;
};

void certify_run(const CertifyFlags& arguments) {
  const std::string text = certify(arguments.run, {.claims = arguments.claims, .key = arguments.key});
  const std::string out = arguments.out.empty() ? (std::filesystem::path(arguments.run) / "run.cert").string() : arguments.out;
  write_file(out, text);
  if (arguments.json) return print_json({{"certificate", out}, {"bytes", text.size()}});
  std::printf("%s, %zu bytes\n", out.c_str(), text.size());
}

}  // namespace

void add_certify_command(CLI::App& app) {
  const auto [command, flags] = add_command<CertifyFlags>(
      app, "certify", "Write a certificate of a run, which others can check.",
      "It has settings, hashes of data and partition, every round's model hash and results, the ledger, and claims; no rows and\n"
      "no models (docs/re-execution.md).\n"
      "Example: fedstride certify runs/cifar --claim 'test accuracy above 0.5 after round 60'",
      certify_run);
  add_flag(command, "RUN", flags.run, Place::folder, "the run's folder", Needed::yes);
  add_flag(command, "--out", flags.out, Place::output, "the certificate (default: RUN/run.cert)");
  add_flag(command, "--claim", flags.claims, {.word = "TEXT"},
           "a claim that its numbers must support, such as 'test accuracy above 0.5 after round 60' or 'epsilon below 3'");
  add_flag(command, "--key", flags.key, Place::file, "sign it with the key in this file, 32 secret bytes, made if missing");
  add_json_switch(command, flags.json);
}

}  // namespace fedstride
