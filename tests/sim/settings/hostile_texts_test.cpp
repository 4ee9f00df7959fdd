// Texts that a peer or a file can send, mutated: nested deeply, made long, with other numbers. Each is read, or refused in one line,
// in bounded time and on a small stack.
#include <doctest/doctest.h>
#include <pthread.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "data/schema.hpp"
#include "dp/ledger/ledger.hpp"
#include "nn/safetensors.hpp"
#include "partitions/own_rows.hpp"
#include "sim/run/run.hpp"
#include "sim/settings/configuration.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test::hostile_texts_test {
namespace {

constexpr std::size_t kStack = std::size_t{1} << 20;  // an eighth of what a thread usually has
constexpr double kSeconds = 5;

struct Reader {
  std::string name;
  std::string seed;
  std::function<void(const std::string&)> read;
};

std::string tensors_file(const std::string& header) {
  std::uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes + header + std::string(16, '\0');
}

std::vector<Reader> readers(const TemporaryFolder& folder) {
  const auto from_file = [&folder](const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
    return folder / name;
  };
  return {
      {"settings", "dataset = 'synthetic'\nrounds = 3\nlearning-rate = 0.5\npartition = 'dirichlet'\nalpha = 0.3\n",
       [](const std::string& text) { resolve(parse_settings(text, "the coordinator's settings")); }},
      {"json", R"({"a": [1, 2.5, "x"], "b": {"c": null}})", [](const std::string& text) { parse_json(text); }},
      {"schema", read_file(folder / "run/schema.json"), [](const std::string& text) { read_schema(text, "the schema"); }},
      {"tensors",
       R"({"__metadata__": {"fedstride.model": "dense classes"}, "w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}})",
       [](const std::string& text) { parse_safetensors(tensors_file(text), "a peer's model"); }},
      {"model", "conv 8 3 | relu | repeat 2 { residual { conv 8 3 1 1 | relu } } | dense classes",
       [](const std::string& text) {
         Model::parse(text, {32, 32, 3}, 10);
       }},
      {"roster",
       roster_line(0, {.rows = 10, .data_hash = std::string(64, '0'), .columns = {"age"}, .users = {{2, 5}}}) + "\n" +
           roster_line(1, {.rows = 20, .data_hash = std::string(64, '1'), .columns = {"age"}, .users = {{1, 20}}}) + "\n",
       [=](const std::string& text) { read_roster(from_file("roster.jsonl", text), 2); }},
      {"ledger", read_file(folder / "run/ledger.jsonl"),
       [=](const std::string& text) { read_ledger(from_file("ledger.jsonl", text)); }},
  };
}

/// The seed with a mutation at every place where one may matter.
std::vector<std::string> mutations(const std::string& seed) {
  std::vector<std::string> texts;
  std::vector<std::size_t> places{0, seed.size()};
  for (std::size_t i = 0; i < seed.size(); ++i)
    if (std::string_view("{}[]\"'=:|,\n .").find(seed[i]) != std::string_view::npos) places.push_back(i + 1);
  const auto many = [](std::string_view piece, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += piece;
    return text;
  };
  const std::vector<std::string> pieces{many("[", 100'000),
                                        many("{", 100'000),
                                        many("{\"a\":", 50'000),
                                        many("a.", 50'000),
                                        many("[a.", 20'000) + "b]\n",
                                        many("{a=", 50'000),
                                        many("repeat 2 { ", 20'000),
                                        many("residual { ", 20'000),
                                        "\n[" + many("a.", 20'000) + "a]\n",
                                        "\n[[" + many("a.", 5'000) + "a]]\nb = 1\n",
                                        std::string(1 << 20, 'x'),
                                        std::string(1 << 18, '9'),
                                        many("-", 100'000),
                                        many("'", 10'001),
                                        many("\"", 10'001),
                                        std::string(1000, '\0'),
                                        "\xff\xfe\xc0",
                                        many("\\u0000", 1000),
                                        "1e999999999",
                                        "-0",
                                        "nan",
                                        "18446744073709551616",
                                        "0x7fffffffffffffff"};
  for (const std::string& piece : pieces)
    for (std::size_t place : {std::size_t{0}, seed.size()}) texts.push_back(std::string(seed).insert(place, piece));
  for (const std::size_t place : places)
    for (const std::string& piece : {many("[", 2000), many("{\"a\":", 2000), many("a.", 2000), std::string("1e400"),
                                     std::string(5000, '7'), std::string("\0", 1)})
      texts.push_back(std::string(seed).insert(place, piece));
  // Every number in turn.
  for (std::size_t i = 0; i < seed.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(seed[i])) == 0) continue;
    std::size_t end = i;
    while (end < seed.size() && (std::isdigit(static_cast<unsigned char>(seed[end])) != 0 || seed[end] == '.')) ++end;
    for (const char* number : {"-1", "0", "2147483648", "4294967296", "18446744073709551615", "18446744073709551616", "1e308",
                               "1e400", "1e-400", "nan", "inf", "0.1"})
      texts.push_back(seed.substr(0, i) + number + seed.substr(end));
    i = end;
  }
  for (std::size_t size = 0; size < seed.size(); ++size) texts.push_back(seed.substr(0, size));
  return texts;
}

/// Runs the work on a thread with a small stack.
void on_small_stack(std::function<void()> work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_t thread{};
  const auto run = [](void* what) -> void* {
    (*static_cast<std::function<void()>*>(what))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, &work) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE("deep, long and numerically odd texts are read, or refused in one line, in bounded time and stack") {
  const TemporaryFolder folder;
  std::ofstream(folder / "table.csv") << "age,ill\n20,0\n30,1\n40,0\n50,1\n60,0\n70,1\n";
  start(parse_settings(
      "data = '" + (folder / "table.csv") +
          "'\nheader = 'yes'\nclasses = 2\nrange = '0,100'\npartition = 'iid'\nclients = 2\nrounds = 1\ndp = 'client'\n"
          "clip = 1\nnoise-multiplier = 1\nmodel = 'dense classes'\nout = '" +
          (folder / "run") + "'\n",
      "test"));
  for (const Reader& reader : readers(folder)) {
    CAPTURE(reader.name);
    std::size_t refused = 0, read = 0;
    try {
      reader.read(reader.seed);
    } catch (const std::exception& error) {
      FAIL_CHECK(reader.name << ": " << error.what());
    }
    for (const std::string& text : mutations(reader.seed)) {
      std::string why;
      const auto begun = std::chrono::steady_clock::now();
      on_small_stack([&] {
        try {
          reader.read(text);
          ++read;
        } catch (const Error& error) {
          ++refused;
          why = error.what();
          if (why.empty() || why.find('\n') != std::string::npos || why.size() > Error::kMostBytes)
            why = "BAD: " + why.substr(0, 300);
        } catch (const std::exception& error) {
          why = std::string("BAD: not an Error: ") + error.what();
        }
      });
      INFO(text.substr(0, 200));
      CHECK_MESSAGE(!why.starts_with("BAD"), why);
      CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() < kSeconds);
    }
    CHECK(read + refused > 100);
    MESSAGE(reader.name << ": " << read << " read, " << refused << " refused");
  }
}

}  // namespace fedstride::test::hostile_texts_test
