/* How many processes a second this machine starts: spawn COUNT SLOTS PROGRAM, so many at once, by posix_spawn. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv) {
  long count = atol(argv[1]), slots = atol(argv[2]), started = 0, running = 0;
  char *words[] = {argv[3], NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (argc < 4) return 2;
  posix_spawn_file_actions_init(&actions);
  for (int number = 0; number < 3; number++) posix_spawn_file_actions_adddup2(&actions, null, number);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  while (started < count || running > 0) {
    if (started < count && running < slots) {
      pid_t pid;
      if (posix_spawn(&pid, argv[3], &actions, &attributes, words, environ)) return 1;
      started++, running++;
    } else {
      int status;
      if (wait(&status) < 0 || status) return 1;
      running--;
    }
  }
  return 0;
}
