// Run while a build is configured: its status is the level to build for this machine.
#include "qed/machine/cpu.hpp"

int main() {
    return qed::widest_level();
}
