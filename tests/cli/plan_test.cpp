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
        "  runs of a step       1 step 0x, 3 steps 1x, 6 steps 2x\n"
        "  memory: 3 of 3 slots used, 6 writes, 9 reads\n"
        "  cost                 15   (the least possible)\n"
        "  fixed cost           10\n"
        "  why                  revolve is the cheapest of 4; multistage costs as much and is not "
        "plainer; nothing costs less\n");
}

TEST_CASE("A plan for programs", "[cli][golden]") {
  Ran ran = costate_command("plan --steps 1000 --memory-slots 10 --json --schedule revolve");
  CHECK(ran.status == 0);
  const std::string line = "  \"planning_seconds\": ";
  const std::size_t at = ran.output.find(line);
  REQUIRE(at != std::string::npos);
  ran.output.erase(at, ran.output.find('\n', at) + 1 - at);
  CHECK(
      ran.output ==
      "{\n"
      "  \"schedule\": \"revolve\",\n"
      "  \"steps\": 1000,\n"
      "  \"advances\": 3636,\n"
      "  \"forward_evaluations\": 4636,\n"
      "  \"max_runs\": 4,\n"
      "  \"runs_per_step\": {\"min\": 0, \"mean\": 3.636, \"max\": 4, \"steps\": [[0, 1], [1, 10], "
      "[2, 55], [3, 220], [4, 714]]},\n"
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
  const Ran json =
      costate_command("plan --steps 1 --memory-slots 1 --actions --json --schedule revolve");
  CHECK(json.output.substr(json.output.find("  \"actions\"")) ==
        "  \"actions\": [\n    \"record 0\",\n    \"turn 1\",\n    \"reverse 0\"\n  ]\n}\n");
}

TEST_CASE("Plans of very long runs come at once and never wrap", "[cli][golden]") {
  Ran ran = costate_command("plan --steps 1000000000000 --memory-slots 2 --json");
  CHECK(json_value(ran.output, "advances") == "942808041582163645");
  CHECK(json_value(ran.output, "saturated") == "");
  ran = costate_command("plan --steps 1000000000000000000 --memory-slots unlimited --json");
  CHECK(json_value(ran.output, "advances") == "999999999999999999");
  ran = costate_command(
      "plan --steps 1000000000000 --memory-slots 3 --disk-slots unlimited --disk-write 2 "
      "--disk-read 2 --frontier");
  CHECK(ran.status == 0);
  ran = costate_command("plan --steps 10000000000000 --memory-slots 2 --json");
  CHECK(json_value(ran.output, "advances") == "9223372036854775807");
  CHECK(json_value(ran.output, "saturated") == "true");
}

TEST_CASE("Runs per step are listed for any length, unless they are too many", "[cli][golden]") {
  const auto runs = [](const std::string& arguments) {
    const std::string text = costate_command("plan --json " + arguments).output;
    const std::size_t at = text.find("\"runs_per_step\"");
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(runs("--steps 56 --memory-slots 3 --schedule revolve") ==
        "\"runs_per_step\": {\"min\": 0, \"mean\": 3.75, \"max\": 5, \"steps\": "
        "[[0, 1], [1, 3], [2, 6], [3, 10], [4, 15], [5, 21]]},");
  CHECK(runs("--steps 1000000000000 --memory-slots 999999999998 --schedule revolve") ==
        "\"runs_per_step\": {\"min\": 0, \"mean\": 1, \"max\": 2, \"steps\": "
        "[[0, 1], [1, 999999999998], [2, 1]]},");
  CHECK(runs("--steps 20001 --memory-slots 1 --schedule recompute-all") ==
        "\"runs_per_step\": {\"min\": null, \"mean\": 10000, \"max\": 20000, "
        "\"steps\": null},");
  CHECK(runs("--steps 0 --memory-slots 1") ==
        "\"runs_per_step\": {\"min\": null, \"mean\": 0, \"max\": 0, \"steps\": []},");
  const Ran ran = costate_command("plan --steps 10000 --memory-slots 6 --schedule revolve");
  CHECK(ran.output.find("runs of a step       0 to 11; half of the steps at most 9, nine tenths at "
                        "most 11\n") != std::string::npos);
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

TEST_CASE("A disk, its costs, and all that applies", "[cli][golden]") {
  const std::string disk =
      "plan --steps 256 --memory-slots 3 --disk-slots 3 --disk-write 2 "
      "--disk-read 2 ";
  // The makespan of the reference, 1279, less one for each taped step.
  Ran ran = costate_command(disk + "--json");
  CHECK(json_value(ran.output, "schedule") == "\"hierarchical\"");
  CHECK(json_value(ran.output, "cost") == "1023");
  CHECK(json_value(ran.output, "lower_bound") == "1023");
  CHECK(json_value(ran.output, "fixed_cost") == "256");

  ran = costate_command(disk + "--compare --json");
  CHECK(ran.status == 0);
  CHECK(json_value(ran.output, "best") == "\"hierarchical\"");
  CHECK(ran.output.find("{\"schedule\": \"store-all\", \"why\": \"keeping all states of 256 "
                        "steps needs 255 slots; there are 6\"}") != std::string::npos);
  ran = costate_command(disk + "--compare");
  CHECK(ran.output.starts_with("schedule "));
  CHECK(ran.output.find("\nhierarchical ") < ran.output.find("\nrevolve "));
}

TEST_CASE("Room in bytes", "[cli][golden]") {
  const Ran ran =
      costate_command("plan --steps 100 --memory 64MiB --state 6MiB --json --schedule revolve");
  CHECK(json_value(ran.output, "slots") == "10");
  CHECK(json_value(ran.output, "advances") == "222");
  CHECK(json_value(ran.output, "bytes") == "62914560");
}

TEST_CASE("An unknown number of steps is told when it is reached", "[cli][golden]") {
  Ran ran = costate_command("plan --steps 100 --memory-slots 4 --online --json");
  CHECK(json_value(ran.output, "schedule") == "\"online\"");
  CHECK(std::stoi(json_value(ran.output, "advances")) >= 374);
  ran = costate_command(
      "plan --steps 100 --memory-slots 4 --disk-slots 3 --disk-write 2 --disk-read 2 --online "
      "--json");
  CHECK(json_value(ran.output, "schedule") == "\"online-tiered\"");
  ran = costate_command("plan --steps 3 --memory-slots 2 --schedule online --actions");
  CHECK(ran.output.substr(ran.output.find("save")) ==
        "save 0 -> #0\nadvance 0 1\nsave 1 -> #1\nadvance 1 2\nrecord 2\nturn 3\nreverse 2\n"
        "load 1 <- #1\ndrop #1\nrecord 1\nreverse 1\nload 0 <- #0\ndrop #0\nrecord 0\n"
        "reverse 0\n");
}

TEST_CASE("A right guess makes the best of an unknown number of steps", "[cli][golden]") {
  const std::string line = "plan --steps 100 --memory-slots 4 --online --json";
  Ran ran = costate_command(line + " --guess 100");
  CHECK(json_value(ran.output, "schedule") == "\"online\"");
  CHECK(json_value(ran.output, "advances") == "374");
  CHECK(json_value(ran.output, "cost") == json_value(ran.output, "lower_bound"));
  ran = costate_command(line + " --guess 80");
  CHECK(std::stoi(json_value(ran.output, "advances")) >= 374);
  CHECK(std::stoi(json_value(ran.output, "advances")) <= 403);  // 1.08 x 374
  const std::string tiered =
      "plan --steps 300 --memory-slots 4 --disk-slots 3 --disk-write 2 --disk-read 2 --json";
  ran = costate_command(tiered + " --online --guess 300");
  CHECK(json_value(ran.output, "schedule") == "\"online-tiered\"");
  CHECK(json_value(ran.output, "cost") ==
        json_value(costate_command(tiered + " --schedule hierarchical").output, "cost"));
}

TEST_CASE("A weight for every step", "[cli][golden]") {
  const std::string path = "plan_test_weights.txt";
  std::ofstream(path) << "1 2 3\n4 5 6\n7 8 9 10\n";
  const std::string line = "plan --memory-slots 1 --schedule recompute-all --weights " + path;
  // The first step is run nine times, the second eight times, …
  CHECK(json_value(costate_command(line + " --steps 10 --json").output, "cost") == "165");
  CHECK(costate_command(line + " --steps 9").output ==
        "costate: there are 10 weights for 9 steps\n");
  std::ofstream(path)
      << "1\r\n2\r\n\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n10\r\n\r\n";  // as other systems write
                                                                         // it
  CHECK(json_value(costate_command(line + " --steps 10 --json").output, "cost") == "165");
  for (const char* bad : {"nan", "inf", "-1"}) {
    std::ofstream(path) << "1 2 " << bad;
    CHECK(costate_command(line + " --steps 3").status == 2);
  }
  std::ofstream(path) << "1 2 three";
  CHECK(costate_command(line + " --steps 3").output ==
        "costate: " + path + ": three is not a number\n");
  std::ofstream(path) << "1 \x01\x02 3";
  CHECK(costate_command(line + " --steps 3").output ==
        "costate: " + path + ": ?? is not a number\n");
  std::ofstream(path) << "\n";
  CHECK(costate_command(line + " --steps 0").output == "costate: " + path + " holds no weights\n");
  std::remove(path.c_str());
}

TEST_CASE("Weights go with a disk, a comparison and a frontier", "[cli][golden]") {
  const std::string path = "plan_test_weights_and_disk.txt";
  std::ofstream(path) << "50 1 1 1 1 1 1 50 1 1 1 1";
  const std::string line =
      "plan --steps 12 --memory-slots 1 --disk-slots 2 --disk-write 4 "
      "--disk-read 3 --weights " +
      path;
  const Ran one = costate_command(line + " --json");
  CHECK(json_value(one.output, "schedule") == "\"weighted\"");
  CHECK(json_value(one.output, "cost") == json_value(one.output, "lower_bound"));
  const Ran all = costate_command(line + " --compare");
  CHECK(all.output.find("\nweighted ") < all.output.find("\nhierarchical "));
  const Ran frontier = costate_command(line + " --frontier --json");
  CHECK(frontier.output.find("{\"schedule\": \"weighted\", \"slots\": 1, \"bytes\": 0, \"cost\": " +
                             json_value(one.output, "cost") + ",") != std::string::npos);
  std::remove(path.c_str());
}

TEST_CASE("A tape may contain the next state", "[cli][golden]") {
  const std::string line = "plan --steps 60 --memory 8 --state 1 --tape 2 --json";
  // Of the stage-aware programme: 98 recomputed steps, 94 if the tape can be restarted from.
  CHECK(json_value(costate_command(line).output, "advances") == "98");
  CHECK(json_value(costate_command(line + " --tape-has-next").output, "advances") == "94");
}

TEST_CASE("A disk of any price is left alone if it does not pay", "[cli][golden]") {
  const Ran ran = costate_command(
      "plan --steps 100 --memory-slots 3 --disk-slots 5 --disk-write 1e150 --disk-read 1e150 "
      "--json");
  CHECK(json_value(ran.output, "cost") == "490");
}

TEST_CASE("The frontier is the best cost for any memory", "[cli][golden]") {
  const Ran ran = costate_command("plan --steps 100 --frontier --json");
  CHECK(ran.status == 0);
  for (const char* point : {"{\"schedule\": \"revolve\", \"slots\": 1, \"bytes\": 0, "
                            "\"cost\": 4950, \"lower_bound\": 4950}",
                            "{\"schedule\": \"revolve\", \"slots\": 99, \"bytes\": 0, "
                            "\"cost\": 99, \"lower_bound\": 99}",
                            "{\"schedule\": \"halving\", \"slots\": 7, \"bytes\": 0, "
                            "\"cost\": 316, \"lower_bound\": "}) {
    CAPTURE(point);
    CHECK(ran.output.find(point) != std::string::npos);
  }
}

TEST_CASE("Bad input is one line and exit status 2", "[cli][golden]") {
  struct Row {
    const char* arguments;
    const char* message;
  };
  for (
      const Row& row : {
          Row{"", "costate: A subcommand is required\n"},
          Row{"plan", "costate: --steps is required\n"},
          Row{"plan --steps", "costate: --steps: 1 required INT missing\n"},
          Row{"plan --steps ten --memory-slots 1", "costate: --steps: ten is not a whole number\n"},
          Row{"plan --steps 99999999999999999999 --memory-slots 1",
              "costate: --steps: 99999999999999999999 is too large\n"},
          Row{"plan --steps -1 --memory-slots 1", "costate: --steps: -1 is negative\n"},
          Row{"plan --steps 10",
              "costate: how many checkpoints can be held? give --memory-slots or --memory\n"},
          Row{"plan --steps 1000000000000000001 --memory-slots 1",
              "costate: a plan is made for at most 10^18 steps, not 1000000000000000001\n"},
          Row{"plan --steps 10 --memory-slots 3 --tape 5", "costate: --tape needs --state\n"},
          Row{"plan --steps 10 --memory-slots 3 --tape-has-next",
              "costate: --tape-has-next needs --tape\n"},
          Row{"plan --steps 10 --memory-slots 3 --online --schedule revolve",
              "costate: --online: revolve has to be told the number of steps\n"},
          Row{"plan --steps 10 --memory-slots 3 --guess 9", "costate: --guess needs --online\n"},
          Row{"plan --steps 10 --memory-slots 3 --guess -9 --online",
              "costate: --guess: -9 is negative\n"},
          Row{"plan --steps 10 --memory-slots 3 --guess 9 --online --compare",
              "costate: --guess is for the schedule online alone\n"},
          Row{"plan --steps 10 --memory-slots 3 --disk-slots 2 --guess 9 --online --schedule "
              "online",
              "costate: --guess is for the schedule online-tiered alone\n"},
          Row{"plan --steps 10 --memory-slots 0",
              "costate: reversing 10 steps needs at least one slot\n"},
          Row{"plan --steps 10 --memory-slots -3",
              "costate: --memory-slots: -3 is neither a number of slots nor \"unlimited\"\n"},
          Row{"plan --steps 10 --memory-slots 3 --memory 1MiB",
              "costate: --memory-slots and --memory say the same: give one of them\n"},
          Row{"plan --steps 10 --memory 1MiB",
              "costate: the room of tier memory is given in bytes, but not the size of a state\n"},
          Row{"plan --steps 10 --memory-slots 3 --disk-write 2",
              "costate: --disk-write and --disk-read need --disk-slots or --disk\n"},
          Row{"plan --steps 10 --memory-slots 3 --disk-slots 2 --disk-read nan",
              "costate: a read from tier disk costs nan: a cost must be finite and not negative\n"},
          Row{"plan --steps 10 --memory-slots 3 --disk-slots 2 --disk-write=-1",
              "costate: a write to tier disk costs -1.000000: a cost must be finite and not "
              "negative\n"},
          Row{"plan --steps 10 --memory-slots 3 --weights /nowhere/at/all",
              "costate: cannot read /nowhere/at/all\n"},
          Row{"plan --steps 9 --memory-slots 3 --frontier --compare",
              "costate: --frontier and --compare: give one of them\n"},
          Row{"plan --steps 9 --memory-slots 3 --compare --actions",
              "costate: --compare and --actions: give one of them\n"},
          Row{"plan --steps 9 --memory-slots 3 --compare --schedule revolve",
              "costate: --compare and --schedule: give one of them\n"},
          Row{"plan --steps 9 --memory-slots 3 --frontier --schedule revolve",
              "costate: --frontier and --schedule: give one of them\n"},
          Row{"plan --steps 9 --memory-slots 3 --weights .", "costate: cannot read .\n"},
          Row{"plan --steps 9 --memory-slots 3 --svg .", "costate: cannot write .\n"},
          Row{"plan --steps 4611686018427387904 --memory-slots 3",
              "costate: a plan is made for at most 10^18 steps, not 4611686018427387904\n"},
          Row{"plan --steps 9 --memory-slots 3 --disk-slots 2 --disk-write inf",
              "costate: a write to tier disk costs inf: a cost must be finite and not negative\n"},
          Row{"plan --steps 9 --memory 5XiB --state 1",
              "costate: --memory: not a size in bytes: '5XiB' (write 24, 64MiB, 1.5GB, ...)\n"},
          Row{"plan --steps 9 --memory-slots 3 --frontier --online",
              "costate: --frontier and --online: give one of them\n"},
          Row{"plan --steps 1 --memory-slots 3 --frontier --svg x.svg",
              "costate: a frontier is drawn for at least two steps\n"},
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
  CHECK(ran.output.starts_with("costate: there is no schedule \"magic\"; there are revolve, "));
  CHECK(std::count(ran.output.begin(), ran.output.end(), '\n') == 1);
}
