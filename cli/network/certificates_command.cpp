#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands.hpp"
#include "cli/flag_values.hpp"
#include "cli/settings_flags.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/parse_number.hpp"
#include "core/text.hpp"
#include "net/certificates.hpp"

namespace fedstride {
namespace {

struct CertificatesFlags {
  std::string out;
  bool json = false;
  CertificateRules rules;
  bool request = false;
  std::string client;
  std::string sign;
  std::string renew;
};

void print(const Json& json) { std::cout << dump_json(json, 2) << "\n"; }

void make(const CertificatesFlags& flags) {
  const CertificateReport report = make_certificates(flags.out, flags.rules);
  if (flags.json)
    return print({{"folder", flags.out}, {"made", report.made}, {"kept", report.kept}, {"expires", report.expires}});
  std::cout << "'" << flags.out << "': " << counted(static_cast<std::uint64_t>(report.made), "certificate") << " made, "
            << report.kept << " kept; valid until " << report.expires
            << "\nthe coordinator needs authority.pem, coordinator.pem and coordinator.key"
               "\nclient K needs authority.pem, client-K.pem and client-K.key"
            << (flags.rules.bundles ? ", or client-K.bundle.pem alone" : "")
            << "\nauthority.key is needed only to make more: whoever has it can be anyone, so it stays with you\n";
}

std::optional<ClientId> client_of(const CertificatesFlags& flags) {
  if (flags.client.empty()) return std::nullopt;
  ClientId client = 0;
  if (!parse_number(flags.client, client) || client >= kCertificateClients.high)
    throw usage_error("client is '" + flags.client + "'; it must be a whole number from 0 to 99999");
  return client;
}

void request(const CertificatesFlags& flags) {
  const auto client = client_of(flags);
  if (!client) throw usage_error("--request needs --client K: the name that the certificate is for");
  const RequestReport report = make_request(flags.out, *client);
  if (flags.json) return print({{"request", report.request.string()}, {"name", client_name(*client)}, {"key", report.key}});
  std::cout << "'" << report.request.string() << "': a request of '" << client_name(*client)
            << "'; send it to whoever has the authority\nkey " << report.key
            << "\nthe key itself stays here; what comes back is a bundle, to be put beside it\n";
}

void sign(const CertificatesFlags& flags) {
  const SignReport report = sign_request(flags.out, flags.sign, client_of(flags), flags.rules);
  if (flags.json)
    return print({{"bundle", report.bundle.string()}, {"name", report.name}, {"expires", report.expires}, {"key", report.key}});
  std::cout << "'" << report.bundle.string() << "': the certificate of '" << report.name << "', valid until " << report.expires
            << "; send it back\nkey " << report.key << "\ncompare that with what the client was told: whoever has this key is '"
            << report.name << "' from now on\n";
}

void renew(const CertificatesFlags& flags) {
  const std::string until = renew_certificate(flags.out, flags.renew, flags.rules);
  if (flags.json) return print({{"folder", flags.out}, {"name", flags.renew}, {"expires", until}});
  std::cout << "'" << flags.out << "': a new certificate of '" << flags.renew << "', valid until " << until << '\n';
  if (flags.renew == "authority")
    std::cout << "what the one before has signed stays valid; give the clients new bundles (--renew client-K), then renew "
                 "'coordinator'\n";
}

void carry_out(const CertificatesFlags& flags) {
  const int kinds = int{flags.request} + int{!flags.sign.empty()} + int{!flags.renew.empty()};
  if (kinds > 1) throw usage_error("--request, --sign and --renew exclude each other");
  if (!flags.client.empty() && !flags.request && flags.sign.empty())
    throw usage_error("client is '" + flags.client + "'; it goes with --request or --sign alone");
  if (flags.request) return request(flags);
  if (!flags.sign.empty()) return sign(flags);
  if (!flags.renew.empty()) return renew(flags);
  make(flags);
}

}  // namespace

void add_certificates_command(CLI::App& app) {
  auto flags = std::make_shared<CertificatesFlags>();
  CLI::App& command =
      *app.add_subcommand("certificates", "Make the certificates of a networked federation, or those that are missing.");
  command.footer(
      "Example: fedstride certificates --clients 5 --out certs\n"
      "Where clients keep their keys to themselves: client 3 says 'fedstride certificates --request --client 3 --out mine' and\n"
      "sends mine/client-3.csr; 'fedstride certificates --sign client-3.csr --out certs' makes certs/client-3.bundle.pem, which\n"
      "goes back to it.");
  command.allow_extras();
  add_number_flag(command, "--clients", flags->rules.clients, kCertificateClients,
                  "one certificate for each client, 0 to clients - 1");
  add_number_flag(command, "--days", flags->rules.days, kCertificateDays, "how long they are valid");
  add_switch(command, "--bundles", flags->rules.bundles,
             "also a file for each client with all it needs, its key included: client-K.bundle.pem");
  add_switch(command, "--request", flags->request, "make a key and a request for client --client, where the client is");
  takes(*command.add_option("--client", flags->client,
                            "the client that --request is for, or that a request to --sign must be of: 0, 1, ..."),
        {.word = "K"});
  takes(*command.add_option("--sign", flags->sign, "make the certificate that this request asks for"), Place::file);
  takes(*command.add_option("--renew", flags->renew,
                            "make a new certificate of authority, coordinator or client-K; those before stay valid"),
        {.word = "NAME"});
  takes(*command.add_option("--out", flags->out, "folder for certificates and keys; one that has an authority is added to")
             ->required(),
        Place::folder);
  add_json_switch(command, flags->json);
  when_called(command, [flags] { carry_out(*flags); });
}

}  // namespace fedstride
