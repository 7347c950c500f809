#include "inspect_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/core/error.hpp"
#include "costate/schedule/replan.hpp"

namespace costate::cli {
namespace {

const char* word(Integrity integrity) {
  switch (integrity) {
    case Integrity::unchecked:
      return "not checked";
    case Integrity::whole:
      return "whole";
    case Integrity::damaged:
      return "DAMAGED";
  }
  return "";
}

const char* word(RunRecord::Phase phase) {
  return phase == RunRecord::Phase::forward ? "forward" : "reverse";
}

const char* word(Outlook::Act act) {
  switch (act) {
    case Outlook::Act::start:
      return "start";
    case Outlook::Act::forward:
      return "forward";
    case Outlook::Act::reverse:
      return "reverse";
    case Outlook::Act::done:
      return "done";
  }
  return "";
}

const char* word(Inspection::Kind kind) {
  switch (kind) {
    case Inspection::Kind::run:
      return "run";
    case Inspection::Kind::finished:
      return "finished run";
    case Inspection::Kind::file:
      return "file of checkpoints";
  }
  return "";
}

// As many digits as it takes to read the same number back; JSON has no NaN.
std::string number(double x) {
  if (!std::isfinite(x)) return "null";
  char digits[32];
  for (const int count : {6, 15, 17}) {
    std::snprintf(digits, sizeof digits, "%.*g", count, x);
    if (std::strtod(digits, nullptr) == x) break;
  }
  return digits;
}

std::string quoted(const std::string& words) {
  std::string out = "\"";
  for (const char c : words) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string line(const std::string& name, const std::string& value) {
  std::string out = "  " + name;
  out.resize(std::max<std::size_t>(out.size() + 1, 16), ' ');
  return out + value + "\n";
}

std::string count(std::size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string of_steps(Step steps) {
  return steps == unknown ? std::string() : " of " + std::to_string(steps);
}

std::string some(const Outlook& next) {
  return next.counted ? "" : "some ";
}

std::string outlook_text(const Inspection& found, TransferCosts disk) {
  const Outlook next = outlook(found, disk);
  switch (next.act) {
    case Outlook::Act::done:
      return "returns the result at once";
    case Outlook::Act::start:
      return "starts from step 0";
    case Outlook::Act::forward: {
      std::string out =
          "goes on forward from step " + std::to_string(next.step) + of_steps(next.steps);
      if (next.advances) {
        out += "; " + some(next) + std::to_string(*next.advances) + " advances to go";
      }
      return out;
    }
    case Outlook::Act::reverse: {
      std::string out =
          "goes on with the adjoint at step " + std::to_string(next.step) + of_steps(next.steps);
      if (next.advances) {
        out += "; recomputes " + some(next) + std::to_string(*next.advances) + " forward steps";
      }
      return out;
    }
  }
  return "";
}

// From the checkpoints that count, as the driver plans it: x_0 is live and kept if none holds it.
std::optional<Step> advances(const Inspection& found, const InspectedRecord& record,
                             TransferCosts disk) {
  if (record.steps == unknown) return std::nullopt;
  const bool forward = record.phase == RunRecord::Phase::forward;
  ResumePoint point;
  point.steps = record.steps;
  point.end = forward ? record.steps : record.step;
  point.turned = !forward;
  if (forward) point.live = record.step;
  point.tiers = {{"memory", found.memory_slots}, {"disk", found.slots}};
  for (const InspectedState& state : found.states) {
    if (state.integrity == Integrity::damaged) continue;
    if (!point.stored.empty() && point.stored.back().at == state.step) continue;
    point.stored.push_back({state.step, found.memory_slots + state.slot});
  }
  if (record.step > 0 && (point.stored.empty() || point.stored.front().at != 0)) {
    Slot slot = 0;
    const auto taken = [&](const Stored& stored) { return stored.slot == slot; };
    while (std::any_of(point.stored.begin(), point.stored.end(), taken)) ++slot;
    if (slot >= found.memory_slots + found.slots) {
      slot = point.stored.back().slot;
      point.stored.pop_back();
    }
    point.stored.insert(point.stored.begin(), {0, slot});
  }
  try {
    if (point.end > most_resumed) return resume_advances(point);
    Costs costs;
    costs.tiers = {{.name = "memory", .slots = found.memory_slots},
                   {.name = "disk", .slots = found.slots, .write = disk.write, .read = disk.read}};
    return resume_from(costs, point).counts.advances;
  } catch (const InvalidArgument&) {
    return std::nullopt;  // headers that contradict each other
  }
}

}  // namespace

Outlook outlook(const Inspection& found, TransferCosts disk) {
  Outlook next;
  if (found.kind == Inspection::Kind::finished) {
    next.act = Outlook::Act::done;
  } else if (found.current < found.records.size()) {
    const InspectedRecord& record = found.records[found.current];
    const bool forward = record.phase == RunRecord::Phase::forward;
    next.act = forward ? Outlook::Act::forward : Outlook::Act::reverse;
    next.step = record.step;
    next.steps = record.steps;
    next.advances = advances(found, record, disk);
    next.counted = next.advances && (forward ? record.steps : record.step) <= most_resumed;
  }
  return next;
}

std::string text(const Inspection& found, TransferCosts disk) {
  std::string out = found.path + ": " + word(found.kind) + "\n";
  if (!found.worker.empty()) out += line("at work", found.worker);
  if (!found.identity.empty()) out += line("identity", found.identity);
  if (!found.library.empty()) {
    out += line("made", (found.created.empty() ? "" : found.created + " ") + "by " + found.library);
  }
  if (found.kind == Inspection::Kind::finished) {
    out += line("result", format_bytes(found.result_bytes));
  }
  for (const StateField& field : found.fields) out += line("a state has", to_string(field));
  if (found.file_bytes > 0) {
    out += line("disk", count(found.states.size(), "checkpoint") + " in " +
                            std::to_string(found.slots) + " slots for " +
                            format_bytes(found.state_bytes) + " each; the file has " +
                            format_bytes(found.file_bytes));
    if (found.memory > 0) {
      out += line("memory", format_bytes(found.memory) + ", " +
                                count(static_cast<std::size_t>(found.memory_slots), "slot"));
    }
    if (found.logged > 0) out += line("log", std::to_string(found.logged) + " steps");
  }
  char row[160];
  if (!found.states.empty()) {
    std::snprintf(row, sizeof row, "%14s %22s %12s %8s %6s  %s\n", "checkpoint", "time", "bytes",
                  "tier", "slot", "checksum");
    out += row;
    for (const InspectedState& state : found.states) {
      std::snprintf(row, sizeof row, "%14lld %22s %12llu %8s %6lld  %s%s\n",
                    static_cast<long long>(state.step),
                    std::isnan(state.time) ? "-" : number(state.time).c_str(),
                    static_cast<unsigned long long>(state.bytes), "disk",
                    static_cast<long long>(state.slot), word(state.integrity),
                    state.packed ? ", packed" : "");
      out += row;
    }
  }
  for (std::size_t i = 0; i < found.records.size(); ++i) {
    const InspectedRecord& record = found.records[i];
    out += line(i == found.current ? "record" : "older record",
                std::string(word(record.phase)) + ", step " + std::to_string(record.step) +
                    of_steps(record.steps) +
                    (std::isnan(record.time) ? "" : ", time " + number(record.time)) + ", " +
                    std::to_string(record.bytes) + " bytes, checksum " + word(record.integrity));
  }
  if (found.kind != Inspection::Kind::file) out += line("a resume", outlook_text(found, disk));
  for (const std::string& damage : found.damage) out += line("DAMAGE", damage);
  return out;
}

std::string json(const Inspection& found, TransferCosts disk) {
  std::string out = "{\n";
  const auto field = [&](const char* name, const std::string& value) {
    out += std::string("  \"") + name + "\": " + value + ",\n";
  };
  const auto list = [&](const char* name, const std::vector<std::string>& items) {
    out += std::string("  \"") + name + "\": [";
    const char* separator = "\n    ";
    for (const std::string& item : items) {
      out += separator + item;
      separator = ",\n    ";
    }
    out += items.empty() ? "],\n" : "\n  ],\n";
  };
  field("path", quoted(found.path));
  field("kind", quoted(word(found.kind)));
  field("at_work", found.worker.empty() ? "null" : quoted(found.worker));
  field("identity", quoted(found.identity));
  field("library", quoted(found.library));
  field("created", quoted(found.created));
  field("file_bytes", std::to_string(found.file_bytes));
  field("state_bytes", std::to_string(found.state_bytes));
  field("slots", std::to_string(found.slots));
  field("memory_bytes", std::to_string(found.memory));
  field("memory_slots", std::to_string(found.memory_slots));
  field("logged_steps", std::to_string(found.logged));
  field("result_bytes", std::to_string(found.result_bytes));
  std::vector<std::string> items;
  for (const StateField& part : found.fields) items.push_back(quoted(to_string(part)));
  list("fields", items);
  items.clear();
  for (const InspectedState& state : found.states) {
    items.push_back("{\"step\": " + std::to_string(state.step) + ", \"time\": " +
                    number(state.time) + ", \"bytes\": " + std::to_string(state.bytes) +
                    ", \"packed\": " + (state.packed ? "true" : "false") +
                    ", \"tier\": \"disk\", \"slot\": " + std::to_string(state.slot) +
                    ", \"row\": " + std::to_string(state.row) +
                    ", \"checksum\": " + quoted(word(state.integrity)) + "}");
  }
  list("checkpoints", items);
  items.clear();
  for (const InspectedRecord& record : found.records) {
    items.push_back(
        std::string("{\"sweep\": ") + quoted(word(record.phase)) +
        ", \"step\": " + std::to_string(record.step) +
        ", \"steps\": " + (record.steps == unknown ? "null" : std::to_string(record.steps)) +
        ", \"time\": " + number(record.time) + ", \"bytes\": " + std::to_string(record.bytes) +
        ", \"row\": " + std::to_string(record.row) +
        ", \"checksum\": " + quoted(word(record.integrity)) + "}");
  }
  list("records", items);
  items.clear();
  for (const std::string& damage : found.damage) items.push_back(quoted(damage));
  list("damage", items);
  const Outlook next = outlook(found, disk);
  out += std::string("  \"resume\": ");
  if (found.kind == Inspection::Kind::file) {
    out += "null";
  } else {
    out += std::string("{\"sweep\": ") + quoted(word(next.act)) +
           ", \"step\": " + std::to_string(next.step) +
           ", \"steps\": " + (next.steps == unknown ? "null" : std::to_string(next.steps)) +
           ", \"advances\": " + (next.advances ? std::to_string(*next.advances) : "null") +
           ", \"counted\": " + (next.counted ? "true" : "false") + "}";
  }
  return out + "\n}\n";
}

}  // namespace costate::cli
