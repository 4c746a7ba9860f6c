// A program in C++ that uses an installed wq.
#include "app.h"

#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  return arguments.size() == 2 ? live_one_life(arguments[1].c_str()) : 2;
}
