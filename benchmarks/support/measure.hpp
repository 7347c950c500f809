#pragma once

// Paired measurements: two pieces of work in turn, A B A B …, the ratio taken pair by pair.
// Processor time, not wall time: the machine may be shared.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

namespace bench {

inline double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class Work>
double seconds_of(Work&& work) {
  const double start = cpu_seconds();
  work();
  return cpu_seconds() - start;
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Pair {
  double a;      // median seconds of A
  double b;      // median seconds of B
  double ratio;  // median of the ratios A / B
};

// One uncounted round, then `rounds` counted ones.
template <class A, class B>
Pair compare(int rounds, A&& a, B&& b) {
  std::vector<double> as;
  std::vector<double> bs;
  std::vector<double> ratios;
  a();
  b();
  for (int i = 0; i < rounds; ++i) {
    as.push_back(seconds_of(a));
    bs.push_back(seconds_of(b));
    ratios.push_back(as.back() / bs.back());
  }
  return {median(as), median(bs), median(ratios)};
}

// Prints the verdict of one measurement; returns whether the ratio is within the bound.
inline bool report(const char* what, double ratio, double bound) {
  const bool good = ratio <= bound;
  std::printf("%-66s ratio %6.3f   at most %.2f   %s\n", what, ratio, bound,
              good ? "ok" : "MISSED");
  return good;
}

}  // namespace bench
