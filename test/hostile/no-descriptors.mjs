import { closeSync, openSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/**
 * Starts the process of a database while there are as many descriptors left as the second argument
 * says, and prints why it ended, or that it was started. The first is the built package; the third
 * says whether the process that starts others is there already. To be run with a low limit on open
 * files.
 */
const [dist, left = '0', spawner] = process.argv.slice(2);
const { processWorkers } = await import(
  pathToFileURL(`${dist}/host/workers/process-worker.js`).href
);
const { childStarter } = await import(
  pathToFileURL(`${dist}/host/spawner/spawner-starter.js`).href
);
const { actorStart } = await import(pathToFileURL(`${dist}/host/workers/worker-seat.js`).href);
const { LaneService } = await import(pathToFileURL(`${dist}/host/workers/seat-lanes.js`).href);
const { completeBudget } = await import(pathToFileURL(`${dist}/host/seats/budget.js`).href);

const budget = completeBudget({});
const start = actorStart(
  {
    task: { kind: 'serve', mode: { kind: 'open', skipFirstDisconnect: false } },
    identity: 7n,
    ownerIdentity: 7n,
    directory: undefined,
    kept: undefined,
    storage: {},
  },
  budget,
);

const starter = childStarter();
const startProcess = processWorkers(starter, { places: new LaneService() });
if (spawner === 'present') await starter.run('/bin/true', []);

const opened = [];
try {
  for (;;) opened.push(openSync('/dev/null', 'r'));
} catch {
  for (const descriptor of opened.splice(0, Number(left))) closeSync(descriptor);
}

function tell(how) {
  for (const descriptor of opened.splice(0)) closeSync(descriptor);
  console.log(how);
  void starter.close();
}

try {
  const ended = ({ message }) => tell(message);
  const worker = await startProcess(start, { budget, lastTicket: 0 }, { message() {}, ended });
  worker.send({ kind: 'close' });
  setTimeout(() => worker.terminate(), 5_000).unref();
} catch (error) {
  tell(`rejected: ${error.message}`);
}
