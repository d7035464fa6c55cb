import { MemoryEngine } from '../../src/shared-log/memory-engine.ts';
import { directoryContract } from './directory.contract.ts';
import { type EngineUnderTest, sharedLogContract } from './shared-log.contract.ts';

/** Real time, in which messages take a turn of the event loop, and time-outs go by quickly. */
const clock = {
  now: () => performance.now(),
  after: (millis: number, work: () => void) => {
    if (millis === 0) setImmediate(work);
    else setTimeout(work, millis >= 1_000 ? millis / 2 : millis).unref();
  },
};

/** Loses the first message of a client in one direction: its connection is cut there. */
function cutting(direction: 'request' | 'answer') {
  const seen = new Set<string>();
  return (client: string, at: 'request' | 'answer') => {
    if (!client.startsWith(`cut ${direction}`) || at !== direction || seen.has(client)) return [0];
    seen.add(client);
    return [];
  };
}

let clients = 0;
const lostRequest = cutting('request');
const lostAnswer = cutting('answer');
const network = {
  travel: (client: string, direction: 'request' | 'answer') =>
    lostRequest(client, direction).length === 0 || lostAnswer(client, direction).length === 0
      ? []
      : [0],
};

function memoryEngine(): EngineUnderTest {
  const engine = new MemoryEngine({ clock, network });
  const open = async (kind = 'client') => engine.connect(`${kind} ${clients++}`);
  return {
    open,
    cuts: [
      { name: 'the request is lost', open: () => open('cut request') },
      { name: 'the answer is lost', open: () => open('cut answer') },
    ],
    wakeMillis: 50,
    stop: async () => undefined,
  };
}

const shared = memoryEngine();
sharedLogContract('the simulated engine', () => shared);

directoryContract('the simulated directory', async () => {
  let now = 0;
  const engine = new MemoryEngine({ clock: { ...clock, now: () => now } });
  return {
    open: async () => engine.directory(`client ${clients++}`),
    pass: async (millis) => {
      now += millis;
    },
    stop: async () => undefined,
  };
});
