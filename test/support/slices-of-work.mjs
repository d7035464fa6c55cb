/**
 * Works for 25 ms of the processor's time in one go, ten times a second, until it is killed; see
 * `gateway-delay.ts`.
 */
let sum = 0;
setInterval(() => {
  const before = process.cpuUsage();
  for (;;) {
    for (let count = 0; count < 100_000; count += 1) sum = (sum + count) % 1_000_003;
    const { user, system } = process.cpuUsage(before);
    if (user + system >= 25_000) return;
  }
}, 100);
