import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SocketAdapter } from '../../src/client/index.ts';
import { rowListOf } from '../../src/protocol/row-list.ts';
import type { ClientMessage } from '../../src/protocol/v2/client-message.ts';
import { encodeServerMessage, type ServerMessage } from '../../src/protocol/v2/server-message.ts';
import { clientMessagesIn } from '../../src/protocol/v3.ts';
import type { ModuleDefinition, NamedType } from '../../src/schema/definition.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { nativeEncoderOf } from '../../src/values/native.ts';
import { Timestamp } from '../../src/values/timestamp.ts';
import { settled } from '../client/rig.ts';
import { buildText } from '../support/build-text.ts';
import { definitionOfProgram, root, textsOf } from './described.ts';
import { manorText } from './manor.ts';

// Within the project, where the runner of tests compiles what it imports.
const cache = path.join(root, 'test/codegen/.made');
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(path.join(cache, 'bindings-'));
afterAll(() => rmSync(cache, { recursive: true, force: true }));

let definition: ModuleDefinition;
// biome-ignore lint/suspicious/noExplicitAny: their types are checked where they are compiled
let bindings: Record<string, any>;

beforeAll(async () => {
  definition = await definitionOfProgram((await buildText(manorText)).bytes);
  const style = { extension: '.ts', library: path.join(root, 'src/client/index.ts') } as const;
  for (const [file, text] of Object.entries(textsOf(definition, { style }))) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  }
  bindings = await import(path.join(folder, 'index.ts'));
}, 90_000);

class Socket implements SocketAdapter {
  protocol = 'v3.bsatn.spacetimedb';
  readonly received: ClientMessage[] = [];
  onopen: () => void = () => {};
  onmessage: (message: { data: Uint8Array }) => void = () => {};
  onclose: () => void = () => {};
  onerror: () => void = () => {};

  send(bytes: Uint8Array): void {
    this.received.push(...clientMessagesIn(bytes));
  }

  close(): void {}

  async say(message: ServerMessage): Promise<void> {
    this.onmessage({ data: encodeServerMessage(message) });
    await settled();
  }
}

/** A connection that is welcome, and the server's end of it. */
async function connected() {
  const socket = new Socket();
  const conn = bindings.DbConnection.builder()
    .withUri('http://test:3000')
    .withDatabaseName('manor')
    .withWSFn(async () => socket)
    .build();
  await settled();
  socket.onopen();
  await settled();
  await socket.say({ kind: 'initialConnection', identity: 7n, connectionId: 9n, token: 'token' });
  return { conn, socket };
}

const product = (elements: readonly NamedType[]) => ({ kind: 'product', elements }) as const;

/** A row as the server has it, under the canonical names of its columns. */
function rowsOf(table: string, row: object) {
  const columns = definition.tables.find(({ name }) => name === table)?.columns ?? [];
  const elements = columns.map(({ name, type }) => ({ name, type }));
  const writer = new BinaryWriter();
  nativeEncoderOf(product(elements), definition.typespace, table)(writer, row);
  return { table, rows: rowListOf([writer.finish()]) };
}

const since = new Timestamp(5n);
/** As the server spells it, and as programs do. */
const tree = { tag: 'fork', value: [{ tag: 'bare' }] };
const bareNode = (fork: object) => ({ height: 1, next: undefined, below: [], tree: fork, since });

describe('a connection with generated bindings', () => {
  it('[client-sdk 8] reads the rows that the server of that module sends', async () => {
    const { conn, socket } = await connected();
    conn.subscriptionBuilder().subscribe(bindings.tables.ghost);
    await settled();
    const subscribe = socket.received.at(-1);
    if (subscribe?.kind !== 'subscribe') throw new Error('another message came');
    expect(subscribe.queries).toEqual(['SELECT * FROM "ghost"']);
    const node = { ...bareNode(tree), deed: { err: 'none' } };
    const ghost = {
      ghost_id: 3,
      mood: { tag: 'veryAngry' },
      seen_at: since,
      nick_name: 'Ada',
      maybe_node: { ...node, next: node },
      last_words: { ok: 'boo' },
      plain_unit: {},
      player_2_score: 1.5,
    };
    const tables = [rowsOf('ghost', ghost)];
    const { requestId, querySetId } = subscribe;
    await socket.say({ kind: 'subscribeApplied', requestId, querySetId, tables });
    const seen = conn.db.ghost.ghostId.find(3);
    const inner = { ...bareNode({ tag: 'Fork', value: [{ tag: 'Bare' }] }), deed: { err: 'none' } };
    expect(seen).toMatchObject({
      ghostId: 3,
      mood: { tag: 'VeryAngry' },
      seenAt: since,
      nickName: 'Ada',
      maybeNode: { ...inner, next: inner },
      lastWords: { ok: 'boo' },
      plainUnit: {},
      player2Score: 1.5,
    });
    expect(conn.db.ghost.nickName.find('Ada')).toBe(seen);
    expect([...conn.db.ghost.byMood.filter({ tag: 'VeryAngry' })]).toEqual([seen]);
  });

  it('[client-sdk 8] makes calls that the server of that module reads', async () => {
    const { conn, socket } = await connected();
    const node = { ...bareNode({ tag: 'Bare' }), deed: { err: 'none' } };
    const args = { ghostId: 3, mood: { tag: 'Calm' }, node, notes: ['a'], why: 'because' };
    void conn.reducers.haunt(args).catch(() => {});
    void conn.procedures.countGhosts({}).catch(() => {});
    await settled();
    const [call, procedure] = socket.received.slice(-2);
    if (call?.kind !== 'callReducer' || procedure?.kind !== 'callProcedure') {
      throw new Error('other messages came');
    }
    expect([call.reducer, procedure.procedure]).toEqual(['haunt', 'count_ghosts']);
    const params = definition.reducers.find(({ name }) => name === 'haunt')?.params;
    const spelled = { ...args, mood: { tag: 'calm' }, node: { ...node, tree: { tag: 'bare' } } };
    const writer = new BinaryWriter();
    nativeEncoderOf(params ?? product([]), definition.typespace)(writer, spelled);
    expect(call.args).toEqual(writer.finish());
  });

  it('[client-sdk 8] queries by the names that statements know', () => {
    const { ghost } = bindings.tables;
    const query = ghost.where((row: { player2Score: { gt(score: number): unknown } }) => {
      return row.player2Score.gt(1.5);
    });
    expect(query.toSql()).toContain('"player_2_score"');
    expect(Object.keys(bindings.reducers)).toEqual(['haunt', 'knockTwice']);
    expect(Object.keys(bindings.procedures)).toEqual(['countGhosts', 'tallest']);
  });
});
