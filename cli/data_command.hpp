#pragma once

namespace CLI {
class App;
}

namespace fedstride {

/// Registers `fedstride data show PATH | list | verify NAME | roster NAME | get NAME`. The work is done when the command line is parsed; Errors
/// come out of there.
void add_data_command(CLI::App& app);

}  // namespace fedstride
