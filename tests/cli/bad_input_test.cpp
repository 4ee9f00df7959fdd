#include "tests/cli/refusal.hpp"

namespace fedstride::test::bad_input_test {
namespace {

// Bad words on the command line.
const Refusal kRefusals[] = {
    // commands and flags
    {{}, 2, "'fedstride' needs a command: run, sweep, report, export, evaluate, partition, data, bench"},
    {{""}, 2, "command '' is unknown; valid: run"},
    {{"rum"}, 2, "command 'rum' is unknown; did you mean 'run'?"},
    {{"-x"}, 2, "flag '-x' is unknown"},
    {{"data"}, 2, "'fedstride data' needs a command: show, list, verify, roster, get"},
    {{"data", "lst"}, 2, "command 'lst' is unknown; did you mean 'list'?"},
    {{"data", "roster", "csv", "--data-dir", "."}, 2, "--client is required"},
    {{"data", "roster", "csv", "--client", "-1"}, 2, "client is '-1'; it must be a whole number from 0 to 1000000"},
    {{"data", "list", "x"}, 2, "'x' was not expected after 'fedstride data list'"},
    {{"data", "verify"}, 2, "NAME is required; see 'fedstride data verify --help'"},
    {{"data", "verify", "csv", "--datadir", "x"}, 2, "flag '--datadir' is unknown; did you mean '--data-dir'?"},
    {{"data", "verify", "cifar"}, 2, "dataset 'cifar' is unknown; did you mean 'cifar10'?"},
    {{"data", "get", "csv"}, 2, "'csv' is not to be downloaded"},
    {{"data", "get", "cifar10", "--url", ""}, 2, "url is ''; it must name a place"},
    {{"--lerning-rate", "1"}, 2, "flag '--lerning-rate' is unknown; did you mean '--learning-rate'?"},
    {{"--lerning-rate=1"}, 2, "flag '--lerning-rate' is unknown; did you mean '--learning-rate'?"},
    {{"--seed", "1", "extra"}, 2, "'extra' was not expected after 'fedstride run'"},
    {{"--learning-rate"}, 2, "flag '--learning-rate' needs a value; see 'fedstride run --help'"},
    {{"--learning-rate", "--quiet"}, 2, "learning-rate is '--quiet'; it must be a number above 0"},
    {{"--seed", "1", "--seed", "x"}, 2, "seed is 'x'; it must be a whole number from 0"},
    {{"--config", "a", "--config", ""}, 2, "config is ''; it must name a place"},
    {{"--config", ""}, 2, "config is ''; it must name a place"},
    {{"--resume", ""}, 2, "resume is ''; it must name a place"},
    {{"--out", ""}, 2, "out is ''; it must name a place"},
    {{"partition", "--manifest", ""}, 2, "manifest is ''; it must name a place"},
    {{"partition", "--json", "rows.json"}, 2, "'rows.json' was not expected after 'fedstride partition'"},
    {{"partition", "--optimizer", "sgd"}, 2, "flag '--optimizer' is unknown; 'fedstride partition --help' lists them"},
    {{"evaluate"}, 2, "MODEL is required; see 'fedstride evaluate --help'"},
    {{"evaluate", "a", "b"}, 2, "'b' was not expected after 'fedstride evaluate'"},
    {{"evaluate", "a", "--part", "x"}, 2, "part 'x' is unknown; valid: test, train"},
    {{"evaluate", "a", "--threads", "-1"}, 2, "threads is '-1'; it must be a whole number from 0 to 1024"},
    {{"evaluate", "a", "--threads", "x"}, 2, "threads is 'x'; it must be a whole number from 0 to 1024"},
    {{"bench", "--batch", "0"}, 2, "batch is '0'; it must be a whole number from 1 to 100000"},
    {{"bench", "--batch", "1.5"}, 2, "batch is '1.5'; it must be a whole number from 1 to 100000"},
    {{"bench", "--seconds", "nan"}, 2, "seconds is 'nan'; it must be a number above 0 and up to 600"},
    {{"bench", "--model", "dense"}, 2, "layer 1 'dense'"},
    // families
    {{"--dataset", "csb"}, 2, "dataset 'csb' is unknown; did you mean 'csv'? valid: synthetic, synthetic-li"},
    {{"--dataset", ""}, 2, "dataset '' is unknown; valid: synthetic"},
    {{"--dataset", "a\nb\x1b[31m"}, 2, "dataset 'a b [31m' is unknown"},
    {{"--optimizer", "agd"}, 2, "optimizer 'agd' is unknown; did you mean 'sgd'? valid: adadp, sgd"},
    {{"--optimizer", ""}, 2, "optimizer '' is unknown; valid: adadp"},
    {{"--partition", "idd"}, 2, "partition 'idd' is unknown; did you mean 'iid'? valid: pathological"},
    {{"--augment", "crop"}, 2, "augment 'crop' is unknown; valid: none, crop-flip"},
    {{"--augment", "crop-flip"}, 2, "augment is 'crop-flip'; data set 'csv' has no pictures"},
    {{"--client-state", "x"}, 2, "client-state 'x' is unknown; valid: auto, keep, reset"},
    {{"--random-fraction", "0.5"}, 2, "random-fraction does not go with partition 'pathological'"},
    {{"--optimizer", "sgd", "--tolerance", "1"}, 2, "tolerance does not go with optimizer 'sgd'; its settings: learning-rate"},
    {{"--freeze", "conv9"}, 2, "'conv9' is unknown; valid: fc1"},
    // layers
    {{"--model", "adadp-cn"}, 2, "model 'adadp-cn' is unknown; did you mean 'adadp-cnn'?"},
    {{"--model", ""}, 2, "model '' is unknown; valid: adadp-cnn"},
    {{"--model", "adadp-cnn"}, 2, "layer 1 'conv 64 3' needs a picture, but reads a row of 3 values"},
    {{"--model", "dense 8 |"}, 2, "layer 2 of the model is empty"},
    {{"--model", "dense 8 | relu"}, 2, "layer 2 'relu' cannot be the last"},
    {{"--model", "dens 8 | dense classes"}, 2, "layer 1 'dens' is unknown; did you mean 'dense'?"},
    {{"--model", "dense 0 | dense classes"}, 2, "a whole number from 1 to 1048576, not '0'"},
    {{"--model", "dense -5 | dense classes"}, 2, "a whole number from 1 to 1048576, not '-5'"},
    {{"--model", "dense 99999999999 | dense classes"}, 2, "a whole number from 1 to 1048576, not '99999999999'"},
    {{"--model", "dropout 1.5 | dense classes"}, 2, "a number from 0 to below 1, not '1.5'"},
    {{"--model", "dense 5 7 | dense classes"}, 2, "'7' is not understood"},
    // numbers
    {{"--clients", "0"}, 2, "clients is 0; with partition 'pathological' it must be a whole number from 1"},
    {{"--clients", "-1"}, 2, "clients is -1; it must be a whole number from 0 to 10000000"},
    {{"--clients=-1"}, 2, "clients is -1; it must be a whole number from 0 to 10000000"},
    {{"--clients", "1.5"}, 2, "clients is '1.5'; it must be a whole number"},
    {{"--clients", "nan"}, 2, "clients is 'nan'; it must be a whole number"},
    {{"--clients", "many"}, 2, "clients is 'many'; it must be a whole number"},
    {{"--clients", ""}, 2, "clients is ''; it must be a whole number"},
    {{"--clients", "181"}, 2, "clients is 181; it must be a whole number from 1 to 180, the number of training rows"},
    {{"--clients", "99999999999999999999"}, 2, "clients is '99999999999999999999'; it must be a whole number from 0 to 10000000"},
    {{"--rounds", "0"}, 2, "rounds is 0; it must be a whole number from 1"},
    {{"--rounds", "5000000000"}, 2, "rounds is '5000000000'; it must be a whole number from 1 to 2000000000"},
    {{"--batch", "0"}, 2, "batch is 0; it must be a whole number from 1"},
    {{"--local-epochs", "0"}, 2, "local-epochs is 0; it must be a whole number from 1"},
    {{"--evaluate-every", "0"}, 2, "evaluate-every is 0; it must be a whole number from 1"},
    {{"--evaluate-rows", "-1"}, 2, "evaluate-rows is -1; it must be a whole number from 0"},
    {{"--evaluate-rows", "61"}, 2, "evaluate-rows is 61; the test part has 60 rows, at most that many are valid, or 0 for all"},
    {{"--cohort", "fixed", "--cohort-size", "4"}, 2, "cohort-size is 4; there are 3 clients, at most that many are valid"},
    {{"--cohort", "fixed", "--cohort-size", "2", "--clients", "1"}, 2, "cohort-size is 2; there is 1 client, at most"},
    {{"--threads", "-1"}, 2, "threads is -1; it must be a whole number from 0 to 1024"},
    {{"--threads", "2000"}, 2, "threads is 2000; it must be a whole number from 0 to 1024"},
    {{"--seed", "-1"}, 2, "seed is '-1'; it must be a whole number from 0"},
    {{"--limit-per-client", "-1"}, 2, "limit-per-client is -1; it must be a whole number from 0"},
    {{"--learning-rate", "0"}, 2, "learning-rate is 0; it must be a number above 0"},
    {{"--learning-rate", "-1"}, 2, "learning-rate is -1; it must be a number above 0"},
    {{"--learning-rate=-1"}, 2, "learning-rate is -1; it must be a number above 0"},
    {{"--learning-rate", "nan"}, 2, "learning-rate is nan; it must be a number above 0"},
    {{"--learning-rate", "-inf"}, 2, "learning-rate is -inf; it must be a number above 0"},
    {{"--learning-rate", "inf"}, 2, "learning-rate is inf; it must be a number above 0"},
    {{"--learning-rate", "1e999"}, 2, "learning-rate is '1e999'; it must be a number above 0"},
    {{"--learning-rate", "0,1"}, 2, "learning-rate is '0,1'; it must be a number above 0"},
    {{"--tolerance", "0"}, 2, "tolerance is 0; it must be a number above 0"},
    {{"--partition", "dirichlet", "--alpha", "0"}, 2, "alpha is 0; it must be a number above 0"},
    {{"--partition", "dirichlet", "--alpha", "nan"}, 2, "alpha is nan; it must be a number above 0"},
    {{"--partition", "interpolated", "--random-fraction", "1.1"}, 2, "random-fraction is 1.1; it must be a number from 0 to 1"},
    {{"--partition", "interpolated", "--random-fraction", "-0.1"}, 2, "random-fraction is -0.1; it must be a number from 0 to 1"},
    {{"--validation-fraction", "1"}, 2, "validation-fraction is 1; it must be a number from 0 and below 1"},
    {{"--validation-fraction", "-0.1"}, 2, "validation-fraction is -0.1; it must be a number from 0"},
    {{"--validation-fraction", "nan"}, 2, "validation-fraction is nan; it must be a number from 0"},
    {{"--validation-fraction", "0.999"}, 2, "validation-fraction 0.999 leaves none of 180 rows for training"},
    {{"--optimizer", "heavy-ball", "--momentum", "1"}, 2, "momentum is 1; it must be a number from 0 and below 1"},
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
  const Words arguments{"partition", "--dataset", "csv", "--data-dir", folder / "data", "--clients", "3", "--json"};
  const Process process(arguments, folder, "/dev/full");
  CHECK(process.wait() == 1);
  CHECK(process.err() == "fedstride: cannot write to standard output: No space left on device\n");
}

}  // namespace fedstride::test::bad_input_test
