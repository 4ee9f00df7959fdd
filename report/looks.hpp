#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/plot.hpp"

namespace fedstride {

/// How a line looks: its colour on a light and on a dark page, its dash and its marker as gnuplot has them.
struct Look {
  const char* light;
  const char* dark;
  const char* dash;
  int marker;
};

/// The looks of runs, then those of parts of a run. Any two of a kind are told apart with normal sight and with protanopia,
/// deuteranopia and tritanopia (tests/report/looks_test.cpp), and on paper without colours by dash and marker. The first
/// seven are those of Okabe & Ito 2008 without its yellow, which is lost on white paper.
extern const std::array<Look, 2 * kMaxLines> kLooks;

/// A colour of the page that no line has: its name in the style sheet, and its values.
struct PageColour {
  const char* name;
  const char* light;
  const char* dark;
};
extern const std::array<PageColour, 6> kPageColours;

/// The shades of maps, from none to the most.
inline constexpr std::size_t kShades = 11;
std::string shade(std::size_t step, bool dark);  ///< "#1a2b3c"

/// Definitions of all colours as variables of a style sheet.
std::string colour_variables(bool dark);

/// An SVG of gnuplot with every colour replaced by its variable, so that it follows the page.
std::string with_variables(std::string svg);

/// Gives each thing one look on a whole page. A thing that says more or less than one known ("adadp" in a panel of share 0,
/// later "share 0, adadp") is that one, unless several are meant. More things than looks share some, never within a picture.
class Looks {
 public:
  void assign(Plot& plot);

 private:
  using Thing = std::vector<std::pair<std::string, std::string>>;

  std::vector<std::size_t> alike(bool is_part, const Thing& thing) const;

  std::map<std::pair<bool, Thing>, std::size_t> known_;
  std::array<std::size_t, 2 * kMaxLines> uses_{};
};

}  // namespace fedstride
