// Certificates of runs, and what is found when they lie.
#include "sim/run/certificate.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "core/json.hpp"
#include "sim/run/replay.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::certificate_test {
namespace {

using Certificate = fedstride::Json;

std::string certified(const TemporaryFolder& folder, const std::string& name, const CertifyOptions& options = {}) {
  const std::string file = folder / name + "/run.cert";
  write_file(file, certify(folder / name, options));
  return file;
}

VerifyOptions here(const TemporaryFolder& folder) { return {.here = {{"data", {folder.path().string()}}}, .seed = "1"}; }

Verdict verdict_of(const std::string& file, const VerifyOptions& options) {
  return verify_certificate(file, options, {in_process_fleet});
}

void check_holds(const std::string& file, const VerifyOptions& options) {
  const Verdict verdict = verdict_of(file, options);
  CAPTURE(file);
  for (const std::string& why : verdict.broken) FAIL_CHECK(why);
  CHECK_FALSE(verdict.held.empty());
}

// The certificate with one value replaced, written beside the original.
std::string forged(const std::string& file, const std::function<void(Certificate&)>& forge) {
  Certificate certificate = fedstride::parse_json(read_file(file));
  forge(certificate);
  const std::string other = file + ".forged";
  write_file(other, dump_json(certificate) + "\n");
  return other;
}

// True if a check of the file names a contradiction, or refuses it in one line.
bool is_found(const std::string& file, const VerifyOptions& options) {
  try {
    return !verdict_of(file, options).broken.empty();
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return true;
  }
}

bool mentions(const std::vector<std::string>& phrases, const std::string& word) {
  return std::ranges::any_of(phrases, [&](const std::string& phrase) { return phrase.find(word) != std::string::npos; });
}

}  // namespace

TEST_CASE("a claim is read, and refused by name") {
  const Claim claim = Claim::read("test accuracy above 0.5 after round 60");
  CHECK(claim.number == "test_accuracy");
  CHECK(claim.above);
  CHECK(claim.level == 0.5);
  CHECK(claim.round == 60);
  CHECK(Claim::read("client epsilon below 3").number == "client_epsilon");
  CHECK(Claim::read("validation loss below 1").round == 0);
  for (const std::string bad : {"", "accuracy above 1", "test accuracy over 1", "test accuracy above x",
                                "test accuracy above nan", "test f1 above 0.1", "test accuracy above 0.1 after round 0",
                                "test accuracy above 0.1 after 3", "epsilon below 3 after round 1.5", "epsilon below 3 now"})
    CHECK_USAGE_ERROR(Claim::read(bad), "claim", "'" + bad + "'");
}

TEST_CASE("certificates of runs of many kinds hold, from the start and from checkpoints") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string sgd = "optimizer = 'sgd'\nlearning-rate = 0.1\n";
  const std::string runs[] = {
      "keep-checkpoints = 2\n",
      sgd + "server-optimizer = 'adam'\nkeep-checkpoints = 4\nevaluate-every = 2\n",
      sgd + "local-objective = 'scaffold'\nkeep-checkpoints = 1\nmetrics = true\n",
      sgd + "cohort = 'fixed'\ncohort-size = 2\nleave-out = '1@3'\nvalidation-fraction = 0.1\n",
      sgd + "mode = 'fedbuff'\nconcurrency = 2\nbuffer = 2\ndevices = 'lognormal'\n",
      "dp = 'example'\nnoise-multiplier = 1.0\n",
      "dp = 'client'\nclip = 0.1\nnoise-multiplier = 1.0\n",
      "dp = 'example'\nepsilon = 9.0\ndelta = 1e-3\nrounds = 20\n",
      sgd + "stop-at = 'test accuracy >= 0.7'\n",
  };
  int number = 0;
  for (const std::string& more : runs) {
    CAPTURE(more);
    const std::string name = "run" + std::to_string(number++);
    start(settings_for(folder, name, more));
    const std::string file = certified(folder, name, {.claims = {"test loss below 100"}, .key = folder / "signer"});
    CHECK(std::filesystem::file_size(file) < kMaxCertificateBytes);
    CHECK(read_file(file).find(folder.path().string()) == std::string::npos);
    VerifyOptions options = here(folder);
    check_holds(file, options);
    options.rounds = 2;
    check_holds(file, options);
    options.rounds = 0;
    CHECK(mentions(verdict_of(file, options).held, "0 rounds"));
  }
}

