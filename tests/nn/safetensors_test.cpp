#include "nn/safetensors.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <limits>

#include "core/files.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::safetensors_test {
namespace {

std::string file_of(std::string header, std::size_t data_bytes) {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data_bytes, '\0');
}

/// The bytes are refused with a failure that names the file 'x' and these.
void check_refused(const std::string& bytes, std::initializer_list<std::string_view> parts) {
  const std::string message = error_of_kind(Error::Kind::failure, [&] { parse_safetensors(bytes, "x"); });
  CAPTURE(message);
  CHECK(names(message, {"'x'"}));
  CHECK(names(message, parts));
}

const char* const kCnn = "conv 3 2 | relu | dense 4 nobias | dropout 0.5 | dense classes";

}  // namespace

TEST_CASE("a model written and read is the same model with the same weights") {
  const auto model = Model::parse(kCnn, {4, 3, 2}, 5);
  const Vector weights = model.initial(Initialization::fan_in, 3);
  const auto file = parse_safetensors(write_safetensors(model, weights, {{"note", "a \"b\"\n"}}), "x");
  CHECK(file.metadata.at("note") == "a \"b\"\n");
  CHECK(file.metadata.at("fedstride.model") == model.line());
  CHECK(file.tensors.size() == 5);
  const auto again = model_of(file);
  CHECK(again.line() == model.line());
  CHECK(again.input() == model.input());
  CHECK(again.classes() == 5);
  CHECK(exact(again, file) == weights);
}

TEST_CASE("a model's file survives the disk") {
  const auto path = std::filesystem::temp_directory_path() / "fedstride_safetensors_test.safetensors";
  const auto model = Model::parse("dense classes", {1, 1, 3}, 2);
  write_file(path, write_safetensors(model, model.initial(Initialization::fan_in, 1)));
  const auto file = read_safetensors(path);
  std::filesystem::remove(path);
  CHECK(file.origin == path.string());
  CHECK(exact(model, file) == model.initial(Initialization::fan_in, 1));
  CHECK_THROWS_AS(read_safetensors(path), Error);
}

TEST_CASE("tensors are written in PyTorch's layout") {
  // One filter of 1x2 places and 2 channels: inside [column][channel], in the file [channel][column].
  const auto model = Model::parse("conv 1 2 nobias | dense classes nobias", {3, 3, 2}, 2);
  Vector weights(model.size());
  for (std::size_t i = 0; i < 8; ++i) weights[i] = static_cast<float>(i);
  // Inside [place 0..3][output 0..1], in the file [output][place] (one channel).
  const auto offset = model.find("fc1.weight")->offset;
  for (std::size_t i = 0; i < 8; ++i) weights[offset + i] = static_cast<float>(10 + i);
  const auto file = parse_safetensors(write_safetensors(model, weights), "x");
  CHECK(file.tensors.at("conv1.weight").shape == std::vector<std::int64_t>{1, 2, 2, 2});
  CHECK(file.tensors.at("conv1.weight").values == std::vector<float>{0, 2, 4, 6, 1, 3, 5, 7});
  CHECK(file.tensors.at("fc1.weight").shape == std::vector<std::int64_t>{2, 4});
  CHECK(file.tensors.at("fc1.weight").values == std::vector<float>{10, 12, 14, 16, 11, 13, 15, 17});
}

TEST_CASE("the tensors of a file begin at a multiple of eight bytes, in the model's order") {
  const auto model = Model::parse(kCnn, {4, 3, 2}, 5);
  const std::string bytes = write_safetensors(model, Vector(model.size()));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  CHECK(length % 8 == 0);
  CHECK(bytes.size() == 8 + length + 4 * model.parameter_count());
  CHECK(bytes.substr(8, length).find("\"data_offsets\":[0,96],\"dtype\":\"F32\",\"shape\":[3,2,2,2]") != std::string::npos);
}

