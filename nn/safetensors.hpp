#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nn/model.hpp"

namespace fedstride {

/// A safetensors file: eight bytes with the length of a JSON header, the header (name -> dtype, shape, offsets; strings under
/// __metadata__), and the tensors' bytes. Models are saved with PyTorch's names, shapes and layouts as 32-bit floats, so torch
/// can load them; metadata strings let model_of rebuild the model:
///   fedstride.format "1" (a reader refuses a larger one), fedstride.model (the line of layers), fedstride.input
///   "32x32x3" (height, width, channels), fedstride.classes "10"; also fedstride.targets unless they are classes, and
///   fedstride.vocabulary for tokens. A model of tensors only has just the first two.
struct SafeTensors {
  struct Tensor {
    std::vector<std::int64_t> shape;
    std::vector<float> values;  ///< last index varying fastest
  };
  std::string origin;  ///< the file's name in errors
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;
};

/// The bytes of a file with this model; `metadata` is added to the model's own.
std::string write_safetensors(const Model& model, const Vector& weights, const std::map<std::string, std::string>& metadata = {});

/// Throws Error (failure) unless the bytes are a complete, well-formed file of F32 tensors.
SafeTensors parse_safetensors(std::string_view bytes, const std::string& origin);
SafeTensors read_safetensors(const std::filesystem::path& path);

/// The model described by the file's metadata. Throws Error (failure) if there is none.
Model model_of(const SafeTensors& file);

/// The file's weights, if it has exactly the model's tensors; otherwise throws Error (failure) naming the first that differs.
Vector exact(const Model& model, const SafeTensors& file);

/// The line of a model of exactly these tensors (nn/tensor_line.hpp). Throws Error (usage) for names that a line cannot hold.
std::string tensor_line_of(const SafeTensors& file);

struct InitReport {
  std::vector<std::string> taken;    ///< tensors whose names and shapes match the model
  std::vector<std::string> ignored;  ///< the file's other tensors, with both shapes if only the name matches
  std::vector<std::string> missing;  ///< the model's other tensors, which keep their weights
};

/// Copies the matching tensors into `weights`. Throws Error (failure) for a value that is not finite.
InitReport take_matching(const Model& model, const SafeTensors& file, Vector& weights);

}  // namespace fedstride
