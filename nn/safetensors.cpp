#include "nn/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "nn/pytorch_layout.hpp"
#include "nn/tensor_line.hpp"

static_assert(std::endian::native == std::endian::little, "safetensors holds little-endian numbers");

namespace fedstride {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::uint64_t kMaxFileBytes = kMaxHeaderBytes + (std::uint64_t{1} << 33) + 8;
constexpr int kMaxDepth = 3;  // header, tensor, list of numbers
constexpr std::size_t kMaxDimensions = 16;
constexpr int kFormat = 1;

template <class Number>
std::string list_text(const std::vector<Number>& numbers) {
  std::string text = "[";
  for (const Number number : numbers) text += (text.size() > 1 ? "," : "") + std::to_string(number);
  return text + "]";
}

/// Text from a file as shown in errors: on one line, shortened if long.
std::string shown(std::string text) {
  if (text.size() > 100) text = text.substr(0, 100) + "...";
  for (char& character : text)
    if (static_cast<unsigned char>(character) < ' ' || character == '\x7f') character = '?';
  return "'" + text + "'";
}

Error broken(const std::string& origin, const std::string& what) {
  return failure("'" + origin + "' is not a readable safetensors file: " + what);
}

/// The header as JSON, without duplicate names in an object, no deeper than the format allows.
Json parse_header(std::string_view text, const std::string& origin) {
  struct Header final : JsonTree {
    explicit Header(const std::string& of) : origin(of) {}
    void open(Json value) override {
      if (depth() >= kMaxDepth)
        throw broken(origin, "its header is nested more than " + std::to_string(kMaxDepth) + " levels deep");
      JsonTree::open(std::move(value));
    }
    void key(std::string& name) override {
      if (stands_already(name)) throw broken(origin, "its header has the name " + shown(name) + " twice");
      JsonTree::key(name);
    }
    const std::string& origin;
  } header(origin);
  try {
    parse_json(text, header);
    if (header.root().is_object()) return std::move(header.root());
  } catch (const JsonError&) {
  }
  throw broken(origin, "its header is not a JSON object");
}

std::vector<std::uint64_t> whole_numbers(const Json& entry, const char* key, const std::string& where,
                                         const std::string& origin) {
  const auto found = entry.find(key);
  if (found == entry.end()) throw broken(origin, where + " has no " + key);
  std::vector<std::uint64_t> numbers;
  const bool is_list = found->is_array() && found->size() <= kMaxDimensions;
  if (is_list)
    for (const Json& number : *found)
      if (number.is_number_unsigned()) numbers.push_back(number.get<std::uint64_t>());
  if (!is_list || numbers.size() < found->size())
    throw broken(origin, where + " has " + key + " " + shown(dump_json(*found)) + "; it must be a list of at most " +
                             std::to_string(kMaxDimensions) + " whole numbers");
  return numbers;
}

struct Entry {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string name;
  std::vector<std::int64_t> shape;
  bool operator<(const Entry& other) const { return std::pair(begin, end) < std::pair(other.begin, other.end); }
};

Entry read_entry(const std::string& name, const Json& json, std::uint64_t data_size, const std::string& origin) {
  const std::string where = "tensor " + shown(name);
  if (!json.is_object()) throw broken(origin, where + " is not described by an object");
  const auto dtype = json.find("dtype");
  if (dtype == json.end() || !dtype->is_string()) throw broken(origin, where + " has no dtype");
  if (*dtype != "F32") throw broken(origin, where + " has dtype " + shown(dtype->get<std::string>()) + "; only F32 is supported");
  const auto offsets = whole_numbers(json, "data_offsets", where, origin);
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_size)
    throw broken(origin, where + " has data_offsets " + list_text(offsets) +
                             "; they must be two offsets in ascending order, at most " + std::to_string(data_size));
  Entry entry{offsets[0], offsets[1], name, {}};
  std::uint64_t bytes = sizeof(float);
  const auto extents = whole_numbers(json, "shape", where, origin);
  const auto too_large = [&] { return broken(origin, where + " has shape " + list_text(extents) + ", which is too large"); };
  for (const auto extent : extents) {
    if (extent > kMaxFileBytes) throw too_large();
    const auto product = static_cast<unsigned __int128>(bytes) * extent;
    if (product > kMaxFileBytes) throw too_large();
    bytes = static_cast<std::uint64_t>(product);
    entry.shape.push_back(static_cast<std::int64_t>(extent));
  }
  if (bytes != entry.end - entry.begin)
    throw broken(origin,
                 where + " has shape " + list_text(entry.shape) + " but " + std::to_string(entry.end - entry.begin) + " bytes");
  return entry;
}

