#include "sim/net/certificates.hpp"

#include <openssl/x509v3.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/folder_lock.hpp"
#include "core/text.hpp"
#include "sim/net/x509.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::time_t kClockDifference = 5 * 60;
constexpr std::time_t kDay = 24 * 60 * 60;
constexpr std::size_t kMaxPendingFiles = 1000;

TlsFiles files_of(const fs::path& folder, const std::string& name) {
  return {folder / "authority.pem", folder / (name + ".pem"), folder / (name + ".key")};
}

fs::path request_of(const fs::path& folder, const std::string& name) { return folder / (name + ".csr"); }
fs::path bundle_of(const fs::path& folder, const std::string& name) { return folder / (name + ".bundle.pem"); }

CertificateHandle share(X509* certificate) {
  X509_up_ref(certificate);
  return CertificateHandle(certificate);
}

/// Returns the K in "client-K"; nullopt for any other name.
std::optional<ClientId> client_of(std::string_view name) {
  constexpr std::string_view kBefore = "client-";
  if (!name.starts_with(kBefore)) return std::nullopt;
  const std::string_view digits = name.substr(kBefore.size());
  ClientId client = 0;
  if (!parse_number(digits, client) || client_name(client) != name) return std::nullopt;
  return client;
}

Role role_of(std::string_view name) { return name == kCoordinatorName ? Role::server : Role::client; }

