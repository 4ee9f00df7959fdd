// The words of papers and other frameworks (core/field_words.hpp): each leads to something that runs.
#include "core/field_words.hpp"

#include <doctest/doctest.h>

#include "core/text.hpp"
#include "sim/settings/configuration.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/refusal.hpp"

namespace fedstride::test::field_words_test {
namespace {

// A value that a flag takes if the table leaves it open: the default where the program has one.
std::string some_value(std::string_view flag, const TemporaryFolder& folder) {
  if (flag == "--config") return folder / "some.toml";
  if (flag == "--data-dir") return folder / "data";
  if (flag == "--epsilon") return "3";
  if (flag == "--out") return folder / "elsewhere";
  if (flag == "--resume") return folder / "done";
  if (flag == "--round-deadline") return "100";
  const auto keys = all_keys();
  const auto key = std::ranges::find(keys, flag.substr(2), &KeyInfo::name);
  if (flag == "--cohort-size" || flag == "--minimum-clients") return "2";
  if (key->name == "attackers" || key->name == "classes") return key->name == "classes" ? "3" : "1";
  if (key->name == "noise-multiplier") return "1";
  if (key->name == "dataset") return "synthetic-li";
  if (key->name == "model") return "logistic";
  if (key->name == "validation-fraction" || key->name == "client-test") return "0.2";
  const std::string text = key->default_text;
  return text.substr(0, text.find(';'));
}

// The words of a shell's command line, in which only double quotes are special.
Words shell_words(std::string_view line) {
  Words words;
  const auto pieces = split(line, '"');
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i % 2 == 1) {
      words.emplace_back(pieces[i]);
      continue;
    }
    for (const auto word : split(pieces[i], ' '))
      if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

bool is_flag(const std::string& word) { return word.starts_with("--"); }

// The command line that a row of the table stands for.
Words command_of(const FieldWord& word, const TemporaryFolder& folder, const std::string& out) {
  Words given = shell_words(word.here);
  for (std::string& one : given) {
    if (one == "RUN") one = folder / "done";
    if (one == "FOLDER") one = word.here.starts_with("fedstride") ? folder / "boards" : folder / "leaf";
  }
  if (word.here == "fedstride run" || word.here.starts_with("fedstride privacy") || given.back() == "NAME")
    given.emplace_back("--help");
  if (given.front() == "fedstride") return {given.begin() + 1, given.end()};
  if (given.front() == "--sampling-rate" || given.front() == "--steps")
    return {"privacy", "epsilon", "--sampling-rate", "0.01", "--noise-multiplier", "1", "--steps", "10", "--delta", "1e-5"};
  for (const auto& [flag, command] : {std::pair{"--jobs", "sweep"},
                                      {"--configurations", "tune"},
                                      {"--connect", "join"},
                                      {"--client", "join"},
                                      {"--insecure-loopback", "serve"}})
    if (given.front() == flag) return {command, "--help-all"};
  Words words;
  for (std::size_t i = 0; i < given.size(); ++i) {
    words.push_back(given[i]);
    const bool takes_none = given[i] == "--nesterov";
    if (is_flag(given[i]) && !takes_none && (i + 1 == given.size() || is_flag(given[i + 1])))
      words.push_back(some_value(given[i], folder));
  }
  const auto has = [&](std::string_view flag) { return std::ranges::find(words, flag) != words.end(); };
  if (has("--resume")) return {"run", "--resume", folder / "done", "--quiet"};
  if (has("natural")) {
    if (!has("--data")) words.insert(words.end(), {"--data", folder / "leaf"});
    words.insert(words.begin(),
                 {"run", "--model", "logistic", "--client-column", "client", "--rounds", "1", "--quiet", "--out", out});
    return words;
  }
  if (has("--rounds")) words[static_cast<std::size_t>(std::ranges::find(words, "--rounds") - words.begin()) + 1] = "2";
  if (word.here.ends_with("-cnn") || word.here.ends_with("-mlp") || word.here.find("resnet") != std::string_view::npos)
    return {
        "run", "--dataset", "synthetic", "--limit-per-client", "10", "--evaluate-rows", "10", "--rounds", "1", "--quiet", "--out",
        out,   words[0],    words[1]};
  for (const auto& [flag, value] : {std::pair{"--rounds", "1"}, {"--clients", "8"}, {"--quiet", ""}})
    if (!has(flag)) {
      words.emplace_back(flag);
      if (*value != '\0') words.emplace_back(value);
    }
  if (!has("--out")) words.insert(words.end(), {"--out", out});
  Words all = federation(folder, words);
  if (has("--minimum-clients") || has("--round-deadline")) all.front() = "launch";
  return all;
}

}  // namespace

TEST_CASE("what each word of the field stands for runs") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  std::filesystem::create_directories(folder / "leaf");
  write_file(folder / "leaf/train.csv", "a,b,client,y\n1,2,x,0\n2,1,x,1\n1,3,z,0\n3,1,z,1\n");
  write_file(folder / "leaf/test.csv", "a,b,client,y\n1,2,x,0\n2,1,z,1\n");
  write_file(folder / "some.toml", "rounds = 1\n");
  REQUIRE(run_program(federation(folder, {"--rounds", "1", "--out", folder / "done"})).code == 0);
  int number = 0;
  for (const FieldWord& word : field_words()) {
    if (word.here.empty()) continue;
    CAPTURE(word.here);
    const Words words = command_of(word, folder, folder / ("run-" + std::to_string(number++)));
    const Outcome outcome = words.front() == "launch" || words.back() == "--help-all" ? run_program(words) : run_copy(words);
    CHECK_MESSAGE(outcome.code == 0, outcome.err);
    if (words.back() == "--help-all") CHECK(outcome.out.find("\n  " + std::string(word.here) + " ") != std::string::npos);
  }
}

