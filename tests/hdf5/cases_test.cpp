// Cases C39, C77 and C86 of the collection. C79 is in fault_test, C81, C83 and C85 in resume_test,
// C88 in threads_test.

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

#include "costate/core/error.hpp"
#include "costate/hdf5/disk.hpp"
#include "costate/hdf5/inspect.hpp"
#include "costate/schedule/revolve.hpp"
#include "costate/sweep/sweep.hpp"
#include "support/catch.hpp"
#include "support/faulty_files.hpp"
#include "support/interrupted.hpp"
#include "support/temp_folder.hpp"
#include "support/work_w1.hpp"

using namespace costate;
using costate::test::FaultyFiles;
using costate::test::in_child;
using costate::test::options_for;
using costate::test::Setting;
using costate::test::TempFolder;
using costate::test::W1;

namespace {

// y' = -r y by RK4 steps, and at t = 0.7 a step of its own that adds I: the jump time owns two
// indices. J = integral of y², a second component of the state.
class Jump : public Stepper {
 public:
  static constexpr Step before = 140;  // the index in front of the jump
  static constexpr Step n = 401;
  static constexpr double h = 0.005;

  double y_bar = 0;
  double r_bar = 0;
  double i_bar = 0;
  double value = 0;
  double y_minus = 0;  // what the reverse sweep saw on both sides
  double y_plus = 0;

  [[nodiscard]] Step steps() const override { return n; }
  Step advance(Step from, Step to, Pass) override {
    for (Step k = from; k < to; ++k) x_ = next(k, x_);
    return to;
  }
  void turn(Step) override {
    value = x_.q;
    y_bar = 0;
    q_bar_ = 1;
  }
  void reverse(Step k) override {
    if (k == before) {
      y_minus = x_.y;
      i_bar += y_bar;
      return;
    }
    if (k == before + 1) y_plus = x_.y;
    // With f = -r y a step multiplies y by a(r h); the quadrature is a multiple b(r h) of y².
    const double z = r * h;
    const double a = 1 - z + z * z / 2 - z * z * z / 6 + z * z * z * z / 24;
    const double a_z = -1 + z - z * z / 2 + z * z * z / 6;
    // Stages: y, (1 - z/2) y, (1 - z/2 + z²/4) y, (1 - z + z²/2 - z³/4) y.
    const double s2 = 1 - z / 2;
    const double s3 = 1 - z / 2 + z * z / 4;
    const double s4 = 1 - z + z * z / 2 - z * z * z / 4;
    const double b = h / 6 * (1 + 2 * s2 * s2 + 2 * s3 * s3 + s4 * s4);
    const double b_z =
        h / 6 * (4 * s2 * -0.5 + 4 * s3 * (-0.5 + z / 2) + 2 * s4 * (-1 + z - 3 * z * z / 4));
    r_bar += h * (a_z * x_.y * y_bar + b_z * x_.y * x_.y * q_bar_);
    y_bar = a * y_bar + 2 * b * x_.y * q_bar_;
  }
  [[nodiscard]] std::size_t state_bytes() const override { return sizeof x_; }
  void save(std::span<std::byte> out) const override { std::memcpy(out.data(), &x_, sizeof x_); }
  void load(std::span<const std::byte> in) override { std::memcpy(&x_, in.data(), sizeof x_); }
  [[nodiscard]] double time(Step k) const override {
    return h * static_cast<double>(k <= before ? k : k - 1);
  }
  [[nodiscard]] std::vector<StateField> fields() const override {
    return {{.name = "y"}, {.name = "q"}};
  }

 private:
  struct State {
    double y = 1;
    double q = 0;
  };
  static constexpr double r = 0.3;
  static State next(Step k, State x) {
    if (k == before) return {x.y + 0.25, x.q};
    const double k1 = -r * x.y;
    const double y2 = x.y + h / 2 * k1;
    const double y3 = x.y - h / 2 * r * y2;
    const double y4 = x.y - h * r * y3;
    return {x.y + h / 6 * (k1 - 2 * r * y2 - 2 * r * y3 - r * y4),
            x.q + h / 6 * (x.y * x.y + 2 * y2 * y2 + 2 * y3 * y3 + y4 * y4)};
  }
  State x_;
  double q_bar_ = 0;
};

}  // namespace

