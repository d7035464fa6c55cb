import { beforeAll, describe, expect, it } from 'vitest';
import { buildText } from '../../test/support/build-text.ts';
import { CoreUnderTest, ownerIdentity, rowsIn } from '../../test/support/core-under-test.ts';
import { decodedRows, previewIn } from '../../test/support/previewed.ts';
import { present } from '../assert.ts';
import { programHash } from '../host/linking/program-hash.ts';
import { limits } from '../limits.ts';
import type { CommitInputs } from '../log/record.ts';
import { computedTables } from '../schema/system-tables.ts';
import type { ChangeSet, RowList } from '../store/change-set.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { decoderOf } from '../values/decode.ts';
import { encodeValue } from '../values/encode.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import type { Value } from '../values/value.ts';
import { runPreview } from './preview.ts';
import type { PreviewedWork, PreviewKey } from './preview-outcome.ts';
import type { ProgramSource } from './program-source.ts';
import { ownerRights, type Rights, rightsOfRole, strangerRights } from './rights.ts';
import type { Asking } from './run-call.ts';

/** Lifecycle reducers and reducers that write the same rows, and draw from the same sequence. */
const text = `
import { SenderError, schema, t, table } from 'reducerdb/server';
const member = table({ public: true }, { who: t.identity().primaryKey(), visits: t.u32() });
const note = table({ public: true }, { id: t.u64().primaryKey().autoInc(), text: t.string() });
const ping = table({ public: true, event: true }, { id: t.u32().primaryKey(), text: t.string() });
const hidden = table({}, { id: t.u32().primaryKey() });
const diary = table({ public: true }, { id: t.u32().primaryKey(), who: t.identity() });
const db = schema({ member, note, ping, hidden, diary });
export default db;
export const own = db.clientVisibilityFilter.sql('SELECT * FROM diary WHERE who = :sender');

export const onConnect = db.clientConnected((ctx) => {
  const known = ctx.db.member.who.find(ctx.sender);
  if (known) ctx.db.member.who.update({ ...known, visits: known.visits + 1 });
  else ctx.db.member.insert({ who: ctx.sender, visits: 1 });
  ctx.db.note.insert({ id: 0n, text: 'came' });
  ctx.db.ping.insert({ id: 1, text: 'came' });
});
export const bump = db.reducer((ctx) => {
  const known = ctx.db.member.who.find(ctx.sender);
  if (!known) throw new SenderError('nobody');
  ctx.db.member.who.update({ ...known, visits: known.visits + 10 });
});
export const undo = db.reducer((ctx) => {
  ctx.db.member.who.update({ who: ctx.sender, visits: 1 });
});
export const go = db.reducer((ctx) => {
  ctx.db.member.who.delete(ctx.sender);
  for (const row of [...ctx.db.note.iter()]) ctx.db.note.delete(row);
});
export const shout = db.reducer({ text: t.string() }, (ctx, { text }) => {
  console.log('shouts ' + text);
  ctx.db.note.insert({ id: 0n, text });
  ctx.db.ping.insert({ id: 1, text });
});
export const hide = db.reducer((ctx) => {
  ctx.db.hidden.insert({ id: 1 });
  ctx.db.diary.insert({ id: 1, who: ctx.sender });
  ctx.db.note.insert({ id: 0n, text: 'seen' });
});
export const many = db.reducer({ count: t.u32() }, (ctx, { count }) => {
  for (let id = 0; id < count; id++) ctx.db.note.insert({ id: 0n, text: 'n' });
  ctx.db.hidden.insert({ id: 1 });
});
export const chatter = db.reducer({ count: t.u32() }, (ctx, { count }) => {
  for (let at = 0; at < count; at++) console.log('line ' + at);
});
export const members = db.view({ public: true }, t.array(member.rowType), (ctx) => {
  const me = ctx.db.member.who.find(ctx.sender);
  if (!me) throw new SenderError('not a member');
  return [me];
});
`;
let program: ProgramSource;
beforeAll(async () => {
  program = await buildText(text);
});

const open = () => CoreUnderTest.of(program);

type Asked = Asking & { readonly confirmed: boolean };

let lastConnection = 1_000n;
function asked(rights: Rights = ownerRights, identity = ownerIdentity): Asked {
  lastConnection += 1n;
  return {
    caller: { identity: callerIdentity(identity), rights, jwtPayload: '' },
    connection: { kind: 'temporary' as const, id: connectionNumber(lastConnection) },
    confirmed: false,
  };
}

