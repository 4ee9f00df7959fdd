#include "sim/settings/code_names.hpp"

#include <algorithm>

namespace fedstride {
namespace {

constexpr std::string_view kBetween = "; ";
constexpr std::string_view kClips = " (clipped sum)";
constexpr std::string_view kUnnamed = "?";

}  // namespace

CodeNames CodeNames::read(std::string_view text) {
  CodeNames code;
  for (bool more = !text.empty(); more;) {
    const std::size_t end = text.find(kBetween);
    std::string_view piece = text.substr(0, end);
    more = end != std::string_view::npos;
    text.remove_prefix(more ? end + kBetween.size() : text.size());
    Piece& read = code.pieces.emplace_back();
    if (const std::size_t equals = piece.find('='); equals != std::string_view::npos) {
      read.part = piece.substr(0, equals);
      piece.remove_prefix(equals + 1);
    }
    read.clips = piece.ends_with(kClips);
    if (read.clips) piece.remove_suffix(kClips.size());
    read.name = piece;
  }
  return code;
}

std::string CodeNames::text() const {
  std::string text;
  for (const auto& [part, name, clips] : pieces) {
    if (&part != &pieces.front().part) text += kBetween;
    text += (part.empty() ? "" : part + "=") + name;
    if (clips) text += kClips;
  }
  return text;
}

const CodeNames::Piece* CodeNames::of(std::string_view part) const {
  const auto found = std::ranges::find(pieces, part, &Piece::part);
  return found == pieces.end() ? nullptr : &*found;
}

std::string_view CodeNames::unnamed(bool by_user) const {
  const auto found = std::ranges::find_if(pieces, [&](const Piece& piece) {
    return piece.name == kUnnamed || (by_user && piece.name.find(" source-") != std::string::npos);
  });
  return found == pieces.end() ? std::string_view() : found->part;
}

}  // namespace fedstride
