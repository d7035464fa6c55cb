/** Works for 5 ms in each round of the event loop, until it is killed; see `gateway-delay.ts`. */
setInterval(() => {
  const end = performance.now() + 5;
  while (performance.now() < end);
}, 10);