/// Also true for a file that exists but cannot be accessed; reading it later reports why.
bool exists_at(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

Identity read_identity(const TlsFiles& files) {
  Identity identity{read_certificate(files.certificate), read_key(files.key)};
  check_pair(identity, files.certificate, files.key);
  return identity;
}

void check_name(X509* certificate, const fs::path& path, std::string_view name) {
  if (const std::string found = common_name(certificate); found != name)
    throw failure("the certificate '" + path.string() + "' is for '" + found + "'; it must be for '" + std::string(name) + "'");
}

/// Makes a name from an untrusted request safe to print.
std::string printable_text(std::string name) {
  for (char& c : name)
    if (c < ' ' || c > '~') c = '?';
  return name.substr(0, 64);
}

void require_authority(const fs::path& folder) {
  if (!exists_at(folder / "authority.pem"))
    throw failure("'" + (folder / "authority.pem").string() + "' is missing; --out must name the authority's folder");
}

/// The authority in a folder, and the certificates it issues there.
class FolderAuthority {
 public:
  FolderAuthority(const fs::path& folder, const CertificateRules& rules)
      : folder_(folder),
        now_(std::chrono::system_clock::to_time_t(rules.now)),
        until_(now_ + rules.days * kDay),
        files_(files_of(folder, "authority")) {
    if (exists_at(files_.certificate))
      open_authority();
    else
      make_authority();
    expires_ = expiry(authority_.certificate.get());
    until_ = std::min(until_, expires_);
    bundles_ = rules.bundles;
  }

  CertificateReport make(const std::vector<std::string>& names) {
    std::vector<std::string> missing;
    for (const auto& name : names)
      if (!keep(name)) missing.push_back(name);
    if (!missing.empty()) expires_ = std::min(expires_, until_);
    write();
    for (const std::string& name : missing) {
      add(name);
      write_if_full();
    }
    write();
    if (bundles_)
      for (const std::string& name : names) {
        add_bundle(name);
        write_if_full();
      }
    write();
    report_.expires = utc_text(expires_);
    return report_;
  }

  SignReport sign(const Request& request, const std::string& text) {
    const TlsFiles files = files_of(folder_, request.name);
    if (exists_at(files.certificate)) {
      const CertificateHandle old = read_certificate(files.certificate);
      if (EVP_PKEY_eq(X509_get0_pubkey(old.get()), request.key.get()) != 1)
        throw failure("'" + request.name + "' already has a certificate for another key, '" + files.certificate.string() +
                      "'; if the client really has a new key, remove that file and deny the old certificate");
    }
    pending_.push_back({request.name + ".csr", text});
    certify(request.name, request.key);
    write();
    add_bundle(request.name);
    write();
    return {.name = request.name,
            .key = fingerprint_of_key(request.key.get()),
            .bundle = bundle_of(folder_, request.name),
            .expires = utc_text(until_)};
  }

  std::string renew(const std::string& name) {
    const TlsFiles files = files_of(folder_, name);
    const bool has_own_key = exists_at(request_of(folder_, name));
    if (!has_own_key && !exists_at(files.key))
      throw failure("cannot renew '" + name + "': there is neither its key '" + files.key.string() + "' nor its request '" +
                    request_of(folder_, name).string() + "'");
    certify(name, has_own_key ? read_request(request_of(folder_, name)).key : read_key(files.key));
    write();
    if (name != kCoordinatorName) add_bundle(name);
    write();
    return utc_text(until_);
  }

  /// Adds a new authority before the unexpired ones. Certificates are written before the key, so if the key is never written, the
  /// old key's certificate is still in the file.
  std::string renew_authority(int days) {
    KeyHandle key = new_key();
    const std::time_t until = now_ + days * kDay;
    const CertificateHandle fresh =
        issue({"fedstride authority", Role::authority, now_ - kClockDifference, until}, key.get(), nullptr);
    pending_.push_back({"authority.pem", to_pem(fresh.get()) + authorities_text()});
    pending_.push_back({"authority.key", to_pem(key.get()), 0600});
    write();
    return utc_text(until);
  }

 private:
  void open_authority() {
    if (!exists_at(files_.key))
      throw failure("'" + files_.key.string() + "' is missing; the authority '" + files_.certificate.string() +
                    "' cannot sign without it: put it back or name another folder");
    authorities_ = read_authorities(files_.certificate);
    authority_.key = read_key(files_.key);
    // The signing authority is the one that matches the key; it is the first unless a renewal was interrupted.
    const auto signs = std::ranges::find_if(authorities_, [&](const CertificateHandle& one) {
      return EVP_PKEY_eq(X509_get0_pubkey(one.get()), authority_.key.get()) == 1;
    });
    authority_.certificate = share(signs == authorities_.end() ? authorities_.front().get() : signs->get());
    check_pair(authority_, files_.certificate, files_.key);
    X509* certificate = authority_.certificate.get();
    if (expiry(certificate) <= now_)
      throw refused_for_good("the authority '" + files_.certificate.string() + "' expired on " + utc_text(expiry(certificate)) +
                             "; name another folder to create a new one");
    // Checks the authority against itself alone: all authorities have the same name, so OpenSSL could mistake another for its
    // issuer.
    std::vector<CertificateHandle> itself;
    itself.push_back(share(certificate));
    check_issued({certificate, files_.certificate}, {itself, files_.certificate}, Role::authority, now_);
    ++report_.kept;
  }

  void make_authority() {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() == ".pem" && (name.starts_with("client-") || name.starts_with(kCoordinatorName)))
        throw failure("'" + files_.certificate.string() + "' is missing, but that authority signed '" + entry.path().string() +
                      "'; put it back or name another folder");
    }
    authority_.key = key_for("authority");
    const CertificatePlan plan{"fedstride authority", Role::authority, now_ - kClockDifference, until_};
    authority_.certificate = issue(plan, authority_.key.get(), nullptr);
    authorities_.push_back(share(authority_.certificate.get()));
    put("authority", authority_.certificate.get());
  }

  /// True if the existing certificate can be kept.
  bool keep(const std::string& name) {
    const TlsFiles files = files_of(folder_, name);
    const bool has_own_key = exists_at(request_of(folder_, name));  // the client keeps its key
    if (!exists_at(files.certificate) || (!exists_at(files.key) && !has_own_key)) return false;
    const Identity identity = has_own_key ? Identity{read_certificate(files.certificate), nullptr} : read_identity(files);
    X509* certificate = identity.certificate.get();
    const std::time_t end = expiry(certificate);
    check_issued({certificate, files.certificate}, {authorities_, files_.certificate}, role_of(name), std::min(now_, end - 1));
    check_name(certificate, files.certificate, name);
    if (end <= now_) return false;
    expires_ = std::min(expires_, end);
    ++report_.kept;
    return true;
  }

  void add(const std::string& name) {
    const bool has_own_key = exists_at(request_of(folder_, name));
    certify(name, has_own_key ? read_request(request_of(folder_, name)).key : key_for(name));
  }

  void certify(const std::string& name, const KeyHandle& key) {
    put(name, issue({name, role_of(name), now_ - kClockDifference, until_}, key.get(), &authority_).get());
  }

  /// Returns the certificates of the unexpired authorities as PEM.
  std::string authorities_text() const {
    std::string text;
    for (const CertificateHandle& authority : authorities_)
      if (expiry(authority.get()) > now_) text += to_pem(authority.get());
    return text;
  }

  /// Adds a client's bundle to the files to write: the certificate, the authorities and, if it is in this folder, the key.
  void add_bundle(const std::string& name) {
    const TlsFiles files = files_of(folder_, name);
    if (name == kCoordinatorName) return;
    std::string text = to_pem(read_certificate(files.certificate).get()) + authorities_text();
    const bool secret = exists_at(files.key) && !exists_at(request_of(folder_, name));
    if (secret) text += to_pem(read_key(files.key).get());
    pending_.push_back({bundle_of(folder_, name).filename().string(), text, secret ? mode_t{0600} : mode_t{0644}});
  }

  /// Returns the existing key, or a new one. The old certificate is removed before a new key is written, so a key and a
  /// certificate in the folder always match.
  KeyHandle key_for(const std::string& name) {
    const TlsFiles files = files_of(folder_, name);
    if (exists_at(files.key)) return read_key(files.key);
    std::error_code error;
    fs::remove(files.certificate, error);
    KeyHandle key = new_key();
    pending_.push_back({name + ".key", to_pem(key.get()), 0600});
    return key;
  }

  void put(const std::string& name, X509* certificate) {
    pending_.push_back({name + ".pem", to_pem(certificate)});
    ++report_.made;
  }

  void write() {
    if (!pending_.empty()) write_files(folder_, pending_);
    pending_.clear();
  }

  void write_if_full() {
    if (pending_.size() >= kMaxPendingFiles) write();
  }

  const fs::path& folder_;
  std::time_t now_;
  std::time_t until_;
  TlsFiles files_;
  Identity authority_;                          // signs
  std::vector<CertificateHandle> authorities_;  // trusted
  bool bundles_ = false;
  std::vector<NewFile> pending_;
  CertificateReport report_;
  std::time_t expires_ = 0;
};

}  // namespace

