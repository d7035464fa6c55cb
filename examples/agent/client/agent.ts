import { Onlooker } from './onlooker.ts';
import { type BridgeCommand, Server } from './server.ts';

export interface AgentOptions {
  readonly bridge: BridgeCommand;
  /** Of the service, for the onlooker: `ws://127.0.0.1:3000`. */
  readonly uri: string;
  readonly say: (line: string) => void;
}

/** What each step works with. */
interface Scene {
  readonly server: Server;
  /** Which the agent has found. */
  readonly database: string;
  readonly say: (line: string) => void;
}

/**
 * What an agent does with a database that it has not seen before, as a script: where a model would
 * think, this one has made up its mind. All that it knows it reads from the tools of the MCP server.
 */
export async function runAgent({ bridge, uri, say }: AgentOptions): Promise<void> {
  const server = await Server.connect(bridge, (question) => {
    say(`the person is asked: ${firstLine(question)}`);
    say('the person agrees');
    return true;
  });
  try {
    const scene = { server, database: await discover(server, say), say };
    await readSchema(scene);
    const [wrong] = await findWrong(scene, '3. Do the numbers agree?');
    if (wrong === undefined) throw new Error('there is nothing wrong with this database');
    const onlooker = await Onlooker.watch(uri, scene.database);
    try {
      const preview = await previewRecount(scene, wrong);
      await applyPreview(scene, preview);
      await seeChange(scene, onlooker);
    } finally {
      onlooker.close();
    }
    await findWrong(scene, '7. Do they agree now?');
  } finally {
    await server.close();
  }
}

async function discover(server: Server, say: Scene['say']): Promise<string> {
  say('\n1. Whom do I talk to, and what can I do?');
  say(server.describe());
  say(`tools: ${(await server.toolNames()).join(', ')}`);
  const { data } = await server.call('list_databases');
  const databases = data.databases as { names: string[] }[];
  const name = databases.flatMap(({ names }) => names)[0];
  if (name === undefined) throw new Error('I have no database: publish one first');
  say(`my database: ${name}`);
  return name;
}

interface Schema {
  readonly tables: readonly { readonly name: string; readonly columns: object }[];
  readonly reducers: readonly { readonly name: string; readonly params: object }[];
}

async function readSchema({ server, database, say }: Scene): Promise<void> {
  say('\n2. What is in it?');
  const { data } = await server.call('get_schema', { database });
  const { tables, reducers } = data as unknown as Schema;
  for (const { name, columns } of tables) say(`table   ${name}(${namesOf(columns)})`);
  for (const { name, params } of reducers) say(`reducer ${name}(${namesOf(params)})`);
}

function namesOf(parts: object): string {
  return Object.keys(parts).join(', ');
}

/** The two ways to know the stock of a product have to agree. */
const disagreeing = `
SELECT p.sku, p.on_hand, COALESCE(SUM(m.quantity), 0) AS moved
FROM product AS p LEFT JOIN movement AS m ON m.sku = p.sku
GROUP BY p.sku, p.on_hand HAVING p.on_hand <> COALESCE(SUM(m.quantity), 0)`;

type Wrong = readonly [sku: string, onHand: number, moved: number];

async function findWrong(scene: Scene, question: string): Promise<readonly Wrong[]> {
  const { server, database, say } = scene;
  say(`\n${question}`);
  say(disagreeing.trim());
  const { data } = await server.call('sql', { database, sql: disagreeing });
  const [result] = data.results as { rows: Wrong[] }[];
  const rows = result?.rows ?? [];
  for (const [sku, onHand, moved] of rows) say(`${sku}: ${onHand} on hand, ${moved} by movements`);
  say(rows.length === 0 ? 'yes, all of them' : `no: ${rows.length} of them`);
  return rows;
}

interface Change {
  readonly table: string;
  readonly inserted: readonly object[];
  readonly updated: readonly { readonly before: object; readonly after: object }[];
}

/** Gives the name of the preview. */
async function previewRecount(scene: Scene, [sku, onHand]: Wrong): Promise<string> {
  const { server, database, say } = scene;
  say(`\n4. What would recount("${sku}") do?`);
  const { data } = await server.call('preview_call', { database, reducer: 'recount', args: [sku] });
  for (const { table, inserted, updated } of data.changes as Change[]) {
    for (const row of inserted) say(`${table}: + ${JSON.stringify(row)}`);
    for (const { before, after } of updated) {
      say(`${table}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`);
    }
  }
  for (const { message } of data.logs as { message: string }[]) say(`it would log: ${message}`);
  say(`it would return: ${JSON.stringify(data.value)}`);
  const sql = 'SELECT on_hand FROM product WHERE sku = $1';
  const now = await server.call('sql', { database, sql, params: [sku] });
  const [result] = now.data.results as { rows: [number][] }[];
  if (result?.rows[0]?.[0] !== onHand) throw new Error('a preview is not to change anything');
  say(`nothing of it has happened: still ${onHand} on hand`);
  return data.preview as string;
}

async function applyPreview({ server, database, say }: Scene, preview: string): Promise<void> {
  say('\n5. Exactly that, please.');
  const { data } = await server.call('apply_preview', { database, preview });
  if (data.applied !== true) throw new Error('the data has changed meanwhile: look again');
  say(`done, as commit ${data.offset}`);
}

async function seeChange({ say }: Scene, onlooker: Onlooker): Promise<void> {
  say('\n6. What does somebody see who has the stock on a screen?');
  const change = await onlooker.firstChange();
  if (change.kind !== 'update') throw new Error('a product is to be changed, not to come or go');
  const { old, row } = change;
  say(`live: ${row.name}, ${old.onHand} → ${row.onHand} on hand`);
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
