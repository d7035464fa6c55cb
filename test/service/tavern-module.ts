import { type Program, written } from './written-module.ts';

/** A module for clients that stay connected: tables of several kinds, and reducers for each. */
export function tavern(says = 'one', moreOfSeat = '', moreExports = ''): Promise<Program> {
  return written({
    says,
    tables: {
      person: `{ public: true }, {
        id: t.u32().primaryKey(),
        name: t.string(),
        seat: t.u32().index('btree'),
      }`,
      seat: `{ public: true }, { id: t.u32().primaryKey(), window: t.bool(), ${moreOfSeat} }`,
      secret: '{}, { id: t.u32().primaryKey() }',
      ring: '{ public: true, event: true }, { tune: t.string() }',
      visit: `{ public: true }, {
        id: t.u64().primaryKey().autoInc(),
        kind: t.string(),
        connection: t.u128(),
      }`,
    },
    exports: `
      export const add = db.reducer(
        { id: t.u32(), name: t.string(), seat: t.u32() },
        (ctx, { id, name, seat }) => void ctx.db.person.insert({ id, name, seat }),
      );
      export const rename = db.reducer({ id: t.u32(), name: t.string() }, (ctx, { id, name }) => {
        const person = ctx.db.person.id.find(id);
        if (person === null) throw new SenderError('nobody has the id ' + id);
        ctx.db.person.id.update({ ...person, name });
      });
      export const remove = db.reducer({ id: t.u32() }, (ctx, { id }) => {
        ctx.db.person.id.delete(id);
      });
      export const fill = db.reducer({ from: t.u32(), count: t.u32() }, (ctx, { from, count }) => {
        for (let id = from; id < from + count; id++) {
          ctx.db.person.insert({ id, name: 'guest ' + id, seat: id % 10 });
        }
      });
      export const furnish = db.reducer({ id: t.u32(), window: t.bool() }, (ctx, row) => {
        ctx.db.seat.insert(row);
      });
      export const ringIt = db.reducer({ tune: t.string() }, (ctx, { tune }) => {
        ctx.db.ring.insert({ tune });
      });
      export const nothing = db.reducer(() => {});
      export const crash = db.reducer(() => { throw new TypeError('a secret detail'); });
      export const spin = db.reducer(() => { for (;;) {} });
      export const onConnect = db.clientConnected((ctx) => {
        const refused = ctx.senderAuth.jwt?.subject === 'stranger';
        if (refused) throw new SenderError('no strangers');
        const connection = ctx.connectionId.__connection_id__;
        ctx.db.visit.insert({ id: 0n, kind: 'came', connection });
      });
      export const onDisconnect = db.clientDisconnected((ctx) => {
        const connection = ctx.connectionId.__connection_id__;
        ctx.db.visit.insert({ id: 0n, kind: 'left', connection });
      });
      ${moreExports}
    `,
  });
}