TEST_CASE("C39: a jump keeps its two states apart, in every tier", "[hdf5][sweep][golden]") {
  const TempFolder folder;
  for (const Slot slots : {1, 3, 400}) {
    CAPTURE(slots);
    Jump jump;
    const DiskSpec disk = hdf5({.directory = folder.path(), .capacity = 1_MiB, .keep = true});
    const Report report = sweep(
        jump,
        {.budget = {.memory = 1_MiB, .disk = disk},
         .schedule = revolve(Jump::n, std::vector<TierSlots>{{"memory", 0}, {"disk", slots}})});
    REQUIRE(report.tiers.size() == 2);
    CHECK(report.tiers[1].reads > 0);
    CHECK(jump.value == Catch::Approx(1.5869319830921535607).epsilon(1e-8));
    CHECK(jump.y_bar == Catch::Approx(2.6951922560827775189).epsilon(1e-7));
    CHECK(jump.r_bar == Catch::Approx(-2.6086651460026500073).epsilon(1e-7));
    CHECK(jump.i_bar == Catch::Approx(1.9146868404061184101).epsilon(1e-7));
    CHECK(jump.y_minus == Catch::Approx(0.81058424597018709984).epsilon(1e-8));
    CHECK(jump.y_plus == Catch::Approx(1.0605842459701870998).epsilon(1e-8));
  }
  // In the file with room for all of them, one time has two states.
  bool seen = false;
  for (const std::string& path : folder.files()) {
    const Inspection found = inspect(path, {.verify = true});
    CHECK(found.damage.empty());
    if (found.slots < 400) continue;
    int at_the_jump = 0;
    for (const InspectedState& state : found.states) {
      if (state.time == Jump().time(Jump::before)) {
        CHECK((state.step == Jump::before || state.step == Jump::before + 1));
        ++at_the_jump;
      }
    }
    CHECK(at_the_jump == 2);
    seen = true;
  }
  CHECK(seen);
}

TEST_CASE("C77: killed at random moments in both sweeps, all runs end with the table's values",
          "[hdf5][run][golden]") {
#ifdef COSTATE_SOAK
  constexpr std::size_t n = 35 * 2000;
  constexpr int kills = 60;  // in each sweep
#else
  constexpr std::size_t n = 35 * 100;
  constexpr int kills = 5;
#endif
  W1 whole(n);
  sweep(whole);
  CHECK(whole.value == Catch::Approx(0.13140032194074357407).epsilon(1e-12));
  CHECK(whole.kappa_bar() == Catch::Approx(-0.22433912127044403711).epsilon(1e-11));
  CHECK(whole.scaled_y_bar(0) == Catch::Approx(0.079084373727217007493).epsilon(1e-11));
  CHECK(whole.scaled_y_bar(1) == Catch::Approx(0.050768334916829917).epsilon(1e-11));
  CHECK(whole.scaled_y_bar(34) == Catch::Approx(0.010449246496909730525).epsilon(1e-11));

  std::mt19937 random(77);
  for (int i = 0; i < 2 * kills; ++i) {
    const bool reverse = i >= kills;
    const TempFolder folder;
    FaultyFiles files;
    const Setting setting{.directory = folder.path(),
                          .disk_slots = 6,
                          .threads = 1,
                          .safety_every = 0,
                          .files = &files};
    CAPTURE(i);
    CHECK(in_child([&] {
      // Every other one inside a write of the sweep, half done.
      class Dying final : public W1 {
       public:
        using W1::W1;
        FaultyFiles* files = nullptr;
        bool in_reverse = false;
        bool in_write = false;
        long left = 0;
        void at(Step, bool reversing) override {
          if (reversing != in_reverse || left-- > 0) return;
          if (!in_write) ::kill(::getpid(), SIGKILL);
          if (left == -1) {
            files->at = files->operations + 1;
            files->fault = FaultyFiles::Fault::torn_write_kill;
          } else {
            files->at = files->operations.load();  // until the operation is a write
          }
        }
      };
      Dying model(n);
      model.files = &files;
      model.in_reverse = reverse;
      model.in_write = i % 2 == 0;
      model.left = static_cast<long>(random() % 190);
      run_or_resume(model, options_for(setting, model));
      if (model.in_write) ::kill(::getpid(), SIGKILL);  // no write came any more
    }));
    random.discard(1);
    W1 model(n);
    const RunResult result = run_or_resume(model, options_for(setting, model));
    CHECK(result.finished);
    CHECK(model.bits() == whole.bits());
  }
}

namespace {

// Files whose space is not reserved, so that huge ones cost only what is written.
class SparseFiles final : public FileSystem {
 public:
  class Sparse final : public File {
   public:
    explicit Sparse(std::unique_ptr<File> inner) : File(inner->path()), inner_(std::move(inner)) {}
    void read(std::span<std::byte> out, Bytes offset) override { inner_->read(out, offset); }
    void write(std::span<const std::byte> in, Bytes offset) override {
      inner_->write(in, offset);
      furthest = std::max(furthest, offset + in.size());
    }
    void sync() override { inner_->sync(); }
    void reserve(Bytes bytes) override {
      if (inner_->size() >= bytes) return;
      const std::byte zero{};
      inner_->write({&zero, 1}, bytes - 1);
    }
    [[nodiscard]] Bytes size() override { return inner_->size(); }
    static inline Bytes furthest = 0;

