#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "run_command.hpp"
#include "support/catch.hpp"

TEST_CASE("The command tells its version and helps", "[cli][golden]") {
  CHECK(costate_command("--version").output == "costate " COSTATE_VERSION "\n");
  CHECK(costate_command("--version").status == 0);
  CHECK(costate_command("--help").status == 0);
  CHECK(costate_command("plan --help").status == 0);
}

TEST_CASE("A plan for people", "[cli][golden]") {
  const Ran ran = costate_command("plan --steps 10 --memory-slots 3");
  CHECK(ran.status == 0);
  CHECK(ran.output ==
        "revolve, 10 steps\n"
        "  advances             15   (1.5 a step)\n"
        "  forward evaluations  25\n"
        "  most runs of a step  2\n"
        "  memory: 3 of 3 slots used, 6 writes, 9 reads\n"
        "  cost                 15   (the least possible)\n"
        "  fixed cost           10\n");
}

TEST_CASE("A plan for programs", "[cli][golden]") {
  Ran ran = costate_command("plan --steps 1000 --memory-slots 10 --json");
  CHECK(ran.status == 0);
  const std::string line = "  \"planning_seconds\": ";
  const std::size_t at = ran.output.find(line);
  REQUIRE(at != std::string::npos);
  ran.output.erase(at, ran.output.find('\n', at) + 1 - at);
  CHECK(ran.output ==
        "{\n"
        "  \"schedule\": \"revolve\",\n"
        "  \"steps\": 1000,\n"
        "  \"advances\": 3636,\n"
        "  \"forward_evaluations\": 4636,\n"
        "  \"max_runs\": 4,\n"
        "  \"cost\": 3636,\n"
        "  \"fixed_cost\": 1000,\n"
        "  \"lower_bound\": 3636,\n"
        "  \"tiers\": [\n"
        "    {\"name\": \"memory\", \"slots\": 10, \"peak\": 10, \"writes\": 714, \"reads\": 999, "
        "\"bytes\": 0}\n"
        "  ]\n"
        "}\n");
}

TEST_CASE("The actions are printed one a line", "[cli][golden]") {
  const Ran ran = costate_command("plan --steps 2 --memory-slots 1 --actions");
  CHECK(ran.output.substr(ran.output.find("save")) ==
        "save 0 -> #0\nadvance 0 1\nrecord 1\nturn 2\nreverse 1\n"
        "load 0 <- #0\ndrop #0\nrecord 0\nreverse 0\n");
  const Ran json = costate_command("plan --steps 1 --memory-slots 1 --actions --json");
  CHECK(json.output.substr(json.output.find("  \"actions\"")) ==
        "  \"actions\": [\n    \"record 0\",\n    \"turn 1\",\n    \"reverse 0\"\n  ]\n}\n");
}

TEST_CASE("Plans of very long runs come at once and never wrap", "[cli][golden]") {
  Ran ran = costate_command("plan --steps 1000000000000 --memory-slots 2 --json");
  CHECK(json_value(ran.output, "advances") == "942808041582163645");
  CHECK(json_value(ran.output, "saturated") == "");
  ran = costate_command("plan --steps 10000000000000 --memory-slots 2 --json");
  CHECK(json_value(ran.output, "advances") == "9223372036854775807");
  CHECK(json_value(ran.output, "saturated") == "true");
}

TEST_CASE("The drawing has a line for every advance and every reverse step", "[cli][golden]") {
  const std::string path = "plan_test.svg";
  const Ran ran = costate_command("plan --steps 10 --memory-slots 2 --disk-slots 1 --svg " + path);
  CHECK(ran.status == 0);
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const std::string svg = text.str();
  std::remove(path.c_str());
  const auto count = [&svg](const std::string& what) {
    int found = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) {
      ++found;
    }
    return found;
  };
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count("stroke=\"#d55e00\" stroke-width=\"1.8\"") == 10);  // reverse steps
  CHECK(count("stroke=\"#333333\" stroke-width=\"1.1\"") == 9);   // advances, the reads less one
  CHECK(count("<circle") == 6);                                   // writes
}

TEST_CASE("Bad input is one line and exit status 2", "[cli][golden]") {
  struct Row {
    const char* arguments;
    const char* message;
  };
  for (const Row& row : {
           Row{"", "costate: A subcommand is required\n"},
           Row{"plan", "costate: --steps is required\n"},
           Row{"plan --steps", "costate: --steps: 1 required INT missing\n"},
           Row{"plan --steps ten --memory-slots 1",
               "costate: --steps: ten is not a whole number\n"},
           Row{"plan --steps 99999999999999999999 --memory-slots 1",
               "costate: --steps: 99999999999999999999 is too large\n"},
           Row{"plan --steps -1 --memory-slots 1", "costate: --steps: -1 is negative\n"},
           Row{"plan --steps 10",
               "costate: how many checkpoints can be held? give "
               "--memory-slots\n"},
           Row{"plan --steps 10 --memory-slots 0",
               "costate: reversing 10 steps needs at least one slot\n"},
           Row{"plan --steps 10 --memory-slots -3", "costate: --memory-slots: -3 is negative\n"},
           Row{"plan --steps 10 --memory-slots 3 --svg /nowhere/at/all.svg",
               "costate: cannot write /nowhere/at/all.svg\n"},
           Row{"plan --steps 10 --memory-slots 3 --colour blue",
               "costate: The following arguments were not expected: blue --colour\n"},
           Row{"plan --steps 100000 --memory-slots 3 --svg x.svg",
               "costate: a schedule of more than 20000 actions is too long to be drawn\n"},
       }) {
    CAPTURE(row.arguments);
    const Ran ran = costate_command(row.arguments);
    CHECK(ran.status == 2);
    CHECK(ran.output == row.message);
  }
  const Ran ran = costate_command("plan --steps 10 --memory-slots 3 --schedule magic");
  CHECK(ran.status == 2);
  CHECK(ran.output.starts_with("costate: there is no schedule \"magic\"; there are store-all, "));
  CHECK(std::count(ran.output.begin(), ran.output.end(), '\n') == 1);
}
