#include "net/certificates.hpp"

#include <openssl/x509v3.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/folder_lock.hpp"
#include "net/x509.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::time_t kClockDifference = 5 * 60;
constexpr std::time_t kDay = 24 * 60 * 60;
constexpr std::size_t kWrittenAtOnce = 1000;

TlsFiles files_of(const fs::path& folder, const std::string& name) {
  return {folder / "authority.pem", folder / (name + ".pem"), folder / (name + ".key")};
}

Role role_of(std::string_view name) { return name == kCoordinatorName ? Role::server : Role::client; }

/// True also for a file that exists and cannot be reached: reading it gives the reason.
bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw failure("cannot make folder '" + folder.string() + "': " + error.message());
}

Identity read_identity(const TlsFiles& files) {
  Identity identity{read_certificate(files.certificate), read_key(files.key)};
  check_pair(identity, files.certificate, files.key);
  return identity;
}

void check_name(X509* certificate, const fs::path& path, std::string_view name) {
  if (const std::string found = common_name(certificate); found != name)
    throw failure("the certificate '" + path.string() + "' is that of '" + found + "'; it must be that of '" + std::string(name) +
                  "'");
}

/// The authority of a folder and what is made by it there.
class Maker {
 public:
  Maker(const fs::path& folder, const CertificateRules& rules)
      : folder_(folder),
        now_(std::chrono::system_clock::to_time_t(rules.now)),
        until_(now_ + rules.days * kDay),
        files_(files_of(folder, "authority")) {
    if (is_there(files_.certificate))
      open_authority();
    else
      make_authority();
    expires_ = expiry(authority_.certificate.get());
    until_ = std::min(until_, expires_);
  }

  CertificateReport make(const std::vector<std::string>& names) {
    std::vector<std::string> missing;
    for (const auto& name : names)
      if (!keep(name)) missing.push_back(name);
    if (!missing.empty()) expires_ = std::min(expires_, until_);
    write();
    for (std::size_t i = 0; i < missing.size(); ++i) {
      add(missing[i]);
      if ((i + 1) % kWrittenAtOnce == 0) write();
    }
    write();
    report_.expires = utc_text(expires_);
    return report_;
  }

 private:
  void open_authority() {
    if (!is_there(files_.key))
      throw failure("'" + files_.key.string() + "' is missing, without which the authority of '" + files_.certificate.string() +
                    "' cannot make certificates; put it back, or name another folder");
    authority_ = read_identity(files_);
    X509* certificate = authority_.certificate.get();
    if (X509_check_ca(certificate) != 1)
      throw failure("the certificate '" + files_.certificate.string() + "' is not an authority's");
    if (expiry(certificate) <= now_)
      throw failure("the authority of '" + files_.certificate.string() + "' expired on " + utc_text(expiry(certificate)) +
                    "; name another folder to make a new one there");
    check_issued({certificate, files_.certificate}, {certificate, files_.certificate}, Role::authority, now_);
    ++report_.kept;
  }

  void make_authority() {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() == ".pem" && (name.starts_with("client-") || name.starts_with(kCoordinatorName)))
        throw failure("'" + files_.certificate.string() + "' is missing, whose authority made '" + entry.path().string() +
                      "'; put it back, or name another folder");
    }
    authority_.key = key_for("authority");
    const CertificatePlan plan{"fedstride authority", Role::authority, now_ - kClockDifference, until_};
    authority_.certificate = issue(plan, authority_.key.get(), nullptr);
    put("authority", authority_.certificate.get());
  }

  /// True if there is a certificate that can stay.
  bool keep(const std::string& name) {
    const TlsFiles files = files_of(folder_, name);
    if (!is_there(files.certificate) || !is_there(files.key)) return false;
    const Identity identity = read_identity(files);
    X509* certificate = identity.certificate.get();
    const std::time_t end = expiry(certificate);
    check_issued({certificate, files.certificate}, {authority_.certificate.get(), files_.certificate}, role_of(name),
                 std::min(now_, end - 1));
    check_name(certificate, files.certificate, name);
    if (end <= now_) return false;
    expires_ = std::min(expires_, end);
    ++report_.kept;
    return true;
  }

  void add(const std::string& name) {
    const KeyHandle key = key_for(name);
    const CertificatePlan plan{name, role_of(name), now_ - kClockDifference, until_};
    put(name, issue(plan, key.get(), &authority_).get());
  }

  /// The existing key, or a new one. The old certificate is removed before a new key is written: if both exist, they belong
  /// together.
  KeyHandle key_for(const std::string& name) {
    const TlsFiles files = files_of(folder_, name);
    if (is_there(files.key)) return read_key(files.key);
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

  const fs::path& folder_;
  std::time_t now_;
  std::time_t until_;
  TlsFiles files_;
  Identity authority_;
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
  const FolderLock lock = locked(folder);  // two processes must not make two authorities
  std::vector<std::string> names{std::string(kCoordinatorName)};
  for (int client = 0; client < rules.clients; ++client) names.push_back(client_name(static_cast<ClientId>(client)));
  return Maker(folder, rules).make(names);
}

void check_files(const TlsFiles& files, std::string_view name) {
  const CertificateHandle authority = read_certificate(files.authority);
  const Identity identity = read_identity(files);
  X509* certificate = identity.certificate.get();
  check_issued({certificate, files.certificate}, {authority.get(), files.authority}, role_of(name), std::time(nullptr));
  check_name(certificate, files.certificate, name);
}

}  // namespace fedstride
