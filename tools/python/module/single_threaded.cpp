// glibc's variable that says whether a process has one thread, as the module's own. Debian's libyaml-cpp.a is compiled for programs and not
// for shared libraries: it reads the variable at a fixed distance, which only one in the same library has. Zero is always right: reference
// counts are then changed by atomic instructions.
extern "C" __attribute__((visibility("hidden"))) char __libc_single_threaded;  // NOLINT(bugprone-reserved-identifier)
char __libc_single_threaded = 0;                                               // NOLINT(bugprone-reserved-identifier)
