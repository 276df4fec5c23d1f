/* Preloaded into daemons that have no option for it: they listen on one address of the loopback device only, which is
   $BINDLO_ADDRESS, or 127.0.0.1. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

static in_addr_t only;
__attribute__((constructor)) static void read_address(void) { /* now: some clear their environment later */
  const char *text = getenv("BINDLO_ADDRESS");
  only = text ? inet_addr(text) : htonl(INADDR_LOOPBACK);
}
int bind(int fd, const struct sockaddr *address, socklen_t length) {
  static int (*real)(int, const struct sockaddr *, socklen_t);
  if (!real) real = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "bind");
  if (address && address->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
    struct sockaddr_in local = *(const struct sockaddr_in *)address;
    if (local.sin_addr.s_addr == htonl(INADDR_ANY)) {
      local.sin_addr.s_addr = only;
      return real(fd, (struct sockaddr *)&local, sizeof local);
    }
  }
  return real(fd, address, length);
}
