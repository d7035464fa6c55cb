import path from 'node:path';
import { writeConsole } from '../console-folder.ts';
import { type Person, Running } from '../running.ts';
import { type Program, writtenFrom } from '../written-module.ts';
import type { CallerName } from './table.ts';

const module = `
  import { Router, SyncResponse, schema, t, table } from 'reducerdb/server';
  const row = { id: t.u32().primaryKey(), text: t.string() };
  const note = table({ public: true }, row);
  const secret = table({}, row);
  const diary = table({ public: true }, { id: t.u32().primaryKey(), who: t.identity() });
  const crowd = table({ public: true }, { id: t.u32().primaryKey() });
  const db = schema({ note, secret, diary, crowd });
  export default db;
  export const diaryFilter = db.clientVisibilityFilter.sql(
    'SELECT * FROM diary WHERE who = :sender',
  );
  export const allSecrets = db.anonymousView({ public: true }, t.array(secret.rowType), (ctx) => {
    return [...ctx.db.secret.iter()];
  });
  const hidden = { public: false } as unknown as { readonly public: true };
  export const ownSecrets = db.anonymousView(hidden, t.array(secret.rowType), (ctx) => {
    return [...ctx.db.secret.iter()];
  });
  export const begin = db.init(() => undefined);
  export const putNote = db.reducer({ id: t.u32() }, (ctx, { id }) => {
    ctx.db.note.id.delete(id);
    ctx.db.note.insert({ id, text: '' });
  });
  export const tidy = db.reducer(() => undefined);
  export const countNotes = db.procedure(t.u64(), (ctx) => {
    ctx.call(tidy);
    return ctx.withTx((tx) => tx.db.note.count());
  });
  export const sweep = db.procedure(t.unit(), () => ({}));
  export const hook = db.httpHandler(() => new SyncResponse('taken'));
  export const greet = db.httpHandler({ auth: 'optional' }, () => new SyncResponse('hello'));
  export const mine = db.httpHandler({ auth: 'required' }, () => new SyncResponse('yours'));
  export const routes = db.httpRouter(
    new Router().any('/hook', hook).any('/greet', greet).any('/mine', mine),
  );
`;

/** Each table has rows, \`crowd\` more than one of the tokens may read. */
const rows = [
  "INSERT INTO note (id, text) VALUES (1, 'one'), (2, 'two')",
  "INSERT INTO secret (id, text) VALUES (1, 'one'), (2, 'two')",
  `INSERT INTO diary (id, who) VALUES (1, 0x${'07'.repeat(32)})`,
  'INSERT INTO crowd (id) VALUES (1), (2), (3)',
];

/** What the limited tokens of the columns are limited to. */
const tokenLimits = {
  reads: { read_only: true, tables: ['note', 'secret', 'diary', 'crowd'], max_rows: 2 },
  calls: {
    reducers: ['put_note', 'tidy', 'count_notes', 'sweep', 'mine'],
    features: ['preview', 'logs'],
  },
  writes: { tables: ['note', 'secret', 'diary'], sql_writes: true },
};

export type Callers = Readonly<Record<CallerName, Person | undefined>>;

/** A database, and everybody who may do something in it. */
export interface Set {
  /** Its identity, which stays when it gets other names. */
  readonly database: string;
  readonly callers: Callers;
}

/** A service with all who appear in the tables of the guide. */
export class Stage {
  readonly running: Running;
  readonly program: Program;
  /** Its rows stay as they are. */
  readonly library: Set;
  /** This one is renamed, reset, locked. */
  readonly hall: Set;
  /** Where limited tokens of the others do not count. */
  readonly elsewhere: string;

  private constructor(
    parts: Pick<Stage, 'running' | 'program' | 'library' | 'hall'>,
    other: string,
  ) {
    this.running = parts.running;
    this.program = parts.program;
    this.library = parts.library;
    this.hall = parts.hall;
    this.elsewhere = other;
  }

  static async make(): Promise<Stage> {
    const first = await Running.start();
    const names = ['stranger', 'reader', 'developer', 'admin', 'owner', 'operator'] as const;
    const found = await Promise.all(names.map(async (name) => [name, await first.person()]));
    const people: Record<(typeof names)[number], Person> = Object.fromEntries(found);
    await first.pause();
    const operators = [BigInt(`0x${people.operator.identity}`)];
    const consoleDirectory = writeConsole(path.join(first.folder, 'console'));
    const options = { dataDirectory: first.folder, operators, consoleDirectory };
    const running = await Running.start(options);
    const program = withPrivate(await writtenFrom(module));
    const { owner } = people;
    const makeSet = async (name: string): Promise<Set> => {
      const database = await publish(running, name, program, owner);
      for (const role of ['reader', 'developer', 'admin'] as const) {
        await running.grant(database, role, people[role], owner);
      }
      const agent = (kind: keyof typeof tokenLimits) =>
        running.agent(database, tokenLimits[kind], owner);
      const [reads, calls, writes] = [
        await agent('reads'),
        await agent('calls'),
        await agent('writes'),
      ];
      return { database, callers: { anonymous: undefined, ...people, reads, calls, writes } };
    };
    const library = await makeSet('library');
    for (const statement of rows) await running.rows(library.database, statement, owner);
    const parts = { running, program, library, hall: await makeSet('hall') };
    return new Stage(parts, await publish(running, 'elsewhere', program, owner));
  }

  get owner(): Person {
    const { owner } = this.hall.callers;
    if (owner === undefined) throw new Error('the owner has a token');
    return owner;
  }

  /** A new database of the owner. */
  fresh(name: string): Promise<string> {
    return publish(this.running, name, this.program, this.owner);
  }
}

async function publish(running: Running, name: string, program: Program, as: Person) {
  const { status, text } = await running.upload(name, program, as);
  if (status !== 200) throw new Error(text);
  return JSON.parse(text).Success.database_identity as string;
}

/**
 * Makes `tidy` and `sweep` private. Reducers that a schedule calls are so; a module cannot say it of
 * others, its description can.
 */
function withPrivate(program: Program): Program {
  const text = new TextDecoder().decode(program);
  const ofReducer = /visibility: ?reducer\.cron [^,]*"private"(?=,)/;
  const ofProcedure = /visibility: ?"clientCallable"/;
  if (!ofReducer.test(text) || !ofProcedure.test(text)) {
    throw new Error('the program does not say who may call its functions');
  }
  const saying = (name: string) =>
    `visibility: name === ${JSON.stringify(name)} ? "private" : "clientCallable"`;
  const said = text.replace(ofReducer, saying('tidy')).replace(ofProcedure, saying('sweep'));
  return new TextEncoder().encode(said);
}
