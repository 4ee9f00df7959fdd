#include <iostream>
#include <optional>
#include <string>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "sim/net/certificates.hpp"

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

void make(const CertificatesFlags& flags) {
  const CertificateReport report = make_certificates(flags.out, flags.rules);
  if (flags.json)
    return print_json({{"folder", flags.out}, {"made", report.made}, {"kept", report.kept}, {"expires", report.expires}});
  std::cout << "'" << flags.out << "': " << counted(static_cast<std::uint64_t>(report.made), "certificate") << " made, "
            << report.kept << " kept; valid until " << report.expires
            << "\nthe coordinator needs authority.pem, coordinator.pem and coordinator.key"
               "\nclient K needs authority.pem, client-K.pem and client-K.key"
            << (flags.rules.bundles ? ", or only client-K.bundle.pem" : "")
            << "\nauthority.key is needed only to make more certificates; keep it secret: its holder can impersonate anyone\n";
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
  if (!client) throw usage_error("--request needs --client K, the client that the certificate is for");
  const RequestReport report = make_request(flags.out, *client);
  if (flags.json) return print_json({{"request", report.request.string()}, {"name", client_name(*client)}, {"key", report.key}});
  std::cout << "'" << report.request.string() << "': a request for '" << client_name(*client)
            << "'; send it to the holder of the authority\nkey " << report.key
            << "\nthe private key stays here; put the bundle that comes back beside it\n";
}

void sign(const CertificatesFlags& flags) {
  const SignReport report = sign_request(flags.out, flags.sign, client_of(flags), flags.rules);
  if (flags.json)
    return print_json(
        {{"bundle", report.bundle.string()}, {"name", report.name}, {"expires", report.expires}, {"key", report.key}});
  std::cout << "'" << report.bundle.string() << "': the certificate of '" << report.name << "', valid until " << report.expires
            << "; send it back\nkey " << report.key
            << "\ncompare this key with the one that the client reads out: its holder is '" << report.name << "' from now on\n";
}

void renew(const CertificatesFlags& flags) {
  const std::string until = renew_certificate(flags.out, flags.renew, flags.rules);
  if (flags.json) return print_json({{"folder", flags.out}, {"name", flags.renew}, {"expires", until}});
  std::cout << "'" << flags.out << "': a new certificate of '" << flags.renew << "', valid until " << until << '\n';
  if (flags.renew == "authority")
    std::cout << "certificates signed by the old one stay valid; give the clients new bundles (--renew client-K), then renew "
                 "'coordinator'\n";
}

void carry_out(const CertificatesFlags& flags) {
  const int kinds = int{flags.request} + int{!flags.sign.empty()} + int{!flags.renew.empty()};
  if (kinds > 1) throw usage_error("--request, --sign and --renew cannot be combined");
  if (!flags.client.empty() && !flags.request && flags.sign.empty())
    throw usage_error("client is '" + flags.client + "'; it needs --request or --sign");
  if (flags.request) return request(flags);
  if (!flags.sign.empty()) return sign(flags);
  if (!flags.renew.empty()) return renew(flags);
  make(flags);
}

}  // namespace

void add_certificates_command(CLI::App& app) {
  const auto [command, flags] = add_command<CertificatesFlags>(
      app, "certificates", "Make the certificates of a networked federation; existing ones are kept.",
      "If clients make their own keys: client 3 runs 'fedstride certificates --request --client 3 --out mine' and sends\n"
      "mine/client-3.csr; 'fedstride certificates --sign client-3.csr --out certs' makes certs/client-3.bundle.pem, which is\n"
      "sent back.\n"
      "Example: fedstride certificates --clients 5 --out certs",
      carry_out);
  add_number_flag(command, "--clients", flags.rules.clients, kCertificateClients, "number of clients; each gets a certificate");
  add_number_flag(command, "--days", flags.rules.days, kCertificateDays, "days until the certificates expire");
  add_switch(command, "--bundles", flags.rules.bundles,
             "also write client-K.bundle.pem, one file with everything that client K needs, including its private key");
  add_switch(command, "--request", flags.request, "on the client's machine: make a key and a certificate request for --client");
  add_flag(command, "--client", flags.client, {.word = "K"},
           "the client that --request is for, or that a request to --sign must name: 0, 1, ...");
  add_flag(command, "--sign", flags.sign, Place::file, "make the certificate for this request");
  add_flag(command, "--renew", flags.renew, {.word = "NAME"},
           "make a new certificate for authority, coordinator or client-K; old ones stay valid");
  add_flag(command, "--out", flags.out, Place::folder, "folder for certificates and keys; an existing authority in it is used",
           Needed::yes);
  add_json_switch(command, flags.json);
}

}  // namespace fedstride
