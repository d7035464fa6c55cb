/**
 * The module of the database and host tests: a table to write, lifecycle reducers that leave
 * traces, and reducers that fail in every way a reducer can.
 */
export interface ShopOptions {
  readonly itemColumns?: string;
  readonly itemTable?: string;
  readonly moreTables?: string;
  readonly tables?: string;
  readonly more?: string;
}

export function shopModule(options: ShopOptions = {}): string {
  const { itemColumns = '', itemTable = '{ public: true }', moreTables = '', more = '' } = options;
  const tables = options.tables ?? 'item, secret, visit';
  return `
import { SenderError, schema, t, table } from 'reducerdb/server';

const item = table(${itemTable}, {
  id: t.u64().primaryKey().autoInc(),
  text: t.string(),
  ${itemColumns}
});
const secret = table({}, { id: t.u32().primaryKey() });
const visit = table({ public: true }, {
  id: t.u64().primaryKey().autoInc(),
  kind: t.string(),
  who: t.identity(),
  connection: t.u128(),
  token: t.string(),
});
${moreTables}
const db = schema({ ${tables} });
export default db;

export const init = db.init((ctx) => {
  ctx.db.item.insert({ id: 0n, text: 'made by init' });
});
export const add = db.reducer({ text: t.string() }, (ctx, { text }) => {
  ctx.db.item.insert({ id: 0n, text });
});
export const refuse = db.reducer({ text: t.string() }, (ctx, { text }) => {
  ctx.db.item.insert({ id: 0n, text });
  throw new SenderError('refused: ' + text);
});
export const crash = db.reducer((ctx) => {
  ctx.db.item.insert({ id: 0n, text: 'crash' });
  throw new TypeError('a secret detail');
});
export const idle = db.reducer(() => {});
export const speak = db.reducer({ text: t.string() }, (ctx, { text }) => console.log(text));
export const spin = db.reducer((ctx) => {
  ctx.db.item.insert({ id: 0n, text: 'spin' });
  for (;;) {}
});
export const fillHeap = db.reducer(() => {
  const kept = [];
  for (;;) kept.push({ at: kept.length, text: 'x'.repeat(10) + kept.length });
});
export const fillBuffers = db.reducer(() => {
  const kept = [];
  for (;;) kept.push(new Uint8Array(8 * 1024 * 1024).fill(1));
});
${more}
`;
}

/** Lifecycle reducers that write what they see; a caller whose token says so is not let in. */
export const lifecycleReducers = `
const note = (ctx, kind) => ctx.db.visit.insert({
  id: 0n,
  kind,
  who: ctx.sender,
  connection: ctx.connectionId.__connection_id__,
  token: ctx.senderAuth.jwt?.subject ?? '',
});
export const onConnect = db.clientConnected((ctx) => {
  note(ctx, 'connected');
  if (ctx.senderAuth.jwt?.subject === 'stranger') throw new SenderError('no strangers');
  if (ctx.senderAuth.jwt?.subject === 'breaker') throw new Error('broken');
});
export const onDisconnect = db.clientDisconnected((ctx) => {
  note(ctx, 'disconnected');
  if (ctx.senderAuth.jwt?.subject === 'rude') throw new Error('slams the door');
  if (ctx.senderAuth.jwt?.subject === 'spinner') for (;;) {}
});
`;
