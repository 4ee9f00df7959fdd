#include "sim/run/model_card.hpp"

#include <algorithm>

#include "client/told_evaluation.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "data/schema.hpp"
#include "nn/safetensors.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMostNames = 20;

std::string names_text(const std::vector<std::string>& names) {
  std::vector<std::string> some(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNames)));
  for (std::string& name : some) name = one_line(name);
  return joined(some) + (some.size() < names.size() ? ", ... (" + std::to_string(names.size()) + ")" : "");
}

std::string inputs_text(const Schema& schema) {
  std::string text = schema.form.vocabulary > 0
                         ? std::to_string(schema.form.shape.height) + " tokens of " + std::to_string(schema.form.vocabulary)
                         : schema.form.shape.text();
  if (schema.columns.are_named) text += ": " + names_text(schema.columns.inputs);
  for (const NamedCategories& one : schema.columns.categories)
    text += "; '" + one_line(one.column) + "' is one of " + names_text(one.words);
  return text;
}

std::string outputs_text(const Schema& schema) {
  std::string text = std::to_string(schema.form.outputs) + ' ' + std::string(choice_name(schema.form.targets));
  if (!schema.classes.empty())
    text += ": " + names_text(schema.classes);
  else if (schema.columns.are_named)
    text += ": " + names_text(schema.columns.answers);
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> model_card(const std::filesystem::path& folder) {
  std::error_code error;
  const auto file = folder / "model.safetensors";
  if (!std::filesystem::exists(file, error) || !std::filesystem::exists(folder / "summary.json", error)) return {};
  const SafeTensors model = read_safetensors(file);
  std::vector<std::pair<std::string, std::string>> card;
  const auto text_of = [](const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? one_line(found->get<std::string>()) : std::string();
  };
  const auto number_of = [](const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number() ? number_text(found->get<double>()) : std::string("infinite");
  };
  try {
    const Json summary = parse_json(read_file(folder / "summary.json", size_of_file(folder / "summary.json")));
    card.emplace_back("model", text_of(summary, "model"));
    if (const auto text = model.metadata.find(kSchemaKey); text != model.metadata.end()) {
      const Schema schema = read_schema(text->second, "'" + file.string() + "'");
      card.emplace_back("inputs", inputs_text(schema));
      card.emplace_back("outputs", outputs_text(schema));
      if (!schema.mean.empty())
        card.emplace_back("normalized", "(input - mean) / deviation, " + schema.normalized_by +
                                            "; the constants are in schema.json, and pixels are divided by 255 first");
      card.emplace_back("missing", std::string(choice_name(schema.missing)));
    }
    const std::string metric = text_of(summary, "metric");
    const std::string key = "test_" + std::string(metric_key(metric));
    if (const auto value = summary.find(key); value != summary.end() && value->is_number())
      card.emplace_back("test", metric + " " + number_text(value->get<double>()));
    std::string privacy = "none: nothing protects the training rows";
    if (const auto statements = summary.find("privacy"); statements != summary.end()) {
      privacy.clear();
      for (const Json& one : *statements)
        privacy += (privacy.empty() ? "" : "; ") + text_of(one, "level") + " level: epsilon " + number_of(one, "epsilon") +
                   " at delta " + number_of(one, "delta");
    }
    card.emplace_back("privacy", privacy);
  } catch (const JsonError& damaged) {
    throw failure("'" + (folder / "summary.json").string() + "' is damaged: " + damaged.what());
  }
  return card;
}

}  // namespace fedstride
