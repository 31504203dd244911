#include "orchestrator/commands/command_line.hpp"

int main(int argc, char** argv) {
  return dvfs_plan::main_program(argc, argv);
}
