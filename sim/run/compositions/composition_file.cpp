#include "sim/run/compositions/composition.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <span>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "sim/run/compositions/composition_keys.hpp"

namespace fedstride {
namespace {

namespace keys = composition_keys;

/// Quotes NaN, Infinity and numbers beyond the largest double, so that each is reported as an error in its own case, instead of
/// making the parser reject the whole file.
std::string with_odd_numbers_quoted(const std::string& text) {
  std::string result;
  result.reserve(text.size());
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
      at = std::min(at + 1, text.size());
      result.append(text, from, at - from);
    } else if (in_word(text[at])) {
      while (at < text.size() && in_word(text[at])) ++at;
      const std::string word = text.substr(from, at - from);
      char* end = nullptr;
      const bool odd = !std::isfinite(std::strtod(word.c_str(), &end)) && end == word.c_str() + word.size();
      result += odd ? '"' + word + '"' : word;
    } else {
      result += text[at++];
    }
  }
  return result;
}

struct ParsedFile {
  Json document;
  std::map<std::size_t, std::string> twice;  ///< duplicate keys, by case number (0: outside the cases)
};

ParsedFile parsed(const std::string& path) {
  constexpr std::size_t kMaxDepth = 8;
  constexpr std::size_t kCaseDepth = 2;  // elements of "cases"
  const std::string text = with_odd_numbers_quoted(read_text_file(path, kMaxCompositionFile));
  ParsedFile file;
  struct Tree final : JsonTree {
    Tree(ParsedFile& to, const std::string& of) : into(to), path(of) {}
    void begin_value() override {
      if (depth() > kMaxDepth) throw failure("'" + path + "' is nested deeper than " + std::to_string(kMaxDepth) + " levels");
      if (depth() == kCaseDepth) ++number;
    }
    bool key(std::string& name) override {
      if (stands_already(name)) into.twice.try_emplace(depth() <= kCaseDepth ? 0 : number, name);
      return JsonTree::key(name);
    }
    ParsedFile& into;
    const std::string& path;
    std::size_t number = 0;  ///< cases so far
  } tree(file, path);
  try {
    sax_parse_json(text, tree);
  } catch (const JsonError& error) {
    throw failure("'" + path + "' is not JSON: " + error.what());
  }
  file.document = std::move(tree.root());
  return file;
}

/// The value as in the file, shortened if long.
std::string shown(const Json& value) {
  constexpr std::size_t kMaxShown = 40;
  std::string text = value.is_string() ? value.get<std::string>() : dump_json(value);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return "'" + one_line(text) + "'";
}

std::string prefixed(const std::string& where) { return where.empty() ? "" : where + ": "; }

/// Throws Error (usage) unless the value is a number within the key's bounds.
void check_number(const CompositionKey& key, bool whole, const Json& value, const std::string& where) {
  if (value.is_number()) {
    const double number = value.get<double>();
    if (key.valid.admits(number) && (!whole || number == std::trunc(number))) return;
  }
  throw usage_error(prefixed(where) + std::string(key.name) + " is " + shown(value) + "; it must be " + key.valid.text(whole));
}

void check_text(const CompositionKey& key, const Json& value, const std::string& where) {
  if (!value.is_string() || value.text().empty())
    throw usage_error(prefixed(where) + std::string(key.name) + " is " + shown(value) + "; it must be a text");
  const auto& text = value.text();
  if (text.size() > kMaxCompositionText)
    throw usage_error(prefixed(where) + std::string(key.name) + " has " + std::to_string(text.size()) + " bytes; at most " +
                      std::to_string(kMaxCompositionText) + " are valid");
  if (key.choices.empty() || std::ranges::find(key.choices, text) != key.choices.end()) return;
  const std::vector<std::string> choices(key.choices.begin(), key.choices.end());
  throw usage_error(prefixed(where) + one_line(unknown_name(key.name, text.substr(0, 40), choices)));
}

void check_list(const CompositionKey& key, const Json& value, const std::string& where) {
  if (!value.is_array() || value.empty())
    throw usage_error(prefixed(where) + std::string(key.name) + " is " + shown(value) + "; it must be a non-empty list");
  if (value.size() > key.most)
    throw usage_error(prefixed(where) + std::string(key.name) + " has " + std::to_string(value.size()) + " elements; at most " +
                      std::to_string(key.most) + " are valid");
}

