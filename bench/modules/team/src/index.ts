import { schema, t, table } from 'reducerdb/server';

/** What the members of a team look at: each row was sent at `sent`, in nanoseconds. */
const columns = {
  id: t.u32().index('hash').primaryKey(),
  sent: t.u64(),
  team: t.u32().index('btree'),
};
const score = table({ public: true, indexes: [] }, columns);

/** The same, for all to see. */
const open_score = table({ public: true, indexes: [] }, columns);

const member = table(
  { public: true, indexes: [] },
  {
    id: t.u64().autoInc().primaryKey(),
    who: t.identity().index('btree'),
    team: t.u32().index('btree'),
  },
);

const db = schema({ score, open_score, member });
export default db;

export const ofTeam = db.clientVisibilityFilter.sql(
  'SELECT score.* FROM score JOIN member ON score.team = member.team WHERE member.who = :sender',
);

export const ofMember = db.clientVisibilityFilter.sql('SELECT * FROM member WHERE who = :sender');

/** The same rows, as a view that returns a query. */
export const scoresOfTeam = db.view({ public: true }, t.array(score.rowType), (ctx) =>
  ctx.from.member
    .where((own) => own.who.eq(ctx.sender))
    .rightSemijoin(ctx.from.score, (own, each) => own.team.eq(each.team)),
);

export const arrived = db.clientConnected((ctx) => {
  ctx.db.member.insert({ id: 0n, who: ctx.sender, team: 0 });
});

export const left = db.clientDisconnected((ctx) => {
  ctx.db.member.who.delete(ctx.sender);
});

export const open = db.reducer({ count: t.u32() }, (ctx, { count }) => {
  for (let id = 0; id < count; id += 1) {
    ctx.db.score.insert({ id, sent: 0n, team: 0 });
    ctx.db.open_score.insert({ id, sent: 0n, team: 0 });
  }
});

export const put = db.reducer(
  { id: t.u32(), sent: t.u64(), points: t.u32() },
  (ctx, { id, sent }) => {
    ctx.db.score.id.update({ id, sent, team: 0 });
    ctx.db.open_score.id.update({ id, sent, team: 0 });
  },
);
