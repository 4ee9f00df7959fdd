#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "sim/settings/configuration.hpp"

namespace fedstride {

/// A TOML document as a tree of plain values, each with its position. The keys of a table are in file order.
struct DocumentNode {
  using List = std::vector<DocumentNode>;
  using Table = std::vector<std::pair<std::string, DocumentNode>>;

  std::size_t line = 0;
  std::size_t column = 0;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Table> value = {};  ///< monostate: a date or time

  const List* list() const { return std::get_if<List>(&value); }
  const Table* table() const { return std::get_if<Table>(&value); }
  const std::string* text() const { return std::get_if<std::string>(&value); }
  bool is_scalar() const { return value.index() >= 1 && value.index() <= 4; }
  /// The scalar as a setting.
  Setting setting() const;
};

/// A parsed document, with its name for error messages.
struct Document {
  std::string name;
  DocumentNode root;

  /// The error "'NAME', line N: what" for a mistake at this node.
  Error wrong(const DocumentNode& at, const std::string& what) const;
};

/// Parses a document. Throws Error (usage) with the line if it is not TOML.
Document parse_document(std::string_view text, const std::string& name);

/// The text as a quoted TOML string.
std::string toml_string(const std::string& text);

}  // namespace fedstride
