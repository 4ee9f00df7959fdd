#include "tests/cli/refusal.hpp"

namespace fedstride::test::bad_input_test {
namespace {

// Bad words on the command line.
const Refusal kRefusals[] = {
    // commands and flags
    {{""}, 2, {"command", "''", "'fedstride --help'"}},
    {{"rum"}, 2, {"command", "rum", "run"}},
    {{"-x"}, 2, {"flag", "-x"}},
    {{"-v"}, 2, {"flag", "-v", "'--version'"}},
    {{"data"}, 2, {"fedstride data", "show", "list", "verify", "roster", "get"}},
    {{"data", "lst"}, 2, {"command", "lst", "list"}},
    {{"data", "roster", "file", "--data", "."}, 2, {"--client"}},
    {{"data", "roster", "file", "--client", "-1"}, 2, {"client", "-1", "0", "1000000"}},
    {{"data", "list", "x"}, 2, {"x", "fedstride data list"}},
    {{"data", "verify"}, 2, {"NAME", "fedstride data verify --help"}},
    {{"data", "verify", "mnist", "--datadir", "x"}, 2, {"flag", "--datadir", "--data-dir"}},
    {{"data", "verify", "cifar"}, 2, {"dataset", "cifar", "cifar10"}},
    {{"data", "get", "file"}, 2, {"'file'"}},
    {{"data", "forget", "x"}, 2, {"name", "'x'", "--dry-run"}},
    {{"data", "get", "cifar10", "--url", ""}, 2, {"url", "''"}},
    {{"--lerning-rate", "1"}, 2, {"flag", "--lerning-rate", "--learning-rate"}},
    {{"--lerning-rate=1"}, 2, {"flag", "--lerning-rate", "--learning-rate"}},
    {{"--seed", "1", "extra"}, 2, {"extra", "fedstride run"}},
    {{"--learning-rate"}, 2, {"--learning-rate", "fedstride run --help"}},
    {{"--learning-rate", "--quiet"}, 2, {"flag", "--learning-rate", "fedstride run --help"}},
    {{"--epsilon", "--out", "x"}, 2, {"flag", "--epsilon", "fedstride run --help"}},
    {{"--dp", "--epsilon", "3"}, 2, {"flag", "--dp", "none, example, client, both, user"}},
    {{"--secure-aggregation", "--out", "x"}, 2, {"flag", "--secure-aggregation", "none, ring, real"}},
    {{"--secure-aggregation"}, 2, {"flag", "--secure-aggregation", "none, ring, real"}},
    {{"--seed", "1", "--seed", "x"}, 2, {"flag", "--seed", "1 and x"}},
    {{"--config", "a", "--config", "b"}, 2, {"flag", "--config", "a and b"}},
    {{"--quiet", "--quiet=false"}, 2, {"flag", "--quiet", "true and false"}},
    {{"--dp", "example", "--dp", "client", "--noise-multiplier", "1"}, 2, {"flag", "--dp", "example and client", "--dp both"}},
    {{"privacy", "epsilon", "--steps", "1", "--steps", "10"}, 2, {"flag", "--steps", "1 and 10"}},
    {{"--config", ""}, 2, {"config", "''"}},
    {{"--resume", ""}, 2, {"resume", "''"}},
    {{"--out", ""}, 2, {"out", "''"}},
    {{"partition", "--manifest", ""}, 2, {"manifest", "''"}},
    {{"partition", "--json", "rows.json"}, 2, {"rows.json", "fedstride partition"}},
    {{"partition", "--optimizer", "sgd"}, 2, {"flag", "--optimizer", "fedstride partition --help"}},
    {{"evaluate"}, 2, {"MODEL", "fedstride evaluate --help"}},
    {{"evaluate", "a", "b"}, 2, {"b", "fedstride evaluate"}},
    {{"export", "a", "--format", "onnx"}, 2, {"flag", "--format", "fedstride export --help"}},
    {{"serve", "--port", "8080"}, 2, {"flag", "--port", "--listen"}},
    {{"serve", "127.0.0.1:7000"}, 2, {"'127.0.0.1:7000'", "'--listen 127.0.0.1:7000'"}},
    {{"join", "a:7000"}, 2, {"'a:7000'", "'--connect a:7000'"}},
    {{"join", "--client-id", "0"}, 2, {"flag", "--client-id", "--client"}},
    {{"evaluate", "a", "--part", "x"}, 2, {"part", "x", "test", "train"}},
    {{"evaluate", "a", "--threads", "-1"}, 2, {"threads", "-1", "0", "1024"}},
    {{"evaluate", "a", "--threads", "x"}, 2, {"threads", "x", "0", "1024"}},
    {{"bench", "--batch", "0"}, 2, {"batch", "0", "1", "100000"}},
    {{"bench", "--batch", "1.5"}, 2, {"batch", "1.5", "1", "100000"}},
    {{"bench", "--seconds", "nan"}, 2, {"seconds", "nan", "0", "600"}},
    {{"bench", "--model", "dense"}, 2, {"1", "'dense'"}},
    // families
    {{"--dataset", "mnits"}, 2, {"dataset", "mnits", "mnist", "synthetic", "synthetic-li"}},
    {{"--dataset", ""}, 2, {"dataset", "''", "synthetic"}},
    {{"--dataset", "a\nb\x1b[31m"}, 2, {"dataset", "'a b [31m'"}},
    {{"--optimizer", "agd"}, 2, {"optimizer", "agd", "sgd", "adadp"}},
    {{"--optimizer", ""}, 2, {"optimizer", "''", "adadp"}},
    {{"--partition", "idd"}, 2, {"partition", "idd", "iid", "pathological"}},
    {{"--augment", "crop"}, 2, {"augment", "crop", "none", "crop-flip"}},
    {{"--augment", "crop-flip"}, 2, {"augment", "crop-flip", "file"}},
    {{"--attack", "label-flip", "--attackers", "20"}, 2, {"attackers", "20", "1", "clients"}},
    {{"--server-optimizer", "adam", "--beta1", "0.9"}, 2, {"beta1", "optimizer", "'adadp'", "--server-beta1"}},
    {{"--dataset", "mnist,synthetic"}, 2, {"dataset", "'mnist,synthetic'", "[sweep]"}},
    {{"--optimizer", "sgd,adam"}, 2, {"optimizer", "'sgd,adam'", "[sweep]"}},
    {{"--seed", "1,2"}, 2, {"seed", "'1,2'", "[sweep]"}},
    {{"--client-state", "x"}, 2, {"client-state", "x", "auto", "keep", "reset"}},
    {{"--random-fraction", "0.5"}, 2, {"random-fraction", "partition", "pathological"}},
    {{"--optimizer", "sgd", "--tolerance", "1"}, 2, {"tolerance", "optimizer", "'sgd'", "--optimizer adadp"}},
    {{"--freeze", "conv9"}, 2, {"conv9", "fc1"}},
    // layers
    {{"--model", "adadp-cn"}, 2, {"model", "adadp-cn", "adadp-cnn"}},
    {{"--model", ""}, 2, {"model", "''", "adadp-cnn"}},
    {{"--model", "adadp-cnn"}, 2, {"1", "conv 64 3", "3"}},
    {{"--model", "dense 8 |"}, 2, {"2"}},
    {{"--model", "dense 8 | relu"}, 2, {"relu", "2"}},
    {{"--model", "dens 8 | dense classes"}, 2, {"dens", "dense", "1"}},
    {{"--model", "dense 0 | dense classes"}, 2, {"'0'", "1", "1048576"}},
    {{"--model", "dense -5 | dense classes"}, 2, {"-5", "1", "1048576"}},
    {{"--model", "dense 99999999999 | dense classes"}, 2, {"99999999999", "1", "1048576"}},
    {{"--model", "dropout 1.5 | dense classes"}, 2, {"1.5", "0", "1"}},
    {{"--model", "dense 5 7 | dense classes"}, 2, {"'7'"}},
    // numbers
    {{"--clients", "0"}, 2, {"clients", "0", "pathological", "1"}},
    {{"--clients", "-1"}, 2, {"clients", "-1", "0", "10000000"}},
    {{"--clients=-1"}, 2, {"clients", "-1", "0", "10000000"}},
    {{"--clients", "1.5"}, 2, {"clients", "1.5"}},
    {{"--clients", "nan"}, 2, {"clients", "nan"}},
    {{"--clients", "many"}, 2, {"clients", "many"}},
    {{"--clients", ""}, 2, {"clients", "''"}},
    {{"--clients", "181"}, 2, {"clients", "181", "1", "180"}},
    {{"--clients", "99999999999999999999"}, 2, {"clients", "99999999999999999999", "0", "10000000"}},
    {{"--rounds", "0"}, 2, {"rounds", "0", "1"}},
    {{"--rounds", "5000000000"}, 2, {"rounds", "5000000000", "1", "2000000000"}},
    {{"--batch", "0"}, 2, {"batch", "0", "1"}},
    {{"--local-epochs", "0"}, 2, {"local-epochs", "0", "1"}},
    {{"--evaluate-every", "0"}, 2, {"evaluate-every", "0", "1"}},
    {{"--evaluate-rows", "-1"}, 2, {"evaluate-rows", "-1", "0"}},
    {{"--evaluate-rows", "61"}, 2, {"evaluate-rows", "61", "60", "0"}},
    {{"--cohort", "fixed", "--cohort-size", "4"}, 2, {"cohort-size", "4", "3"}},
    {{"--cohort", "fixed", "--cohort-size", "2", "--clients", "1"}, 2, {"cohort-size", "2", "1"}},
    {{"--threads", "-1"}, 2, {"threads", "-1", "0", "1024"}},
    {{"--threads", "2000"}, 2, {"threads", "2000", "0", "1024"}},
    {{"--seed", "-1"}, 2, {"seed", "-1", "0"}},
    {{"--limit-per-client", "-1"}, 2, {"limit-per-client", "-1", "0"}},
    {{"--learning-rate", "0"}, 2, {"learning-rate", "0"}},
    {{"--learning-rate", "-1"}, 2, {"learning-rate", "-1", "0"}},
    {{"--learning-rate=-1"}, 2, {"learning-rate", "-1", "0"}},
    {{"--learning-rate", "nan"}, 2, {"learning-rate", "nan", "0"}},
    {{"--learning-rate", "-inf"}, 2, {"learning-rate", "-inf", "0"}},
    {{"--learning-rate", "inf"}, 2, {"learning-rate", "inf", "0"}},
    {{"--learning-rate", "1e999"}, 2, {"learning-rate", "1e999", "0"}},
    {{"--learning-rate", "0,1"}, 2, {"learning-rate", "0,1", "0"}},
    {{"--tolerance", "0"}, 2, {"tolerance", "0"}},
    {{"--partition", "dirichlet", "--alpha", "0"}, 2, {"alpha", "0"}},
    {{"--partition", "dirichlet", "--alpha", "nan"}, 2, {"alpha", "nan", "0"}},
    {{"--partition", "interpolated", "--random-fraction", "1.1"}, 2, {"random-fraction", "1.1", "0", "1"}},
    {{"--partition", "interpolated", "--random-fraction", "-0.1"}, 2, {"random-fraction", "-0.1", "0", "1"}},
    {{"--validation-fraction", "1"}, 2, {"validation-fraction", "1", "0"}},
    {{"--validation-fraction", "-0.1"}, 2, {"validation-fraction", "-0.1", "0"}},
    {{"--validation-fraction", "nan"}, 2, {"validation-fraction", "nan", "0"}},
    {{"--validation-fraction", "0.999"}, 2, {"validation-fraction", "0.999", "180"}},
    {{"--optimizer", "heavy-ball", "--momentum", "1"}, 2, {"momentum", "1", "0"}},
};

}  // namespace

TEST_CASE("what is typed wrongly is refused in one line that names it and what is valid, and nothing is left behind") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  for (const auto& row : kRefusals) check_refused(row, folder);
}

TEST_CASE("output that cannot be written is a failure, not a success") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  const Words arguments{"partition", "--data", folder / "data", "--clients", "3", "--json"};
  const Process process(arguments, folder, "/dev/full");
  CHECK(process.wait() == 1);
  CHECK(names(process.err(), {"standard output", "No space left on device"}));
}

}  // namespace fedstride::test::bad_input_test