TlsFiles coordinator_files(const fs::path& folder) { return files_of(folder, std::string(kCoordinatorName)); }
TlsFiles client_files(const fs::path& folder, ClientId client) { return files_of(folder, client_name(client)); }
std::string client_name(ClientId client) { return "client-" + std::to_string(client); }

CertificateReport make_certificates(const fs::path& folder, const CertificateRules& rules) {
  check_value("clients", kCertificateClients, rules.clients);
  check_value("days", kCertificateDays, rules.days);
  make_folder(folder);
  const FolderLock lock = locked(folder);  // two processes must not create two authorities
  std::vector<std::string> names{std::string(kCoordinatorName)};
  for (int client = 0; client < rules.clients; ++client) names.push_back(client_name(static_cast<ClientId>(client)));
  return FolderAuthority(folder, rules).make(names);
}

TlsFiles client_files_at(const fs::path& folder_or_bundle, ClientId client) {
  std::error_code ignored;
  if (!fs::is_regular_file(folder_or_bundle, ignored)) return client_files(folder_or_bundle, client);
  const fs::path& bundle = folder_or_bundle;
  const bool has_key = read_file(bundle, std::uint64_t{1} << 20).find("PRIVATE KEY") != std::string::npos;
  return {bundle, bundle, has_key ? bundle : bundle.parent_path() / (client_name(client) + ".key")};
}

RequestReport make_request(const fs::path& folder, ClientId client) {
  make_folder(folder);
  const FolderLock lock = locked(folder);
  const std::string name = client_name(client);
  const fs::path file = folder / (name + ".key");
  const bool is_new = !exists_at(file);
  const KeyHandle key = is_new ? new_key() : read_key(file);
  std::vector<NewFile> files;
  if (is_new) files.push_back({name + ".key", to_pem(key.get()), 0600});
  files.push_back({name + ".csr", request_for(name, key.get())});
  write_files(folder, files);
  return {request_of(folder, name), fingerprint_of_key(key.get())};
}

SignReport sign_request(const fs::path& folder, const fs::path& file, std::optional<ClientId> client,
                        const CertificateRules& rules) {
  check_value("days", kCertificateDays, rules.days);
  const Request request = read_request(file);
  const auto asked = client_of(request.name);
  if (!asked || *asked >= kCertificateClients.high)
    throw failure("the request '" + file.string() + "' is for the name '" + printable_text(request.name) +
                  "'; only client names are signed: client-0, client-1, ...");
  if (client && *client != *asked)
    throw failure("the request '" + file.string() + "' is for '" + request.name + "', not '" + client_name(*client) + "'");
  require_authority(folder);
  const FolderLock lock = locked(folder);
  return FolderAuthority(folder, rules).sign(request, read_file(file, std::uint64_t{1} << 20));
}

std::string renew_certificate(const fs::path& folder, const std::string& name, const CertificateRules& rules) {
  check_value("days", kCertificateDays, rules.days);
  if (name != "authority" && name != kCoordinatorName && !client_of(name))
    throw usage_error("renew is '" + name + "'; valid: authority, coordinator, client-0, client-1, ...");
  require_authority(folder);
  const FolderLock lock = locked(folder);
  FolderAuthority authority(folder, rules);
  return name == "authority" ? authority.renew_authority(rules.days) : authority.renew(name);
}

std::time_t expires_on(const TlsFiles& files, std::string_view name) {
  const std::vector<CertificateHandle> authorities = read_authorities(files.authority);
  const Identity identity = read_identity(files);
  X509* certificate = identity.certificate.get();
  const std::time_t end =
      check_issued({certificate, files.certificate}, {authorities, files.authority}, role_of(name), std::time(nullptr));
  check_name(certificate, files.certificate, name);
  return end;
}

void check_files(const TlsFiles& files, std::string_view name) { expires_on(files, name); }

std::string expiry_warning(const std::string& whose, std::time_t expires, std::time_t now) {
  const std::time_t left = expires - now;
  if (expires == 0 || left >= kExpiryWarningDays * kDay) return {};
  if (left <= 0) return whose + " expired on " + utc_text(expires) + "; 'fedstride certificates --renew' makes a new one";
  const auto days = left / kDay;
  return whose + " expires on " + utc_text(expires) + ", in " +
         (days == 0 ? "less than a day" : std::to_string(days) + (days == 1 ? " day" : " days")) +
         "; 'fedstride certificates --renew' makes a new one";
}

}  // namespace fedstride
