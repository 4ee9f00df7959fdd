#include <doctest/doctest.h>

#include <string>

#include "sim/settings/configuration.hpp"
#include "sim/settings/rules.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::automatic_test {
namespace {

Settings settings_of(const std::string& toml) { return parse_settings(toml, "test.toml"); }
Configuration from(const std::string& toml) { return resolve(settings_of(toml)); }

/// "pooled restore"
std::string chosen(const Configuration& configuration) {
  return std::string(configuration.optimizer.name()) + " " + std::string(configuration.server.name());
}
std::string text_of(const Configuration& configuration, std::string_view key) {
  for (const auto& [name, setting] : settings_of(write_settings(configuration, {})))
    if (name == key) return value_text(setting.value);
  return "none";
}

constexpr const char* kExample = "dp = 'example'\nnoise-multiplier = 1.0\n";
constexpr const char* kClient = "dp = 'client'\nnoise-multiplier = 1.0\n";

}  // namespace

TEST_CASE("a run that names no optimizer has the first candidate, without a word") {
  for (const char* open :
       {"", "optimizer = 'auto'\n", "server-optimizer = 'auto'\n", "optimizer = 'auto'\nserver-optimizer = 'auto'\n"})
    for (const char* more : {"", kExample, "dp = 'user'\nnoise-multiplier = 1.0\n", "learning-rate = 0.3\n", "kappa = 2.0\n",
                             "local-objective = 'prox'\n", "cohort = 'fixed'\ncohort-size = 3\n", "personal = 'ditto'\n"}) {
      CAPTURE(std::string(open) + more);
      const Configuration configuration = from(std::string(open) + more);
      CHECK(chosen(configuration) == "pooled restore");
      CHECK(configuration.automatic_note.empty());
    }
  CHECK(chosen(Configuration()) == "adadp average");
}

TEST_CASE("under client-level privacy the first candidate takes its server rate from the noise") {
  for (const std::string& private_run :
       {std::string(kClient), std::string("dp = 'both'\nnoise-multiplier = 1.0\nclient-noise-multiplier = 1.0\n")}) {
    const Configuration configuration = from(private_run);
    CHECK(chosen(configuration) == "pooled average");
    CHECK(text_of(configuration, "tolerance-schedule") == "constant");
    CHECK(text_of(configuration, "clip-rule") == "scaled");
    CHECK(text_of(configuration, "server-schedule") == "noise");
    CHECK(configuration.automatic_note.empty());
  }
}

TEST_CASE("what the user set stays, and the choice goes around it") {
  CHECK(chosen(from("server-optimizer = 'adam'")) == "pooled adam");
  CHECK(chosen(from("server-optimizer = 'average'")) == "pooled average");
  CHECK(chosen(from("server-learning-rate = 0.5")) == "pooled average");  // average alone has it
  CHECK(text_of(from(std::string(kClient) + "tolerance-schedule = 'linear'"), "tolerance-schedule") == "linear");
  const Configuration fixed = from(std::string(kClient) + "clip-rule = 'fixed'");
  CHECK(text_of(fixed, "clip-rule") == "fixed");
  CHECK(text_of(fixed, "server-schedule") == "noise");
}

TEST_CASE("an optimizer that the user names keeps plain averaging") {
  for (const char* name : {"adadp", "sgd", "pooled"}) {
    CHECK(chosen(from("optimizer = '" + std::string(name) + "'")) == std::string(name) + " average");
    CHECK(chosen(from("optimizer = '" + std::string(name) + "'\nserver-optimizer = 'auto'")) == std::string(name) + " average");
    CHECK(from("optimizer = '" + std::string(name) + "'\n" + kClient).has_noise_server() == (std::string_view(name) == "adadp"));
  }
}

TEST_CASE(
    "adadp of private clients keeps its steps, scales them and has the server's rate from the noise, unless told otherwise") {
  for (const std::string& private_run :
       {std::string(kClient), std::string("dp = 'both'\nnoise-multiplier = 1.0\nclient-noise-multiplier = 1.0\n")})
    for (const char* named : {"optimizer = 'adadp'\n", "tolerance = 0.2\n", "optimizer = 'adadp'\npreset = 'paper'\n"}) {
      CAPTURE(private_run + named);
      const Configuration configuration = from(private_run + named);
      CHECK(chosen(configuration) == "adadp average");
      CHECK(text_of(configuration, "too-long") == "keep");
      CHECK(text_of(configuration, "clip-rule") == "scaled");
      CHECK(text_of(configuration, "server-schedule") == "noise");
      CHECK(names(configuration.automatic_note, {"too-long keep", "clip-rule scaled", "server-schedule noise"}));
      CHECK(names(configuration.automatic_note, {"preset"}) ==
            (std::string_view(named).find("preset") != std::string_view::npos));
      const Configuration again = from(write_settings(configuration, {}));
      CHECK(write_settings(again, {}) == write_settings(configuration, {}));
      CHECK(again.automatic_note.empty());
    }
  const Configuration told = from(std::string(kClient) + "optimizer = 'adadp'\ntoo-long = 'undo'\nclip-rule = 'fixed'\n");
  CHECK(text_of(told, "too-long") == "undo");
  CHECK(text_of(told, "clip-rule") == "fixed");
  // What a rule refuses is left as it is.
  const Configuration momentum = from(std::string(kClient) + "optimizer = 'adadp'\nserver-optimizer = 'momentum'\n");
  CHECK(text_of(momentum, "server-schedule") == "constant");
  CHECK(text_of(momentum, "too-long") == "keep");
  CHECK(text_of(from("optimizer = 'adadp'\n"), "too-long") == "preset");
  CHECK(text_of(from(std::string(kExample) + "optimizer = 'adadp'\n"), "clip-rule") == "fixed");
}