   private:
    std::unique_ptr<File> inner_;
  };
  std::unique_ptr<File> open(const std::string& path, Mode mode) override {
    return std::make_unique<Sparse>(real().open(path, mode));
  }
  void rename(const std::string& from, const std::string& to) override { real().rename(from, to); }
  void remove(const std::string& path) override { real().remove(path); }
  void sync_directory(const std::string& path) override { real().sync_directory(path); }
};

void fill(std::span<std::byte> out, std::uint64_t seed) {
  // Numbers that follow from their place, so that 4 GiB cost no second copy.
  for (std::size_t i = 0; i + 8 <= out.size(); i += 8) {
    const std::uint64_t word = (seed + i) * 0x9E3779B97F4A7C15ULL;
    std::memcpy(out.data() + i, &word, 8);
  }
}
bool filled(std::span<const std::byte> in, std::uint64_t seed) {
  for (std::size_t i = 0; i + 8 <= in.size(); i += 8) {
    const std::uint64_t word = (seed + i) * 0x9E3779B97F4A7C15ULL;
    if (std::memcmp(in.data() + i, &word, 8) != 0) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("C86: places beyond 4 GiB are told apart", "[hdf5][golden]") {
  const TempFolder folder;
  SparseFiles files;
  SparseFiles::Sparse::furthest = 0;
  constexpr std::size_t row = 512_KiB;
  constexpr Slot slots = 9000;  // 4.4 GiB
  const auto tier = hdf5({.directory = folder.path(),
                          .capacity = 5_GiB,
                          .io_threads = 0,
                          .buffers = 1,
                          .files = &files})
                        ->make(row, slots);
  // Rows are taken in order, so all between have to be taken: most with one byte.
  const auto put = [&](Slot slot, std::size_t bytes) {
    fill(tier->begin_write(slot, slot, bytes), static_cast<std::uint64_t>(slot));
    tier->commit(slot);
  };
  const std::vector<Slot> looked_at = {0, 1, 4095, 4096, 8191, 8192, 8193, slots - 1};
  for (Slot slot = 0; slot < slots; ++slot) {
    const bool whole = std::find(looked_at.begin(), looked_at.end(), slot) != looked_at.end();
    put(slot, whole ? row : 1);
  }
  CHECK(SparseFiles::Sparse::furthest > 4_GiB);
  for (const Slot slot : looked_at) {
    CAPTURE(slot);
    CHECK(filled(tier->read(slot, slot), static_cast<std::uint64_t>(slot)));
  }
}

#ifdef COSTATE_SOAK
TEST_CASE("C86: a state of more than 4 GiB goes to the disk and comes back", "[hdf5][golden]") {
  constexpr std::size_t bytes = 4294967320;
  static_assert(bytes == 8UL * 536870915UL);
  const TempFolder folder;
  SparseFiles files;
  const auto tier = hdf5({.directory = folder.path(),
                          .capacity = 20_GiB,
                          .keep = true,
                          .io_threads = 0,
                          .buffers = 1,
                          .files = &files})
                        ->make(bytes, 1);
  fill(tier->begin_write(0, 1, bytes), 1);
  tier->commit(0);
  // The one buffer must be filled from the file again.
  tier->drop(0);
  fill(tier->begin_write(0, 2, bytes), 2);
  tier->commit(0);
  const Inspection found = inspect(folder.files().at(0), {.verify = true});
  CHECK(found.damage.empty());
  CHECK(found.file_bytes >= bytes);
  REQUIRE(found.states.size() == 1);
  CHECK(found.states[0].bytes == bytes);
  CHECK(filled(tier->read(0, 2), 2));

  // Peak memory below four states.
  std::ifstream status("/proc/self/status");
  std::uint64_t peak = 0;
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") status >> peak;
  }
  CHECK(peak * 1024 < 4 * bytes);

  // And raw.
  const auto raw = FileSystem::real().open(folder.path() + "/raw", FileSystem::Mode::create);
  std::vector<std::byte> memory(bytes);
  fill(memory, 3);
  raw->write(memory, 0);
  CHECK(raw->size() == bytes);
  std::fill(memory.begin(), memory.end(), std::byte{});
  raw->read(memory, 0);
  CHECK(filled(memory, 3));
}
#endif
