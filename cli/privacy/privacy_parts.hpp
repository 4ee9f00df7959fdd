#pragma once

namespace CLI {
class App;
}

namespace fedstride {

// Commands under `fedstride privacy` that have a file of their own.

void add_privacy_audit(CLI::App& privacy);
void add_privacy_schedule(CLI::App& privacy);

}  // namespace fedstride
