#pragma once

#include <string>

namespace fedstride {

/// Has gnuplot carry out a script and gives what it wrote to standard output. No shell and no start-up file takes part.
/// Throws Error (failure): the package to install if there is no gnuplot, what it said if it refuses.
std::string run_gnuplot(const std::string& script);

/// Text as gnuplot reads it, in quotes within which it interprets nothing: no escapes, no backticks. A quote
/// in the text becomes an apostrophe (U+2019), a control character a space.
std::string gnuplot_text(const std::string& text);

}  // namespace fedstride