function callOf(
  { core }: CoreUnderTest,
  reducer: string,
  args: readonly Value[] = [],
  by = asked(),
): PreviewedWork {
  const { schemaVersion, reducers, definition } = core.program;
  const params = reducers.get(reducer)?.params ?? { kind: 'product', elements: [] };
  const encoded = encodeValue(params, args, definition.typespace);
  return { kind: 'call', call: { ...by, reducer, args: encoded, schemaVersion } };
}

function sqlOf(sql: string, by = asked()): PreviewedWork {
  return { kind: 'query', query: { ...by, sql } };
}

function run({ core, clock }: CoreUnderTest, work: PreviewedWork, apply?: PreviewKey) {
  const request = apply === undefined ? { work } : { work, apply };
  return runPreview({ core, hash: programHash, request, acceptedMicros: clock.nowMicros() });
}

/** Records what the log receives from now on. */
function tapLog({ core }: CoreUnderTest): { changes: ChangeSet; inputs: CommitInputs }[] {
  const seen: { changes: ChangeSet; inputs: CommitInputs }[] = [];
  const append = core.log.appendCommit.bind(core.log);
  core.log.appendCommit = (changes, inputs) => {
    seen.push({ changes, inputs: { ...inputs, seed: inputs.seed.slice() } });
    append(changes, inputs);
  };
  return seen;
}

/** The changes, by table, as texts in no order. */
function changesIn(
  { core }: CoreUnderTest,
  changes: readonly {
    readonly table: string;
    readonly inserts: RowList;
    readonly deletes: RowList;
  }[],
) {
  return changes.map(({ table, inserts, deletes }) => {
    const { rowType, types } = present(core.store.tableByName(table), table);
    const decode = decoderOf(rowType, types);
    const textsOf = (rows: RowList) => decodedRows(rows, decode).map(String).sort();
    return { table, inserts: textsOf(inserts), deletes: textsOf(deletes) };
  });
}

/** Everything that the database holds. */
function contentsOf({ core }: CoreUnderTest) {
  const tables = [...core.store.tables];
  return {
    offset: core.store.offset,
    sequences: core.store.sequenceMarks(),
    rows: tables.map((table) => [table.spec.name, rowsIn(table)]),
    bytes: tables.map((table) => table.memory().rowBytes),
    heldBytes: core.store.heldBytes,
    views: core.views.count,
  };
}

describe('changes of a preview', () => {
  it.each(['bump', 'undo', 'go', 'shout', 'hide'])(
    '[mcp B19] are those of the reducer, and not of client_connected: %s',
    async (reducer) => {
      for (const isKnown of [false, true]) {
        const database = await open();
        if (isKnown) for (const at of [1, 2]) database.run('shout', `${at}`);
        const work = callOf(database, reducer, reducer === 'shout' ? ['aloud'] : []);
        const before = contentsOf(database);
        const { changes, key } = previewIn(run(database, work));
        expect(contentsOf(database)).toEqual(before);
        const log = tapLog(database);
        expect(run(database, work, key).kind).toBe('applied');
        const logged = log.find(({ inputs }) => inputs.reducer === reducer);
        const committed = (logged?.changes.tables ?? []).map(({ tableId, inserts, deletes }) => {
          const { name } = present(database.core.store.table(tableId), 'its table').spec;
          return { table: name, inserts, deletes };
        });
        const byName = changesIn(database, committed).sort((a, b) => (a.table < b.table ? -1 : 1));
        expect(changesIn(database, changes)).toEqual(byName);
        expect(byName.length > 0).toBe(isKnown || reducer !== 'undo');
      }
    },
  );

  it('[mcp B19] are counted in full, and shown as far as there is room', async () => {
    const database = await open();
    const by = asked({ ...ownerRights, rowsMax: 7 });
    const { changes, isComplete } = previewIn(run(database, callOf(database, 'many', [500], by)));
    expect(isComplete).toBe(true);
    expect(changes).toMatchObject([
      { table: 'hidden', insertCount: 1, deleteCount: 0, inserts: { count: 1 } },
      { table: 'note', insertCount: 500, deleteCount: 0, inserts: { count: 6 } },
    ]);
  });

  it('[mcp B19] in tables that the caller may not read are left out, and it is said', async () => {
    const database = await open();
    const rights = { ...strangerRights, previews: true };
    const { changes, isComplete } = previewIn(
      run(database, callOf(database, 'hide', [], asked(rights, 5n))),
    );
    expect(isComplete).toBe(false);
    expect(changes.map(({ table }) => table)).toEqual(['note']);
  });

  it('[mcp B19] are those in event tables, too', async () => {
    const database = await open();
    const { changes } = previewIn(run(database, callOf(database, 'shout', ['hey'])));
    expect(changesIn(database, changes)).toContainEqual({
      table: 'ping',
      inserts: ['1,hey'],
      deletes: [],
    });
    expect(changes.find(({ table }) => table === 'ping')?.isEvent).toBe(true);
  });
});

