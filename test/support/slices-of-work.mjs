/**
 * Works for 25 ms of the processor's time in one go, ten times a second, until it is killed; see
 * `gateway-delay.ts`.
 */
setInterval(() => {
  const before = process.cpuUsage().user;
  while (process.cpuUsage().user - before < 25_000);
}, 100);
