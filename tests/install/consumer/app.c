// A program in C that uses an installed wq.
#include "app.h"

int main(int argc, char** argv) { return argc == 2 ? live_one_life(argv[1]) : 2; }
