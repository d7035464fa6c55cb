import {
  and,
  literal,
  not,
  or,
  type Query,
  Range,
  schema,
  t,
  table,
  toSql,
} from 'reducerdb/server';
import * as tavern from './tavern.ts';

// A whole module as part of another, and the query builder.

const guild = t.row('Guild', { id: t.u64().primaryKey(), open: t.bool() });

const room = table(
  { indexes: [{ accessor: 'byFloor', algorithm: 'btree', columns: ['floor', 'no'] }] },
  {
    name: t.string().primaryKey(),
    floor: t.i16(),
    no: t.u16(),
    owner: t.identity(),
    big: t.bool(),
  },
);
const door = table({}, { id: t.u32().primaryKey(), roomName: t.string().index() });
const db = schema({ room, door, tavern, guild: table({}, guild) });
export default db;

export const extras = db.exportGroup({ openAll: db.reducer(() => {}) });

export const open = db.reducer({ name: t.string() }, (ctx, { name }) => {
  tavern.say(ctx.as.tavern, { room: name, text: 'open!' });
  const count: bigint = ctx.db.tavern.shout.count();
  ctx.db.guild.insert({ id: count, open: true });
  const upstairs = new Range<number>({ tag: 'included', value: 1 });
  ctx.db.room.byFloor.filter(upstairs);
  ctx.db.room.byFloor.filter([1, new Range({ tag: 'excluded', value: 5 }, { tag: 'unbounded' })]);
});

export const mine = db.view({ public: true }, t.array(room.rowType), (ctx) =>
  ctx.from.room
    .where((r) => and(r.owner.eq(ctx.sender), or(r.floor.gt(0), not(r.no.lte(literal(3))))))
    .where((r) => r.big)
    .build(),
);
export const doors = db.anonymousView({ public: true }, t.array(door.rowType), (ctx) =>
  ctx.from.room.where((r) => r.big).rightSemijoin(ctx.from.door, (r, d) => r.name.eq(d.roomName)),
);
export const one = db.view({ public: true, name: 'one_room' }, t.option(room.rowType), (ctx) =>
  ctx.db.room.name.find('hall'),
);
export const listed = db.view({ public: true }, t.array(room.rowType), (ctx) => [...ctx.db.room]);

export function textOf(query: Query<typeof room>): string {
  return toSql(query);
}