/// Throws Error (usage) unless this is an object with all required keys, no unknown keys, and valid values.
void check_object(const Json& object, std::span<const CompositionKey> known, const std::string& where) {
  if (!object.is_object()) throw usage_error(prefixed(where) + "it is " + shown(object) + "; it must be an object");
  std::vector<std::string> names;
  for (const CompositionKey& key : known) names.emplace_back(key.name);
  for (const auto& [name, value] : object.items())
    if (std::ranges::find(names, name) == names.end())
      throw usage_error(prefixed(where) + one_line(unknown_name("key", name.substr(0, 40), names)));
  for (const CompositionKey& key : known) {
    const auto found = object.find(key.name);
    if (found == object.end()) {
      if (key.needed != CompositionKey::Needed::always) continue;
      throw usage_error(prefixed(where) + "'" + std::string(key.name) + "' is missing");
    }
    switch (key.kind) {
      case CompositionKey::Kind::text:
        check_text(key, *found, where);
        break;
      case CompositionKey::Kind::number:
        check_number(key, false, *found, where);
        break;
      case CompositionKey::Kind::whole:
        check_number(key, true, *found, where);
        break;
      case CompositionKey::Kind::truth:
        if (!found->is_boolean())
          throw usage_error(prefixed(where) + std::string(key.name) + " is " + shown(*found) + "; it must be true or false");
        break;
      case CompositionKey::Kind::list:
        check_list(key, *found, where);
        break;
      case CompositionKey::Kind::object:
        break;  // checked with its own list of keys
    }
  }
}

std::string text_at(const Json& object, std::string_view name) {
  const auto found = object.find(name);
  return found == object.end() ? "" : found->get<std::string>();
}

std::optional<double> number_at(const Json& object, std::string_view name) {
  const auto found = object.find(name);
  return found == object.end() ? std::nullopt : std::optional(found->get<double>());
}

std::optional<std::uint64_t> whole_at(const Json& object, std::string_view name) {
  const auto number = number_at(object, name);  // already checked to be whole and small enough to be exact
  return number ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
}

/// Throws Error (usage) unless the object's keys among `governed` are exactly those in `needs`. `what` states the reason.
void check_goes_with(const Json& object, std::string_view governed, std::string_view needs, const std::string& what,
                     const std::string& where) {
  const auto needed = split(needs, ' ');
  for (const auto name : split(governed, ' ')) {
    const bool is_needed = std::ranges::find(needed, name) != needed.end();
    if (is_needed == object.contains(name)) continue;
    const std::string quoted = prefixed(where) + "'" + std::string(name) + "' ";
    throw usage_error(is_needed ? quoted + "is missing; " + what + " needs it" : quoted + "does not go with " + what);
  }
}

NoisePlanRules read_schedule(const Json& object, const std::string& where) {
  check_object(object, keys::kSchedule, where);
  const std::string name = text_at(object, "name");
  const auto& row = *std::ranges::find(kCompositionSchedules, name, &CompositionScheduleRow::name);
  check_goes_with(object, "target gamma momentum", row.needs, "schedule '" + name + "'", where);
  NoisePlanRules rules;
  if (row.of_clip)
    rules.clip_schedule = make_choice<ClipSchedule>("schedule", name);
  else
    rules.noise_schedule = make_choice<NoiseSchedule>("schedule", name);
  rules.target = whole_at(object, "target").value_or(rules.target);
  rules.gamma = number_at(object, "gamma").value_or(rules.gamma);
  rules.momentum = number_at(object, "momentum").value_or(rules.momentum);
  return rules;
}

CompositionEvent read_event(const Json& object, const std::string& where) {
  check_object(object, keys::kEvent, where);
  CompositionEvent event;
  const std::string sampling = text_at(object, "sampling");
  event.sampling = sampling == "none" ? Sampling::full : sampling_named(sampling);
  check_goes_with(object, "rate", sampling == "none" ? "" : "rate", "sampling '" + sampling + "'", where);
  event.rate = number_at(object, "rate").value_or(1);
  if (const auto listed = object.find("noise_multipliers"); listed != object.end()) {
    check_goes_with(object, "noise_multiplier count schedule", "", "'noise_multipliers'", where);
    const auto& key = *std::ranges::find(keys::kEvent, "noise_multipliers", &CompositionKey::name);
    for (const Json& multiplier : *listed) {
      check_number(key, false, multiplier, where);
      event.noise_multipliers.push_back(multiplier.get<double>());
    }
  }
  event.noise_multiplier = number_at(object, "noise_multiplier");
  event.count = whole_at(object, "count");
  event.adaptive = object.value("adaptive", false).get<bool>();
  if (const auto schedule = object.find("schedule"); schedule != object.end())
    event.schedule = read_schedule(*schedule, prefixed(where) + "schedule");
  return event;
}

