#pragma once

#include <string>

namespace fedstride {

/// Runs a script in gnuplot, without a shell or a start-up file, and returns its standard output. Throws Error (failure):
/// the package to install if there is no gnuplot, its message if it refuses.
std::string run_gnuplot(const std::string& script);

/// Text in quotes within which gnuplot interprets nothing: no escapes, no backticks. A quote
/// in the text becomes an apostrophe (U+2019), a control character a space.
std::string gnuplot_text(const std::string& text);

}  // namespace fedstride