describe('a preview', () => {
  it('[mcp B19] is for those who may, and others learn nothing', async () => {
    const database = await open();
    for (const rights of [strangerRights, rightsOfRole('reader')]) {
      const outcome = run(database, callOf(database, 'bump', [], asked(rights, 5n)));
      const message =
        `${'5'.padStart(64, '0')} is not authorized to preview: ` +
        'ask the owner for the role developer, or for a token with the feature preview';
      expect(outcome).toEqual({ kind: 'refused', message, micros: 0 });
    }
    for (const role of ['developer', 'admin'] as const) {
      const by = asked(rightsOfRole(role), 5n);
      expect(run(database, callOf(database, 'bump', [], by)).kind).toBe('previewed');
    }
  });

  it('[mcp B19] may write only what a write may', async () => {
    const database = await open();
    const sql = 'DELETE FROM note';
    const byDeveloper = asked(rightsOfRole('developer'), 5n);
    expect(previewIn(run(database, sqlOf(sql, byDeveloper))).result).toMatchObject({
      kind: 'queryFailed',
      error: { code: 'sql.notAuthorized' },
    });
    expect(previewIn(run(database, sqlOf(sql))).result).toMatchObject({ kind: 'wrote' });
  });

  it('[mcp B19] knows what client_connected would have changed, views included', async () => {
    const database = await open();
    const sql = 'DELETE FROM note WHERE id IN (SELECT visits FROM members)';
    const before = contentsOf(database);
    const { result, changes } = previewIn(run(database, sqlOf(sql)));
    expect(result).toMatchObject({ kind: 'wrote', deleted: 1 });
    expect(changesIn(database, changes)).toEqual([
      { table: 'note', inserts: [], deletes: ['1,came'] },
    ]);
    expect(contentsOf(database)).toEqual(before);
    expect(() => database.rows('members')).toThrow('not a member');
    database.run('bump');
    expect(database.rows('members')).toHaveLength(1);
    const again = previewIn(run(database, sqlOf('UPDATE member SET visits = 0 WHERE visits > 0')));
    expect(again.result).toMatchObject({ kind: 'wrote', updated: 1 });
    expect(database.rows('members').map(String)).toEqual([`${ownerIdentity},11`]);
  });

  it('[mcp B19] does not count for sequences, whoever looks', async () => {
    const database = await open();
    const { store, program } = database.core;
    const { id } = present(
      computedTables.find(({ name }) => name === 'st_sequence'),
      'it',
    );
    const shown = () =>
      rowsIn(present(program.systemTables.table(id, store.offset, ownerRights), 'it'));
    const look = sqlOf('DELETE FROM note WHERE id IN (SELECT allocated FROM st_sequence)');
    const marks = store.sequenceMarks();
    // First before anyone has read the table, then after.
    for (let at = 0; at < 2; at += 1) {
      expect(previewIn(run(database, look)).result).toMatchObject({ kind: 'wrote', deleted: 1 });
      expect(store.sequenceMarks()).toEqual(marks);
      expect(shown().map(String)).not.toContainEqual(expect.stringMatching(/note.*,1$/));
      expect(shown().map(String)).toContainEqual(expect.stringMatching(/note.*,0$/));
    }
    expect(store.takeSequenceMarks()).toEqual([]);
  });

  it('[http 18.1] of several statements reads views as they have become', async () => {
    const database = await open();
    // The result of the view is kept, and follows the first statement.
    const come = callOf(database, 'shout', ['hi']);
    run(database, come, previewIn(run(database, come)).key);
    database.rows('members');
    const mine = `0x${ownerIdentity.toString(16).padStart(64, '0')}`;
    const script: PreviewedWork = {
      kind: 'query',
      query: {
        ...asked(),
        sql: `UPDATE member SET visits = 40 WHERE who = ${mine};
          UPDATE member SET visits = visits + 1
            WHERE who IN (SELECT who FROM members WHERE visits = 40);
          INSERT INTO hidden (id) VALUES (7)`,
      },
      isScript: true,
    };
    const before = contentsOf(database);
    const { result, changes, key } = previewIn(run(database, script));
    expect(result).toMatchObject({ kind: 'wrote', inserted: 1, updated: 2 });
    expect(changes.map(({ table, updateCount }) => [table, updateCount])).toEqual([
      ['hidden', 0],
      ['member', 1],
    ]);
    expect(contentsOf(database)).toEqual(before);
    expect(run(database, script, key).kind).toBe('applied');
    expect(database.rows('members').map(String)).toEqual([`${ownerIdentity},41`]);
  });

  it('[http 18.1] takes all statements back when a later one fails', async () => {
    const database = await open();
    const before = contentsOf(database);
    const sql = 'INSERT INTO hidden (id) VALUES (7);\nINSERT INTO hidden (id) VALUES (8), (nope)';
    const script = { ...sqlOf(sql), isScript: true } as PreviewedWork;
    expect(previewIn(run(database, script)).result).toMatchObject({
      kind: 'queryFailed',
      error: { message: expect.stringMatching(/^statement 2: /), place: { line: 2 } },
    });
    expect(contentsOf(database)).toEqual(before);
    // Without leave, a text is one statement.
    expect(previewIn(run(database, sqlOf(sql))).result.kind).toBe('queryFailed');
  });

  it('[mcp B19] keeps log lines to itself, as many as fit', async () => {
    const database = await open();
    database.takeLines();
    const { lines, droppedLines } = previewIn(run(database, callOf(database, 'chatter', [1_500])));
    expect([lines.length, droppedLines]).toEqual([limits.previewLinesMax, 500]);
    expect(lines[0]).toMatchObject({ level: 'info', message: 'line 0', functionName: 'chatter' });
    expect(database.takeLines()).toEqual([]);
    const work = callOf(database, 'chatter', [3]);
    const { key } = previewIn(run(database, work));
    expect(run(database, work, key).kind).toBe('applied');
    expect(database.takeLines()).toEqual(['line 0', 'line 1', 'line 2']);
  });

  it('[mcp B19] of a call for another program says so', async () => {
    const database = await open();
    const work = callOf(database, 'bump');
    if (work.kind !== 'call') throw new Error('it is a call');
    const outdated = { ...work, call: { ...work.call, schemaVersion: 0 } };
    expect(previewIn(run(database, outdated)).result).toEqual({
      kind: 'callFailed',
      error: { code: 'schema.changed' },
    });
  });

  it('[mcp B19] of a connection that is not open, or not let in, is that', async () => {
    const database = await open();
    const closed = { ...asked(), connection: { kind: 'open' as const, id: connectionNumber(3n) } };
    const error = { code: 'connection.refused', message: 'The connection is not open.' };
    expect(previewIn(run(database, callOf(database, 'bump', [], closed))).result).toEqual({
      kind: 'callFailed',
      error,
    });
    expect(previewIn(run(database, sqlOf('DELETE FROM note', closed))).result).toEqual({
      kind: 'queryFailed',
      error,
    });
  });

  it('[mcp B19] gives its room back: many of them take no more than one', async () => {
    const database = await open();
    const tryOnce = () => run(database, callOf(database, 'many', [2_000]));
    tryOnce();
    const before = database.core.store.memory().totalBytes;
    for (let at = 0; at < 20; at += 1) tryOnce();
    expect(database.core.store.memory().totalBytes).toBe(before);
  });
});

