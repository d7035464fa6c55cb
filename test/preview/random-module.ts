import type { Random } from '../../src/testing/random.ts';

/** A module of random tables with one reducer that does what it is told, step by step. */
export interface RandomModule {
  readonly text: string;
  readonly tables: readonly RandomTable[];
}

export interface RandomTable {
  readonly name: string;
  /** Has an id; the others are sets of rows. */
  readonly isKeyed: boolean;
}

/** One step of the reducer `run`. */
export interface Op {
  readonly kind: number;
  readonly table: number;
  readonly id: number;
  readonly a: number;
  readonly s: string;
}

export function randomModule(random: Random): RandomModule {
  const names = ['apple', 'berry', 'cherry'].slice(0, random.between(1, 3));
  const tables = names.map((name, at) => ({ name, isKeyed: at === 0 || random.chance(0.7) }));
  const declared = tables.map((table) => `const ${table.name} = ${tableText(random, table)};`);
  const keyed = tables.filter(({ isKeyed }) => isKeyed).map(({ name }) => name);
  return { text: moduleText(declared.join('\n'), names, keyed), tables };
}

function tableText(random: Random, { isKeyed }: RandomTable): string {
  const access = random.chance(0.7) ? '{ public: true }' : '{}';
  const increment = random.chance(0.6) ? '.autoInc()' : '';
  const id = isKeyed ? `id: t.u32().primaryKey()${increment},` : '';
  const a = random.pick(['', '', '.unique()', '.index()', ".index('hash')"]);
  const s = random.pick(['', '', '.unique()']);
  return `table(${access}, { ${id} a: t.u32()${a}, s: t.string()${s} })`;
}

/** What the steps do, by their kind; the last ones are rare. */
export const opKinds = {
  usual: [0, 0, 0, 1, 2, 2, 3, 3, 5, 6, 7, 8],
  rare: [4, 9, 10],
  /** What they insert is another row every time. */
  timed: 5,
  random: 6,
} as const;

function moduleText(tables: string, names: readonly string[], keyed: readonly string[]): string {
  return `
import { SenderError, schema, t, table } from 'reducerdb/server';

${tables}
const ev = table({ public: true, event: true }, { a: t.u32(), s: t.string() });
const visit = table({ public: true }, { id: t.u64().primaryKey().autoInc(), kind: t.string() });
const db = schema({ ${names.join(', ')}, ev, visit });
export default db;

const Op = t.object('Op', { kind: t.u8(), table: t.u8(), id: t.u32(), a: t.u32(), s: t.string() });
const names = ${JSON.stringify(names)};
const keyed = ${JSON.stringify(keyed)};
const rowOf = (name, { id, a, s }) => (keyed.includes(name) ? { id, a, s } : { a, s });

const step = (ctx, op) => {
  const name = names[op.table];
  const rows = ctx.db[name];
  switch (op.kind) {
    case 0:
      rows.insert(rowOf(name, op));
      return;
    case 1:
      try { rows.insert(rowOf(name, op)); } catch { console.warn('there already'); }
      return;
    case 2:
      if (keyed.includes(name) && rows.id.find(op.id)) rows.id.update(rowOf(name, op));
      return;
    case 3:
      if (keyed.includes(name)) rows.id.delete(op.id);
      else rows.delete(rowOf(name, op));
      return;
    case 4:
      for (const row of [...rows.iter()]) rows.delete(row);
      return;
    case 5:
      rows.insert(rowOf(name, { ...op, s: String(ctx.timestamp.microsSinceUnixEpoch) + op.s }));
      return;
    case 6:
      rows.insert(rowOf(name, { ...op, s: String(ctx.random()) }));
      return;
    case 7:
      console.log(op.s + ctx.db.visit.count());
      return;
    case 8:
      ctx.db.ev.insert({ a: op.a, s: op.s });
      return;
    case 9:
      throw new SenderError(op.s);
    case 10:
      throw new Error('out of order');
  }
};
export const run = db.reducer({ returns: t.u64() }, { ops: t.array(Op) }, (ctx, { ops }) => {
  for (const op of ops) step(ctx, op);
  return ctx.db.apple.count();
});

/** Kept fresh within each transaction, and stands against some. */
export const large = db.anonymousView({ public: true }, t.array(apple.rowType), (ctx) => {
  const rows = [...ctx.db.apple.iter()].filter(({ a }) => a > 3);
  if (rows.some(({ s }) => s === 'poison')) throw new SenderError('poisoned');
  return rows;
});

export const onConnect = db.clientConnected((ctx) => {
  ctx.db.visit.insert({ id: 0n, kind: 'came ' + ctx.random() });
  ctx.db.ev.insert({ a: 1, s: 'came' });
  console.log('came');
});
export const onDisconnect = db.clientDisconnected((ctx) => {
  ctx.db.visit.insert({ id: 0n, kind: 'went' });
});
`;
}

export function randomOps(random: Random, tables: readonly RandomTable[]): readonly Op[] {
  return Array.from({ length: random.between(0, 6) }, () => ({
    kind: random.pick(random.chance(0.08) ? opKinds.rare : opKinds.usual),
    table: random.below(tables.length),
    id: random.below(6),
    a: random.below(8),
    s: random.chance(0.04) ? 'poison' : random.pick(['', 'x', 'y', 'z', 'ä', 'long '.repeat(9)]),
  }));
}

/** A statement that writes, or means to. */
export function randomWrite(random: Random, tables: readonly RandomTable[]): string {
  const { name, isKeyed } = random.pick(tables);
  const columns = isKeyed ? '(id, a, s)' : '(a, s)';
  const row = () => {
    const id = isKeyed ? `${random.below(6)}, ` : '';
    return `(${id}${random.below(8)}, '${random.pick(['x', 'y', 'q', 'poison'])}')`;
  };
  const where = random.pick([
    '',
    `WHERE a > ${random.below(6)}`,
    `WHERE s = 'x'`,
    'WHERE a IN (SELECT a FROM large)',
  ]);
  const returning = random.chance(0.3) ? 'RETURNING *' : '';
  const statement = random.pick([
    `INSERT INTO ${name} ${columns} VALUES ${row()}, ${row()}`,
    `INSERT INTO ${name} ${columns} VALUES ${row()}`,
    `UPDATE ${name} SET a = a + 1 ${where}`,
    `UPDATE ${name} SET s = 'w' ${where}`,
    `DELETE FROM ${name} ${where}`,
    `DELETE FROM ${name} WHERE nonsense`,
  ]);
  return `${statement} ${returning}`.trim();
}
