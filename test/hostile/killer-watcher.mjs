// Asks a service for a sign of life, and calls a neighbour, again and again; tells the slowest of
// each since it was last asked. A process of its own: what tests do does not slow it down. It asks
// a server that does nothing else, too: how long that one takes, the machine makes everybody wait.
import { fork } from 'node:child_process';
import { once } from 'node:events';

const [, , url, neighbour] = process.argv;
const nothing = { ping: 0, neighbour: 0, control: 0, pings: 0, calls: 0, controls: 0 };
const seen = { ...nothing, failures: [] };

async function keepAsking(what, count, pauseMillis, ask) {
  for (;;) {
    const started = performance.now();
    try {
      const answer = await ask();
      await answer.arrayBuffer();
      if (answer.status !== 200) seen.failures.push(`${what}: ${answer.status}`);
    } catch (error) {
      seen.failures.push(`${what}: ${error.cause ?? error}`);
    }
    seen[what] = Math.max(seen[what], performance.now() - started);
    seen[count] += 1;
    await new Promise((resolve) => setTimeout(resolve, pauseMillis));
  }
}

process.on('message', () => {
  process.send({ ...seen });
  Object.assign(seen, nothing, { failures: [] });
});
process.on('disconnect', () => process.exit());
const control = fork(new URL('killer-control.mjs', import.meta.url), { execArgv: [] });
const [{ port }] = await once(control, 'message');
void keepAsking('control', 'controls', 10, () => fetch(`http://127.0.0.1:${port}/`));
void keepAsking('ping', 'pings', 10, () => fetch(`${url}/v1/ping`));
void keepAsking('neighbour', 'calls', 25, () =>
  fetch(`${url}/v1/database/${neighbour}/call/write`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '["meanwhile"]',
  }),
);
process.send({});
