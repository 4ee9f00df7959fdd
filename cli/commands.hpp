#pragma once

namespace CLI {
class App;
}

namespace fedstride {

// Each function, in its own file, adds a subcommand to the program. A subcommand rejects invalid input by throwing Error, which
// command_line() turns into one line and an exit code.

void add_run_command(CLI::App& app);
void add_sweep_command(CLI::App& app);
void add_tune_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_explain_command(CLI::App& app);
void add_export_command(CLI::App& app);
void add_evaluate_command(CLI::App& app);
void add_predict_command(CLI::App& app);
void add_verify_command(CLI::App& app);
void add_certify_command(CLI::App& app);
void add_replay_command(CLI::App& app);
void add_partition_command(CLI::App& app);
void add_devices_command(CLI::App& app);
void add_data_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_privacy_command(CLI::App& app);
void add_certificates_command(CLI::App& app);
void add_serve_command(CLI::App& app);
void add_join_command(CLI::App& app);
void add_launch_command(CLI::App& app);
void add_help_command(CLI::App& app);
void add_completion_command(CLI::App& app);
void add_manual_command(CLI::App& app);

}  // namespace fedstride
