import { type Program, written } from '../written-module.ts';

/** A module whose tables stay as large as they are, whatever is called how often. */
export function soakModule(): Promise<Program> {
  return written({
    tables: {
      item: `{ public: true }, {
        id: t.u32().primaryKey(),
        owner: t.identity().index(),
        zone: t.u32().index('hash'),
        text: t.string(),
      }`,
      zone: '{ public: true }, { id: t.u32().primaryKey(), isOpen: t.bool() }',
      note: '{ public: true }, { id: t.u32().primaryKey(), owner: t.identity().index() }',
      bell: '{ public: true, event: true }, { text: t.string() }',
      visit: '{}, { id: t.u32().primaryKey(), came: t.u64(), left: t.u64() }',
    },
    exports: `
      export const f = db.clientVisibilityFilter.sql('SELECT * FROM note WHERE owner = :sender');
      const items = t.array(item.rowType);
      export const mine = db.view({ public: true }, items, (ctx) => [
        ...ctx.db.item.owner.filter(ctx.sender),
      ]);
      export const inZoneOne = db.anonymousView({ public: true }, items, (ctx) => [
        ...ctx.db.item.zone.filter(1),
      ]);
      export const put = db.reducer(
        { id: t.u32(), zone: t.u32(), text: t.string() },
        (ctx, row) => {
          ctx.db.item.id.delete(row.id);
          ctx.db.item.insert({ ...row, owner: ctx.sender });
          ctx.db.note.id.delete(row.id);
          ctx.db.note.insert({ id: row.id, owner: ctx.sender });
          ctx.db.zone.id.delete(row.zone);
          ctx.db.zone.insert({ id: row.zone, isOpen: row.id % 2 === 0 });
        },
      );
      export const remove = db.reducer({ id: t.u32() }, (ctx, { id }) => {
        ctx.db.item.id.delete(id);
        ctx.db.note.id.delete(id);
      });
      export const ring = db.reducer({ text: t.string() }, (ctx, row) => {
        ctx.db.bell.insert(row);
      });
      export const refuse = db.reducer({ id: t.u32() }, (ctx, { id }) => {
        ctx.db.item.id.delete(id);
        throw new SenderError('refused');
      });
      export const crash = db.reducer(() => { throw new TypeError('a detail'); });
      const count = (ctx, came, left) => {
        const { visit } = ctx.db;
        const before = visit.id.find(0) ?? { id: 0, came: 0n, left: 0n };
        visit.id.delete(0);
        visit.insert({ id: 0, came: before.came + came, left: before.left + left });
      };
      export const onConnect = db.clientConnected((ctx) => {
        if (ctx.senderAuth.jwt?.subject === 'stranger') throw new SenderError('no strangers');
        count(ctx, 1n, 0n);
      });
      export const onDisconnect = db.clientDisconnected((ctx) => count(ctx, 0n, 1n));
    `,
  });
}
