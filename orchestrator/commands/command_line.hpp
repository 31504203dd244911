// The program's command line: reads it, runs the command, prints an Error once.
#pragma once

namespace dvfs_plan {

int main_program(int argc, char** argv);

}  // namespace dvfs_plan
