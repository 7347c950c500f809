// sundials [end of the Brusselator's time [points along a side …]]

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "sundials/benchmarks.hpp"

int main(int argc, char** argv) {
  const double end = argc > 1 ? std::atof(argv[1]) : 30;
  std::vector<int> sides;
  for (int i = 2; i < argc; ++i) sides.push_back(std::atoi(argv[i]));
  if (sides.empty()) sides = {128, 256};
  robertson_table();
  vector_operations_table();
  bool good = true;
  for (const int side : sides) good = brusselator_table(side, end) && good;
  return good ? 0 : 1;
}
