/* A stand-in for another processor, for LD_PRELOAD: programs that ask what this processor is get the
   answer of the one that OTHER_PROCESSOR names. They compute with this processor's instructions.

   Linux lets a process ask that CPUID traps (arch_prctl, ARCH_CPUID; /proc/cpuinfo: cpuid_fault).
   The handler executes CPUID, changes what differs, and goes on behind the instruction. What the C
   library chose before is not changed. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define SET_CPUID 0x1012 /* ARCH_SET_CPUID */

enum { ZEN2 = 1, HASWELL = 2, SKYLAKE = 3 };
static int which;
static struct sigaction before;

static long allow_cpuid(int allowed) { return syscall(SYS_arch_prctl, SET_CPUID, allowed); }

static void ask(unsigned leaf, unsigned part, unsigned *r) {
  __asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(part));
}

/* type 1 data, 2 instructions, 3 both; lines of 64 bytes */
static void write_cache(unsigned type, unsigned level, unsigned ways, unsigned sets, unsigned *r) {
  r[0] = type | level << 5 | 1u << 8, r[1] = 63 | (ways - 1) << 22, r[2] = sets - 1, r[3] = 0;
}

static void write_caches(unsigned part, unsigned second, unsigned *r) {
  memset(r, 0, 4 * sizeof *r);
  if (part < 2) write_cache(1 + part, 1, 8, 64, r);         /* 32 KiB */
  if (part == 2) write_cache(3, 2, 8, second, r);           /* second * 512 bytes */
  if (part == 3) write_cache(3, 3, 16, 16384, r);           /* 16 MiB */
}

static void answer(unsigned leaf, unsigned part, unsigned *r) {
  int amd = which == ZEN2;
  ask(leaf, part, r);
  if (leaf == 0 || leaf == 0x80000000u) {
    if (leaf == 0) r[0] = amd ? 0x10 : 0x16;
    else if (amd) r[0] = 0x80000020u;
    if (amd) memcpy(r + 1, "Auth", 4), memcpy(r + 3, "enti", 4), memcpy(r + 2, "cAMD", 4);
  }
  if (leaf == 1) r[0] = amd ? 0x00830F10 : which == HASWELL ? 0x000306F2 : 0x00050654;
  if (leaf == 7 && part == 0) {
    unsigned wide = 1u << 16 | 1u << 17 | 1u << 21 | 3u << 26 | 1u << 28 | 3u << 30; /* AVX-512 */
    r[0] = 0;
    r[1] &= which == SKYLAKE ? ~(1u << 21) : ~wide;
    r[2] &= ~(1u << 1 | 1u << 6 | 7u << 8 | 3u << 11 | 1u << 14);
    r[3] &= ~(3u << 2 | 1u << 8 | 15u << 22); /* AMX, FP16 */
  }
  if (leaf == 7 && part) memset(r, 0, 4 * sizeof *r);
  if (leaf == 4) write_caches(amd ? 9 : part, which == HASWELL ? 512 : 2048, r);
  if (amd && leaf == 2) memset(r, 0, 4 * sizeof *r);
  if (amd && leaf == 0x80000001u) r[2] |= 1u << 22; /* caches stand in the leaf 8000001D */
  if (amd && leaf == 0x8000001Du) write_caches(part, 1024, r);
}

static void handle(int number, siginfo_t *info, void *context) {
  greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
  const unsigned char *code = (const unsigned char *)g[REG_RIP];
  unsigned r[4];
  (void)number, (void)info;
  if (code == NULL || code[0] != 0x0f || code[1] != 0xa2) { /* a true fault */
    sigaction(SIGSEGV, &before, NULL);
    return;
  }
  allow_cpuid(1);
  answer((unsigned)g[REG_RAX], (unsigned)g[REG_RCX], r);
  allow_cpuid(0);
  g[REG_RAX] = r[0], g[REG_RBX] = r[1], g[REG_RCX] = r[2], g[REG_RDX] = r[3];
  g[REG_RIP] += 2;
}

__attribute__((constructor)) static void start(void) {
  static const char *const names[] = {"", "zen2", "haswell", "skylake"};
  const char *name = getenv("OTHER_PROCESSOR");
  struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
  for (int i = 1; name && i < 4; i++)
    if (!strcmp(name, names[i])) which = i;
  if (!which) return;
  sigaction(SIGSEGV, &action, &before);
  if (allow_cpuid(0)) fprintf(stderr, "CPUID does not trap here\n"), exit(3);
}
