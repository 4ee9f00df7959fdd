// Files of tensors as dicts of NumPy arrays.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "nn/safetensors.hpp"
#include "python/bindings.hpp"
#include "python/guard.hpp"

namespace fedstride::python {
namespace {

py::dict load_tensors(const std::string& path) {
  const auto file = std::make_shared<const SafeTensors>(computed([&] { return read_safetensors(path); }));
  py::dict tensors;
  for (const auto& [name, tensor] : file->tensors) {
    py::array_t<float> array(std::vector<py::ssize_t>(tensor.shape.begin(), tensor.shape.end()));
    std::memcpy(array.mutable_data(), tensor.values.data(), tensor.values.size() * sizeof(float));
    tensors[py::str(name)] = array;
  }
  return tensors;
}

std::map<std::string, std::string> tensor_strings(const std::string& path) {
  return computed([&] { return read_safetensors(path).metadata; });
}

// Writes tensors in order of their names. The arrays are float32 and contiguous.
void save_tensors(const std::string& path, const std::map<std::string, py::array_t<float>>& tensors,
                  const std::map<std::string, std::string>& strings) {
  Json header{{"__metadata__", strings}};
  std::uint64_t end = 0;
  for (const auto& [name, array] : tensors) {
    const std::uint64_t begin = end;
    end += static_cast<std::uint64_t>(array.nbytes());
    header[name] = {{"dtype", "F32"},
                    {"shape", std::vector<py::ssize_t>(array.shape(), array.shape() + array.ndim())},
                    {"data_offsets", {begin, end}}};
  }
  std::string text = dump_json(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes += text;
  bytes.reserve(bytes.size() + end);
  for (const auto& [name, array] : tensors)
    bytes.append(reinterpret_cast<const char*>(array.data()), static_cast<std::size_t>(array.nbytes()));
  computed([&] { write_file(path, bytes); });
}

}  // namespace

void register_tensors(py::module_& module) {
  module.def("load_tensors", load_tensors, py::arg("path"));
  module.def("tensor_strings", tensor_strings, py::arg("path"));
  module.def("save_tensors", save_tensors, py::arg("path"), py::arg("tensors"), py::arg("metadata"));
}

}  // namespace fedstride::python
