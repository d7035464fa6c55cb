import { CallError, SenderError, schema, t, table } from '../../src/server/index.ts';

// A module whose reducers return values and refuse calls with values of their own types.

const Shortage = t.object('Shortage', { missing: t.u32(), ownerName: t.string() });
const TradeError = t.enum('TradeError', {
  TooPoor: Shortage,
  NoPurse: t.string(),
  Closed: t.unit(),
});
const Receipt = t.object('Receipt', {
  tradeNo: t.u64(),
  leftOver: t.u32(),
  note: t.string().optional(),
});

const purse = table({ public: true }, { ownerName: t.string().primaryKey(), gold: t.u32() });
const deal = table({ public: true }, { no: t.u64().primaryKey().autoInc(), gold: t.u32() });

const db = schema({ purse, deal });
export default db;

export const fill = db.reducer({ ownerName: t.string(), gold: t.u32() }, (ctx, row) => {
  ctx.db.purse.insert(row);
});

export const trade = db.reducer(
  { returns: t.u64(), throws: TradeError },
  { from: t.string(), to: t.string(), gold: t.u32() },
  (ctx, { from, to, gold }) => {
    const taker = ctx.db.purse.ownerName.find(to);
    if (taker === null) throw new CallError({ tag: 'NoPurse', value: to });
    ctx.db.purse.ownerName.update({ ...taker, gold: taker.gold + gold });
    const giver = ctx.db.purse.ownerName.find(from);
    if (giver === null) throw new CallError({ tag: 'NoPurse', value: from });
    const missing = gold - giver.gold;
    if (missing > 0) throw new CallError({ tag: 'TooPoor', value: { missing, ownerName: from } });
    ctx.db.purse.ownerName.update({ ...giver, gold: giver.gold - gold });
    return ctx.db.deal.insert({ no: 0n, gold }).no;
  },
);

export const lastReceipt = db.reducer({ name: 'receipt', returns: Receipt }, {}, (ctx) => {
  return { tradeNo: ctx.db.deal.count(), leftOver: 0, note: undefined };
});

export const gold = db.reducer(
  { returns: t.option(t.u32()) },
  { of: t.string() },
  (ctx, { of }) => {
    return ctx.db.purse.ownerName.find(of)?.gold;
  },
);

export const tradeTwice = db.reducer(
  { returns: t.array(t.u64()), throws: TradeError },
  { from: t.string(), to: t.string(), gold: t.u32() },
  (ctx, args) => [trade(ctx, args), trade(ctx, args)],
);

export const close = db.reducer({ throws: TradeError }, {}, (ctx) => {
  ctx.db.purse.clear();
  throw new CallError({ tag: 'Closed' });
});

/** Words where callers expect a value, from a helper that knows nothing of them. */
export const askGuard = db.reducer({ throws: TradeError }, {}, () => {
  throw new SenderError('the guard says no');
});

/** A value where callers expect words. */
export const askClerk = db.reducer(() => {
  throw new CallError({ tag: 'Closed' });
});

// Mistakes that the compiler would find, were they not hidden from it.

const anything = (value: unknown) => value as never;

export const miscount = db.reducer({ returns: t.u64() }, {}, (ctx) => {
  ctx.db.purse.clear();
  return anything(5);
});
export const forget = db.reducer({ returns: Receipt }, {}, () => anything(undefined));
export const later = db.reducer({ returns: Receipt }, {}, () => anything(Promise.resolve()));
export const mistake = db.reducer({ throws: TradeError }, {}, () => {
  throw new CallError({ tag: 'TooRich' });
});
export const boast = db.reducer({ returns: t.string() }, {}, () => 'gold '.repeat(2 ** 20));