TEST_CASE("a private run with secret noise is repeated by whoever has its key, and by nobody else") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "secret", "dp = 'example'\nnoise-multiplier = 1.0\nrandomness = 'secret'\npublishable = true\n"));
  const std::string file = certified(folder, "secret", {.claims = {"epsilon below 1000"}});
  VerifyOptions options = here(folder);
  const Verdict stranger = verdict_of(file, options);
  CHECK(stranger.broken.empty());
  CHECK(mentions(stranger.unchecked, "secret key"));
  options.key = folder / "secret/secret.key";
  const Verdict owner = verdict_of(file, options);
  CHECK(owner.broken.empty());
  CHECK(mentions(owner.held, "bit for bit"));
  CHECK(mentions(owner.held, "ledger"));
  // Under privacy, no hash of rows and no number without a guarantee.
  const Certificate certificate = fedstride::parse_json(read_file(file));
  CHECK_FALSE(certificate.contains("data"));
  CHECK_FALSE(certificate.at("rounds").contains("train_loss"));
}

TEST_CASE("every field of a certificate that is changed is found, or listed as not checked") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "open", "keep-checkpoints = 2\n"));
  start(settings_for(folder, "private", "dp = 'example'\nnoise-multiplier = 1.0\n"));
  for (const char* name : {"open", "private"}) {
    const std::string file = certified(folder, name, {.claims = {"test loss below 100"}});
    const Certificate original = fedstride::parse_json(read_file(file));
    const auto changed = [&](const std::string& what, const std::function<void(Certificate&)>& forge) {
      CAPTURE(what);
      const std::string other = forged(file, forge);
      // Named as not checked: what the program only tells, and the rounds of another numerics version.
      for (const char* told : {"version", "commit", "compiler", "instruction_set", "numerics_version"})
        if (what == told) {
          CHECK(mentions(verdict_of(other, here(folder)).unchecked, what == "numerics_version" ? "the rounds" : "only tells"));
          return;
        }
      CHECK(is_found(other, here(folder)));
    };
    const auto other_than = [](const Certificate& value) {
      if (value.is_string()) return Certificate(value.text().empty() ? "x" : "0" + value.text().substr(1) + "1");
      if (value.is_number()) return Certificate(value.get<double>() + 1);
      return Certificate("x");
    };
    for (const auto& [key, value] : original.items()) {
      changed("without " + key, [&](Certificate& certificate) { certificate.erase(key); });
      if (key == "claims" || key == "checkpoints") continue;
      if (!value.is_object()) {
        changed(key, [&](Certificate& certificate) { certificate[key] = other_than(value); });
        continue;
      }
      for (const auto& [inner, held] : value.items()) {
        if (key == "rounds") {
          for (std::size_t i = 0; i < held.size(); ++i)
            if (!held[i].is_null())
              changed(inner, [&](Certificate& certificate) { certificate[key][inner][i] = other_than(held[i]); });
          continue;
        }
        changed(inner, [&](Certificate& certificate) { certificate[key][inner] = other_than(held); });
      }
    }
    // Each setting that counts.
    const std::string settings = original.at("settings").text();
    for (const auto& [from, to] : {std::pair("seed = 1\n", "seed = 2\n"), std::pair("clients = 3\n", "clients = 4\n"),
                                   std::pair("rounds = 6\n", "rounds = 5\n"), std::pair("batch = 10\n", "batch = 11\n")}) {
      const auto at = settings.find(from);
      REQUIRE(at != std::string::npos);
      std::string other = settings;
      other.replace(at, std::string(from).size(), to);
      changed(to, [&](Certificate& certificate) { certificate["settings"] = other; });
    }
    for (const std::string more : {"out = 'elsewhere'\n", "init = '/etc/passwd'\n", "data = '/etc'\n", "threads = 7\n"})
      changed(more, [&](Certificate& certificate) { certificate["settings"] = settings + more; });
    changed("claim", [](Certificate& certificate) { certificate["claims"] = {"test loss below 0.0001"}; });
  }
  // A forged state is found by the round that leads to it, or that begins with it.
  const std::string file = folder / "open/run.cert";
  {
    VerifyOptions options = here(folder);
    options.rounds = 6;
    const std::string other =
        forged(file, [](Certificate& certificate) { certificate["checkpoints"]["4"] = std::string(64, '0'); });
    CHECK(mentions(verdict_of(other, options).broken, "state after round 4"));
  }
}

