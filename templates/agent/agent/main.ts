// `npm run agent`: answers questions until it is stopped. All that it knows it reads from the tools
// of the database's MCP server, as a model would.
import { setTimeout as sleep } from 'node:timers/promises';
import { answerTo, type Fact } from './answer-to.ts';
import { Desk } from './desk.ts';
import { agentToken, place } from './place.ts';

const waiting = 'SELECT id, text FROM question WHERE answer IS NULL';

const where = place();
const desk = await Desk.connect(where, await agentToken(where));
console.log(`The agent is at its desk: ${where.database} at ${where.url}.`);
let since: string | undefined;
for (;;) {
  try {
    await answerAll();
    // The first wait is short: it does not see what was asked between the look and itself.
    since = await desk.change(waiting, since, since === undefined ? 1 : 25);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    since = undefined;
    await sleep(2_000);
  }
}

async function answerAll(): Promise<void> {
  const open = await desk.rows<{ id: number; text: string }>(`${waiting} ORDER BY id`);
  if (open.length === 0) return;
  const facts = await desk.rows<Fact>('SELECT topic, text FROM fact');
  for (const { id, text } of open) {
    const answer = await answerTo(text, facts);
    await desk.call('answer', [id, answer]);
    console.log(`${text}\n  → ${answer}`);
  }
}