// What a flag of a run is may be another one of `launch` or `privacy`.
TEST_CASE("no word of the field stands in two rows of a command, but for a model of the same name") {
  std::map<std::string, int> rows;
  for (const FieldWord& word : field_words())
    for (const auto one : split(word.words, ' ')) {
      const bool is_of_run = word.here.starts_with("--") && word.here != "--sampling-rate" &&
                             find_key(word.here.substr(2, word.here.find(' ') - 2)) != nullptr;
      CAPTURE(one);
      std::string folded(one);
      std::erase_if(folded, [](char c) { return c == '-' || c == '_'; });
      std::ranges::transform(folded, folded.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      const bool is_second_model = folded == "lr" && word.here.starts_with("--model");
      if (!is_second_model) CHECK(++rows[(is_of_run ? "run: " : "") + folded] == 1);
    }
}

TEST_CASE("words of the field as flags, values, keys of files and other spellings are answered with what they are here") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  write_file(folder / "lr.toml", "lr = 0.1\n");
  write_file(folder / "a.yaml", "rounds: 10\n");
  write_file(folder / "scaffold.toml", "local-objective = 'SCAFFOLD'\n");
  const auto refused = [&](Words words, std::initializer_list<std::string_view> parts) {
    const Outcome outcome = run_copy(words);
    CHECK(outcome.code == 2);
    CHECK_MESSAGE(names(outcome.err, parts), outcome.err);
  };
  for (const auto& [flag, here] : std::initializer_list<std::pair<const char*, const char*>>{
           {"--lr", "'--learning-rate'"},
           {"--epochs", "'--local-epochs'"},
           {"--batch_size", "'--batch'"},
           {"--num_clients", "'--clients'"},
           {"--num-rounds", "'--rounds'"},
           {"--local_epochs", "'--local-epochs'"},
           {"--Local-Epochs", "'--local-epochs'"},
           {"--fraction_fit", "--cohort fixed --cohort-size"},
           {"--scaffold", "SCAFFOLD is --method scaffold"},
           {"--target_epsilon", "--dp example --epsilon"},
           {"--max_grad_norm", "--clip"},
           {"--wandb", "fedstride export RUN --tensorboard FOLDER --follow"},
           {"--device", "computes on the CPU only; --threads sets the number of threads"},
           {"--save", "'--out'"},
           {"--noise", "--dp example --noise-multiplier"},
           {"--participation", "--cohort poisson --cohort-rate"},
           {"--sample-ratio", "--cohort poisson --cohort-rate"},
           {"--local-updates", "'--local-steps'"},
           {"--drop-rate", "--deadline"},
           {"--early-stopping", "'--patience'"},
           {"--loss", "--targets values"},
           {"--dropout", "--model"},
           {"-r", "'--rounds'"},
           {"--checkpoint", "--init FILE"},
           {"--log-level", "--quiet"},
           {"--privacy", "'--dp'"},
           {"--dp-delta", "--delta"},
           {"--poisson-sampling", "--sampling poisson"},
           {"--mechanism", "Gaussian"},
           {"--max-physical-batch-size", "batches"},
           {"--grid", "[sweep]"},
           {"--label-column", "'--label'"},
           {"--target", "'--label'"},
           {"--img-resize", "--resize"},
           {"--pretrained", "'--init'"},
           {"--test-size", "'--client-test'"},
           {"--sep", "separator"},
           {"--drop", "'--drop-columns'"},
           {"--image-size", "'--shape'"},
           {"-j", "'--threads'"},
           {"--dry-run", "sweep has --dry-run"},
           {"--algorithm", "--method"}})
    refused({"run", flag, "1"}, {std::string("'") + flag + "'", here});
  for (const auto& [key, value, here] : std::initializer_list<std::tuple<const char*, const char*, const char*>>{
           {"--optimizer", "SGD", "'sgd'"},
           {"--dataset", "CIFAR10", "'cifar10'"},
           {"--dataset", "CIFAR-10", "'cifar10'"},
           {"--dataset", "FashionMNIST", "'fashion-mnist'"},
           {"--aggregation", "fedavg", "FedAvg is --method fedavg"},
           {"--optimizer", "fedprox", "FedProx is --method fedprox"},
           {"--server-optimizer", "fedadam", "FedAdam is --method fedadam"},
           {"--server-optimizer", "fedavgm", "FedAvgM is --method fedavgm"},
           {"--partition", "niid", "niid is --partition dirichlet --alpha 0.5"},
           {"--model", "lr", "lr is --model logistic"},
           {"--aggregation", "trimmed_mean", "'trimmed-mean'"},
           {"--schedule", "Linear", "'linear'"},
           {"--model", "resnet8", "--model resnet8-gn (group normalization"},
           {"--mode", "async", "async is --mode fedasync"},
           {"--dp", "local", "local is --dp client --client-noise local"},
           {"--dp", "central", "central is --dp client"},
           {"--dp", "example,client", "--dp both"},
           {"--cohort", "random", "random is --cohort fixed --cohort-size"},
           {"--optimizer", "lr", "lr is --learning-rate"}}) {
    Words words{"run", key, value};
    if (std::string_view(key) == "--schedule") words.insert(words.end(), {"--optimizer", "sgd"});
    refused(words, {std::string("'") + value + "'", here});
  }
  refused({"run", "--config", folder / "lr.toml"}, {"line 1", "'lr'", "'learning-rate'"});
  refused({"run", "--config", folder / "scaffold.toml"}, {"'SCAFFOLD'", "'scaffold'"});
  for (const auto& [words, hint] : std::initializer_list<std::pair<Words, const char*>>{
           {{"train"}, "'fedstride run'"},
           {{"simulate"}, "'fedstride run'"},
           {{"eval"}, "'fedstride evaluate RUN'"},
           {{"run", "--algorithm", "fedprox"}, "FedProx is --method fedprox"},
           {{"run", "--dp", "client", "--clip-norm", "1"}, "'--clip'"},
           {{"run", "--optimizer", "sgd", "--lr_decay", "1"}, "'--decay'"},
           {{"privacy", "epsilon", "--sigma", "1"}, "'--noise-multiplier'"},
           {{"privacy", "epsilon", "--q", "0.1"}, "'--sampling-rate'"},
           {{"run", "rounds=10"}, "'--rounds 10'"},
           {{"run", "cifar10"}, "'--dataset cifar10'"},
           {{"run", "logistic"}, "'--model logistic'"},
           {{"run", "--partition", "dirichlet", "0.1"}, "'--partition dirichlet --alpha 0.1'"},
           {{"run", "a.toml"}, "'--config a.toml'"},
           {{"run", "--dp", "example", "--noise-multiplier", "1", "--accountant", "prv"}, "; PRV is --accountant tight"},
           {{"privacy", "epsilon", "--noise-multiplier", "1", "--steps", "1", "--delta", "0.1", "--sampling", "full",
             "--accountant", "gdp"},
            "; GDP is --accountant tight"},
           {{"privacy", "epsilon", "--batch-size", "256"}, "--sampling-rate (batch / rows)"},
           {{"privacy", "epsilon", "--rounds", "100"}, "--steps"},
           {{"privacy", "epsilon", "--clip", "1"}, "epsilon does not depend on the clip bound"},
           {{"privacy", "epsilon", "--dp", "client"}, "'fedstride help privacy'"},
           {{"privacy", "calibrate", "--noise-multiplier", "1"}, "'fedstride privacy epsilon'"},
           {{"privacy", "compute"}, "'fedstride privacy epsilon'"},
           {{"privacy", "noise"}, "'fedstride privacy calibrate'"},
           {{"epsilon"}, "'fedstride privacy epsilon'"},
           {{"data", "ls"}, "'fedstride data list'"},
           {{"data", "remove", "x"}, "'fedstride data forget NAME'"},
           {{"list"}, "'fedstride data list'"},
           {{"models"}, "'fedstride help models'"},
           {{"version"}, "'fedstride --version'"},
           {{"resume", "a"}, "'fedstride run --resume RUN'"},
           {{"help", "dp"}, "'fedstride help privacy'"},
           {{"help", "dirichlet"}, "dirichlet is --partition dirichlet; see 'fedstride help partitions'"},
           {{"help", "cifar10"}, "cifar10 is --dataset cifar10; see 'fedstride help data'"},
           {{"verify", folder / "data"}, "'fedstride privacy audit'"},
           {{"privacy", "epsilon", "--batch", "32"}, "--sampling-rate (batch / rows)"},
           {{"help", "fedprox"}, "fedprox is --method fedprox"},
           {{"launch", "--processes", "3"}, "--clients"},
           {{"run", "--workers", "3"}, "'--threads'"},
           {{"run", "-gr", "200"}, "'--rounds'"},
           {{"run", "-m", "CNN"}, "'--model'"},
           {{"run", "-nc", "20"}, "'--clients'"},
           {{"run", "--dataset", "./mine.csv"}, "--data FILE"},
           {{"run", "--dataset", "emnist"}, "--partition natural"},
           {{"run", "--momentum", "0.9"}, "is not a setting of optimizer 'pooled'; it is one of --optimizer heavy-ball"},
           {{"serve", "--insecure"}, "--insecure-loopback"},
           {{"join", "--superlink", "127.0.0.1:9092"}, "'--connect'"},
           {{"join", "--partition-id", "3"}, "'--client'"},
           {{"report", "a", "--format", "pdf"}, "SVG, PNG and PDF"},
           {{"privacy", "epsilon", "--n", "60000"}, "--sampling-rate (batch / rows)"},
           {{"sweep", "a.toml", "--n-jobs", "4"}, "'--jobs'"},
           {{"run", "--n-jobs", "4"}, "'--threads'"},
           {{"tune", "a.toml", "--n-trials", "20"}, "'--configurations'"},
           {{"run", "--config", folder / "a.yaml"}, "must be TOML"},
           {{"sweep", folder / "a.yaml"}, "must be TOML"},
           {{"run", "elsewhere"}, "see 'fedstride run --help'"}})
    refused(words, {hint});
  CHECK(names(run_program({"run", "--data", "MNIST"}).err, {"'MNIST' does not exist", "--dataset NAME"}));
  CHECK(names(run_program({"data", "show", "cifar10"}).err, {"'cifar10' does not exist", "--dataset cifar10"}));
  // A flag that a command does not have is not suggested to it.
  refused({"evaluate", "a", "--batch_size", "1"}, {"'--batch_size'"});
  CHECK_FALSE(names(run_program({"evaluate", "a", "--batch_size", "1"}).err, {"did you mean"}));
  CHECK_FALSE(names(run_program({"run", "--xy", "1"}).err, {"did you mean"}));
  CHECK_FALSE(names(run_program({"certificates", "--out", "a", "--host", "b"}).err, {"did you mean"}));
}

}  // namespace fedstride::test::field_words_test