TEST_CASE("a signature binds the contents to a key") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "run"));
  const std::string file = certified(folder, "run", {.key = folder / "signer"});
  const std::string key = fedstride::parse_json(read_file(file)).at("signature").at("key").text();
  VerifyOptions options = here(folder);
  options.rounds = 0;
  CHECK(mentions(verdict_of(file, options).unchecked, "--signer"));
  options.signer = key;
  CHECK(mentions(verdict_of(file, options).held, key));
  CHECK_FALSE(mentions(verdict_of(file, options).unchecked, "--signer"));
  options.signer = std::string(64, 'a');
  CHECK(mentions(verdict_of(file, options).broken, key));
  options.signer = key;
  const std::string other = forged(file, [](Certificate& certificate) { certificate["program"]["commit"] = "other"; });
  CHECK(mentions(verdict_of(other, options).broken, "signature"));
  CHECK(mentions(verdict_of(certified(folder, "run"), options).broken, "not signed"));
}

TEST_CASE("a claim must hold, and a replay with a setting changed on the way has no certificate") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "run", "keep-checkpoints = 2\n"));
  CHECK_USAGE_ERROR(certify(folder / "run", {.claims = {"test accuracy above 1.5"}}), "does not hold",
                    "test_accuracy after round 6");
  CHECK_USAGE_ERROR(certify(folder / "run", {.claims = {"test loss below 9 after round 7"}}), "no round 7");
  CHECK_USAGE_ERROR(certify(folder / "none", {}), "none", "config.toml");
  Replay change{.run = folder / "run", .from = 3, .without = {1}, .here = {{"out", {folder / "without"}}}};
  replay(change, {});
  check_holds(certified(folder, "without"), here(folder));
  change.without.clear();
  change.set["local-epochs"] = {std::string("2"), true};
  change.here["out"] = {folder / "set"};
  replay(change, {});
  CHECK_USAGE_ERROR(certify(folder / "set", {}), "round 3", "replay");
}

TEST_CASE("a hundred damaged certificates each end in one line") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "run"));
  const std::string file = certified(folder, "run"), text = read_file(file);
  VerifyOptions options = here(folder);
  options.rounds = 1;
  int found = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    RandomStream random(5, {.purpose = Purpose::test, .row = i});
    std::string damaged = text;
    const std::size_t at = random.below(text.size());
    if (i % 4 == 0)
      damaged.resize(at);
    else if (i % 4 == 1)
      damaged[at] = static_cast<char>(random.below(256));
    else if (i % 4 == 2)
      damaged.insert(at, std::string(1 + random.below(5), "[{\"0,"[random.below(5)]));
    else
      damaged.erase(at, 1 + random.below(40));
    write_file(file, damaged);
    CAPTURE(i);
    if (damaged == text) continue;
    try {
      found += verdict_of(file, options).broken.empty() ? 0 : 1;
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
      CHECK(std::string(error.what()).size() < 5000);
      ++found;
    }
  }
  CHECK(found > 80);  // the others are in rounds that were not drawn, or in what the program only tells
  write_file(file, std::string(kMaxCertificateBytes + 1, ' '));
  CHECK_FAILURE(verdict_of(file, options), file);
  write_file(file, "");
  CHECK_FAILURE(verdict_of(file, options), file);
}

}  // namespace fedstride::test::certificate_test
