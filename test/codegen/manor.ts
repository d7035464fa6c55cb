/**
 * The text of a module with everything that bindings can say: types that contain themselves, events,
 * procedures, views, schedules, private things, and names that are spelled in awkward ways.
 */
export const manorText = `
  import { schema, t, table } from 'reducerdb/server';

  const Node = t.object('Node', {
    height: t.u32(),
    get next() { return t.option(Node); },
    get below() { return t.array(Node); },
    get tree() { return Tree; },
    get deed() { return t.result(Node, t.string()); },
    since: t.timestamp(),
  });
  const Tree = t.enum('Tree', {
    get leaf() { return Node; },
    get fork() { return t.array(Tree); },
    bare: t.unit(),
  });
  const Mood = t.enum('Mood', ['Calm', 'veryAngry']);

  const ghost = table(
    { public: true, indexes: [{ accessor: 'byMood', algorithm: 'btree', columns: ['mood', 'seenAt'] }] },
    {
      ghostId: t.u32().primaryKey().autoInc(),
      mood: Mood,
      seenAt: t.timestamp(),
      nickName: t.string().unique(),
      maybeNode: t.option(Node),
      lastWords: t.result(t.string(), t.unit()),
      plainUnit: t.unit(),
      player2Score: t.f64(),
    },
  );
  const byMood = table({ public: true }, { mood: Mood.primaryKey(), node: Node });
  const knock = table({ public: true, event: true }, { door: t.string(), times: t.u8() });
  const cellar = table({}, { id: t.u64().primaryKey(), via: t.connectionId() });
  const chime = table(
    { scheduled: () => ring },
    { scheduledId: t.u64().primaryKey().autoInc(), scheduledAt: t.scheduleAt() },
  );

  const db = schema({ ghost, byMood, knock, cellar, chime });
  export default db;

  export const boot = db.init(() => {});
  export const ring = db.reducer({ arg: chime.rowType }, () => {});
  export const haunt = db.reducer(
    { ghostId: t.u32(), mood: Mood, node: Node, notes: t.array(t.string()), why: t.string().optional() },
    () => {},
  );
  export const knockTwice = db.reducer(() => {});
  export const countGhosts = db.procedure({ mood: Mood.optional() }, t.u64(), () => 0n);
  export const tallest = db.procedure(t.option(Node), () => undefined);
  export const calmGhosts = db.anonymousView({ public: true }, t.array(ghost.rowType), () => []);
  export const myGhost = db.view({ public: true }, t.option(ghost.rowType), () => undefined);
  export const everyGhost = db.anonymousView({ public: true }, t.array(ghost.rowType), (ctx) => {
    return ctx.from.ghost.build();
  });
`;
