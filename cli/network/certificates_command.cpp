#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/settings_flags.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "net/certificates.hpp"

namespace fedstride {
namespace {

struct CertificatesFlags {
  std::string out;
  bool json = false;
  CertificateRules rules;
};

void make(const CertificatesFlags& flags) {
  const CertificateReport report = make_certificates(flags.out, flags.rules);
  if (flags.json) {
    const OrderedJson json{{"folder", flags.out}, {"made", report.made}, {"kept", report.kept}, {"expires", report.expires}};
    std::cout << dump_json(json, 2) << "\n";
    return;
  }
  std::cout << "'" << flags.out << "': " << counted(static_cast<std::uint64_t>(report.made), "certificate") << " made, "
            << report.kept << " kept; valid until " << report.expires
            << "\nthe coordinator needs authority.pem, coordinator.pem and coordinator.key"
               "\nclient K needs authority.pem, client-K.pem and client-K.key"
               "\nauthority.key is needed only to make more: whoever has it can be anyone, so it stays with you\n";
}

}  // namespace

void add_certificates_command(CLI::App& app) {
  auto flags = std::make_shared<CertificatesFlags>();
  CLI::App& command =
      *app.add_subcommand("certificates", "Make the certificates of a networked federation, or those that are missing.");
  command.footer("Example: fedstride certificates --clients 5 --out certs");
  command.allow_extras();
  add_number_flag(command, "--clients", flags->rules.clients, kCertificateClients,
                  "one certificate for each client, 0 to clients - 1");
  add_number_flag(command, "--days", flags->rules.days, kCertificateDays, "how long they are valid");
  takes(*command.add_option("--out", flags->out, "folder for certificates and keys; one that has an authority is added to")
             ->required(),
        Place::folder);
  add_json_switch(command, flags->json);
  when_called(command, [flags] { make(*flags); });
}

}  // namespace fedstride