TEST_CASE("where a rule refuses a candidate, the next one is taken and the run says so") {
  struct Case {
    std::string settings;
    std::string chosen;
    std::initializer_list<std::string_view> words;  // of the note
  };
  const Case cases[] = {
      {"aggregation = 'median'", "pooled average", {"restore", "median"}},
      {"devices = 'lognormal'\nmode = 'fedbuff'\nbuffer = 2\nconcurrency = 4", "pooled average", {"restore", "fedbuff"}},
      {"local-objective = 'dyn'", "pooled average", {"restore", "dyn"}},
      {std::string(kClient) + "client-noise = 'local'", "adadp average", {"pooled", "client-noise 'local'", "tolerance auto"}},
      {std::string(kClient) + "clip-rule = 'adaptive'", "adadp average", {"adaptive"}},
      {std::string(kClient) + "server-optimizer = 'adam'", "pooled adam", {"server-schedule", "adam"}},
      {"tolerance = 0.2", "adadp average", {"tolerance"}},
      {"preset = 'paper'", "adadp average", {"preset"}},
  };
  for (const Case& one : cases) {
    CAPTURE(one.settings);
    const Configuration configuration = from(one.settings);
    CHECK(chosen(configuration) == one.chosen);
    CHECK_MESSAGE(names(configuration.automatic_note, one.words), configuration.automatic_note);
    CHECK(names(configuration.automatic_note, {"optimizer auto: ", "--optimizer"}));
  }
  CHECK(from(std::string(kClient) + "client-noise = 'local'").has_noise_server());
  CHECK(text_of(from("tolerance = 0.2"), "tolerance") == "0.2");
  CHECK(text_of(from("preset = 'paper'"), "tolerance") == "0.1");
}

TEST_CASE("your own code has no use for an optimizer: nothing is chosen for it and nothing said") {
  for (const char* own : {"code = 'train=mine 1'", "partition = 'outside'\nmodel = 'tensor w 3'\ninit = 'w.safetensors'"}) {
    const Configuration configuration = from(own);
    CHECK(chosen(configuration) == "adadp average");
    CHECK(text_of(configuration, "tolerance") == "0.1");
    CHECK(configuration.automatic_note.empty());
  }
}

TEST_CASE(
    "settings that are refused for every optimizer are refused as with plain ADADP, other optimizers' settings as with pooled") {
  for (const std::string wrong :
       {"clients = 0", "dp = 'client'", "aggregation = 'median'\nsecure-aggregation = 'real'",
        "personal = 'local-layers'\nlocal-objective = 'prox'", "momentum = 0.9", "optimizer = 'auto'\nmomentum = 0.9"}) {
    CAPTURE(wrong);
    const auto line = [](const Settings& settings) { return error_of_kind(Error::Kind::usage, [&] { resolve(settings); }); };
    Settings named = settings_of(wrong);
    named["optimizer"] = {std::string(wrong.find("momentum") == wrong.npos ? "adadp" : "pooled")};
    CHECK(line(settings_of(wrong)) == line(named));
  }
}

TEST_CASE("a run's file names what was chosen, and reading it chooses nothing") {
  for (const std::string& settings :
       {std::string(), std::string(kExample), std::string(kClient), std::string("aggregation = 'median'")}) {
    const Configuration configuration = from(settings);
    const std::string text = write_settings(configuration, settings_of(settings));
    CHECK(text.find("optimizer = 'auto'") == text.npos);
    const Configuration again = resolve(parse_settings(text, "config.toml"));
    CHECK(write_settings(again, {}) == write_settings(configuration, {}));
    CHECK(identity_settings(again) == identity_settings(configuration));
    CHECK(again.automatic_note.empty());
  }
}

TEST_CASE("auto on the command line replaces an optimizer of a file, with the settings that only that has") {
  Settings settings = settings_of("optimizer = 'adadp'\ntolerance = 0.2\nserver-optimizer = 'adam'");
  settings["optimizer"] = {std::string("auto"), true};
  CHECK(chosen(resolve(settings)) == "pooled adam");
  settings["server-optimizer"] = {std::string("auto"), true};
  CHECK(chosen(resolve(settings)) == "pooled restore");
  settings["tolerance"] = {std::string("0.3"), true};
  CHECK(chosen(resolve(settings)) == "adadp average");
}

TEST_CASE("auto is a word of both keys, and their default") {
  for (const char* name : {"optimizer", "server-optimizer"}) {
    const KeyInfo* key = find_key(name);
    REQUIRE(key != nullptr);
    CHECK(key->default_text == "auto");
    CHECK(key->known.front().name == "auto");
    CHECK(key->valid_text.starts_with("valid: auto, "));
  }
  CHECK(find_key("aggregation")->default_text == "mean");
}

}  // namespace fedstride::test::automatic_test