TEST_CASE("--init takes the tensors whose names and shapes match and says which") {
  const auto source = Model::parse("conv 3 2 | dense 6 | dense classes", {4, 4, 2}, 100);
  const auto target = Model::parse("conv 3 2 | dense 6 | dense classes nobias", {4, 4, 2}, 10);
  const Vector from = source.initial(Initialization::fan_in, 1);
  const auto file = parse_safetensors(write_safetensors(source, from), "x");
  Vector weights = target.initial(Initialization::fan_in, 2);
  const Vector before = weights;
  const auto report = take_matching(target, file, weights);
  CHECK(report.taken == std::vector<std::string>{"conv1.weight", "conv1.bias", "fc1.weight", "fc1.bias"});
  CHECK(report.ignored == std::vector<std::string>{"fc2.bias", "fc2.weight [100,6] (the model's is [10,6])"});
  CHECK(report.missing == std::vector<std::string>{"fc2.weight"});
  const auto head = target.find("fc2.weight")->offset;
  CHECK(std::equal(weights.begin(), weights.begin() + head, from.begin()));
  CHECK(std::equal(weights.begin() + head, weights.end(), before.begin() + head));
  CHECK_FAILURE(exact(target, file), "'x'", "'fc2.weight'", "[10,6]");
  CHECK_FAILURE(exact(Model::parse("conv 3 2 | dense classes nobias", {4, 4, 2}, 6), file), "'x'", "'fc1.bias'");
}

TEST_CASE("a weight that is not finite is refused") {
  const auto model = Model::parse("dense classes", {1, 1, 3}, 2);
  Vector weights = model.initial(Initialization::fan_in, 1);
  weights[1] = std::numeric_limits<float>::quiet_NaN();
  const auto file = parse_safetensors(write_safetensors(model, weights), "x");
  CHECK_FAILURE(exact(model, file), "'fc1.weight'", "'x'");
}

TEST_CASE("a well-formed file from another program is read") {
  const auto file = parse_safetensors(file_of(R"({"b":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]},)"
                                              R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                                              R"("e":{"dtype":"F32","shape":[0,3],"data_offsets":[12,12]}}  )",
                                              12),
                                      "x");
  CHECK(file.tensors.at("a").shape.empty());
  CHECK(file.tensors.at("a").values == std::vector<float>{0});
  CHECK(file.tensors.at("b").values.size() == 2);
  CHECK(file.tensors.at("e").values.empty());
  CHECK(file.metadata.empty());
  CHECK_FAILURE(model_of(file), "'x'", "fedstride.format");
}