const std::string& metadata_string(const SafeTensors& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end())
    throw failure("'" + file.origin + "' does not say which model it holds: its metadata have no " + key);
  return found->second;
}

int metadata_number(const SafeTensors& file, std::string_view text, const std::string& key, int high) {
  int value = 0;
  if (!parse_number(text, value) || value < 1 || value > high)
    throw failure("'" + file.origin + "' has " + key + " " + shown(metadata_string(file, key)) +
                  "; its numbers must be from 1 to " + std::to_string(high));
  return value;
}

/// Copies the tensor of the parameter's name, which must have its shape, into the parameter's part of the weights.
void take(const Model& model, const Parameter& parameter, const SafeTensors& file, Vector& weights) {
  const auto& values = file.tensors.at(parameter.name).values;
  const auto place = view(weights).subspan(parameter.offset, parameter.size);
  std::size_t next = 0;
  for_each_in_pytorch_order(model, parameter, [&](std::size_t inside) {
    const float value = values[next++];
    if (!std::isfinite(value))
      throw failure("tensor '" + parameter.name + "' of '" + file.origin + "' has a value that is not finite");
    place[inside] = value;
  });
}

}  // namespace

std::string write_safetensors(const Model& model, const Vector& weights, const std::map<std::string, std::string>& metadata) {
  std::map<std::string, std::string> strings = metadata;  // in alphabetical order of their names, here and below
  strings["format"] = "pt";                               // the tensors' layout, for tools that check it
  strings["fedstride.format"] = std::to_string(kFormat);
  strings["fedstride.model"] = model.line();
  if (model.has_layers()) strings["fedstride.input"] = model.input().text();
  if (model.has_layers()) strings["fedstride.classes"] = std::to_string(model.classes());
  const ExampleForm& form = model.form();
  if (form.targets != Targets::classes) strings["fedstride.targets"] = choice_name(form.targets);
  if (form.vocabulary > 0) strings["fedstride.vocabulary"] = std::to_string(form.vocabulary);
  std::map<std::string, Json> header{{"__metadata__", strings}};
  std::uint64_t end = 0;
  for (const Parameter& parameter : model.parameters()) {
    const std::uint64_t begin = end;
    end += parameter.size * sizeof(float);
    header[parameter.name] = {{"data_offsets", {begin, end}}, {"dtype", "F32"}, {"shape", parameter.shape}};
  }
  std::string text = dump_json(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // keeps the tensors aligned
  std::string bytes(8, '\0');
  const std::uint64_t length = text.size();
  std::memcpy(bytes.data(), &length, 8);
  bytes += text;
  bytes.reserve(bytes.size() + end);
  for (const Parameter& parameter : model.parameters())
    for_each_in_pytorch_order(model, parameter, [&](std::size_t inside) {
      char value[sizeof(float)];
      std::memcpy(value, weights.data() + parameter.offset + inside, sizeof value);
      bytes.append(value, sizeof value);
    });
  return bytes;
}

SafeTensors parse_safetensors(std::string_view bytes, const std::string& origin) {
  std::uint64_t length = 0;
  if (bytes.size() < 8) throw broken(origin, "it has fewer than 8 bytes");
  std::memcpy(&length, bytes.data(), 8);
  if (length > kMaxHeaderBytes || length > bytes.size() - 8)
    throw failure("'" + origin +
                  "' is not a safetensors file, or is truncated; a run's model is the file model.safetensors in its folder");
  const std::string_view data = bytes.substr(8 + length);
  const Json header = parse_header(bytes.substr(8, length), origin);
  SafeTensors file{origin, {}, {}};
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name != "__metadata__") {
      entries.push_back(read_entry(name, json, data.size(), origin));
      continue;
    }
    if (!json.is_object()) throw broken(origin, "its __metadata__ is not an object");
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string()) throw broken(origin, "its metadata entry " + shown(key) + " is not a string");
      file.metadata[key] = value.get<std::string>();
    }
  }
  // The format allows neither gaps nor overlaps.
  std::sort(entries.begin(), entries.end());
  std::uint64_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != end)
      throw broken(origin, "tensor " + shown(entry.name) + " begins at byte " + std::to_string(entry.begin) + ", not at " +
                               std::to_string(end) + ", where the one before it ends");
    end = entry.end;
  }
  if (end != data.size())
    throw broken(origin,
                 "its tensors end at byte " + std::to_string(end) + ", but its data end at byte " + std::to_string(data.size()));
  for (const Entry& entry : entries) {
    auto& tensor = file.tensors[entry.name];
    tensor.shape = entry.shape;
    tensor.values.resize((entry.end - entry.begin) / sizeof(float));
    if (!tensor.values.empty()) std::memcpy(tensor.values.data(), data.data() + entry.begin, entry.end - entry.begin);
  }
  return file;
}

