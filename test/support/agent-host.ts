import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RequestCaller } from '../../src/auth/caller.ts';
import type { Role } from '../../src/database/rights.ts';
import { callWithJson } from '../../src/doors/json-call.ts';
import { Host } from '../../src/host/host.ts';
import type { HostOptions } from '../../src/host/host-options.ts';
import { temporaryConnection } from '../../src/host/supervision/temporary-connection.ts';
import type { McpSession } from '../../src/mcp/session.ts';
import type { RequestContext } from '../../src/mcp-protocol/request-context.ts';
import type { AgentFeature } from '../../src/protocol/agent-features.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import { parseJson } from '../../src/values/json.ts';
import { buildText } from './build-text.ts';
import { hostOptions } from './host-options.ts';

/** A caller as a door has settled it. */
export function person(number: bigint, more: Partial<RequestCaller> = {}): RequestCaller {
  const tokenId = `token of ${number}`;
  const payload = JSON.stringify({ sub: String(number) });
  return {
    identity: callerIdentity(number),
    token: '',
    payload,
    tokenId,
    isAnonymous: false,
    ...more,
  };
}

export const ada = person(0xadan);
export const bob = person(0xb0bn);
export const operator = person(0x0fn);

/** Tables of all kinds, and reducers that write and log. */
export const libraryModule = `
import { SenderError, schema, t, table } from 'reducerdb/server';

/** What stands on the shelves. */
const book = table(
  { public: true },
  {
    id: t.u64().primaryKey(),
    /** As on its spine. */
    title: t.string(),
  },
);
const word = table({ public: true }, { text: t.string(), count: t.u32() });
const loan = table({}, { id: t.u32().primaryKey().autoInc(), bookId: t.u64().index(), who: t.identity() });
const diary = table({ public: true }, { id: t.u32().primaryKey().autoInc(), who: t.identity(), text: t.string() });
const ding = table({ public: true, event: true }, { text: t.string() });

const db = schema({ book, word, loan, diary, ding });
export default db;

export const ownDiary = db.clientVisibilityFilter.sql('SELECT * FROM diary WHERE who = :sender');
export const titles = db.anonymousView(
  { public: true },
  t.array(t.row('Title', { title: t.string() })),
  (ctx) => [...ctx.db.book.iter()].map(({ title }) => ({ title })),
);
/**
 * Puts a book on a shelf,
 * unless it has no title.
 */
export const addBook = db.reducer({ id: t.u64(), title: t.string() }, (ctx, { id, title }) => {
  if (title === '') throw new SenderError('a book needs a title');
  console.log('added ' + title);
  ctx.db.book.insert({ id, title });
});
export const addBooks = db.reducer({ ids: t.array(t.u64()) }, (ctx, { ids }) => {
  for (const id of ids) ctx.db.book.insert({ id, title: 'x' });
});
export const removeBook = db.reducer({ id: t.u64() }, (ctx, { id }) => {
  ctx.db.book.id.delete(id);
});
export const addWord = db.reducer({ text: t.string() }, (ctx, { text }) => {
  ctx.db.word.insert({ text, count: 1 });
});
export const write = db.reducer({ text: t.string() }, (ctx, { text }) => {
  ctx.db.diary.insert({ id: 0, who: ctx.sender, text });
});
export const break_ = db.reducer((ctx) => {
  console.error('about to break');
  throw new TypeError('a detail for the log');
});
`;

/** A host in this process, and those who ask it something over MCP. */
export class AgentHost {
  readonly host: Host;
  readonly #folder: string;

  private constructor(host: Host, folder: string) {
    this.host = host;
    this.#folder = folder;
  }

  static async open(more: Partial<HostOptions> = {}): Promise<AgentHost> {
    const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-agents-'));
    const host = await Host.open(
      hostOptions({ directory: folder, operators: [operator.identity], ...more }),
    );
    return new AgentHost(host, folder);
  }

  async close(): Promise<void> {
    await this.host.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async publish(target: string, text = libraryModule, caller = ada): Promise<void> {
    const program = await buildText(text);
    const policy = 'breakClients' as const;
    const plan = await Promise.resolve()
      .then(() => this.host.plans.plan(caller, this.host.database(target), program))
      .catch(() => undefined);
    const token = plan?.kind === 'automatic' ? plan.token : undefined;
    const request = { caller, target, program, clear: false, policy, token, confirmMillis: 5_000 };
    await this.host.publish(request);
  }

  /** Calls a reducer with JSON arguments, and gives how it went. */
  async call(
    target: string,
    reducer: string,
    args: readonly unknown[] | string = [],
    caller = ada,
  ): Promise<string> {
    const text = typeof args === 'string' ? args : JSON.stringify(args);
    const database = this.host.database(target);
    const { outcome } = await callWithJson(
      database.handle,
      {
        caller: this.host.callerFor(caller, database),
        connection: temporaryConnection(),
        name: reducer,
        args: parseJson(text),
        confirmed: true,
      },
      { signal: () => new AbortController().signal, procedureShape: 'named' },
    );
    return outcome.kind;
  }

  grant(target: string, to: RequestCaller, role: Role): Promise<void> {
    return this.host.grants.grant(ada, this.host.database(target), to.identity, role);
  }

  revoke(target: string, from: RequestCaller): Promise<void> {
    return this.host.grants.revoke(ada, this.host.database(target), from.identity);
  }

  /** The session of a caller, host-wide unless a database is named. */
  session(caller: RequestCaller, database?: string, features: AgentFeature[] = []): McpSession {
    const callerKey = caller.identity.toString(16);
    return { host: this.host, caller, callerKey, database, features: new Set(features) };
  }
}

/** What stands behind one request of a session. */
export function contextOf(session: McpSession): RequestContext<McpSession> {
  return {
    session,
    era: 'modern',
    clientCapabilities: undefined,
    readsStructured: true,
    signal: new AbortController().signal,
    progress: () => undefined,
    log: () => undefined,
    given: undefined,
  };
}

export const guideDirectory = fileURLToPath(new URL('../../docs/guide/', import.meta.url));