/// The number of an event's releases that have their own noise multiplier.
std::size_t listed_in(const CompositionEvent& event) {
  constexpr std::uint64_t kMaxFixed = 1000;  // releases after which schedules without a target are constant
  if (!event.schedule) return event.noise_multipliers.size();
  return std::min(event.count.value_or(0), std::max(event.schedule->target, kMaxFixed));
}

void read_case(const Json& object, CompositionCase& one) {
  check_object(object, keys::kCase, "");
  one.neighbours = neighbours_named(text_at(object, "neighbours"));
  const std::string ask = text_at(object, "ask");
  if (!ask.empty()) {
    const auto& row = *std::ranges::find(kCompositionAsks, ask, &CompositionAskRow::name);
    one.ask = row.ask;
    check_goes_with(object, "accountant epsilon delta order", row.needs, "ask '" + ask + "'", "");
  }
  one.accountant = {text_at(object, "accountant"), text_at(object, "conversion"), text_at(object, "orders")};
  if (one.accountant.name.empty() && object.contains("conversion")) throw usage_error("'conversion' needs 'accountant'");
  if (one.accountant.name.empty() && object.contains("orders")) throw usage_error("'orders' needs 'accountant'");
  (void)make_accountant(one.accountant);  // refuses unknown words, and settings that the accountant lacks
  one.epsilon = number_at(object, "epsilon");
  one.delta = number_at(object, "delta");
  one.order = number_at(object, "order");
  std::size_t listed = 0;
  for (const Json& event : object["events"]) {
    one.events.push_back(read_event(event, "event " + std::to_string(one.events.size() + 1)));
    listed += listed_in(one.events.back());
    if (listed > kMaxListedMultipliers)
      throw usage_error("its events list more than " + std::to_string(kMaxListedMultipliers) + " noise multipliers");
  }
  const auto accept = object.find("accept");
  if (accept == object.end()) return;
  check_object(*accept, keys::kAccept, "accept");
  one.accept_min = number_at(*accept, "min").value_or(one.accept_min);
  one.accept_max = number_at(*accept, "max").value_or(one.accept_max);
  if (!one.bounded()) throw usage_error("accept: 'min' and 'max' are both missing");
  if (one.accept_min > one.accept_max)
    throw usage_error("accept: min is " + number_text(one.accept_min) + "; it must be at most max, " +
                      number_text(one.accept_max));
}

/// Sets the case's id, if the object has one. Throws Error (usage) if it is invalid or already taken.
void take_id(const Json& object, std::map<std::string, std::size_t>& taken, CompositionCase& one) {
  if (!object.is_object() || !object.contains("id")) return;
  check_text(*std::ranges::find(keys::kCase, "id", &CompositionKey::name), object["id"], "");
  const std::string id = object["id"].get<std::string>();
  const auto [entry, is_new] = taken.try_emplace(id, one.number);
  if (!is_new)
    throw usage_error("id is " + shown(object["id"]) + ", which is already the id of case " + std::to_string(entry->second));
  one.id = id;
}

}  // namespace

std::vector<CompositionCase> read_compositions(const std::filesystem::path& path) {
  const ParsedFile file = parsed(path.string());
  const auto refuse = [&](const std::string& what) { throw failure("'" + path.string() + "': " + what); };
  if (const auto twice = file.twice.find(0); twice != file.twice.end())
    refuse("key '" + one_line(twice->second.substr(0, 40)) + "' is given twice");
  const auto version = file.document.is_object() ? file.document.find("version") : file.document.end();
  if (version != file.document.end() && *version != 1) refuse("version is " + shown(*version) + "; this program reads version 1");
  try {
    check_object(file.document, keys::kFile, "");
  } catch (const Error& error) {
    refuse(error.what());
  }
  std::vector<CompositionCase> cases;
  std::map<std::string, std::size_t> taken;
  for (const Json& object : file.document["cases"]) {
    CompositionCase& one = cases.emplace_back(CompositionCase{.number = cases.size() + 1});
    try {
      take_id(object, taken, one);
      if (const auto twice = file.twice.find(one.number); twice != file.twice.end())
        throw usage_error("key '" + one_line(twice->second.substr(0, 40)) + "' is given twice");
      read_case(object, one);
    } catch (const Error& error) {
      one.error = error.what();
    }
  }
  return cases;
}

}  // namespace fedstride