TEST_CASE("damaged bytes are refused with a reason") {
  const auto tensor = [](const char* dtype, const char* shape, const char* offsets) {
    return R"({"w":{"dtype":")" + std::string(dtype) + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  check_refused("", {"8"});
  check_refused("1234567", {"8"});
  check_refused(std::string(8, '\xff'), {"truncated"});
  check_refused(file_of("{}", 0).substr(0, 9), {"truncated"});
  check_refused(file_of("[]", 0), {"JSON"});
  check_refused(file_of("{\"a\":", 0), {"JSON"});
  check_refused(file_of(std::string(100'000, '['), 0), {"3"});
  check_refused(file_of(R"({"w":{"a":{"b":{"c":1}}}})", 0), {"3"});
  check_refused(file_of(R"({"w":1})", 0), {"'w'", "object"});
  check_refused(file_of(R"({"w\n":{}})", 0), {"'w?'", "dtype"});
  check_refused(file_of(tensor("F64", "[1]", "[0,8]"), 8), {"'w'", "dtype", "'F64'", "F32"});
  check_refused(file_of(tensor("F16", "[2]", "[0,4]"), 4), {"'w'", "dtype", "'F16'", "F32"});
  check_refused(file_of(tensor("F32", "[2]", "[0,8]"), 4), {"'w'", "data_offsets", "[0,8]", "4"});
  check_refused(file_of(tensor("F32", "[2]", "[8,0]"), 8), {"'w'", "data_offsets", "[8,0]", "8"});
  check_refused(file_of(tensor("F32", "[2]", "[0,18446744073709551615]"), 8), {"'w'", "[0,18446744073709551615]", "8"});
  check_refused(file_of(tensor("F32", "[2]", "[0,8,8]"), 8), {"'w'", "data_offsets", "[0,8,8]", "8"});
  check_refused(file_of(tensor("F32", "[3]", "[0,8]"), 8), {"'w'", "shape", "[3]", "8"});
  check_refused(file_of(tensor("F32", "[-2]", "[0,8]"), 8), {"'w'", "shape", "'[-2]'"});
  check_refused(file_of(tensor("F32", "[2.0]", "[0,8]"), 8), {"'w'", "shape", "'[2.0]'"});
  check_refused(file_of(tensor("F32", "2", "[0,8]"), 8), {"'w'", "shape", "'2'"});
  check_refused(file_of(R"({"w":{"dtype":"F32","data_offsets":[0,8]}})", 8), {"'w'", "shape"});
  check_refused(file_of(tensor("F32", "[4294967296,4294967296,2]", "[0,8]"), 8), {"'w'", "[4294967296,4294967296,2]"});
  check_refused(file_of(tensor("F32", "[18446744073709551615]", "[0,8]"), 8), {"'w'", "[18446744073709551615]"});
  check_refused(file_of(tensor("F32", "[2]", "[4,12]"), 12), {"'w'", "4", "0"});
  check_refused(file_of(tensor("F32", "[2]", "[0,8]"), 12), {"8", "12"});
  check_refused(file_of(R"({"w":{"dtype":"F32","dtype":"F32"}})", 0), {"'dtype'"});
  check_refused(file_of(R"({"__metadata__":{"a":1}})", 0), {"metadata", "'a'"});
  const std::string half = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  check_refused(file_of(R"({"a":)" + half + R"(,"b":)" + half + "}", 4), {"'b'", "0", "4"});
  check_refused(file_of(R"({"a":)" + half + R"(,"a":)" + half + "}", 4), {"'a'"});
}

TEST_CASE("every cut of a file is refused") {
  const auto model = Model::parse("dense classes", {1, 1, 3}, 2);
  const std::string bytes = write_safetensors(model, model.initial(Initialization::fan_in, 1));
  for (std::size_t size = 0; size < bytes.size(); ++size) check_refused(bytes.substr(0, size), {});
}

TEST_CASE("metadata that name no model are refused") {
  const auto model = Model::parse("dense classes", {1, 1, 3}, 2);
  const auto good = parse_safetensors(write_safetensors(model, Vector(16 + 16)), "x");
  const auto with = [&](const char* key, const char* value) {
    auto file = good;
    file.metadata[key] = value;
    return file;
  };
  CHECK(model_of(with("fedstride.classes", "2")).line() == "dense classes");
  CHECK_FAILURE(model_of(with("fedstride.format", "2")), "'x'", "fedstride.format", "2", "1");
  CHECK_FAILURE(model_of(with("fedstride.classes", "0")), "'x'", "fedstride.classes", "'0'", "1", "65536");
  CHECK_FAILURE(model_of(with("fedstride.input", "3x3")), "'x'", "fedstride.input", "'3x3'", "HEIGHTxWIDTHxCHANNELS");
  CHECK_FAILURE(model_of(with("fedstride.input", "1x1x-3")), "'x'", "fedstride.input", "'1x1x-3'", "1", "1048576");
  CHECK_FAILURE(model_of(with("fedstride.input", "1048576x1048576x1048576")), "'x'", "1048576x1048576x1048576", "268435456");
  CHECK_FAILURE(model_of(with("fedstride.model", "relu")), "'x'", "layer 1", "'relu'", "'dense classes'", "'dense 2'");
}

}  // namespace fedstride::test::safetensors_test
