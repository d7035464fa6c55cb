// The well-behaved clients of a siege, in a process of their own, so that nothing but the service
// slows them. Each database gets a call every so often, whether or not the last one is answered;
// every other one is followed by a read. Remembers which rows were acknowledged as durable.
import { Agent, request } from 'node:http';

const timeoutMillis = 30_000;
/** Another than that of the attackers, which have the machine's own. */
const address = '203.0.113.5';
const agent = new Agent({ keepAlive: true, maxSockets: 512 });

let url = '';
/** By database: the numbers of the rows that were acknowledged. */
const acknowledged = new Map();
/** What was begun since the last report. */
let phase = newPhase();
const timers = [];

function newPhase() {
  return { millis: [], pings: [], failures: {}, underWay: 0 };
}

process.on('message', async (message) => {
  if (message.kind === 'start') start(message);
  if (message.kind === 'stop') await stop();
  if (message.kind === 'report') {
    process.send(await endPhase());
    return;
  }
  process.send({ acknowledged: [...acknowledged] });
});
process.on('disconnect', () => process.exit(1));

function start({ url: where, databases, everyMillis }) {
  url = where;
  databases.forEach((database, at) => {
    acknowledged.set(database, []);
    setTimeout(() => drive(database, everyMillis), (everyMillis * at) / databases.length);
  });
  timers.push(setInterval(() => void measure('GET', '/v1/ping', '', 'pings'), 50));
}

function drive(database, everyMillis) {
  let number = 0;
  const step = async () => {
    number += 1;
    const mine = number;
    const base = `/v1/database/${database}`;
    const append = `${base}/call/append?confirmed=true`;
    if (await measure('POST', append, `[0,${mine}]`, 'millis')) {
      acknowledged.get(database).push(mine);
      if (mine % 2 === 0) {
        const statement = `SELECT id FROM entry WHERE writer = 0 AND number = ${mine}`;
        await measure('POST', `${base}/sql`, statement, 'millis');
      }
    }
  };
  timers.push(setInterval(() => void step(), everyMillis));
}

async function stop() {
  for (const timer of timers.splice(0)) clearInterval(timer);
  await endPhase();
}

/** A call belongs to the phase in which it began, however late it is answered. */
async function endPhase() {
  const ended = phase;
  phase = newPhase();
  while (ended.underWay > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  const { millis, pings, failures } = ended;
  return { calls: millis.length, ...figures(millis), ping: figures(pings), failures };
}

/** True: it was answered with 200. A failure counts with the time that it took, too. */
async function measure(method, path, body, kind) {
  const mine = phase;
  const begin = performance.now();
  mine.underWay += 1;
  const answer = await ask(method, path, body);
  mine.underWay -= 1;
  mine[kind].push(performance.now() - begin);
  if (answer === '200') return true;
  mine.failures[answer] = (mine.failures[answer] ?? 0) + 1;
  return false;
}

function ask(method, path, body) {
  return new Promise((resolve) => {
    const ofBody = body === '' ? {} : { 'content-type': 'application/json' };
    const headers = { 'x-forwarded-for': address, ...ofBody };
    const outgoing = request(`${url}${path}`, { method, agent, headers }, (incoming) => {
      let text = '';
      incoming.on('data', (chunk) => {
        text += chunk;
      });
      incoming.on('error', (error) => resolve(error.code));
      incoming.on('end', () => {
        const { statusCode } = incoming;
        resolve(statusCode === 200 ? '200' : `${statusCode} ${text.slice(0, 80)}`);
      });
    });
    outgoing.setTimeout(timeoutMillis, () => outgoing.destroy(new Error('no answer')));
    outgoing.on('error', (error) => resolve(error.code ?? error.message));
    outgoing.end(body);
  });
}

function figures(list) {
  const sorted = [...list].sort((one, other) => one - other);
  const at = (share) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
