/* A network file system: to the process that this is preloaded into, a new file is there SECONDS after it was written.

   What the process starts does not have it, as if that ran on the machine that wrote the file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char *below;
static double seconds;

__attribute__((constructor)) static void begin(void) {
  below = getenv("LATE_BELOW");
  seconds = atof(getenv("LATE_SECONDS"));
  unsetenv("LD_PRELOAD");
}

static int late(const char *path, struct stat *about, int result) {
  if (result || !S_ISREG(about->st_mode) || !strstr(path, below)) return result;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  double age = (now.tv_sec - about->st_ctim.tv_sec) + (now.tv_nsec - about->st_ctim.tv_nsec) / 1e9;
  if (age >= seconds) return 0;
  errno = ENOENT;
  return -1;
}

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

int stat(const char *path, struct stat *about) { return late(path, about, REAL(stat)(path, about)); }
int lstat(const char *path, struct stat *about) { return late(path, about, REAL(lstat)(path, about)); }
int stat64(const char *path, struct stat64 *about) {
  return late(path, (struct stat *)about, REAL(stat64)(path, about));
}
int lstat64(const char *path, struct stat64 *about) {
  return late(path, (struct stat *)about, REAL(lstat64)(path, about));
}
int fstatat(int folder, const char *path, struct stat *about, int flags) {
  return late(path, about, REAL(fstatat)(folder, path, about, flags));
}
int fstatat64(int folder, const char *path, struct stat64 *about, int flags) {
  return late(path, (struct stat *)about, REAL(fstatat64)(folder, path, about, flags));
}