SafeTensors read_safetensors(const std::filesystem::path& path) {
  return parse_safetensors(read_file(path, kMaxFileBytes), path.string());
}

Model model_of(const SafeTensors& file) {
  if (metadata_number(file, metadata_string(file, "fedstride.format"), "fedstride.format", 1 << 20) > kFormat)
    throw failure("'" + file.origin + "' has fedstride.format " + metadata_string(file, "fedstride.format") +
                  "; this version reads format " + std::to_string(kFormat));
  const std::string line = metadata_string(file, "fedstride.model");
  if (is_tensor_line(line)) return Model::parse(line, {});
  const auto sides = split(metadata_string(file, "fedstride.input"), 'x');
  if (sides.size() != 3)
    throw failure("'" + file.origin + "' has fedstride.input " + shown(metadata_string(file, "fedstride.input")) +
                  "; it must be HEIGHTxWIDTHxCHANNELS");
  const auto side = [&](std::size_t i) { return metadata_number(file, sides[i], "fedstride.input", 1 << 20); };
  const int classes = metadata_number(file, metadata_string(file, "fedstride.classes"), "fedstride.classes", 65536);
  ExampleForm form{{side(0), side(1), side(2)}, classes};
  if (file.metadata.contains("fedstride.targets")) {
    const auto targets = find_choice<Targets>(metadata_string(file, "fedstride.targets"));
    if (!targets)
      throw failure("'" + file.origin + "' has fedstride.targets " + shown(metadata_string(file, "fedstride.targets")) +
                    "; valid: classes, positions, values, flags");
    form.targets = *targets;
  }
  if (file.metadata.contains("fedstride.vocabulary"))
    form.vocabulary = metadata_number(file, metadata_string(file, "fedstride.vocabulary"), "fedstride.vocabulary", 65536);
  try {
    return Model::parse(line, form);
  } catch (const Error& error) {
    throw failure("'" + file.origin + "' holds an invalid model: " + error.what());
  }
}

Vector exact(const Model& model, const SafeTensors& file) {
  Vector weights(model.size());
  const InitReport report = take_matching(model, file, weights);
  if (!report.missing.empty())
    throw failure("'" + file.origin + "' has no tensor '" + report.missing.front() + "' " +
                  list_text(model.find(report.missing.front())->shape) + ", which the model needs");
  if (!report.ignored.empty())
    throw failure("'" + file.origin + "' has a tensor " + shown(report.ignored.front()) + ", which the model lacks");
  return weights;
}

std::string tensor_line_of(const SafeTensors& file) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : file.tensors) tensors.push_back({name, tensor.shape});
  return tensor_line(tensors);
}

InitReport take_matching(const Model& model, const SafeTensors& file, Vector& weights) {
  InitReport report;
  for (const auto& [name, tensor] : file.tensors) {
    const Parameter* parameter = model.find(name);
    if (parameter != nullptr && parameter->shape == tensor.shape) continue;
    report.ignored.push_back(parameter == nullptr ? name
                                                  : name + " " + list_text(tensor.shape) + " (the model's is " +
                                                        list_text(parameter->shape) + ")");
  }
  for (const Parameter& parameter : model.parameters()) {
    const auto found = file.tensors.find(parameter.name);
    const bool matches = found != file.tensors.end() && found->second.shape == parameter.shape;
    (matches ? report.taken : report.missing).push_back(parameter.name);
    if (matches) take(model, parameter, file, weights);
  }
  return report;
}

}  // namespace fedstride
