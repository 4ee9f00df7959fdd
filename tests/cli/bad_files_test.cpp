#include "tests/cli/refusal.hpp"

namespace fedstride::test::bad_files_test {

namespace fs = std::filesystem;

namespace {

void put(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  const fs::path path = folder.path() / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void damage(const TemporaryFolder& folder, const std::string& run, const std::string& name, const std::string& bytes) {
  fs::copy(folder / "run", folder / run, fs::copy_options::recursive);
  put(folder, run + "/" + name, bytes);
}

// CIFAR-10 as six files of two records; one of them instead as `third`.
void put_cifar(const TemporaryFolder& folder, const std::string& place, const std::string& third) {
  const std::string record = std::string(1, '\1') + std::string(3072, '\7');
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"})
    put(folder, place + "/" + name, record + record);
  if (third != "missing") put(folder, place + "/data_batch_3.bin", third);
}

void put_data(const TemporaryFolder& folder) {
  write_table(folder / "data");
  put(folder, "nothing/train.csv", "");
  put(folder, "short-line/train.csv", "1,2,0\n1,2,1\n3,4\n");
  put(folder, "huge-label/train.csv", "1,2,0\n1,2,1\n3,4,99999999\n");
  put(folder, "nan/train.csv", "1,2,0\n3,nan,1\n");
  put(folder, "one-class/train.csv", "1,2,0\n1,2,0\n");
  put(folder, "noise/train.csv.gz", "\x1f\x8b\x08 this is not gzip at all");
  put_cifar(folder, "cifar-cut", std::string(3000, '\0'));
  put_cifar(folder, "cifar-label", std::string(1, '\x0b') + std::string(3072, '\0'));
  put_cifar(folder, "cifar-missing", "missing");
}

void put_configurations(const TemporaryFolder& folder) {
  put(folder, "binary.toml", std::string("\0\1\2\3\xff", 5));
  put(folder, "twice.toml", "rounds = 3\nrounds = 4\n");
  put(folder, "table.toml", "[run]\nrounds = 3\n");
  put(folder, "dotted.toml", "a.b = 3\n");
  put(folder, "key.toml", "runds = 3\n");
  put(folder, "strange-key.toml", "\"ru\\nnds\\u001b[2J\" = 4\n");
  put(folder, "quoted.toml", "rounds = '3'\n");
  put(folder, "fraction.toml", "rounds = 3.5\n");
  put(folder, "list.toml", "rounds = [3]\n");
  put(folder, "date.toml", "rounds = 1979-05-27\n");
  put(folder, "huge.toml", "rounds = 99999999999999999999\n");
  put(folder, "nan.toml", "learning-rate = nan\n");
  put(folder, "one.toml", "quiet = 1\n");
  put(folder, "number.toml", "optimizer = 5\n");
  put(folder, "latin1.toml", "model = 'caf\xe9'\n");
  put(folder, "half.toml", "rounds = \n");
  put(folder, "large.toml", std::string(2'000'000, '#'));
}

void put_partitions(const TemporaryFolder& folder) {
  put(folder, "twice.json", R"({"clients": [[0, 1], [1, 2], [3]]})");
  put(folder, "outside.json", R"({"clients": [[0, 1], [180], [3]]})");
  put(folder, "minus.json", R"({"clients": [[0, 1], [-2], [3]]})");
  put(folder, "missing.json", R"({"clients": [[0, 1], [2], [3]]})");
  put(folder, "two.json", R"({"clients": [[0, 1], [2]]})");
  put(folder, "list.json", "[1, 2]");
  put(folder, "cut.json", R"({"clients": [[0, 1)");
}

// A finished run, and copies of it with one file damaged each.
void put_runs(const TemporaryFolder& folder) {
  REQUIRE(run_program(federation(folder, {"--out", folder / "run", "--quiet"})).code == 0);
  const std::string checkpoint = fedstride::read_file(folder / "run/checkpoint");
  const std::string rounds = fedstride::read_file(folder / "run/rounds.jsonl");
  const std::string model = fedstride::read_file(folder / "run/model.safetensors");
  const std::string configuration = fedstride::read_file(folder / "run/config.toml");
  std::string flipped = checkpoint;
  flipped[flipped.size() / 2] ^= 1;
  damage(folder, "checkpoint-flipped", "checkpoint", flipped);
  damage(folder, "checkpoint-cut", "checkpoint", checkpoint.substr(0, checkpoint.size() / 2));
  damage(folder, "checkpoint-empty", "checkpoint", "");
  damage(folder, "checkpoint-later", "checkpoint", "fedstride checkpoint 99\n");
  damage(folder, "checkpoint-none", "summary.json", "");
  fs::remove(folder / "checkpoint-none/checkpoint");
  std::string altered = rounds;
  altered[altered.find("\"examples\":") + 11] ^= 1;
  damage(folder, "rounds-altered", "rounds.jsonl", altered);
  damage(folder, "rounds-cut", "rounds.jsonl", rounds.substr(0, rounds.size() / 2));
  std::string other = configuration;
  other.replace(other.find("seed = 1"), 8, "seed = 2");
  damage(folder, "seed-altered", "config.toml", other);
  damage(folder, "configuration-cut", "config.toml", configuration.substr(0, configuration.find("seed = ") + 7));
  put(folder, "cut.safetensors", model.substr(0, model.size() / 2));
  put(folder, "huge-header.safetensors", std::string(7, '\xff') + "\x7f{}");
  put(folder, "garbage.safetensors", std::string(64, '\7'));
  put(folder, "empty.safetensors", "");
  std::string renamed = model;
  for (std::size_t at = renamed.find("fc1"); at != std::string::npos; at = renamed.find("fc1", at)) renamed.replace(at, 3, "xy1");
  put(folder, "renamed.safetensors", renamed);
}

const Refusal kRefusals[] = {
    // data
    {{"--data", "@/nowhere"}, 1, {"@/nowhere"}},
    {{"--data", "@/nothing"}, 1, {"@/nothing"}},
    {{"--data", "@/short-line"}, 1, {"@/short-line/train.csv", "3", "2"}},
    {{"--data", "@/huge-label"}, 1, {"@/huge-label/train.csv", "99999999", "65534"}},
    {{"--data", "@/nan"}, 1, {"@/nan/train.csv", "2", "nan"}},
    {{"--data", "@/one-class"}, 1, {"'file'", "0"}},
    {{"--data", "@/noise"}, 1, {"@/noise/train.csv.gz"}},
    {{"--dataset", "cifar10", "--data-dir", "@/nowhere"}, 1, {"cifar10"}},
    {{"--dataset", "cifar10", "--data-dir", "@/cifar-cut"}, 1, {"data_batch_3.bin", "3000"}},
    {{"--dataset", "cifar10", "--data-dir", "@/cifar-label"}, 1, {"data_batch_3.bin", "11", "0", "9"}},
    {{"--dataset", "cifar10", "--data-dir", "@/cifar-missing"}, 1, {"data_batch_3.bin"}},
    {{"data", "verify", "cifar10", "--data-dir", "@/cifar-cut"}, 1, {"data_batch_3.bin", "3000"}},
    // configuration files
    {{"--config", "@/nowhere.toml"}, 1, {"@/nowhere.toml"}},
    {{"--config", "@/data"}, 1, {"@/data"}},
    {{"--config", "@/large.toml"}, 1, {"@/large.toml", "1048576"}},
    {{"--config", "@/binary.toml"}, 2, {"@/binary.toml", "1"}},
    {{"--config", "@/latin1.toml"}, 2, {"@/latin1.toml", "1"}},
    {{"--config", "@/half.toml"}, 2, {"@/half.toml", "1"}},
    {{"--config", "@/twice.toml"}, 2, {"@/twice.toml", "2"}},
    {{"--config", "@/table.toml"}, 2, {"@/table.toml", "run", "1"}},
    {{"--config", "@/dotted.toml"}, 2, {"@/dotted.toml", "a", "1"}},
    {{"--config", "@/key.toml"}, 2, {"@/key.toml", "runds", "rounds", "1"}},
    {{"--config", "@/strange-key.toml"}, 2, {"'ru nds [2J'"}},
    {{"--config", "@/list.toml"}, 2, {"@/list.toml", "1", "rounds"}},
    {{"--config", "@/date.toml"}, 2, {"@/date.toml", "1", "rounds"}},
    {{"--config", "@/huge.toml"}, 2, {"@/huge.toml", "99999999999999999999"}},
    {{"--config", "@/nan.toml"}, 2, {"learning-rate", "nan", "0"}},
    {{"--config", "@/one.toml"}, 2, {"quiet", "1"}},
    {{"--config", "@/number.toml"}, 2, {"optimizer", "5"}},
    {{"run", "--config", "@/quoted.toml"}, 2, {"rounds", "3"}},
    {{"run", "--config", "@/fraction.toml"}, 2, {"rounds", "3.5"}},
    // partitions
    {{"--partition", "file"}, 2, {"partition-file"}},
    {{"--partition", "file", "--partition-file", "@/nowhere"}, 1, {"@/nowhere"}},
    {{"--partition", "file", "--partition-file", "@/twice.json"}, 1, {"@/twice.json", "1"}},
    {{"--partition", "file", "--partition-file", "@/outside.json"}, 1, {"@/outside.json", "1", "180", "0", "179"}},
    {{"--partition", "file", "--partition-file", "@/minus.json"}, 1, {"@/minus.json", "1", "-2", "0", "179"}},
    {{"--partition", "file", "--partition-file", "@/missing.json"}, 1, {"@/missing.json", "176", "4"}},
    {{"--partition", "file", "--partition-file", "@/two.json"}, 2, {"clients", "3", "@/two.json", "2"}},
    {{"--partition", "file", "--partition-file", "@/list.json"}, 1, {"@/list.json", "clients"}},
    {{"--partition", "file", "--partition-file", "@/cut.json"}, 1, {"@/cut.json"}},
    {{"partition", "--data", "@/data", "--clients", "3", "--manifest", "@/nowhere/p.json"}, 1, {"@/nowhere/p.json"}},
    {{"partition", "--data", "@/data", "--clients", "3", "--manifest", "@/data"}, 1, {"@/data"}},
    // model files
    {{"--init", "@/nowhere"}, 1, {"@/nowhere"}},
    {{"--init", "@/garbage.safetensors"}, 1, {"@/garbage.safetensors"}},
    {{"--init", "@/renamed.safetensors"}, 1, {"@/renamed.safetensors"}},
    {{"evaluate", "@/nowhere"}, 2, {"@/nowhere"}},
    {{"evaluate", "@/data"}, 1, {"@/data/model.safetensors"}},
    {{"evaluate", "@/garbage.safetensors"}, 1, {"@/garbage.safetensors"}},
    {{"evaluate", "@/huge-header.safetensors"}, 1, {"@/huge-header.safetensors"}},
    {{"evaluate", "@/empty.safetensors"}, 1, {"@/empty.safetensors"}},
    {{"evaluate", "@/cut.safetensors"}, 1, {"@/cut.safetensors"}},
    {{"evaluate", "@/run", "--data", "@/nowhere"}, 1, {"@/nowhere"}},
    {{"evaluate", "@/run", "--dataset", "nope"}, 2, {"dataset", "nope"}},
    {{"evaluate", "@/renamed.safetensors", "--data", "@/data"}, 1, {"fc1"}},
    // folders of results
    {{"--out", "@/run"}, 2, {"out", "@/run", "--resume"}},
    {{"--out", "@/data/train.csv"}, 2, {"out", "@/data/train.csv"}},
    {{"--out", "@/data/train.csv/x"}, 1, {"@/data/train.csv/x"}},
    {{"--out", "/proc/x"}, 1, {"/proc/x"}},
    {{"--out", "@/a/b/" + std::string(300, 'c')}, 1, {"File name too long"}},
    // going on
    {{"run", "--resume", "@/nowhere"}, 2, {"resume", "@/nowhere"}},
    {{"run", "--resume", "@/data"}, 2, {"resume", "@/data"}},
    {{"run", "--resume", "@/data/train.csv"}, 2, {"resume", "@/data/train.csv"}},
    {{"run", "--resume", "@/run", "--out", "@/x"}, 2, {"--resume", "--out"}},
    {{"run", "--resume", "@/run", "--config", "@/run/config.toml"}, 2, {"--resume", "--config"}},
    {{"run", "--resume", "@/run", "--seed", "2"}, 2, {"seed", "data", "data-dir"}},
    {{"run", "--resume", "@/run", "--rounds", "1"}, 2, {"rounds", "1", "@/run", "2"}},
    {{"run", "--resume", "@/run", "--rounds", "0"}, 2, {"rounds", "0", "1"}},
    {{"run", "--resume", "@/run", "--data", "@/nowhere"}, 1, {"@/nowhere"}},
    {{"run", "--resume", "@/checkpoint-flipped"}, 1, {"@/checkpoint-flipped/checkpoint"}},
    {{"run", "--resume", "@/checkpoint-cut"}, 1, {"@/checkpoint-cut/checkpoint"}},
    {{"run", "--resume", "@/checkpoint-empty"}, 1, {"@/checkpoint-empty/checkpoint"}},
    {{"run", "--resume", "@/checkpoint-later"}, 3, {"@/checkpoint-later/checkpoint", "8"}},
    {{"run", "--resume", "@/checkpoint-none"}, 1, {"@/checkpoint-none/checkpoint"}},
    {{"run", "--resume", "@/rounds-altered"}, 1, {"@/rounds-altered/rounds.jsonl"}},
    {{"run", "--resume", "@/rounds-cut"}, 1, {"@/rounds-cut/rounds.jsonl"}},
    {{"run", "--resume", "@/seed-altered"}, 1, {"@/seed-altered"}},
    {{"run", "--resume", "@/configuration-cut"}, 2, {"@/configuration-cut/config.toml"}},
};

}  // namespace

TEST_CASE("files that are missing, damaged or make no sense are refused in one line that names them, and left as they were") {
  const TemporaryFolder folder;
  put_data(folder);
  put_configurations(folder);
  put_partitions(folder);
  put_runs(folder);
  for (const auto& row : kRefusals) check_refused(row, folder);
}

TEST_CASE("data that changed since a run began are recognized: it does not go on with them") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  REQUIRE(run_program(federation(folder, {"--quiet"})).code == 0);
  write_table(folder / "data", 183);
  check_refused({{"run", "--resume", "@/out", "--rounds", "3"}, 1, {"@/out"}}, folder);
}

}  // namespace fedstride::test::bad_files_test
