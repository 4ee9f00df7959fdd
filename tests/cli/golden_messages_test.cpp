// The most visible refusals of the program, in full: the only place where tests compare the wording of whole lines.
#include "tests/cli/refusal.hpp"

namespace fedstride::test::golden_messages_test {
namespace {

struct Message {
  Words words;  ///< '@' stands for the test's folder
  std::string line;
};

const Message kMessages[] = {
    // commands and flags
    {{"completion", "bsh"}, "shell 'bsh' is unknown; did you mean 'bash'? valid: bash"},
    {{"data"},
     "'fedstride data' needs a command: show, convert, constants, check, list, verify, roster, get, forget; see 'fedstride data "
     "--help'"},
    {{"data", "gte"}, "command 'gte' is unknown; did you mean 'get'? see 'fedstride data --help'"},
    {{"run", "--lerning-rate", "1"},
     "flag '--lerning-rate' is unknown; did you mean '--learning-rate'? 'fedstride run --help' lists them"},
    {{"run", "--learning-rate"}, "flag '--learning-rate' needs a value; see 'fedstride run --help'"},
    {{"run", "--seed", "1", "extra"}, "'extra' was not expected after 'fedstride run'; see 'fedstride run --help'"},
    {{"run", "--out", ""}, "out is ''; it must name a file or folder (or be left out)"},
    {{"run", "--resume", "a", "--out", "b"}, "--resume and --out cannot be combined: a run resumes in its own folder"},
    {{"privacy", "epsilon", "--noise-multiplier", "1", "--steps", "1"},
     "--delta is required; see 'fedstride privacy epsilon --help'"},
    {{"sweep"}, "FILE is required; see 'fedstride sweep --help'"},
    // values
    {{"run", "--rounds", "0"}, "rounds is 0; it must be a whole number from 1 to 2000000000"},
    {{"run", "--learning-rate", "fast"}, "learning-rate is 'fast'; it must be a number above 0 and up to 1000000"},
    {{"evaluate", "a", "--threads", "-1"}, "threads is '-1'; it must be a whole number from 0 to 1024"},
    {{"run", "--optimizer", "agd"},
     "optimizer 'agd' is unknown; did you mean 'sgd'? valid: auto, adadp, sgd, heavy-ball, ema, adam, adambc, pooled, delta-sgd, "
     "fedsps, dog, "
     "prodigy, schedule-free"},
    {{"run", "--optimizer", "sgd", "--tolerance", "1"},
     "tolerance is not a setting of optimizer 'sgd'; it is one of --optimizer adadp"},
    {{"run", "--epsilon", "3"}, "epsilon is not a setting of dp 'none'; it is one of --dp example, client, both or user"},
    {{"run", "--lr", "0.1"}, "flag '--lr' is unknown; did you mean '--learning-rate'? 'fedstride run --help' lists them"},
    {{"run", "--optimizer", "fedprox"},
     "optimizer 'fedprox' is unknown; FedProx is --method fedprox; valid: auto, adadp, sgd, heavy-ball, ema, adam, adambc, "
     "pooled, "
     "delta-sgd, fedsps, dog, prodigy, schedule-free"},
    {{"run", "--dp", "example", "--out", "@/x"},
     "epsilon is 0 with noise-multiplier 0; under privacy one of them must be above 0: a budget, to which noise is calibrated, "
     "or "
     "the noise (no privacy is dp none)"},
    // files
    {{"run", "--config", "@/none.toml"}, "cannot read '@/none.toml': No such file or directory"},
    {{"run", "--config", "@/key.toml"},
     "'@/key.toml', line 1: key 'runds' is unknown; did you mean 'rounds'? valid: the names of the flags that "
     "'fedstride run --help' lists"},
    {{"run", "--config", "@/word.toml"}, "'@/word.toml', line 2: the word sgd needs quotes: optimizer = 'sgd'"},
    {{"run", "--config", "@/sweep.toml"},
     "'@/sweep.toml', line 3: table [sweep] makes this an experiment file; run it with: fedstride sweep @/sweep.toml"},
    {{"evaluate", "@/none", "--per-client"},
     "'@/none' is not the folder of a run (it has no config.toml); give the --out folder of a run"},
    {{"evaluate", "@/none"}, "'@/none' is neither a .safetensors file nor the folder of a run"},
    {{"run", "--resume", "@/none"},
     "resume '@/none' is not the folder of a run (it has no config.toml); give the --out folder of a run"},
    {{"run", "--data", "@/none"}, "data '@/none' does not exist; give a file or a folder (known data sets: --dataset NAME)"},
};

}  // namespace

TEST_CASE("the most visible refusals, word by word") {
  const TemporaryFolder folder;
  std::ofstream(folder / "key.toml") << "runds = 3\n";
  std::ofstream(folder / "word.toml") << "rounds = 3\noptimizer = sgd  # unquoted\n";
  std::ofstream(folder / "sweep.toml") << "rounds = 3\noptimizer = 'sgd'\n[sweep]\nseed = [1, 2]\n";
  static_assert(std::size(kMessages) == 27);
  for (const Message& message : kMessages) {
    Words words = message.words;
    for (auto& word : words) word = placed(word, folder);
    CHECK(run_copy(words).err == "fedstride: " + placed(message.line, folder) + "\n");
  }
}

}  // namespace fedstride::test::golden_messages_test
