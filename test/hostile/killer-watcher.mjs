// Asks a service for a sign of life, and calls a neighbour, again and again; tells the slowest of
// each since it was last asked. A process of its own: what tests do does not slow it down. A delay
// of its own, seen by a timer, is not the service's.
const [, , url, neighbour] = process.argv;
const seen = { ping: 0, neighbour: 0, pings: 0, calls: 0, failures: [] };

let lag = 0;
let ticked = performance.now();
setInterval(() => {
  const now = performance.now();
  lag += Math.max(0, now - ticked - 5);
  ticked = now;
}, 5);

async function keepAsking(what, count, pauseMillis, ask) {
  for (;;) {
    const lagBefore = lag;
    const started = performance.now();
    try {
      const answer = await ask();
      await answer.arrayBuffer();
      if (answer.status !== 200) seen.failures.push(`${what}: ${answer.status}`);
    } catch (error) {
      seen.failures.push(`${what}: ${error.cause ?? error}`);
    }
    const millis = performance.now() - started;
    await new Promise((resolve) => setTimeout(resolve, pauseMillis));
    seen[what] = Math.max(seen[what], millis - (lag - lagBefore));
    seen[count] += 1;
  }
}

process.on('message', () => {
  process.send({ ...seen });
  Object.assign(seen, { ping: 0, neighbour: 0, pings: 0, calls: 0, failures: [] });
});
process.on('disconnect', () => process.exit());
void keepAsking('ping', 'pings', 10, () => fetch(`${url}/v1/ping`));
void keepAsking('neighbour', 'calls', 25, () =>
  fetch(`${url}/v1/database/${neighbour}/call/write`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '["meanwhile"]',
  }),
);
process.send({});