describe('applying a preview', () => {
  it('[mcp B19] does nothing when it would come to something else, and tells what', async () => {
    const database = await open();
    database.run('bump');
    const work = callOf(database, 'bump');
    const { key } = previewIn(run(database, work));
    database.sql('UPDATE member SET visits = 50');
    const outcome = run(database, work, key);
    expect(outcome.kind).toBe('differs');
    const told = changesIn(database, previewIn(outcome).changes);
    // Each statement and each call came on its own connection, which counted one more.
    expect(told).toEqual([
      { table: 'member', inserts: [`${ownerIdentity},61`], deletes: [`${ownerIdentity},51`] },
    ]);
    expect(
      rowsIn(present(database.core.store.tableByName('member'), 'member')).map(String),
    ).toEqual([`${ownerIdentity},51`]);
  });

  it('[mcp B19] is refused in a session that only reads, which may preview', async () => {
    const database = await open();
    const by = asked({ ...ownerRights, isReadOnly: true });
    const work = callOf(database, 'bump', [], by);
    const before = contentsOf(database);
    const { key } = previewIn(run(database, work));
    expect(run(database, work, key)).toMatchObject({
      kind: 'refused',
      message: 'This session is read-only: a preview cannot be applied',
    });
    expect(contentsOf(database)).toEqual(before);
  });
});
