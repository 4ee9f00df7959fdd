#include "core/text.hpp"
#include "tests/cli/network/federation.hpp"

namespace fedstride::test::network_own_rows_test {
namespace {

/// Three clients with their own tables of every third row; the coordinator has the test part and, for the
/// normalization, the training part.
struct Bringing {
  Federation federation{{"--optimizer", "adadp", "--rounds", "20", "--local-epochs", "50"}};
  std::string roster = federation / "roster.jsonl";

  /// With a header, "a,b,c,label" but in client 1's table, if one is given for that.
  explicit Bringing(const std::string& header = "") {
    std::string tables[3];
    int row = 0;
    const std::string all = read_file(federation / "data/train.csv");
    for (const auto line : split(all, '\n'))
      if (!line.empty()) tables[row++ % 3] += std::string(line) + '\n';
    if (!header.empty()) {
      for (const char* part : {"data/train.csv", "data/test.csv"})
        write_file(federation / part, "a,b,c,label\n" + read_file(federation / part));
      for (std::string& table : tables) table = "a,b,c,label\n" + table;
      tables[1] = arranged(tables[1], header);
    }
    std::string lines;
    for (int client = 0; client < 3; ++client) {
      std::filesystem::create_directory(data(client));
      write_file(data(client) + "/train.csv", tables[client]);
      lines += line_of(client);
    }
    write_file(roster, lines);
  }
  /// The table with the columns of `header`, in its order; one that the table does not have is 7 everywhere.
  static std::string arranged(const std::string& table, const std::string& header) {
    std::string text;
    std::vector<std::string_view> names;
    for (const auto line : split(table, '\n')) {
      if (line.empty()) continue;
      const auto fields = split(line, ',');
      if (names.empty()) names.assign(fields.begin(), fields.end());
      std::string arranged_line;
      for (const auto name : split(header, ',')) {
        const auto at = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
        arranged_line += (arranged_line.empty() ? "" : ",") + (text.empty()         ? std::string(name)
                                                               : at < fields.size() ? std::string(fields[at])
                                                                                    : "7");
      }
      text += arranged_line + '\n';
    }
    return text;
  }
  std::string data(int client) const { return federation / ("own-" + std::to_string(client)); }
  std::string line_of(int client) const {
    const Outcome line = run_program({"data", "roster", "file", "--client", std::to_string(client), "--data", data(client)});
    CHECK(line.code == 0);
    CHECK(line.err.empty());
    return line.out;
  }
  Party serve() const { return federation.serve({"--partition", "own", "--roster", roster}); }
  Party join(int client) const { return federation.join_with(client, {"--data", data(client)}); }
};

}  // namespace

TEST_CASE("clients with their own rows, listed by 'data roster', train together; a killed one rejoins with the same bits") {
  const Bringing bringing;
  const Party coordinator = bringing.serve();
  const Party first = bringing.join(0);
  const Party second = bringing.join(1);
  {
    const Party dies = bringing.join(2);
    CHECK(bringing.federation.reaches(1));
    dies.kill();
  }
  const Party third = bringing.join(2);
  CHECK(coordinator.wait() == 0);
  for (const Party* client : {&first, &second, &third}) CHECK(client->wait() == 0);
  // Same as one run that has all the rows.
  std::string lists[3];
  for (int row = 0; row < 180; ++row) lists[row % 3] += (lists[row % 3].empty() ? "" : ",") + std::to_string(row);
  write_file(bringing.federation / "partition.json", "{\"clients\": [[" + lists[0] + "],[" + lists[1] + "],[" + lists[2] + "]]}");
  const std::string whole = bringing.federation / "whole";
  const Outcome run = run_program({"run", "--data", bringing.federation / "data", "--model", "logistic", "--clients", "3",
                                   "--rounds", "20", "--local-epochs", "50", "--optimizer", "adadp", "--partition", "file",
                                   "--partition-file", bringing.federation / "partition.json", "--out", whole});
  REQUIRE(run.code == 0);
  CHECK(rounds_of(bringing.federation.out()) == rounds_of(whole));
  CHECK(rounds_of(whole).size() == 20);
}

TEST_CASE("clients' tables are matched by the names of their columns, whatever their order") {
  const auto model_of = [](const std::string& header) {
    const Bringing bringing(header);
    const Party coordinator = bringing.serve();
    std::vector<Party> clients;
    for (int client = 0; client < 3; ++client) clients.push_back(bringing.join(client));
    CHECK(coordinator.wait() == 0);
    for (const Party& client : clients) CHECK(client.wait() == 0);
    return rounds_of(bringing.federation.out()).back();
  };
  const auto plain = model_of("a,b,c,label");
  CHECK(model_of("c,more,a,label,b") == plain);
  const Bringing lacking("a,b,d,label");
  const Party coordinator(lacking.federation.serve_words({"--partition", "own", "--roster", lacking.roster}));
  CHECK(coordinator.wait() != 0);
  CHECK(coordinator.says("client 1", "'c'", "a, b, d", "a, b, c"));
}

TEST_CASE("a limit is of all experiments on the same rows, whatever folder they have; another record must be named by hand") {
  const Bringing bringing;
  const Words terms{"--partition", "own",     "--roster",           bringing.roster, "--header",       "no",
                    "--dp",        "example", "--noise-multiplier", "1.5",           "--batch",        "10",
                    "--rounds",    "2",       "--optimizer",        "sgd",           "--local-epochs", "1"};
  // Trains in folders of its own; how the clients ended.
  const auto experiment = [&](const std::string& name, const Words& of_client) {
    Words serving = terms;
    serving.insert(serving.end(), {"--out", bringing.federation / name});
    if (name == "second") serving.insert(serving.end(), {"--round-deadline", "3", "--minimum-clients", "2"});  // without client 0
    const Party coordinator = bringing.federation.serve(serving);
    std::vector<Party> clients;
    for (int client = 0; client < 3; ++client) {
      Words joining{"--data", bringing.data(client), "--out", bringing.federation / (name + "-" + std::to_string(client))};
      if (client == 0) joining.insert(joining.end(), of_client.begin(), of_client.end());
      clients.push_back(bringing.federation.join_with(client, joining));
    }
    const int code = clients[0].wait();
    CHECK((code == 0 || clients[0].says("max-epsilon", "other runs")));
    for (int client = 1; client < 3; ++client) CHECK(clients[static_cast<std::size_t>(client)].wait() == 0);
    CHECK(coordinator.wait() == 0);
    return code;
  };
  const auto spent = [&](const std::string& file) {
    const Outcome told = run_program({"privacy", "budget", file, "--json"});
    REQUIRE_MESSAGE(told.code == 0, told.err);
    return Json::parse(told.out).at(0);
  };
  CHECK(experiment("first", {}) == 0);
  const Json once = spent(bringing.data(0));
  CHECK(once["runs"] == 1);
  const double epsilon = once["example_epsilon"];
  CHECK(epsilon > 0.1);
  const Words limit{"--max-epsilon", number_text(epsilon * 1.05), "--delta", "1e-5"};
  CHECK(experiment("second", limit) != 0);
  CHECK(spent(bringing.data(0))["example_epsilon"] == epsilon);  // what was refused was not spent
  Words elsewhere = limit;
  elsewhere.insert(elsewhere.end(), {"--budget", bringing.federation / "other.budget"});
  CHECK(experiment("third", elsewhere) == 0);
  CHECK(spent(bringing.federation / "other.budget")["example_epsilon"] == doctest::Approx(epsilon));
  CHECK(experiment("fourth", {}) == 0);
  CHECK(spent(bringing.data(0))["runs"] == 2);
  CHECK(spent(bringing.data(0))["example_epsilon"].get<double>() > 1.2 * epsilon);
}

TEST_CASE("a client whose rows do not match its roster line is refused, in both logs; the others are not") {
  const Bringing bringing;
  const Party coordinator = bringing.serve();
  const std::string good = read_file(bringing.data(1) + "/train.csv");
  write_file(bringing.data(1) + "/train.csv", good + "0.5,0.5,0.5,1\n");
  const Party other = bringing.join(1);
  CHECK(other.wait() == 3);
  CHECK(other.has_said("client 1", "hash", "roster"));
  CHECK(coordinator.says("client 1", "hash", "roster"));
  write_file(bringing.data(1) + "/train.csv", "0.5,0.5,1\n");
  const Party narrow = bringing.join(1);
  CHECK(narrow.wait() == 1);
  CHECK(narrow.has_said("no column '4'", "1 to 3"));
  write_file(bringing.data(1) + "/train.csv", "0.5,0.5,0.5,7\n");
  const Party foreign = bringing.join(1);
  CHECK(foreign.wait() == 1);
  CHECK(foreign.has_said("label 7", "0", "2"));
  write_file(bringing.data(1) + "/train.csv", good);
  std::vector<Party> clients;
  for (int client = 0; client < 3; ++client) clients.push_back(bringing.join(client));
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
}

TEST_CASE("a coordinator that changes the normalization or settings of an experiment is refused") {
  const Bringing bringing;
  const Party coordinator = bringing.serve();
  const Socket listener = listening(0);
  const auto join_here = [&] {
    return bringing.federation.join_with(
        0, {"--connect", "127.0.0.1:" + std::to_string(port_of(listener.get())), "--data", bringing.data(0)});
  };
  Welcome welcome;
  Schema schema;
  {
    const Party client = join_here();
    const Peer to_client(Socket(accept(listener.get(), nullptr, nullptr)));
    const Peer to_coordinator(calling(bringing.federation.port()));
    to_coordinator.say(to_client.hear<Hello>().value_or(Hello{}));
    welcome = to_coordinator.hear<Welcome>().value_or(Welcome{});
    schema = read_schema(welcome.schema, "the test");
    REQUIRE(schema.mean.size() == 3);
    to_client.say(welcome);
    to_coordinator.say(to_client.hear<Ready>().value_or(Ready{}));
    to_client.say(to_coordinator.hear<ModelMessage>().value_or(ModelMessage{}));
    to_client.say(to_coordinator.hear<Train>().value_or(Train{}));
    REQUIRE(to_client.hear<UpdateMessage>());  // from now on, something has been spent
    client.kill();
  }
  Welcome others[] = {welcome, welcome, welcome};
  schema.mean[1] += 1;
  others[0].schema = schema_text(schema);
  schema.mean[1] -= 1;
  schema.form.outputs += 1;
  others[1].schema = schema_text(schema);
  others[2].settings.replace(others[2].settings.find("batch = 10"), 10, "batch = 11");
  for (const Welcome& other : others) {
    const Party client = join_here();
    const Peer to_client(Socket(accept(listener.get(), nullptr, nullptr)));
    REQUIRE(to_client.hear<Hello>());
    to_client.say(other);
    CHECK(client.wait() == 3);
    CHECK(client.has_said("'" + bringing.federation.client_folder(0) + "'", "settings"));
  }
  coordinator.kill();
}

TEST_CASE("a client reports what it takes part in, and takes part only under the privacy it requires") {
  const Bringing bringing;
  const Party coordinator = bringing.serve();
  Words words = bringing.federation.join_words(0);
  *(std::ranges::find(words, "--data") + 1) = bringing.data(0);
  Words demanding = words;
  demanding.insert(demanding.end(), {"--require-dp", "example"});
  const Party wants_more(demanding);
  CHECK(wants_more.wait() == 3);
  CHECK(wants_more.has_said("require-dp", "'example'"));
  demanding.back() = "none";
  const Party wrong(demanding);
  CHECK(wrong.wait() == 2);
  CHECK(wrong.has_said("require-dp", "'none'", "example", "client", "both"));
  const Party client(words);
  CHECK(client.says("client 0", "logistic", "adadp", "60 rows", "privacy"));
  coordinator.kill();
  client.kill();
}

TEST_CASE("own rows with another command, or a bad roster, are refused in one line") {
  const Bringing bringing;
  const Words data{"--data", bringing.federation / "data", "--clients", "3", "--partition", "own"};
  const auto refused = [&](Words words, std::initializer_list<std::string_view> parts) {
    words.insert(words.end(), data.begin(), data.end());
    const Outcome outcome = run_program(words);
    CHECK(outcome.code == 2);
    CHECK_MESSAGE(names(outcome.err, parts), outcome.err);
  };
  const std::string out = bringing.federation.out();
  refused({"run", "--out", out, "--roster", bringing.roster}, {"partition", "'own'"});
  refused({"partition", "--roster", bringing.roster}, {"partition", "'own'"});
  refused({"launch", "--out", out, "--roster", bringing.roster}, {"partition", "'own'", "launch"});
  refused({"serve", "--out", out, "--listen", "127.0.0.1:0", "--insecure-loopback"}, {"roster", "''"});
  write_file(bringing.roster, bringing.line_of(0));
  refused({"serve", "--out", out, "--listen", "127.0.0.1:0", "--insecure-loopback", "--roster", bringing.roster},
          {bringing.roster, "3", "1"});
  CHECK_FALSE(std::filesystem::exists(out));
  CHECK(run_program({"data", "roster", "file"}).code == 2);
  CHECK(run_program({"data", "roster", "file", "--client", "-1"}).code == 2);
}

}  // namespace fedstride::test::network_own_rows_test
